// The points of a path, one after the other, for drawings in cells. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "orchestrator/plot/figure.hpp"

namespace hpo::plot {

/// Cuts the line from `a` to `b` to the part with y between 0 and 1. Returns false if there is none.
inline bool cut_to_unit(Point& a, Point& b) {
    const auto at = [&](double y) { return Point{a.x + (b.x - a.x) * (y - a.y) / (b.y - a.y), y}; };
    if (std::max(a.y, b.y) < 0 || std::min(a.y, b.y) > 1) return false;
    const Point from = a.y < 0 ? at(0) : a.y > 1 ? at(1) : a, until = b.y < 0 ? at(0) : b.y > 1 ? at(1) : b;
    a = from, b = until;
    return true;
}

/// Calls `visit(x, y)` along a path between (0, 0) and (1, 1), at distances below those of `wide` x `high` cells.
/// Leaves out gaps, and the parts above or below.
template <class Visit>
void trace(const std::vector<Point>& path, double wide, double high, Visit&& visit) {
    for (std::size_t i = 1; i < path.size(); ++i) {
        Point a = path[i - 1], b = path[i];
        if (!std::isfinite(a.x + a.y + b.x + b.y) || !cut_to_unit(a, b)) continue;
        const int parts = 1 + static_cast<int>(std::max(std::abs(b.x - a.x) * wide, std::abs(b.y - a.y) * high));
        for (int part = 0; part <= parts; ++part) {
            const double share = static_cast<double>(part) / parts;
            visit(a.x + share * (b.x - a.x), a.y + share * (b.y - a.y));
        }
    }
}

}  // namespace hpo::plot
