#include "worker/prediction/known_targets.hpp"

#include <algorithm>
#include <limits>

namespace hpo {

KnownTargets::KnownTargets(const SavedModel& model, std::span<const std::string> names, std::span<Wanted> wanted) {
    const bool classes = model.shape.task == Task::classification;
    for (const SavedTarget& target : model.targets) {
        const auto found = std::ranges::find(names, target.name);
        const auto field = static_cast<std::size_t>(found - names.begin());
        // A column that is read as another kind, such as a feature too, cannot be read as a target.
        const Wanted kind = classes ? Wanted::text : Wanted::number;
        if (target.name.empty() || found == names.end() ||
            (wanted[field] != Wanted::nothing && wanted[field] != kind)) {
            fields_.clear();
            return;
        }
        fields_.push_back(field);
    }
    for (const std::size_t field : fields_) wanted[field] = classes ? Wanted::text : Wanted::number;
    if (!classes) return;
    const auto& named = model.targets.front().classes;
    for (std::size_t i = 0; i < named.size(); ++i) class_number_.emplace(named[i], static_cast<double>(i));
}

std::span<const double> KnownTargets::of(std::span<const Cell> cells) {
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    numbers_.clear();
    for (const std::size_t field : fields_) {
        const Cell& cell = cells[field];
        if (class_number_.empty()) {
            numbers_.push_back(cell.number.value_or(unknown));
            continue;
        }
        const auto number = cell.missing ? class_number_.end() : class_number_.find(cell.text);
        numbers_.push_back(number == class_number_.end() ? unknown : number->second);
    }
    return numbers_;
}

}  // namespace hpo
