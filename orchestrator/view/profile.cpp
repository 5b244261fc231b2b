#include "orchestrator/view/profile.hpp"

#include <cstdio>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/view/rates.hpp"
#include "orchestrator/view/table.hpp"

namespace hpo::view {

namespace {

std::string rounded_percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, share < 0.0995 ? "%.1f %%" : "%.0f %%", 100 * share);
    return text;
}

/// "2", or "0.05" for an operation that is not in each update.
std::string calls_text(double calls) { return with_digits(calls, 3); }

/// Returns which part of `peak` an operation achieves.
std::string of_peak_text(double rate, double peak) { return peak > 0 ? rounded_percent(rate / peak) : "-"; }

}  // namespace

std::string draw_profile(const TrainingProfile& profile, const DeviceCalibration* peaks, const Screen& screen) {
    std::string text = printable(profile.name) + ": batches of " + std::to_string(profile.batch_size);
    if (profile.micro_batches > 1) text += " in " + std::to_string(profile.micro_batches) + " micro-batches";
    text += ", " + std::to_string(profile.parameters) + " parameters, products in " + printable(profile.precision) +
            ", " + std::to_string(profile.updates) + " updates\n\n";
    Table table({{"OPERATION"},
                 {"SHAPE"},
                 {"CALLS", Table::Align::right},
                 {"TIME", Table::Align::right},
                 {"FROM", Table::Align::right},
                 {"TO", Table::Align::right},
                 {"SHARE", Table::Align::right},
                 {"RATE", Table::Align::right},
                 {"OF PEAK", Table::Align::right}});
    const double sum = profile.sum();
    for (const OperationTime& one : profile.operations) {
        const double seconds = one.time.seconds;
        std::string rate = "-", of_peak = "-";
        if (seconds > 0 && one.flops > 0) {
            rate = flops_text(one.flops / seconds);
            of_peak = of_peak_text(one.flops / seconds, peaks ? peaks->peak(profile.precision) : 0);
        } else if (seconds > 0 && one.bytes > 0) {
            rate = bandwidth_text(one.bytes / seconds);
            of_peak = of_peak_text(one.bytes / seconds, peaks ? peaks->memory_rate : 0);
        }
        table.add({printable(one.name), printable(one.shape), calls_text(one.calls), latency_text(seconds),
                   latency_text(one.time.least), latency_text(one.time.most),
                   sum > 0 ? rounded_percent(seconds / sum) : "-", rate, of_peak});
    }
    text += table.draw(screen) + '\n';
    text += "An update takes " + latency_text(profile.whole) +
            "; its operations one at a time, each with a wait for the " + "device, take " + latency_text(sum) + ".\n";
    if (!profile.loading.empty()) text += printable(profile.loading) + '\n';
    text += peaks ? "Peaks are from hpo bench devices. Cached data may exceed the memory's peak.\n"
                  : "Peaks are not known: hpo bench devices measures and keeps them.\n";
    return text;
}

}  // namespace hpo::view
