// The part of the unit cube whose configurations a study allows: `where`, and ranges that depend on other parameters
// and may be empty.
//
// Points are drawn uniformly from it. Where a good share of the cube is allowed, draws of the cube are rejected until
// one is. Where little is, a draw starts from one of the allowed points that were found at the beginning and moves
// along the coordinates in turn, each time to a uniform point of the allowed part there (Neal: "Slice sampling", Annals
// of Statistics 2003: shrinking an interval around a point of the slice keeps the uniform distribution). Its cost does
// not depend on the share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "orchestrator/sampling/policy.hpp"

namespace hpo {

/// Immutable.
class Allowed {
   public:
    using Uniform = std::function<double()>;  ///< returns numbers in [0, 1)

    /// Looks for allowed points. Returns nullptr if the whole cube is allowed. Fails, with the numbers, if none was
    /// found. `where` holds the texts of the map's conditions, for that error.
    static Result<std::shared_ptr<const Allowed>> make(std::shared_ptr<const CubeMap> map,
                                                       const std::vector<std::string>& where, std::uint64_t seed);

    [[nodiscard]] bool contains(const Point& point) const { return map_->allows(map_->params(point)); }

    /// Returns a point of the allowed part.
    [[nodiscard]] Point draw(const Uniform& uniform) const;

    /// Returns the first allowed one of at most `tries` points that `drawn` returns, or else draw().
    template <class Drawn>
    [[nodiscard]] Point first_of(Drawn&& drawn, const Uniform& uniform, int tries = 200) const {
        for (int i = 0; i < tries; ++i)
            if (Point point = drawn(); contains(point)) return point;
        return draw(uniform);
    }

    /// Returns the last allowed point that a bisection finds on the way from an allowed point to another.
    [[nodiscard]] Point towards(const Point& from, const Point& to) const;

    /// Returns an allowed point near `wish`.
    [[nodiscard]] Point near(const Point& wish) const;

    /// Returns CubeMap::canonical().
    [[nodiscard]] Point canonical(const Point& point) const { return map_->canonical(point); }

    /// Returns "40 of 64 configurations are allowed" or "31 % of the space is allowed (of 1,000 random points)".
    [[nodiscard]] std::string about() const;
    /// Returns the share of the configurations, or of the cube, that is allowed. It is exact for small spaces.
    [[nodiscard]] double share() const { return static_cast<double>(kept_) / static_cast<double>(tried_); }

   private:
    explicit Allowed(std::shared_ptr<const CubeMap> map) : map_(std::move(map)) {}
    [[nodiscard]] Point walk(Point point, const Uniform& uniform) const;
    void enumerate(std::uint64_t combinations);
    void sample(std::uint64_t seed);
    [[nodiscard]] Error nothing_allowed(const std::vector<std::string>& where, std::uint64_t seed) const;

    std::shared_ptr<const CubeMap> map_;
    std::vector<Point> found_;  ///< allowed points: all of a small space, else uniform draws
    bool complete_ = false;     ///< true if `found_` are all
    std::uint64_t kept_ = 0, tried_ = 0;
};

}  // namespace hpo
