#include "orchestrator/view/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "hpo/text.hpp"

namespace hpo::view {
namespace {

constexpr int label_width = 10;

struct Extent {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    std::int64_t last_step = 0;
    int values = 0;

    void add(const Curve& curve) {
        for (const CurvePoint& point : curve) {
            if (!std::isfinite(point.value)) continue;
            low = std::min(low, point.value), high = std::max(high, point.value);
            last_step = std::max(last_step, point.step);
            ++values;
        }
    }
};

/// A grid of dots, several for each character: two by four of braille, or one in ASCII.
class Dots {
   public:
    Dots(int columns, int rows, bool utf8)
        : wide_(columns * (utf8 ? 2 : 1)), high_(rows * (utf8 ? 4 : 1)), utf8_(utf8) {
        set_.resize(static_cast<std::size_t>(wide_) * static_cast<std::size_t>(high_));
    }
    /// Draws the line through the points of a curve. Gaps stand for values that are not finite.
    void draw(const Curve& curve, const Extent& extent) {
        const CurvePoint* before = nullptr;
        for (const CurvePoint& point : curve) {
            if (std::isfinite(point.value)) connect(before ? *before : point, point, extent);
            before = std::isfinite(point.value) ? &point : nullptr;
        }
    }
    /// Returns the character at a place, or an empty text if no dot is set there.
    [[nodiscard]] std::string at(int column, int row, const char* ascii) const {
        if (!utf8_) return is_set(column, row) ? ascii : "";
        static constexpr std::array<std::array<int, 2>, 4> bits{
            {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
        int pattern = 0;
        for (int y = 0; y < 4; ++y)
            for (int x = 0; x < 2; ++x)
                if (is_set(column * 2 + x, row * 4 + y))
                    pattern |= bits[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)];
        if (pattern == 0) return {};
        const int code = 0x2800 + pattern;
        return {static_cast<char>(0xe0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3f)),
                static_cast<char>(0x80 | (code & 0x3f))};
    }

   private:
    [[nodiscard]] std::size_t index(int x, int y) const { return static_cast<std::size_t>(y * wide_ + x); }
    [[nodiscard]] bool is_set(int x, int y) const { return set_[index(x, y)]; }
    void connect(const CurvePoint& from, const CurvePoint& to, const Extent& extent) {
        const auto x_of = [&](std::int64_t step) {
            const double share =
                static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(1, extent.last_step));
            return share * (wide_ - 1);
        };
        const auto y_of = [&](double value) {
            const double share = extent.high > extent.low ? (value - extent.low) / (extent.high - extent.low) : 0.5;
            return (1 - share) * (high_ - 1);
        };
        const double x0 = x_of(from.step), x1 = x_of(to.step), y0 = y_of(from.value), y1 = y_of(to.value);
        const int parts = std::max(1, static_cast<int>(std::max(std::abs(x1 - x0), std::abs(y1 - y0)) + 0.5));
        for (int i = 0; i <= parts; ++i) {
            const double share = static_cast<double>(i) / parts;
            const int x = static_cast<int>(std::lround(x0 + share * (x1 - x0)));
            const int y = static_cast<int>(std::lround(y0 + share * (y1 - y0)));
            set_[index(std::clamp(x, 0, wide_ - 1), std::clamp(y, 0, high_ - 1))] = true;
        }
    }

    int wide_, high_;
    bool utf8_;
    std::vector<bool> set_;
};

}  // namespace

Curve curve_of(const TrialRecord& trial, const std::string& metric, std::size_t most) {
    const std::size_t count = trial.curve.size(), stride = 1 + count / std::max<std::size_t>(most, 1);
    Curve curve;
    for (std::size_t i = 0; i < count; i += stride) {
        // The last step is always shown, so that the curve ends where the trial is.
        const Report& report = trial.curve[i + stride < count ? i : count - 1];
        if (const auto found = report.metrics.find(metric); found != report.metrics.end())
            curve.push_back({report.step, found->second});
    }
    return curve;
}

std::string sparkline_of(const Curve& curve, int width, bool utf8) {
    std::vector<double> values;
    values.reserve(curve.size());
    for (const CurvePoint& point : curve) values.push_back(point.value);
    return sparkline(values, width, utf8);
}

void add_chart(Canvas& canvas, const Curve& own, const Curve& other, int height, const Screen& screen) {
    Extent extent;
    extent.add(own);
    extent.add(other);
    const int width = (screen.width > 0 ? screen.width : 80) - label_width - 2;
    if (extent.values < 2 || width < 8 || height < 2) return;
    Dots line(width, height, screen.utf8), points(width, height, screen.utf8);
    line.draw(own, extent);
    points.draw(other, extent);
    for (int row = 0; row < height; ++row) {
        const std::string label = row == 0            ? short_number(extent.high)
                                  : row == height - 1 ? short_number(extent.low)
                                                      : "";
        Line text;
        text.add(pad_left(label, label_width, screen) + (screen.utf8 ? " │" : " |"), Style::dim);
        // Neighbours of one style are one piece, so that a terminal over a slow line gets fewer codes.
        std::string run;
        Style style = Style::accent;
        for (int column = 0; column < width; ++column) {
            std::string dot = line.at(column, row, "*");
            const Style wanted = dot.empty() ? Style::notice : Style::accent;
            if (dot.empty()) dot = points.at(column, row, ".").empty() ? " " : screen.utf8 ? "·" : ".";
            if (wanted != style) text.add(run, style), run.clear(), style = wanted;
            run += dot;
        }
        text.add(run, style);
        canvas.add(text);
    }
    const std::string last = std::to_string(extent.last_step);
    std::string axis(static_cast<std::size_t>(label_width), ' ');
    axis += screen.utf8 ? " └" : " +";
    for (int column = 0; column < width - columns(last) - 1; ++column) axis += screen.utf8 ? "─" : "-";
    canvas.add(axis + " " + last, Style::dim);
}

}  // namespace hpo::view
