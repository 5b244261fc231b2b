#include "functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>

namespace hpo::bench {

namespace {

using Values = std::vector<double>;
using std::numbers::pi;

double square(double x) { return x * x; }

/// Uniform in [0, 1). The generator's numbers are fixed by the standard, so that all machines search the same.
double uniform(std::mt19937& generator) { return generator() / 4294967296.0; }

/// A minimum away from the middle, within `reach` of it in each coordinate.
Values shifted(std::size_t dimensions, double reach, unsigned seed) {
    std::mt19937 generator(seed);
    Values shift(dimensions);
    for (double& s : shift) s = reach * (2 * uniform(generator) - 1);
    return shift;
}

/// Rows of a random rotation, by Gram and Schmidt.
std::vector<Values> rotation(std::size_t dimensions, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    std::vector<Values> rows;
    while (rows.size() < dimensions) {
        Values row(dimensions);
        for (double& r : row) r = normal(generator);
        for (const Values& other : rows) {
            double along = 0;
            for (std::size_t d = 0; d < dimensions; ++d) along += row[d] * other[d];
            for (std::size_t d = 0; d < dimensions; ++d) row[d] -= along * other[d];
        }
        double length = 0;
        for (const double r : row) length += r * r;
        for (double& r : row) r /= std::sqrt(length);
        rows.push_back(std::move(row));
    }
    return rows;
}

// Spaces

Dimension real(double low, double high, bool log = false) {
    Dimension d;
    d.low = low;
    d.high = high;
    d.log = log;
    return d;
}
Dimension integer(double low, double high, bool log = false) {
    Dimension d = real(low, high, log);
    d.kind = Kind::integer;
    return d;
}
Dimension categorical(std::int64_t choices) {
    Dimension d;
    d.kind = Kind::categorical;
    for (std::int64_t c = 0; c < choices; ++c) d.choices.emplace_back(c);
    return d;
}
Dimension when(Dimension d, const char* parameter, std::int64_t choice) {
    d.when = {{parameter, {Value{choice}}}};
    return d;
}
Space named(Space space) {
    for (std::size_t d = 0; d < space.size(); ++d) space[d].name = "x" + std::to_string(d);
    return space;
}
Space cube(std::size_t dimensions, double low, double high) { return named(Space(dimensions, real(low, high))); }

// Functions

double branin(const Values& x) {
    const double bowl = x[1] - 5.1 / (4 * pi * pi) * x[0] * x[0] + 5 / pi * x[0] - 6;
    return bowl * bowl + 10 * (1 - 1 / (8 * pi)) * std::cos(x[0]) + 10;
}

constexpr std::array hartmann_weights{1.0, 1.2, 3.0, 3.2};

double hartmann3(const Values& x) {
    constexpr double widths[4][3] = {{3, 10, 30}, {0.1, 10, 35}, {3, 10, 30}, {0.1, 10, 35}};
    constexpr double centres[4][3] = {{3689, 1170, 2673}, {4699, 4387, 7470}, {1091, 8732, 5547}, {381, 5743, 8828}};
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        double exponent = 0;
        for (std::size_t d = 0; d < 3; ++d) exponent += widths[i][d] * square(x[d] - 1e-4 * centres[i][d]);
        sum -= hartmann_weights[i] * std::exp(-exponent);
    }
    return sum;
}
constexpr double hartmann3_minimum = -3.862782147820756;

double hartmann6(const Values& x) {
    constexpr double widths[4][6] = {
        {10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}};
    constexpr double centres[4][6] = {{1312, 1696, 5569, 124, 8283, 5886},
                                      {2329, 4135, 8307, 3736, 1004, 9991},
                                      {2348, 1451, 3522, 2883, 3047, 6650},
                                      {4047, 8828, 8732, 5743, 1091, 381}};
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        double exponent = 0;
        for (std::size_t d = 0; d < 6; ++d) exponent += widths[i][d] * square(x[d] - 1e-4 * centres[i][d]);
        sum -= hartmann_weights[i] * std::exp(-exponent);
    }
    return sum;
}
constexpr double hartmann6_minimum = -3.322368011415515;

double rosenbrock(const Values& x) {
    double sum = 0;
    for (std::size_t d = 0; d + 1 < x.size(); ++d) sum += 100 * square(x[d + 1] - x[d] * x[d]) + square(1 - x[d]);
    return sum;
}

