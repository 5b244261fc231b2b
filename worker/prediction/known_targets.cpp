#include "worker/prediction/known_targets.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "worker/data/csv_columns.hpp"
#include "worker/data/data_text.hpp"

namespace hpo {
namespace {

constexpr double unknown_target = std::numeric_limits<double>::quiet_NaN();

}  // namespace

KnownTargets::KnownTargets(const SavedModel& model, std::span<const std::string> names, std::span<Wanted> wanted)
    : task_(model.shape.task) {
    const bool classes = model.shape.task == Task::classification;
    for (const SavedTarget& target : model.targets) {
        const auto found = std::ranges::find(names, target.name);
        const auto field = static_cast<std::size_t>(found - names.begin());
        // A column that is also read as another kind, such as a feature, cannot be read as a target.
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
    for (std::size_t i = 0; i < named.size(); ++i) {
        class_number_.emplace(named[i], static_cast<double>(i));
        if (const auto number = number_of(named[i])) class_of_number_.emplace(*number, static_cast<double>(i));
    }
}

double KnownTargets::number_of_class(const Cell& cell) const {
    if (const auto named = class_number_.find(cell.text); named != class_number_.end()) return named->second;
    const auto number = number_of(cell.text);
    const auto alike = number ? class_of_number_.find(*number) : class_of_number_.end();
    return alike == class_of_number_.end() ? unknown_target : alike->second;
}

double KnownTargets::number_of_label(const Cell& cell) const {
    if (cell.number) return *cell.number == 0 || *cell.number == 1 ? *cell.number : unknown_target;
    if (cell.text == "True" || cell.text == "true") return 1;
    return cell.text == "False" || cell.text == "false" ? 0 : unknown_target;
}

std::span<const double> KnownTargets::of(std::span<const Cell> cells) {
    numbers_.clear();
    for (const std::size_t field : fields_) {
        const Cell& cell = cells[field];
        numbers_.push_back(cell.missing                    ? unknown_target
                           : task_ == Task::classification ? number_of_class(cell)
                           : task_ == Task::multi_label    ? number_of_label(cell)
                                                           : cell.number.value_or(unknown_target));
        if (cell.missing || !std::isnan(numbers_.back())) continue;
        if (++unknown_ == 1) first_unknown_ = cell.text;
    }
    return numbers_;
}

std::string KnownTargets::warning() const {
    if (unknown_ == 0) return {};
    const char* const kind = task_ == Task::classification ? "class of the model"
                             : task_ == Task::multi_label  ? "label of 0 or 1"
                                                           : "number";
    return grouped(unknown_, "target") + (unknown_ == 1 ? " is no " : " are no ") + kind + ", such as " +
           quoted_name(first_unknown_) + ": their rows are not scored";
}

}  // namespace hpo
