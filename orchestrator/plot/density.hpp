// Counts the marks or paths in each cell of a chart, for pictures of more trials than marks can show without covering
// each other. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orchestrator/plot/figure.hpp"

namespace hpo::plot {

class Density {
   public:
    /// A grid of empty cells between (0, 0), its bottom left, and (1, 1).
    Density(int columns, int rows);

    /// Counts a mark; one outside is left out.
    void add(const Point& mark);
    /// Counts a path once in each cell that it crosses.
    void add(const std::vector<Point>& path);

    [[nodiscard]] int columns() const { return columns_; }
    [[nodiscard]] int rows() const { return rows_; }
    /// Returns the largest count of a cell.
    [[nodiscard]] std::int64_t most() const;
    /// Returns 0 for an empty cell, else 1 to `most_level`, which grows with the square root of the count. The cells
    /// are in rows from the top.
    [[nodiscard]] std::vector<int> levels(int most_level) const;

   private:
    [[nodiscard]] std::size_t cell_at(double x, double y) const;

    int columns_, rows_;
    std::vector<std::int64_t> counts_, last_;  ///< by cell; the number of the path that was counted there last
    std::int64_t paths_ = 0;
};

/// Returns the positions of points in a panel: from (0, 0), its bottom left, to (1, 1) for points inside.
std::vector<Point> placed(const Panel& panel, const std::vector<Point>& points);

/// Returns the number of a panel's marks, and of its paths, that are not those of the best trials.
std::size_t marks_of_others(const Panel& panel);
std::size_t paths_of_others(const Panel& panel);

/// Returns the keys of the marks that stay visible above a density.
std::vector<Key> keys_above_density(const std::vector<Key>& keys);
/// Returns the text of a density's own key. `most` is the largest number of trials in one cell.
std::string density_text(std::int64_t most);

}  // namespace hpo::plot
