#include "orchestrator/plot/density.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "hpo/text.hpp"
#include "orchestrator/plot/trace.hpp"

namespace hpo::plot {

Density::Density(int columns, int rows)
    : columns_(std::max(columns, 1)),
      rows_(std::max(rows, 1)),
      counts_(static_cast<std::size_t>(columns_) * static_cast<std::size_t>(rows_)),
      last_(counts_.size()) {}

std::size_t Density::cell_at(double x, double y) const {
    const auto column = std::min(columns_ - 1, static_cast<int>(x * columns_));
    const auto row = std::min(rows_ - 1, static_cast<int>((1 - y) * rows_));
    return static_cast<std::size_t>(row * columns_ + column);
}

void Density::add(const Point& mark) {
    if (mark.x >= 0 && mark.x <= 1 && mark.y >= 0 && mark.y <= 1) ++counts_[cell_at(mark.x, mark.y)];
}

void Density::add(const std::vector<Point>& path) {
    ++paths_;
    trace(path, columns_, rows_, [&](double x, double y) {
        if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1)) return;
        const std::size_t cell = cell_at(x, y);
        if (std::exchange(last_[cell], paths_) != paths_) ++counts_[cell];
    });
}

std::int64_t Density::most() const { return *std::max_element(counts_.begin(), counts_.end()); }

std::vector<int> Density::levels(int most_level) const {
    constexpr std::int64_t least_most = 40;  // a few marks in one cell are no more than pale
    const auto largest = static_cast<double>(std::max(most(), least_most));
    std::vector<int> levels;
    for (const std::int64_t count : counts_) {
        const double share = std::sqrt(static_cast<double>(count) / largest);
        levels.push_back(count == 0 ? 0 : 1 + static_cast<int>(std::lround((most_level - 1) * share)));
    }
    return levels;
}

std::vector<Point> placed(const Panel& panel, const std::vector<Point>& points) {
    std::vector<Point> places;
    for (const Point& point : points) places.push_back({panel.x.at(point.x), panel.y.at(point.y)});
    return places;
}

std::size_t marks_of_others(const Panel& panel) {
    std::size_t count = 0;
    for (const Marks& marks : panel.marks) count += marks.tone == Tone::best ? 0 : marks.points.size();
    return count;
}

std::size_t paths_of_others(const Panel& panel) {
    return static_cast<std::size_t>(std::count_if(panel.paths.begin(), panel.paths.end(),
                                                  [](const Path& path) { return path.tone == Tone::faint; }));
}

std::vector<Key> keys_above_density(const std::vector<Key>& keys) {
    std::vector<Key> above;
    std::copy_if(keys.begin(), keys.end(), std::back_inserter(above),
                 [](const Key& key) { return key.tone == Tone::line || key.tone == Tone::best; });
    return above;
}

std::string density_text(std::int64_t most) { return "1 to " + grouped(most) + " trials in one place"; }

}  // namespace hpo::plot
