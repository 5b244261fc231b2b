#include "orchestrator/engine/race.hpp"

#include <cmath>

namespace hpo {

namespace {

constexpr double tie_width = 1;         // standard errors of a difference; with 2 the seeds cost more than they tell
constexpr std::int64_t certain_of = 2;  // degrees of freedom after which no spread means that seeds change nothing

}  // namespace

void Race::update(std::int64_t first, std::span<const double> losses, bool eligible) {
    if (most_ == 1 || losses.empty()) return;
    Entry& entry = entries_[first];
    if (entry.eligible) order_.erase({entry.mean, first});
    squares_ -= entry.squares;
    freedom_ -= entry.seeds > 0 ? entry.seeds - 1 : 0;
    entry.seeds = static_cast<std::int64_t>(losses.size());
    entry.eligible = eligible;
    entry.mean = entry.squares = 0;
    for (const double loss : losses) entry.mean += loss / static_cast<double>(entry.seeds);
    for (const double loss : losses) entry.squares += (loss - entry.mean) * (loss - entry.mean);
    squares_ += entry.squares;
    freedom_ += entry.seeds - 1;
    if (eligible) order_.insert({entry.mean, first});
}

void Race::begun(std::int64_t first) {
    ++further_;
    ++entries_[first].begun;
    entries_[first].trains = true;
}

void Race::ended(std::int64_t first) { entries_[first].trains = false; }

std::optional<std::int64_t> Race::next() const {
    if (order_.empty()) return std::nullopt;
    const Entry& best = entries_.at(order_.begin()->second);
    // A single seed is the least certain. The search can end once its possible error is exceeded.
    const Entry single{.mean = 0, .seeds = 1};
    for (const auto& [mean, first] : order_) {
        Entry least_certain = single;
        least_certain.mean = mean;
        if (!may_be_best(least_certain, best)) return std::nullopt;
        const Entry& entry = entries_.at(first);
        if (!entry.trains && entry.begun < most_ && may_be_best(entry, best)) return first;
    }
    return std::nullopt;
}

bool Race::may_be_best(const Entry& entry, const Entry& best) const {
    const double apart = entry.mean - best.mean;
    if (freedom_ == 0) return !(apart > 0);
    if (freedom_ >= certain_of && !(squares_ > 0)) return false;
    const double variance = squares_ / static_cast<double>(freedom_);
    const double shares = 1 / static_cast<double>(entry.seeds) + 1 / static_cast<double>(best.seeds);
    return apart <= tie_width * std::sqrt(variance * shares);
}

}  // namespace hpo
