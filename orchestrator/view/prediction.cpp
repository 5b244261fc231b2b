#include "orchestrator/view/prediction.hpp"

#include <cmath>
#include <cstdio>

#include "hpo/text.hpp"
#include "orchestrator/view/wrapped.hpp"

namespace hpo::view {

namespace {

/// Two digits are enough for a prediction.
double coarsely(double number) {
    if (!(number > 0)) return 0;
    const double unit = std::pow(10, std::floor(std::log10(number)) - 1);
    return std::round(number / unit) * unit;
}

std::string coarse_time(double seconds) {
    const double unit = seconds < 1 ? 0.01 : seconds < 10 ? 0.1 : seconds < 100 ? 1 : seconds < 3600 ? 5 : 60;
    return duration_text(std::max(unit, std::round(seconds / unit) * unit));
}

std::string prediction_row(const std::string& name, const std::string& text) {
    return name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') + text + '\n';
}

std::string number_text(double number) {
    char text[40];
    std::snprintf(text, sizeof text, number < 10 ? "%.2g" : "%.0f", coarsely(number));
    return text;
}

template <class Text>
std::string range_text(const PredictedRange& range, Text&& text) {
    const std::string low = text(range.low), middle = text(range.middle), high = text(range.high);
    if (low == high) return middle;
    return middle + " (" + low + " to " + high + ")";
}

std::string whole_text(double number) { return std::to_string(std::llround(number)); }

}  // namespace

std::string predicted_time_text(const PredictedRange& seconds) {
    const std::string low = coarse_time(seconds.low), high = coarse_time(seconds.high);
    return low == high ? "about " + low : low + " to " + high;
}

std::string draw_prediction(const PredictionReport& report) {
    const TimePrediction& prediction = report.prediction;
    const std::string step = report.study.script() ? " steps" : " epochs";
    std::string text = prediction_row("study", report.study.name + " on " + report.hardware.name);
    text += prediction_row("wall time", predicted_time_text(prediction.seconds) + ", in the middle " +
                                            coarse_time(prediction.seconds.middle) + " (" +
                                            counted(prediction.simulations, "simulation") + ")");
    if (report.took) {
        char error[32];
        std::snprintf(error, sizeof error, "%+.0f %%", 100 * (prediction.seconds.middle / *report.took - 1));
        text += prediction_row("it took", duration_text(*report.took) + ": the middle differs by " + error);
    }
    text += prediction_row("training", range_text(prediction.busy, percent_text) + " of the time of its " +
                                           (report.hardware.groups.empty() ? "cores" : "devices"));
    std::string ends = range_text(prediction.complete, whole_text) + " complete, " +
                       range_text(prediction.stopped, whole_text) + " stopped";
    if (prediction.diverged.high > 0) ends += ", " + range_text(prediction.diverged, whole_text) + " diverged";
    if (prediction.failed.high > 0) ends += ", " + range_text(prediction.failed, whole_text) + " failed";
    text += prediction_row("trials", std::to_string(prediction.trials) + ": " + ends);
    text += prediction_row("trained", range_text(prediction.steps, whole_text) + step + ", " +
                                          counted(prediction.at_once, "trial") + " at once");
    text += prediction_row("ends by", prediction.reason);
    if (prediction.cost) {
        const std::string low = number_text(prediction.cost->low), high = number_text(prediction.cost->high);
        char price[40];
        std::snprintf(price, sizeof price, "%g", *report.hardware.price_per_hour());
        text +=
            prediction_row("cost", (low == high ? "about " + low : low + " to " + high) + ", at " + price + " an hour");
    }
    text += '\n';
    for (const std::string& sentence : report.basis)
        text += (&sentence == &report.basis.front() ? "rests on    " : std::string(12, ' ')) +
                wrapped(sentence, 12, 100) + '\n';
    return text;
}

}  // namespace hpo::view
