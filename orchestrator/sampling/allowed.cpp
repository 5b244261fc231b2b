#include "orchestrator/sampling/allowed.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include "hpo/random.hpp"
#include "hpo/text.hpp"

namespace hpo {

namespace {

constexpr std::uint64_t listed = 20000;        ///< largest number of combinations of a space that are enumerated
constexpr std::uint64_t enough_points = 250;   ///< allowed points that suffice
constexpr std::uint64_t most_tried = 100'000;  ///< random points, if one of them is allowed
constexpr std::uint64_t last_resort = 250'000;
constexpr std::uint64_t sampled_from = std::uint64_t{1} << 41;  ///< beyond the number of any trial
constexpr double rejection_pays = 0.05;  ///< allowed share of the cube from which on draws are rejected
constexpr int sweeps = 2, shrinkings = 60, bisections = 12;

Point random_point(const CubeMap& map, std::uint64_t seed, std::uint64_t number) {
    Point point(map.space().size());
    for (std::size_t d = 0; d < point.size(); ++d)
        point[d] = draw_unit(seed, Purpose::startup, sampled_from + number, d);
    return point;
}

std::string share_text(double share) {
    char text[32];
    std::snprintf(text, sizeof text, share >= 0.1 ? "%.0f %%" : "%.2g %%", 100 * share);
    return text;
}

}  // namespace

Result<std::shared_ptr<const Allowed>> Allowed::make(std::shared_ptr<const CubeMap> map,
                                                     const std::vector<std::string>& where, std::uint64_t seed) {
    if (!map->restricts()) return std::shared_ptr<const Allowed>();
    std::shared_ptr<Allowed> made(new Allowed(std::move(map)));
    if (const auto all = made->map_->combinations(listed); all && *all <= listed)
        made->enumerate(*all);
    else
        made->sample(seed);
    if (made->found_.empty()) return made->nothing_allowed(where, seed);
    return std::shared_ptr<const Allowed>(std::move(made));
}

void Allowed::enumerate(std::uint64_t combinations) {
    complete_ = true;
    std::set<Params> seen;  // with conditions, several combinations are one configuration
    for (std::uint64_t number = 0; number < combinations; ++number) {
        auto params = map_->combination(number);
        if (!params || !seen.insert(*params).second) continue;
        if (map_->allows(*params)) found_.push_back(*map_->point(*params));
    }
    tried_ = seen.size();
    kept_ = found_.size();
}

void Allowed::sample(std::uint64_t seed) {
    while (kept_ < enough_points && tried_ < (kept_ > 0 ? most_tried : last_resort)) {
        Point point = random_point(*map_, seed, tried_++);
        if (!contains(point)) continue;
        ++kept_;
        found_.push_back(std::move(point));
    }
}

Error Allowed::nothing_allowed(const std::vector<std::string>& where, std::uint64_t seed) const {
    constexpr std::uint64_t points = 10'000;
    std::string text =
        complete_ ? "none of the " + grouped(tried_) + " configurations is allowed"
                  : "none of " + grouped(static_cast<std::int64_t>(tried_)) + " random configurations is allowed";
    for (std::size_t c = 0; c < where.size(); ++c) {
        std::uint64_t kept = 0;
        for (std::uint64_t i = 0; i < points; ++i) kept += map_->keeps(c, map_->params(random_point(*map_, seed, i)));
        text += (c == 0 ? ": \"" : ", \"") + where[c] + "\" holds for " +
                share_text(static_cast<double>(kept) / static_cast<double>(points));
    }
    return Error{text + (where.empty() ? ": a range that depends on other parameters is empty; change its ends"
                                       : " of the space; change 'where' or the ranges")};
}

Point Allowed::draw(const Uniform& uniform) const {
    const std::size_t dimensions = map_->space().size();
    if (share() >= rejection_pays)
        for (int i = 0; i < static_cast<int>(10 / rejection_pays); ++i) {
            Point point(dimensions);
            for (double& x : point) x = uniform();
            if (contains(point)) return point;
        }
    const Point& start = found_[static_cast<std::size_t>(uniform() * static_cast<double>(found_.size()))];
    return complete_ ? start : walk(start, uniform);
}

Point Allowed::walk(Point point, const Uniform& uniform) const {
    for (int sweep = 0; sweep < sweeps; ++sweep)
        for (double& x : point) {
            const double before = x;
            double low = 0, high = 1;
            int left = shrinkings;
            do {
                x = left-- > 0 ? low + uniform() * (high - low) : before;
                (x < before ? low : high) = x;
            } while (x != before && !contains(point));
        }
    return point;
}

Point Allowed::towards(const Point& from, const Point& to) const {
    if (contains(to)) return to;
    Point reached = from, next(from.size());
    double low = 0, high = 1;
    for (int i = 0; i < bisections; ++i) {
        const double middle = (low + high) / 2;
        for (std::size_t d = 0; d < next.size(); ++d) next[d] = from[d] + middle * (to[d] - from[d]);
        if (contains(next))
            low = middle, reached = next;
        else
            high = middle;
    }
    return reached;
}

Point Allowed::near(const Point& wish) const {
    if (contains(wish)) return wish;
    const auto distance = [&](const Point& point) {
        double squares = 0;
        for (std::size_t d = 0; d < point.size(); ++d) squares += (point[d] - wish[d]) * (point[d] - wish[d]);
        return squares;
    };
    const auto nearest = std::min_element(found_.begin(), found_.end(),
                                          [&](const Point& a, const Point& b) { return distance(a) < distance(b); });
    return towards(*nearest, wish);
}

std::string Allowed::about() const {
    if (complete_)
        return grouped(static_cast<std::int64_t>(kept_)) + " of " +
               grouped(static_cast<std::int64_t>(tried_), "configuration") +
               (kept_ == 1 ? " is allowed" : " are allowed");
    return share_text(share()) + " of the space is allowed (of " + grouped(static_cast<std::int64_t>(tried_)) +
           " random points)";
}

}  // namespace hpo
