#include "orchestrator/scheduling/concurrency_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <set>

namespace hpo {

namespace {

constexpr double least_share = 0.15;  // share of the average trial's work that an additional trial has to add
// A rise needs this number of direct observations, and exceeds this many standard errors: one measurement while the
// machine is held up must not suffice. If this many observations leave it open, there is no rise.
constexpr std::int64_t least_for_a_rise = 2, most_for_a_rise = 12;
constexpr double errors_for_a_rise = 2;
// Trials that have to be left to start, per trial at once, to try fewer: that leaves a part of the machine idle for
// some steps, which is likely to pay if more trials add nothing.
constexpr std::int64_t trials_if_saturated = 2, trials_otherwise = 6;

constexpr std::size_t most_shown = 5;

std::string times_text(double times) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f times", times);
    return text;
}

}  // namespace

ConcurrencySearch::ConcurrencySearch(std::int64_t start, std::int64_t most, const FoundConcurrency& remembered)
    : number_(remembered.number > 0 ? remembered.number : start), most_(std::max<std::int64_t>(1, most)) {
    for (RateChange change : remembered.changes) {
        change.count = 1;
        curve_.add(change);
    }
    number_ = limit_ = std::clamp<std::int64_t>(number_, 1, most_);
}

void ConcurrencySearch::add(const RateChange& change) {
    curve_.add(change);
    measured_.add(change);
    in_vain_.erase(change.fewer);
    in_vain_.erase(change.more);
}

ConcurrencySearch::Verdict ConcurrencySearch::compare(std::int64_t fewer, std::int64_t more) const {
    const auto gain = curve_.gain(fewer, more);
    if (!gain) return Verdict::unknown;
    const double worthwhile =
        std::log(1 + least_share * static_cast<double>(more - fewer) / static_cast<double>(fewer));
    const double excess = gain->log_gain - worthwhile;
    if (excess <= 0) return Verdict::flat;
    if (gain->observations >= least_for_a_rise && excess > errors_for_a_rise * gain->error) return Verdict::rises;
    return gain->observations >= most_for_a_rise ? Verdict::flat : Verdict::unsure;
}

/// Returns true if the comparison needs a measurement.
bool ConcurrencySearch::open(std::int64_t fewer, std::int64_t more) const {
    const Verdict verdict = compare(fewer, more);
    return verdict == Verdict::unknown || verdict == Verdict::unsure;
}

/// Returns true if this session has measured the number.
bool ConcurrencySearch::seen(std::int64_t number) const {
    const std::vector<std::int64_t> numbers = measured_.numbers();
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

bool ConcurrencySearch::given_up(std::int64_t number) const {
    const auto vain = in_vain_.find(number);
    return vain != in_vain_.end() && vain->second > 2 * number + 3;
}

/// Goes to the best of the numbers that are known.
void ConcurrencySearch::move() {
    std::set<std::int64_t> visited;
    while (visited.insert(number_).second) {
        const std::int64_t before = number_;
        for (const std::int64_t other : curve_.numbers()) {
            if (other > number_ && other <= most_ && compare(number_, other) == Verdict::rises) number_ = other;
            if (other < number_ && compare(other, number_) == Verdict::flat) {
                number_ = other;
                break;
            }
        }
        if (number_ == before) return;
    }
}

/// Returns the number to try next, or 0 if the best one is known.
std::int64_t ConcurrencySearch::next(std::int64_t left) const {
    const std::vector<std::int64_t> numbers = measured_.numbers();
    const bool saturated = std::any_of(numbers.begin(), numbers.end(), [&](std::int64_t more) {
        return more > number_ && compare(number_, more) == Verdict::flat;
    });
    const std::int64_t more = std::min(most_, number_ + std::max<std::int64_t>(1, number_ / 2));
    if (!saturated && more > number_ && left >= more && !given_up(more) && (!seen(more) || open(number_, more)))
        return more;
    const std::int64_t fewer = number_ - std::max<std::int64_t>(1, number_ / (descended_ ? 2 : 4));
    const bool affordable = left >= (saturated || descended_ ? trials_if_saturated : trials_otherwise) * number_;
    return fewer >= 1 && affordable && !given_up(fewer) && open(fewer, number_) ? fewer : 0;
}

void ConcurrencySearch::decide(std::int64_t left, std::int64_t measured) {
    const std::int64_t before = number_;
    move();
    if (number_ != before) descended_ = number_ < before;
    const std::int64_t candidate = next(left);
    const bool on_trial = candidate != 0 && limit_ == candidate;
    if (on_trial)
        limit_ = measured == candidate ? number_ : candidate;  // the way back is one more observation
    else
        limit_ = candidate != 0 && measured == number_ ? candidate : number_;
}

void ConcurrencySearch::ended_unmeasured(std::int64_t trials) {
    if (limit_ != number_) in_vain_[limit_] += trials;
}

std::string ConcurrencySearch::text() const {
    const std::vector<std::int64_t> numbers = measured_.numbers();
    std::string text;
    std::size_t shown = 0;
    for (const std::int64_t number : numbers) {
        const auto gain = measured_.gain(numbers.front(), number);
        const bool is_near = number == number_ || number == numbers.back() || numbers.size() <= most_shown + 1;
        if (number == numbers.front() || !gain || (!is_near && shown + 2 > most_shown)) continue;
        const std::string base = numbers.front() == 1 ? "one" : std::to_string(numbers.front());
        text += std::to_string(number) + (shown == 0 ? " at once: " : ": ") + times_text(std::exp(gain->log_gain)) +
                (shown == 0 ? " the work of " + base : "") + "; ";
        ++shown;
    }
    return text.substr(0, text.size() - std::min<std::size_t>(2, text.size()));
}

}  // namespace hpo
