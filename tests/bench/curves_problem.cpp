#include "tests/bench/curves_problem.hpp"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>

#include "hpo/random.hpp"
#include "hpo/result.hpp"
#include "orchestrator/sampling/policy.hpp"

namespace hpo::curves {

namespace {

std::string text_of(const std::string& path) {
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
    if (!file) throw Fatal(path + " cannot be read");
    std::string text;
    char buffer[1 << 16];
    for (int count = 0; (count = gzread(file.get(), buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(count));
    // Python writes numbers that are not finite as words that JSON does not have.
    for (const std::string word : {"-Infinity", "Infinity", "NaN"})
        for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos;)
            text.replace(at, word.size(), "null");
    return text;
}

double middle(std::vector<double> values) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

double square(double x) { return x * x; }

struct Table {
    std::vector<Point> points;
    std::vector<std::vector<double>> curves;
};

std::size_t nearest(const Table& table, const Point& point) {
    std::size_t best = 0;
    double least = INFINITY;
    for (std::size_t row = 0; row < table.points.size(); ++row) {
        double distance = 0;
        for (std::size_t d = 0; d < point.size(); ++d) distance += square(point[d] - table.points[row][d]);
        if (distance < least) least = distance, best = row;
    }
    return best;
}

}  // namespace

Problem recorded(const std::string& path) {
    const auto rows = nlohmann::json::parse(text_of(path));
    auto table = std::make_shared<Table>();
    std::map<std::string, std::vector<double>> values;
    std::vector<double> first;
    Problem problem;
    problem.name = std::filesystem::path(path).filename().string();
    problem.name = problem.name.substr(0, problem.name.find(".json"));
    problem.best = INFINITY;
    for (const auto& row : rows) {
        for (const auto& [name, value] : row.at("hp").items()) values[name].push_back(value.get<double>());
        auto& curve = table->curves.emplace_back();
        for (const auto& value : row.at("valid").at("loss")) {
            curve.push_back(value.is_null() ? std::nan("") : value.get<double>());
            if (std::isnan(curve.back())) break;
            problem.best = std::min(problem.best, curve.back());
        }
        problem.steps = std::max(problem.steps, curve.size());
        if (!curve.empty() && std::isfinite(curve[0])) first.push_back(curve[0]);
    }
    if (first.empty()) throw Fatal(path + " has no curve");
    problem.scale = middle(first) - problem.best;
    for (const auto& [name, all] : values) {
        Dimension d;
        d.name = name;
        d.low = *std::min_element(all.begin(), all.end());
        d.high = *std::max_element(all.begin(), all.end());
        d.log = d.low > 0 && middle(all) < d.low + 0.1 * (d.high - d.low);
        if (d.low < d.high) problem.space.push_back(d);
    }
    const CubeMap map = *CubeMap::make(problem.space, {.min_batch_size = 1, .scaled = false}, {});
    for (std::size_t row = 0; row < table->curves.size(); ++row) {
        Params params;
        for (const Dimension& d : problem.space) params[d.name] = values.at(d.name).at(row);
        table->points.push_back(*map.point(params));
    }
    problem.train = [table](const Point& point, std::size_t) {
        const std::size_t row = nearest(*table, point);
        return Training{row, table->curves[row], {}};
    };
    return problem;
}

std::vector<Problem> families() {
    constexpr std::size_t steps = 50;
    struct Family {
        const char* name;
        double (*value)(double end, double pace, double t);  ///< at t of 0 to 1; `end` of 0 to 1, 0 the best
        double noise;
        bool breaks;
    };
    // A trial's value falls from 1 to its end; `pace` is drawn from the point, independently of the end.
    static constexpr auto fall = [](double end, double t, double time) {
        return end + (1 - end) * (std::exp(-t / time) - std::exp(-1 / time)) / (1 - std::exp(-1 / time));
    };
    const Family all[] = {
        {"early", [](double end, double, double t) { return fall(end, t, 0.08); }, 0.003, false},
        // The sooner a curve falls, the higher it ends, in addition to its own end.
        {"crossing",
         [](double end, double pace, double t) { return fall(end, t, 0.03 + 0.6 * (1 - end) * (0.5 + pace)); }, 0.003,
         false},
        // The curves do not differ before half of the time, at least.
        {"late",
         [](double end, double pace, double t) {
             const double at = 0.5 + 0.35 * pace;
             return t < at ? 1 - 0.05 * t : end + (1 - 0.05 * at - end) * std::exp(-(t - at) / 0.04);
         },
         0.003, false},
        // The best curves of the first half are the worst of the second.
        {"opposed",
         [](double end, double, double t) { return t < 0.4 ? 1 - 0.5 * t * (0.3 + end) : fall(end, t - 0.4, 0.12); },
         0.003, false},
        // Ends differ by a tenth of the common fall, under noise.
        {"flat", [](double end, double, double t) { return 0.9 + 0.1 * (end * t + (1 - t)); }, 0.02, false},
        {"noisy", [](double end, double pace, double t) { return fall(end, t, 0.1 + 0.1 * pace); }, 0.1, false},
        {"broken", [](double end, double pace, double t) { return fall(end, t, 0.05 + 0.2 * pace); }, 0.003, true},
    };
    std::vector<Problem> problems;
    for (const Family& family : all) {
        Problem problem;
        problem.name = family.name;
        problem.steps = steps;
        for (int d = 0; d < 4; ++d) {
            Dimension dimension;
            dimension.name = "x" + std::to_string(d);
            problem.space.push_back(dimension);
        }
        problem.best = family.value(0, 0.5, 1);
        problem.scale = family.value(0.5, 0.5, 1.0 / steps) - problem.best;
        problem.train = [family](const Point& x, std::size_t trial) {
            const double valley = square(x[0] - 0.62) + 0.6 * square(x[1] - 0.27) +
                                  1.5 * square(x[2] - 0.4 - 0.5 * (x[0] - 0.62)) + 0.1 * square(x[3] - 0.8);
            const double end = std::min(1.0, 1.3 * std::sqrt(valley) * (0.9 + 0.1 * std::cos(9 * x[1])));
            const double pace = 0.5 + 0.5 * std::sin(7 * x[3] + 3 * x[1]);
            Training made;
            made.row = trial;
            // Training breaks for long steps, and the best points lie close to that border.
            const bool breaks = family.breaks && x[0] > 0.7;
            const auto last = breaks ? static_cast<std::size_t>(1 + 20 * (1 - x[0]) * 3.3) : steps;
            for (std::size_t step = 1; step <= steps; ++step) {
                const double value = family.value(end, pace, static_cast<double>(step) / steps);
                double noise = -6;
                for (std::uint64_t i = 0; i < 12; ++i) noise += draw_unit(trial, Purpose::synthetic, step, i);
                made.truth.push_back(value);
                made.seen.push_back(step > last ? std::nan("") : value + family.noise * noise);
                if (step > last) break;
            }
            return made;
        };
        problems.push_back(std::move(problem));
    }
    return problems;
}

std::vector<Problem> laws() {
    constexpr std::size_t steps = 27;
    struct Law {
        const char* name;
        double (*value)(const Point& x, double step);
        double noise;
    };
    static constexpr auto exponential = [](const Point& x, double step) {
        const double lr = -4 + 4 * x[0], width = std::log(16.0) + std::log(64.0) * x[1];
        const double end = 0.1 + 0.1 * square(lr + 1.7) + 0.02 * std::abs(width - std::log(200.0)) +
                           (x[2] > 2.0 / 3 ? 0.05 : 0) + 0.1 * std::abs(x[3] - 0.8);
        return end + 2 * std::exp(-(0.05 + 0.3 * std::pow(10, 0.3 * lr)) * step);
    };
    static constexpr auto power = [](const Point& x, double step) {
        return 0.1 + 0.3 * std::abs(x[1] - 0.6) + 1.5 * std::pow(step, -0.33 - 0.27 * x[0]) * (1 + x[1]);
    };
    const Law all[] = {
        {"exponential", exponential, 0},
        {"power", power, 0},
        {"exponential, noise", exponential, 0.005},
        {"power, noise", power, 0.01},
        {"decay",
         [](const Point& x, double step) {
             const double at = 3 + std::floor(24 * x[1]), smooth = 0.55 + 0.1 * x[0] + 1.5 * std::exp(-0.15 * step);
             return step < at ? smooth : smooth - 0.4 * (1 - std::exp(-0.3 * (step - at))) * std::min(1.0, at / 18);
         },
         0.004},
        {"late",
         [](const Point& x, double step) {
             const double smooth = 1.1 + 0.2 * x[0] + 2 * std::exp(-0.2 * step);
             return step < 12 ? smooth : smooth - (1 - std::abs(x[1] - 0.77)) * std::min(1.0, (step - 11) / 6);
         },
         0.004},
    };
    std::vector<Problem> problems;
    for (const Law& law : all) {
        Problem problem;
        problem.name = law.name;
        problem.steps = steps;
        for (int d = 0; d < 4; ++d) {
            Dimension dimension;
            dimension.name = "x" + std::to_string(d);
            problem.space.push_back(dimension);
        }
        problem.train = [law](const Point& x, std::size_t trial) {
            Training made;
            made.row = trial;
            for (std::size_t step = 1; step <= steps; ++step) {
                double noise = -6;
                for (std::uint64_t i = 0; i < 12; ++i) noise += draw_unit(trial, Purpose::synthetic, step, i);
                made.truth.push_back(law.value(x, static_cast<double>(step)));
                made.seen.push_back(made.truth.back() + law.noise * noise);
            }
            return made;
        };
        // Regrets are told from the best of many points.
        std::vector<double> firsts;
        problem.best = INFINITY;
        for (std::uint64_t i = 0; i < 4096; ++i) {
            Point x;
            for (std::uint64_t d = 0; d < 4; ++d) x.push_back(draw_unit(1, Purpose::synthetic, i, d));
            firsts.push_back(law.value(x, 1));
            problem.best = std::min(problem.best, law.value(x, steps));
        }
        std::nth_element(firsts.begin(), firsts.begin() + 2048, firsts.end());
        problem.scale = firsts[2048] - problem.best;
        problems.push_back(std::move(problem));
    }
    return problems;
}

}  // namespace hpo::curves
