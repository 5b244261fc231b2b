#include "worker/data/trained_classes.hpp"

#include <algorithm>
#include <vector>

#include "worker/data/data_text.hpp"

namespace hpo {
namespace {

std::vector<std::int64_t> trained_counts(const ClassedSamples& samples, std::span<const RowUse> uses) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(samples.count), 0);
    for (std::size_t i = 0; i < samples.classes.size(); ++i)
        if (uses[i] == RowUse::train) ++counts[static_cast<std::size_t>(samples.classes[i])];
    return counts;
}

}  // namespace

Result<void> check_trained_classes(const DataConfig& config, const ClassedSamples& samples,
                                   std::span<const RowUse> uses) {
    const auto counts = trained_counts(samples, uses);
    const auto is_trained = [](std::int64_t count) { return count > 0; };
    if (std::count_if(counts.begin(), counts.end(), is_trained) != 1) return {};
    const auto only = std::find_if(counts.begin(), counts.end(), is_trained);
    const bool by_group = !config.group.empty();
    const bool by_time = samples.split == SplitKind::time;
    return Error{std::string(by_group ? "data.validation.group" : "data.split") +
                 (config.folds > 0 ? ": in fold " + std::to_string(config.fold + 1) : "") + ": " +
                 (*only == 1 ? "the one " : "all " + grouped(*only) + " ") + samples.sample + (*only == 1 ? "" : "s") +
                 " to train on " + (*only == 1 ? "has" : "have") + " the class " +
                 quoted_name(samples.name_of(static_cast<std::size_t>(only - counts.begin()))) +
                 ", from which no other one can be told: " +
                 (by_group ? "use a column whose groups have several classes each"
                  : by_time
                      ? "use data.split: stratified, or if order matters, smaller parts for data.test and "
                        "data.validation"
                      : std::string(samples.split == SplitKind::random ? "use data.split: stratified, or " : "use ") +
                            "more " + samples.sample + "s of the other classes")};
}

Result<std::string> untrained_classes(const DataConfig& config, const ClassedSamples& samples,
                                      const std::function<Result<RowSplit>(const DataConfig&)>& split_of) {
    if (samples.split != SplitKind::time && config.group.empty()) return std::string();
    DataConfig one = config;
    std::vector<std::vector<std::int64_t>> without(static_cast<std::size_t>(samples.count));  // folds, of each class
    const std::int64_t folds = std::max<std::int64_t>(1, config.folds);
    for (one.fold = 0; one.fold < folds; ++one.fold) {
        const auto split = split_of(one);
        if (!split) return split.error();
        if (auto checked = check_trained_classes(one, samples, split->uses); !checked) return checked.error();
        const auto counts = trained_counts(samples, split->uses);
        for (std::size_t i = 0; i < counts.size(); ++i)
            if (counts[i] == 0) without[i].push_back(one.fold + 1);
    }
    NameList untrained;
    for (std::size_t i = 0; i < without.size(); ++i) {
        if (without[i].empty()) continue;
        std::string remark;
        if (static_cast<std::int64_t>(without[i].size()) < folds)
            for (const std::int64_t fold : without[i])
                remark += (remark.empty() ? "in fold " : ", ") + std::to_string(fold);
        untrained.add(samples.name_of(i), remark);
    }
    if (untrained.empty()) return std::string();
    return "warning: " + untrained.line(("no " + std::string(samples.sample) + " to train on has the class").c_str());
}

}  // namespace hpo
