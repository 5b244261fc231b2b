#include "orchestrator/sampling/trust_region.hpp"

#include <algorithm>
#include <ranges>

namespace hpo {

namespace {
constexpr double fade = 0.9;  // factor on the counts of earlier trials at each further one
constexpr int successes_to_grow = 2;
constexpr double growth = 1.6;
}  // namespace

std::pair<double, double> discrete_side(double centre, double length, std::uint64_t values,
                                        const std::function<double(std::uint64_t)>& middle) {
    constexpr double rounding = 1e-9;
    const auto up_to = [&](double x) {  // the number of values with at most this coordinate
        return *std::ranges::upper_bound(std::views::iota(std::uint64_t{0}, values), x, {}, middle);
    };
    const std::uint64_t below = up_to(centre - rounding), above = up_to(centre + rounding);
    const std::uint64_t lowest = std::min(up_to(centre - length / 2 - rounding), below > 0 ? below - 1 : 0);
    const std::uint64_t highest = std::max(up_to(centre + length / 2 + rounding), std::min(above + 1, values)) - 1;
    return {middle(lowest), middle(highest)};
}

void TrustRegion::count(bool in_box, Outcome outcome, std::size_t dimensions) {
    const bool better = outcome == Outcome::better;
    double& trials = in_box ? inside_ : outside_;
    double& improved = in_box ? inside_better_ : outside_better_;
    trials = trials * fade + 1;
    improved = improved * fade + (better ? 1 : 0);
    if (!in_box) return;
    successes_ = better ? successes_ + 1 : 0;
    failures_ = outcome == Outcome::worse ? failures_ + 1 : 0;
    if (outcome == Outcome::equal || successes_ >= successes_to_grow) {
        length_ = std::min(length_ * growth, largest);
        successes_ = 0;
    } else if (failures_ >= static_cast<int>(std::max<std::size_t>(4, dimensions))) {
        length_ /= 2;
        failures_ = 0;
        if (length_ < smallest) length_ = first;
    }
}

double TrustRegion::share() const {
    const double here = inside_better_ / inside_, there = outside_better_ / outside_;
    return here + there > 0 ? std::clamp(here / (here + there), 0.2, 0.75) : 0.5;
}

}  // namespace hpo
