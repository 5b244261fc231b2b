#include "orchestrator/script/syntax/redraws.hpp"

#include <algorithm>

#include "orchestrator/script/syntax/metric_names.hpp"

namespace hpo::script {

namespace {

/// Sets the numbers of `reading` in `state`, the later one of each name.
void merge(const Reading& reading, Reading& state) {
    if (reading.epoch) state.epoch = reading.epoch;
    if (!reading.metrics.empty()) state.text = reading.text;  // and not of a blank line over the bar
    for (const NamedNumber& metric : reading.metrics) {
        if (NamedNumber* found = state.find(metric.name))
            found->number = metric.number;
        else
            state.add(metric.name, metric.number, metric.bare);
    }
}

}  // namespace

const NamedNumber* objective_in(const Reading& reading, std::string_view objective) {
    const auto found = std::find_if(reading.metrics.begin(), reading.metrics.end(), [&](const NamedNumber& one) {
        return fit(one.name, objective) != Fit::none || (one.bare != one.name && fit(one.bare, objective) != Fit::none);
    });
    return found == reading.metrics.end() ? nullptr : &*found;
}

std::optional<double> Redraws::epoch_of(const Reading& reading) {
    named_ = named_ || reading.epoch.has_value();
    if (reading.epoch) return reading.epoch;
    if (named_ || !reading.progress) return {};
    const auto [done, total] = *reading.progress;
    if (total < 2 || (total != epochs_ && !reading.counts_epochs)) return {};
    if (!drawn_first_) drawn_first_ = done;
    // Other metrics, such as the learning rate, may be there from the first state on.
    // A bar that begins with 1 has the number of the epoch, and not of those that have ended.
    if (!counts_ended_ && objective_in(reading, objective_) != nullptr)
        counts_ended_ = done > *drawn_first_ || *drawn_first_ == 1;
    // A bar that shows the values of the epoch in progress is in its last epoch when it is full. One that shows values
    // only once an epoch has ended then shows a further epoch.
    return static_cast<double>(counts_ended_.value_or(false) ? done : std::min(done, total - 1));
}

std::vector<Reading> Redraws::redrawn(const Reading& state) {
    std::vector<Reading> counting;
    advance(state, counting);
    merge(state, state_);
    return counting;
}

std::vector<Reading> Redraws::ended(const Reading& line, bool blank) {
    std::vector<Reading> counting;
    if (state_.metrics.empty()) {
        if (const auto epoch = epoch_of(line)) epoch_ = epoch;
        if (line.progress && has_counted(line)) return counting;  // a bar that is left as it was
        remember(line);
        counting.push_back(line);
        return counting;
    }
    const bool is_state = blank || std::any_of(line.metrics.begin(), line.metrics.end(), [&](const NamedNumber& one) {
                              return state_.find(one.name) != nullptr;
                          });
    if (!is_state) {  // another line has been written over the bar, which follows below
        remember(line);
        counting.push_back(line);
        return counting;
    }
    advance(line, counting);
    merge(line, state_);
    count(counting);
    return counting;
}

std::vector<Reading> Redraws::finish() {
    std::vector<Reading> counting;
    count(counting);
    return counting;
}

void Redraws::advance(const Reading& reading, std::vector<Reading>& counting) {
    const auto epoch = epoch_of(reading);
    if (!epoch) return;
    if (epoch_ && *epoch != *epoch_) count(counting);
    epoch_ = epoch;
}

/// Returns true if the line only repeats metrics that have counted in this epoch.
bool Redraws::has_counted(const Reading& line) {
    return epoch_ && counted_epoch_ == epoch_ && !line.metrics.empty() &&
           std::all_of(line.metrics.begin(), line.metrics.end(), [&](const NamedNumber& one) {
               const NamedNumber* before = counted_.find(one.name);
               return before != nullptr && before->number == one.number;
           });
}

/// Counts the state, without the numbers that have counted in this epoch.
void Redraws::count(std::vector<Reading>& counting) {
    Reading state = std::exchange(state_, {});
    if (epoch_ && counted_epoch_ == epoch_)
        std::erase_if(state.metrics, [&](const NamedNumber& one) {
            const NamedNumber* before = counted_.find(one.name);
            return before != nullptr && before->number == one.number;
        });
    remember(state);
    if (!state.metrics.empty()) counting.push_back(std::move(state));
}

void Redraws::remember(const Reading& reading) {
    if (counted_epoch_ != epoch_) counted_ = {};
    counted_epoch_ = epoch_;
    merge(reading, counted_);
}

}  // namespace hpo::script