auto ackley(std::size_t dimensions, unsigned seed) {
    return [shift = shifted(dimensions, 15, seed)](const Values& x) {
        double squares = 0, waves = 0;
        for (std::size_t d = 0; d < x.size(); ++d) {
            squares += square(x[d] - shift[d]) / static_cast<double>(x.size());
            waves += std::cos(2 * pi * (x[d] - shift[d])) / static_cast<double>(x.size());
        }
        return 20 + std::numbers::e - 20 * std::exp(-0.2 * std::sqrt(squares)) - std::exp(waves);
    };
}

auto rastrigin(std::size_t dimensions, unsigned seed) {
    return [shift = shifted(dimensions, 2.5, seed)](const Values& x) {
        double sum = 0;
        for (std::size_t d = 0; d < x.size(); ++d)
            sum += 10 + square(x[d] - shift[d]) - 10 * std::cos(2 * pi * (x[d] - shift[d]));
        return sum;
    };
}

double levy(const Values& x) {
    const auto w = [&](std::size_t d) { return 1 + (x[d] - 1) / 4; };
    const std::size_t last = x.size() - 1;
    double sum = square(std::sin(pi * w(0)));
    for (std::size_t d = 0; d < last; ++d) sum += square(w(d) - 1) * (1 + 10 * square(std::sin(pi * w(d) + 1)));
    return sum + square(w(last) - 1) * (1 + square(std::sin(2 * pi * w(last))));
}

double griewank(const Values& x) {
    static const Values shift = shifted(6, 250, 5);
    double sum = 0, product = 1;
    for (std::size_t d = 0; d < 6; ++d) {
        sum += square(x[d] - shift[d]) / 4000;
        product *= std::cos((x[d] - shift[d]) / std::sqrt(static_cast<double>(d + 1)));
    }
    return 1 + sum - product;
}

double schwefel(const Values& x) {
    double sum = 0;
    for (const double v : x) sum += 418.9828872724338 - v * std::sin(std::sqrt(std::abs(v)));
    return sum;
}

double styblinski(const Values& x) {
    double sum = 0;
    for (const double v : x) sum += (square(v * v) - 16 * v * v + 5 * v) / 2;
    return sum;
}

double schaffer(const Values& x) {
    static const Values shift = shifted(2, 40, 6);
    const double radius = square(x[0] - shift[0]) + square(x[1] - shift[1]);
    return 0.5 + (square(std::sin(std::sqrt(radius))) - 0.5) / square(1 + 0.001 * radius);
}

/// An ellipsoid whose axes differ by a factor of 1,000, turned and moved.
auto ellipsoid(std::size_t dimensions, unsigned seed) {
    return [rows = rotation(dimensions, seed), shift = shifted(dimensions, 2.5, seed + 1)](const Values& x) {
        const std::size_t size = x.size();
        double sum = 0;
        for (std::size_t i = 0; i < size; ++i) {
            double along = 0;
            for (std::size_t d = 0; d < size; ++d) along += rows[i][d] * (x[d] - shift[d]);
            sum += std::pow(1000.0, static_cast<double>(i) / static_cast<double>(size - 1)) * along * along;
        }
        return sum;
    };
}

double steps(const Values& x) {
    static const Values shift = shifted(5, 3, 9);
    double sum = 0;
    for (std::size_t d = 0; d < 5; ++d) sum += square(std::floor((x[d] - shift[d]) * 1.5 + 0.5));
    return sum;
}

/// Integers that pull together.
double integers(const Values& x) {
    constexpr std::array best{3.0, 14.0, 7.0, 18.0, 11.0, 5.0};
    double sum = 0, common = 0;
    for (std::size_t d = 0; d < 6; ++d) {
        sum += static_cast<double>(d + 1) * square(x[d] - best[d]);
        common += x[d] - best[d];
    }
    return sum + 2 * square(common) + 10 * std::abs((x[0] - best[0]) - (x[1] - best[1]));
}

