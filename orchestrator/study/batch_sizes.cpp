#include "orchestrator/study/batch_sizes.hpp"

#include <algorithm>

#include "hpo/batch_size.hpp"
#include "hpo/worker_key_defaults.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

namespace {

const Dimension* searched(const Study& study) {
    const auto found = std::find_if(study.space.begin(), study.space.end(),
                                    [](const Dimension& dimension) { return dimension.name == "batch_size"; });
    return found == study.space.end() ? nullptr : &*found;
}

}  // namespace

std::int64_t batch_size_of(const Params& params, std::int64_t training_samples) {
    const std::int64_t chosen =
        std::max<std::int64_t>(1, std::min(auto_batch_size(training_samples), training_samples));
    const auto given = params.find("batch_size");
    return given == params.end() ? chosen
                                 : static_cast<std::int64_t>(number_or(given->second, static_cast<double>(chosen)));
}

std::int64_t smallest_batch_size(const Study& study, std::int64_t training_samples) {
    const Dimension* dimension = searched(study);
    if (dimension == nullptr) return batch_size_of(study.fixed, training_samples);
    double smallest = dimension->kind == Kind::categorical ? static_cast<double>(training_samples) : dimension->low;
    for (const Value& choice : dimension->choices) smallest = std::min(smallest, number_or(choice, smallest));
    return static_cast<std::int64_t>(smallest);
}

bool batch_sizes_depend_on_data(const Study& study) {
    if (!study.native() || is_trees(study.fixed)) return false;
    const bool by_default = searched(study) == nullptr && !study.fixed.contains("batch_size");
    if (study.policy.min_batch_size) return by_default && *study.policy.min_batch_size > smallest_auto_batch;
    return !by_default && smallest_batch_size(study, largest_auto_batch) < largest_auto_batch;
}

std::string refused_batch_size(const Study& study, std::int64_t training_samples) {
    if (training_samples == 0 || !batch_sizes_depend_on_data(study)) return {};
    const std::int64_t size = smallest_batch_size(study, training_samples);
    const std::int64_t least = study.policy.min_batch_size.value_or(auto_batch_size(training_samples));
    if (size >= std::min(least, training_samples)) return {};
    const std::string name = study.policy.min_batch_size ? "the default of " : "";
    return small_batch_text(name + std::to_string(size), least, size,
                            " for " + std::to_string(training_samples) + " training samples");
}

std::string small_batch_text(const std::string& subject, std::int64_t least, std::int64_t size,
                             const std::string& data) {
    const std::string number = std::to_string(least);
    return subject + " is under policy.min_batch_size (" + number + data +
           "): small batches leave the machine idle; use " + number +
           " or more, or allow it explicitly: policy: {min_batch_size: " + std::to_string(size) + "}";
}

}  // namespace hpo
