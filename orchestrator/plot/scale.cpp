#include "orchestrator/plot/scale.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "hpo/text.hpp"

namespace hpo::plot {

namespace {

/// Returns the least of 1, 2, 5, 10, 20, ... times a power of ten of which at most `most` multiples lie in `span`.
double round_step(double span, int most) {
    const double least = span / std::max(1, most);
    const double power = std::pow(10.0, std::floor(std::log10(least)));
    for (const double digit : {1.0, 2.0, 5.0})
        if (digit * power >= least * (1 - 1e-9)) return digit * power;
    return 10 * power;
}

/// Returns the same for seconds, in steps that people read on a clock.
double clock_step(double span, int most) {
    for (const double step : {1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0,
                              7200.0, 14400.0, 21600.0, 43200.0, 86400.0})
        if (span / step <= most) return span < 2 ? round_step(span, most) : step;
    return 86400 * std::max(1.0, round_step(span / 86400, most));
}

std::vector<double> log_ticks(double low, double high, int most) {
    std::vector<double> powers;
    for (double power = std::ceil(std::log10(low) - 1e-9); power <= std::log10(high) + 1e-9; ++power)
        powers.push_back(std::pow(10.0, power));
    if (powers.size() < 2) return {low, high};
    std::vector<double> kept;
    const auto every = (powers.size() + static_cast<std::size_t>(most) - 1) / static_cast<std::size_t>(most);
    for (std::size_t i = 0; i < powers.size(); i += every) kept.push_back(powers[i]);
    return kept;
}

}  // namespace

double Scale::at(double value) const {
    if (!log) return (value - low) / (high - low);
    return value > 0 ? (std::log(value) - std::log(low)) / (std::log(high) - std::log(low)) : NAN;
}

std::string Scale::text(double value) const {
    switch (unit) {
        case Unit::number:
            return trimmed_number(std::abs(value) < 1e-9 * (high - low) && !log ? 0 : value);
        case Unit::whole:
            return trimmed_number(std::round(value));
        case Unit::share:
            return std::to_string(std::lround(100 * value)) + " %";
        case Unit::seconds:
            return value > 0 ? duration_text(value) : "0";
        case Unit::choice: {
            const auto index = static_cast<std::size_t>(std::lround(std::max(0.0, value)));
            return index < names.size() ? names[index] : std::string();
        }
    }
    return {};
}

std::vector<double> Scale::ticks(int most) const {
    most = std::max(most, 2);
    std::vector<double> values;
    if (unit == Unit::choice) {
        const int every = (static_cast<int>(names.size()) + most - 1) / most;
        for (int i = 0; i < static_cast<int>(names.size()); i += every) values.push_back(i);
        return values;
    }
    if (unit == Unit::whole && std::ceil(low) == std::floor(high)) return {std::ceil(low)};
    if (log) return log_ticks(low, high, most);
    // A step whose multiples miss the range, as 1 in 0.2 to 0.9, tells nothing: the next finer one may.
    for (int parts = most - 1; parts <= 2 * most && values.size() < 2; ++parts) {
        values.clear();
        double step = unit == Unit::seconds ? clock_step(high - low, parts) : round_step(high - low, parts);
        if (unit == Unit::whole) step = std::max(1.0, step);
        for (double multiple = std::ceil(low / step - 1e-9); multiple * step <= high + 1e-9 * (high - low); ++multiple)
            values.push_back(multiple * step);
    }
    if (values.size() < 2 || values.size() > static_cast<std::size_t>(most)) values = {low, high};
    return values;
}

Scale scale(std::string label, double low, double high, Scale::Unit unit, bool log) {
    if (!(high > low)) {
        const double about = unit == Scale::Unit::whole || low == 0 ? 0.5 : std::abs(low) * 0.05;
        low -= about, high = low + 2 * about;
    }
    return {.label = std::move(label), .low = low, .high = high, .unit = unit, .log = log && low > 0};
}

std::pair<double, double> useful_range(const std::vector<double>& best_first, double slack) {
    if (best_first.empty()) return {0, 1};
    const double best = best_first.front(), worst = best_first.back();
    const double reach = 3 * (best_first[(best_first.size() - 1) * 3 / 4] - best);
    const double end = reach != 0 && std::abs(worst - best) > slack * std::abs(reach) ? best + reach : worst;
    return {std::min(best, end), std::max(best, end)};
}

}  // namespace hpo::plot
