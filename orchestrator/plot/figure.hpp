// A picture before it is drawn, in the units of its axes. The drawings (drawing.hpp) are pure.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/plot/scale.hpp"

namespace hpo::plot {

/// The meaning of a part of a picture, from the least to the most striking: later ones are drawn over earlier ones.
enum class Tone { faint, plain, bad, line, best };
enum class Shape { dot, ring, cross, star };

struct Point {
    double x = 0, y = 0;  ///< a path has a gap where y is NaN
};
struct Path {
    Tone tone = Tone::plain;
    std::vector<Point> points;
};
struct Marks {
    Shape shape = Shape::dot;
    Tone tone = Tone::plain;
    std::vector<Point> points;
};

/// A chart with two axes. Points outside of the scales are not drawn; paths are cut there.
struct Panel {
    Scale x, y;
    std::vector<Path> paths;
    std::vector<Marks> marks;
    std::vector<Scale> uprights;  ///< vertical axes at x = 0, 1, 2, ..., in place of the two; paths lie between 0 and 1
};

/// A line of bars with a label.
struct Row {
    struct Bar {
        double from = 0, until = 0;
        Shape shape = Shape::dot;  ///< its end: dot complete, ring stopped or paused, cross failed, star running
        Tone tone = Tone::plain;
        std::string text = {};  ///< shown inside, where it fits
    };
    std::string label;
    std::vector<Bar> bars;
    std::string text = {};  ///< on the right
    double spread = 0;      ///< drawn to both sides of the end of the last bar
};

struct Key {
    Shape shape = Shape::dot;
    Tone tone = Tone::plain;
    std::string text;
    bool line = false;  ///< a line in place of a mark
};

struct Figure {
    std::string title;
    std::vector<Panel> panels;
    Scale across;           ///< the axis of the rows
    std::vector<Row> rows;  ///< instead of panels
    std::vector<Key> keys;
    std::vector<std::string> notes;
    std::string nothing;  ///< why there is nothing to draw, in a sentence; else empty
};

}  // namespace hpo::plot