/// Shaped like a training run: learning rate, weight decay, batch size, activation, optimizer, depth, momentum (of the
/// first optimizer alone) and dropout. The best learning rate depends on nearly all of them, and above it training
/// breaks.
double training(const Values& x) {
    const double rate = std::log10(x[0]), decay = std::log10(x[1]), batch = std::log2(x[2]);
    const auto activation = static_cast<std::size_t>(x[3]);
    const int optimizer = static_cast<int>(x[4]);
    const double depth = x[5], momentum = x[6], dropout = x[7];
    double best_rate = (optimizer == 0 ? -1.2 : optimizer == 1 ? -3.0 : -2.8) + 0.15 * (batch - 6) - 0.08 * (depth - 4);
    if (optimizer == 0) best_rate -= momentum - 0.9;
    const double off = rate - best_rate;
    double loss = (off < 0 ? 0.06 : 0.10) * off * off;
    if (off > 0.9) loss += 1.2 / (1 + std::exp(-12 * (off - 1.1)));
    loss +=
        0.015 * square(decay - (-3.2 + 0.15 * (batch - 6) + (optimizer == 2 ? 1 : 0))) + 0.006 * square(batch - 6.5);
    loss += std::array{0.05, 0.012, 0.0, 0.03}[activation];
    if (optimizer == 0) loss += 0.01 + 0.25 * square(momentum - 0.88);
    if (optimizer == 1) loss += 0.015;
    loss += 0.008 * square(depth - 4 - (activation == 2 ? 1 : 0)) + 0.25 * square(dropout - 0.2 - 0.02 * (depth - 4));
    if (depth < 3) loss += 0.02 * std::abs(dropout - 0.2);
    return loss;
}
Space training_space() {
    return named({real(1e-5, 1, true), real(1e-6, 1e-1, true), integer(16, 1024, true), categorical(4), categorical(3),
                  integer(1, 8), when(real(0, 0.99), "x4", 0), real(0, 0.6)});
}

/// One of three kinds of model, two of which have parameters of their own.
double conditional(const Values& x) {
    const double strength = std::log10(x[5]);
    double loss = 0.01 * square(strength + 1.3) + 0.0004 * square(x[6] - 12);
    if (x[0] == 0) {
        const double rate = std::log10(x[2]) + 1.4;
        return loss + 0.006 * square(x[1] - 6) + 0.12 * rate * rate + 0.01 * std::abs(x[1] - 6) * std::abs(rate);
    }
    if (x[0] == 1) return loss + 0.03 + 0.02 * square(std::log10(x[3]) + 2) + 0.3 * square(x[4] - 0.7);
    return loss + 0.06 + 0.05 * square(std::sin(3 * strength));
}
Space conditional_space() {
    return named({categorical(3), when(integer(2, 12), "x0", 0), when(real(1e-3, 1, true), "x0", 0),
                  when(real(1e-6, 10, true), "x0", 1), when(real(0.1, 1), "x0", 1), real(1e-4, 10, true),
                  integer(1, 30)});
}

/// Six choices among five, each with a cost of its own and one with each other.
class Choices {
   public:
    Choices() {
        std::mt19937 generator(11);
        for (double& a : alone_) a = uniform(generator);
        for (double& p : paired_) p = 0.35 * uniform(generator);
    }
    double operator()(const Values& x) const {
        double sum = 0;
        std::size_t pair = 0;
        for (std::size_t i = 0; i < 6; ++i) {
            sum += alone_[i * 5 + at(x, i)];
            for (std::size_t j = i + 1; j < 6; ++j, ++pair) sum += paired_[pair * 25 + at(x, i) * 5 + at(x, j)];
        }
        return sum;
    }
    [[nodiscard]] double minimum() const {
        double least = INFINITY;
        Values x(6);
        for (int number = 0; number < 15625; ++number) {
            int rest = number;
            for (double& v : x) {
                v = rest % 5;
                rest /= 5;
            }
            least = std::min(least, (*this)(x));
        }
        return least;
    }

   private:
    static std::size_t at(const Values& x, std::size_t i) { return static_cast<std::size_t>(x[i]); }
    std::array<double, 30> alone_{};
    std::array<double, 15 * 25> paired_{};
};

/// Hartmann's function moved by two choices, with two integers beside it.
double mixed(const Values& x) {
    constexpr std::array moves{0.0, 0.15, -0.12, 0.3}, costs{0.0, 0.25, 0.4, 0.6};
    constexpr std::array other_costs{0.2, 0.0, 0.35};
    const auto first = static_cast<std::size_t>(x[3]), second = static_cast<std::size_t>(x[4]);
    Values y(x.begin(), x.begin() + 3);
    y[0] += moves[first];
    if (second == 1) y[2] -= moves[(first + 1) % 4] / 2;
    return hartmann3(y) - hartmann3_minimum + costs[first] + other_costs[second] + 0.02 * square(x[5] - 7) +
           0.02 * square(x[6] - 2 - 0.3 * (x[5] - 7));
}

