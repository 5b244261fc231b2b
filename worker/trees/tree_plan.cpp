#include "worker/trees/tree_plan.hpp"

#include <algorithm>
#include <cmath>

#include "worker/data/split.hpp"
#include "worker/models/settings.hpp"
#include "worker/trees/tree_data.hpp"
#include "worker/trees/xgboost.hpp"

namespace hpo {
namespace {

// Measured with XGBoost 1.7.4 on 4,000 to 50,000 samples of noise with 20 and 200 features, depths 6 to 14: the peak
// was 37 to 90 % of the sum.
constexpr double library_bytes = 24.0 * (1 << 20);  ///< with its threads
constexpr double bytes_of_value = 8;                ///< of a feature of a sample in a matrix
constexpr double binned_bytes_of_value = 4;         ///< of a training sample: its bins, by row and by column
constexpr double bytes_of_row = 48;                 ///< of each ensemble: gradients, margins, positions
constexpr double bytes_of_bin = 16;                 ///< of a node's histogram
constexpr double bytes_of_node = 80;                ///< of a tree, with its copies in a checkpoint

/// Bins of all features: a level of a category has two.
double bins_of(const DataShape& shape, std::int64_t rows, std::int64_t most) {
    std::int64_t levels = 0;
    for (const CategoryShape& category : shape.categories) levels += category.levels;
    return 2.0 * static_cast<double>(levels) +
           static_cast<double>(std::min(most, rows)) * static_cast<double>(shape.features() - levels);
}

std::int64_t host_bytes(const Configuration& configuration, const DataShape& shape, const SplitSizes& sizes,
                        std::int64_t steps) {
    const auto whole = [&](const char* name) { return value_or_throw(integer_setting(configuration.all, name)); };
    const auto features = static_cast<double>(shape.features());
    const auto train = static_cast<double>(sizes.train), folds = static_cast<double>(sizes.folds);
    const double others = static_cast<double>(sizes.validation + shape.test);
    const auto ensembles = static_cast<double>(ensembles_of(shape));
    const double trees =
        shape.task == Task::classification && shape.outputs > 2 ? static_cast<double>(shape.outputs) : ensembles;
    const double matrices = folds * features * ((train + others) * bytes_of_value + train * binned_bytes_of_value);
    const double rows = folds * (train + others) * bytes_of_row * trees;
    // In samples that are all noise, a leaf has three or four samples; other samples grow fewer leaves.
    const double nodes = std::min(std::pow(2.0, static_cast<double>(whole("max_depth")) + 1), train / 2);
    const double histograms = nodes * bins_of(shape, sizes.train, whole("max_bin")) * bytes_of_bin;
    const double rounds = static_cast<double>(whole("rounds") * steps);
    const double ensemble = folds * rounds * trees * nodes * bytes_of_node;
    // While data are loaded, memory holds the samples, and one part of them as a matrix of floats.
    const double loading = static_cast<double>(data_bytes(shape, sizes, Placement::staged) + shape.loading_bytes) +
                           features * train * sizeof(float);
    return static_cast<std::int64_t>(library_bytes + matrices + rows + std::max(loading, histograms + ensemble));
}

}  // namespace

from_worker::PlanAnswer answer_tree_plan(const to_worker::Plan& question, const WorkerContext& context) {
    from_worker::PlanAnswer answer;
    answer.id = question.id;
    try {
        if (context.processes > 1)
            throw InvalidTrial("model.type: trees grow in one process: remove resources.trial.processes");
        if (!missing_xgboost().empty()) throw InvalidTrial(missing_xgboost());
        const Configuration configuration = value_or_throw(read_configuration(question.params));
        const DataConfig data = tree_data_config(configuration.data);
        const DataShape shape = value_or_throw(describe_data(data));
        value_or_throw(check_tree_data(configuration.data, shape));
        value_or_throw(check_class_weights(configuration.training.class_weights, shape));
        const SplitSizes sizes = value_or_throw(split_sizes(data, shape));
        answer.data_bytes = data_bytes(shape, sizes, data.placement);
        answer.footprint.cores = 1;
        answer.footprint.host_bytes = context.process_bytes + host_bytes(configuration, shape, sizes, question.epochs);
        answer.iterations_per_step = value_or_throw(integer_setting(configuration.all, "rounds"));
        answer.training_samples = sizes.epoch();
        if (question.explain_data) answer.data = value_or_throw(explain_data(data));
    } catch (const std::exception& error) {
        answer.error = error.what();
    }
    return answer;
}

}  // namespace hpo
