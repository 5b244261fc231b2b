// The points of a study's first trials, from which a sampler begins to learn.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "orchestrator/sampling/allowed.hpp"
#include "orchestrator/sampling/beliefs.hpp"
#include "orchestrator/sampling/sampler.hpp"
#include "orchestrator/sampling/sobol.hpp"

namespace hpo {

/// Draws a point from the priors of a study: its preferred values, and its allowed part. `uniform` returns numbers in
/// [0, 1).
inline Point draw_from_priors(const SamplerSetup& setup, const std::function<double()>& uniform) {
    const std::size_t dimensions = setup.space.size();
    const auto believed = [&] { return setup.beliefs->draw(dimensions, uniform); };
    if (setup.allowed) return setup.beliefs ? setup.allowed->first_of(believed, uniform) : setup.allowed->draw(uniform);
    if (setup.beliefs) return believed();
    Point point(dimensions);
    for (double& x : point) x = uniform();
    return point;
}

/// Returns the points of Sobol's sequence that are allowed, in their order.
class EvenPoints {
   public:
    explicit EvenPoints(const SamplerSetup& setup)
        : seed_(setup.seed), dimensions_(setup.space.size()), allowed_(setup.allowed) {}

    /// Returns point `number` (from 1). Draws one if few of the first points are allowed, or if a retry is not.
    [[nodiscard]] Point at(std::uint64_t number, int retry, const std::function<double()>& uniform) {
        if (!allowed_) return sobol_point(seed_, number, dimensions_, retry);
        while (found_.size() < number && looked_at_ < most_looked_at)
            if (allowed_->contains(sobol_point(seed_, ++looked_at_, dimensions_, 0))) found_.push_back(looked_at_);
        if (found_.size() < number) return allowed_->draw(uniform);
        Point point = sobol_point(seed_, found_[number - 1], dimensions_, retry);
        return allowed_->contains(point) ? point : allowed_->draw(uniform);
    }

   private:
    static constexpr std::uint64_t most_looked_at = 1 << 15;

    std::uint64_t seed_;
    std::size_t dimensions_;
    std::shared_ptr<const Allowed> allowed_;
    std::vector<std::uint64_t> found_;  ///< numbers of allowed points in the sequence
    std::uint64_t looked_at_ = 0;
};

/// The points of the first trials of a sampler that learns: the preferred values and draws from them in turn with
/// evenly spread points, which are draws in spaces of very many dimensions.
class StartPoints {
   public:
    explicit StartPoints(const SamplerSetup& setup) : setup_(setup), even_(setup) {}

    [[nodiscard]] Point at(std::uint64_t number, int retry, const std::function<double()>& uniform) {
        const std::size_t dimensions = setup_.space.size();
        if (setup_.beliefs)
            if (auto believed = setup_.beliefs->start(number, retry, dimensions, uniform)) {
                if (!setup_.allowed || setup_.allowed->contains(*believed)) return *believed;
                return number == 1 && retry == 0 ? setup_.allowed->near(*believed) : draw_from_priors(setup_, uniform);
            }
        return dimensions <= sobol_dimensions ? even_.at(number, retry, uniform) : draw_from_priors(setup_, uniform);
    }

   private:
    SamplerSetup setup_;
    EvenPoints even_;
};

}  // namespace hpo