// Held-out functions

double sphere(const Values& x) {
    double sum = 0;
    for (const double v : x) sum += v * v;
    return sum;
}

/// Rastrigin's function with its minimum at 0.
double rastrigin_centred(const Values& x) {
    double sum = 0;
    for (const double v : x) sum += 10 + v * v - 10 * std::cos(2 * pi * v);
    return sum;
}

/// An ellipsoid along the axes, whose curvatures differ by a factor of a million.
double separable_ellipsoid(const Values& x) {
    double sum = 0;
    for (std::size_t d = 0; d < x.size(); ++d)
        sum += std::pow(1e6, static_cast<double>(d) / static_cast<double>(x.size() - 1)) * x[d] * x[d];
    return sum;
}

double griewank_centred(const Values& x) {
    double sum = 0, product = 1;
    for (std::size_t d = 0; d < x.size(); ++d) {
        sum += x[d] * x[d] / 4000;
        product *= std::cos(x[d] / std::sqrt(static_cast<double>(d + 1)));
    }
    return 1 + sum - product;
}

double schaffer_pairs(const Values& x) {
    double sum = 0;
    for (std::size_t d = 0; d + 1 < x.size(); ++d) {
        const double squares = x[d] * x[d] + x[d + 1] * x[d + 1];
        sum += 0.5 + (square(std::sin(std::sqrt(squares))) - 0.5) / square(1 + 0.001 * squares);
    }
    return sum;
}

double rounded_sphere(const Values& x) {
    double sum = 0;
    for (const double v : x) sum += square(std::floor(v + 0.5));
    return sum;
}

/// A function moved away from the middle.
auto moved(std::size_t dimensions, double reach, unsigned seed, double (*function)(const Values&)) {
    return [shift = shifted(dimensions, reach, seed), function](Values x) {
        for (std::size_t d = 0; d < x.size(); ++d) x[d] -= shift[d];
        return function(x);
    };
}

/// A function turned and moved.
auto turned(std::size_t dimensions, double reach, unsigned seed, double (*function)(const Values&)) {
    return
        [rows = rotation(dimensions, seed), shift = shifted(dimensions, reach, seed + 1), function](const Values& x) {
            Values y(x.size());
            for (std::size_t i = 0; i < y.size(); ++i)
                for (std::size_t d = 0; d < x.size(); ++d) y[i] += rows[i][d] * (x[d] - shift[d]);
            return function(y);
        };
}

/// The training run with AdamW and the third activation, so that six parameters are left.
double shorter_training(const Values& x) { return training({x[0], x[2], x[1], 2, x[3], x[4], 0.9, x[5]}); }
Space shorter_training_space() {
    return named({real(1e-5, 1, true), integer(16, 1024, true), real(1e-6, 1e-1, true), categorical(3), integer(1, 8),
                  real(0, 0.6)});
}

/// Five choices with costs of their own, three of which move the best values of three real parameters.
double choices_and_reals(const Values& x) {
    constexpr double costs[5][5] = {
        {0.45, 0.10, 0, 0.72}, {0.31, 0, 0.58, 0.22}, {0, 0.64, 0.17}, {0.9, 0.4, 0.26, 0, 0.55}, {0.35, 0}};
    double sum = 4 * square(x[5] - 0.2 - 0.15 * x[0]) + 3 * square(x[6] - 0.7 + 0.1 * x[3]) +
                 0.5 * square(std::log10(x[7]) + 2.2 - 0.3 * x[1]);
    for (std::size_t i = 0; i < 5; ++i) sum += costs[i][static_cast<std::size_t>(x[i])];
    return sum;
}
Space choices_and_reals_space() {
    return named({categorical(4), categorical(4), categorical(3), categorical(5), categorical(2), real(0, 1),
                  real(0, 1), real(1e-4, 1, true)});
}

/// Uniform parameters, in the order of the space.
Values drawn(const Space& space, std::mt19937& generator) {
    Values x;
    for (const Dimension& d : space) {
        const double u = uniform(generator);
        if (d.kind == Kind::categorical)
            x.push_back(std::floor(u * static_cast<double>(d.choices.size())));
        else if (d.log)
            x.push_back(std::exp(std::log(d.low) + u * std::log(d.high / d.low)));
        else if (d.kind == Kind::integer)
            x.push_back(d.low + std::floor(u * (d.high - d.low + 1)));
        else
            x.push_back(d.low + u * (d.high - d.low));
        if (d.kind == Kind::integer) x.back() = std::round(x.back());
    }
    return x;
}

}  // namespace

