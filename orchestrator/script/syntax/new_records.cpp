#include "orchestrator/script/syntax/new_records.hpp"

#include <cmath>
#include <limits>
#include <string_view>

namespace hpo::script {

namespace {

/// Returns true for equal numbers, also for two that are no number.
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
/// Returns true unless both are known and differ.
bool agree(double a, double b) { return std::isnan(a) || std::isnan(b) || a == b; }

double number_named(const Metrics& record, std::initializer_list<std::string_view> names) {
    for (const auto& [name, number] : record) {
        std::string lower;
        for (const char c : name) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
        for (const std::string_view wanted : names)
            if (lower == wanted) return number;
    }
    return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

NewRecords::Mark NewRecords::mark_of(const Metrics& record) const {
    return {record.at(objective_), number_named(record, {"epoch", "epochs", "round"}),
            number_named(record, {"step", "steps", "global_step", "iteration", "iter", "batch"})};
}

void NewRecords::restart() {
    // A version that was read in part, or not at all, is not compared with.
    const bool whole = !again_ || (!same_begin_ && version_.size() >= former_.size());
    if (whole) former_ = std::move(version_);
    version_.clear();
    again_ = last_.has_value();
    same_begin_ = true;
    starts_.clear();
}

void NewRecords::forget() {
    version_.clear();
    last_.reset();
    again_ = false;
}

bool NewRecords::is_new(const Metrics& record) {
    // Another record belongs to the one with the objective that follows it.
    if (!record.contains(objective_)) return !again_ || version_.size() >= former_.size();
    const Mark mark = mark_of(record);
    const bool counts = !again_ || is_new(mark);
    version_.push_back(mark);
    if (counts) last_ = mark;
    return counts;
}

bool NewRecords::is_new(const Mark& mark) {
    const std::size_t at = version_.size();
    if (same_begin_ && at == former_.size()) {
        again_ = false;  // all former records were repeated
        return true;
    }
    if (same_begin_ && same(former_[at].value, mark.value) && agree(former_[at].epoch, mark.epoch) &&
        agree(former_[at].step, mark.step))
        return false;
    same_begin_ = false;
    const bool comparable = !std::isnan(mark.epoch + last_->epoch) || !std::isnan(mark.step + last_->step);
    if (comparable) {
        const bool less = mark.epoch < last_->epoch || mark.step < last_->step;
        return !less && (mark.epoch > last_->epoch || mark.step > last_->step);
    }
    if (at > 0 && starts_.empty()) return at >= former_.size();
    return !repeats_end(mark);
}

bool NewRecords::repeats_end(const Mark& mark) {
    const std::size_t at = version_.size();
    if (at == 0)
        for (std::size_t start = 0; start < former_.size(); ++start) starts_.push_back(start);
    std::erase_if(starts_, [&](std::size_t start) {
        return start + at >= former_.size() || !same(former_[start + at].value, mark.value);
    });
    again_ = !starts_.empty();
    return again_;
}

}  // namespace hpo::script