std::vector<Problem> problems() {
    const Choices choices;
    const double branin_minimum = 0.39788735772973816;
    std::vector<Problem> all{
        {"branin", named({real(-5, 10), real(0, 15)}), branin, branin_minimum},
        {"hart3", cube(3, 0, 1), hartmann3, hartmann3_minimum},
        {"hart6", cube(6, 0, 1), hartmann6, hartmann6_minimum},
        {"rosen4", cube(4, -5, 10), rosenbrock},
        {"rosen10", cube(10, -5, 10), rosenbrock},
        {"ackley5", cube(5, -32.768, 32.768), ackley(5, 1)},
        {"ackley10", cube(10, -32.768, 32.768), ackley(10, 2)},
        {"rastrigin3", cube(3, -5.12, 5.12), rastrigin(3, 3)},
        {"rastrigin5", cube(5, -5.12, 5.12), rastrigin(5, 4)},
        {"levy6", cube(6, -10, 10), levy},
        {"griewank6", cube(6, -600, 600), griewank},
        {"schwefel4", cube(4, -500, 500), schwefel},
        {"styb5", cube(5, -5, 5), styblinski, -39.16616570377142 * 5},
        {"schaffer2", cube(2, -100, 100), schaffer},
        {"rotell5", cube(5, -5, 5), ellipsoid(5, 7)},
        {"rotell10", cube(10, -5, 5), ellipsoid(10, 8)},
        {"step5", cube(5, -5, 5), steps},
        {"int6", named(Space(6, integer(0, 20))), integers},
        {"hpmix8", training_space(), training},
        {"cond7", conditional_space(), conditional},
        {"cat6", named(Space(6, categorical(5))), choices, choices.minimum()},
        {"mixhart",
         named({real(0, 1), real(0, 1), real(0, 1), categorical(4), categorical(3), integer(0, 10), integer(0, 10)}),
         mixed},
        {"branin_n2", named({real(-5, 10), real(0, 15)}), branin, branin_minimum, 2.0},
        {"hart6_n", cube(6, 0, 1), hartmann6, hartmann6_minimum, 0.15},
        {"hpmix8_n", training_space(), training, 0, 0.03},
        {"ackley5_n", cube(5, -32.768, 32.768), ackley(5, 1), 0, 1.0},
        // Four of twenty parameters count.
        {"hart20", cube(20, 0, 1),
         [](const Values& x) {
             return hartmann6({x[2], x[5], x[11], x[17], 0.311652, 0.6573});
         },
         hartmann6_minimum},
        {"levy20", cube(20, -10, 10),
         [](const Values& x) {
             return levy({x[1] - 2, x[7] - 2, x[13] - 2, x[18] - 2});
         }},
    };
    std::vector<Problem> held_out{
        {"sphere5", cube(5, -5, 5), moved(5, 3, 101, sphere)},
        {"turnell4", cube(4, -5, 5), ellipsoid(4, 102)},
        {"axisell8", cube(8, -5, 5), moved(8, 3, 103, separable_ellipsoid)},
        {"turnrast3", cube(3, -5.12, 5.12), turned(3, 2.5, 104, rastrigin_centred)},
        {"turngrie6", cube(6, -600, 600), turned(6, 250, 105, griewank_centred)},
        {"turnscha3", cube(3, -100, 100), turned(3, 40, 106, schaffer_pairs)},
        {"step10", cube(10, -5, 5), moved(10, 3, 107, rounded_sphere)},
        {"hpmix6", shorter_training_space(), shorter_training},
        {"cat5real3", choices_and_reals_space(), choices_and_reals},
    };
    for (Problem& problem : held_out) {
        problem.held_out = true;
        all.push_back(std::move(problem));
    }
    for (Problem& problem : all) {
        std::mt19937 generator(123);
        Values middling;
        for (int i = 0; i < 4000; ++i) middling.push_back(problem.function(drawn(problem.space, generator)));
        std::nth_element(middling.begin(), middling.begin() + 2000, middling.end());
        problem.reference = middling[2000] - problem.minimum;
    }
    return all;
}

}  // namespace hpo::bench
