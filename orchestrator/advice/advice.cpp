#include "orchestrator/advice/advice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "hpo/text.hpp"
#include "orchestrator/scheduling/throughput_curve.hpp"

namespace hpo {

namespace {

constexpr double worth_changing = 1.1;   // times the work of now
constexpr double contended = 20;         // percent of the time in which processes waited for a CPU
constexpr double busy_host = 85;         // percent
constexpr double idle_host = 60;         // percent, below which trials of a script wait for something else
constexpr double waiting_trial = 0.6;    // cores, below which a trial waits for something else most of the time
constexpr double busy_io = 10;           // percent of the time in which processes waited for I/O
constexpr double idle_gpu = 50;          // percent
constexpr double rarely_training = 0.6;  // share of the workers' time

std::string short_time(double seconds) { return seconds < 1e-3 ? latency_text(seconds) : duration_text(seconds); }

class Adviser {
   public:
    explicit Adviser(const StudyFacts& facts) : facts_(facts) {}

    Advice advise() {
        judge_share_of_training();
        if (facts_.native)
            judge_native();
        else
            judge_script();
        advice_.to_measure.insert(advice_.to_measure.end(), facts_.refused.begin(), facts_.refused.end());
        std::stable_sort(advice_.changes.begin(), advice_.changes.end(),
                         [](const Change& a, const Change& b) { return a.gain.value_or(0) > b.gain.value_or(0); });
        return std::move(advice_);
    }

   private:
    [[nodiscard]] std::optional<double> host(Quantity quantity) const { return average({"host", quantity}); }
    [[nodiscard]] std::optional<double> average(const Channel& channel) const {
        const auto figures = find(facts_.telemetry, channel);
        return figures ? std::optional(figures->average) : std::nullopt;
    }
    void say(const std::string& sentence) { advice_.evidence.push_back(sentence); }

    void judge_share_of_training() {
        if (facts_.busy >= rarely_training) return;
        say("Workers trained only " + percent_text(facts_.busy) +
            " of the time; the rest went to starting and ending trials.");
    }

    // ---- Native trials: the parts of a step are known.

    void judge_native() {
        if (facts_.options.empty() || !facts_.step) return;
        const TrainingOption& now = facts_.options.front();
        const double step = now.measured.value_or(*facts_.step);
        if (now.measured && *facts_.step > 1.5 * *now.measured)
            say("A step of the typical trial took " + duration_text(*facts_.step) + " in the study and takes " +
                duration_text(*now.measured) + " alone now: trials at once, or other programs, slowed it down.");
        const DeviceCalibration* device = calibration_for(facts_.devices, now.backend);
        std::optional<StepTime> predicted;
        if (device) predicted = predict_step(*device, now.work);
        if (predicted) {
            explain(*device, now, *predicted, step);
        } else {
            advice_.to_measure.push_back(device ? "products in " + now.work.precision + " were not measured on " +
                                                      now.backend + ": hpo bench devices --again"
                                                : "the calibration of " + now.backend +
                                                      " is missing on this machine: hpo bench devices");
            if (measured_anything()) judge_by_batches(step);
        }
        compare_options(step, predicted);
        if (!use_found_number()) use_all_cores();
        judge_contention();
    }

    [[nodiscard]] bool measured_anything() const {
        return std::any_of(facts_.options.begin(), facts_.options.end(),
                           [](const TrainingOption& option) { return option.measured.has_value(); });
    }

    /// The parts of a step. The rest that the calibration does not explain is the cost of each update.
    void explain(const DeviceCalibration& device, const TrainingOption& now, const StepTime& predicted, double step) {
        const double rest = std::max(0.0, step - predicted.seconds());
        // The optimizer passes over all weights in each update, so this part of the memory's time is a cost of updates
        // as well: half as many updates save half of it.
        double passes = 0;
        for (const TrainingOption& option : facts_.options) {
            if (option.backend != now.backend || option.work.precision != now.work.precision) continue;
            const double left = option.work.updates / now.work.updates;
            if (left > 0.75 || option.batch_size <= now.batch_size) continue;
            if (const auto larger = predict_step(device, option.work))
                passes = std::clamp((predicted.memory - larger->memory) / (1 - left), 0.0, predicted.memory);
            break;
        }
        const double memory = predicted.memory - passes;
        // While processes wait for the CPU, the unexplained rest is no cost of updates.
        const bool contention = contended_cpu();
        const double launches = predicted.launches + passes + (contention ? 0 : rest);
        const double total = std::max(step, predicted.seconds());
        const std::string precision = precision_on(device, now.work);
        const double peak = device.peak(precision);
        say("A step takes " + duration_text(step) + ": " + percent_text(predicted.products / total) +
            " matrix products, " + percent_text(memory / total) + " moving activations, " +
            percent_text(launches / total) +
            " fixed cost of an update: starting operations, the "
            "optimizer (" +
            short_time(step / std::max(1.0, now.work.updates)) + " an update of " + std::to_string(now.batch_size) +
            " samples).");
        if (step < predicted.seconds() / 2)
            say("It is " + percent_text(predicted.seconds() / step - 1) +
                " faster than the calibration predicts: "
                "measure again with hpo bench devices --again.");
        else if (peak > 0 && step > 0)
            say("It reaches " + percent_text(now.work.flops / step / peak) + " of the " + flops_text(peak) + " that " +
                now.backend + " was measured to reach in " + precision +
                (now.work.precision == "auto" ? ", the fastest there for precision: auto." : "."));
        const double most = std::max({predicted.products, memory, launches});
        // Products of few rows reach a small part of the peak: larger batches make them faster too.
        const bool small_products = predicted.products > 0 && now.work.flops / predicted.products < 0.3 * peak;
        if (contention && rest > most) {
            advice_.bound = Bound::cpu;
            return say(percent_text(rest / total) + " of a step's time is not explained by its computations.");
        }
        if (most == launches || (most == predicted.products && small_products))
            advice_.bound = Bound::launches;
        else
            advice_.bound = most == memory ? Bound::memory : Bound::compute;
        if (small_products)
            say("Its products are small: they reach " + percent_text(now.work.flops / predicted.products / peak) +
                " of that rate.");
    }

    /// Judges without a calibration: if larger batches were measured to be faster, each update has a cost of its own.
    void judge_by_batches(double step) {
        for (const TrainingOption& option : facts_.options)
            if (option.measured && option.batch_size > facts_.options.front().batch_size &&
                *option.measured < 0.7 * step)
                advice_.bound = Bound::launches;
        if (advice_.bound == Bound::launches)
            say("Larger batches were measured to be faster: the fixed cost of an update takes most of the "
                "time.");
    }

    /// The time of a step with an option: measured, else predicted, with the same unexplained cost of an update on the
    /// same backend.
    [[nodiscard]] std::optional<double> time_of(const TrainingOption& option, double step,
                                                const std::optional<StepTime>& now) const {
        if (option.measured) return option.measured;
        const DeviceCalibration* device = calibration_for(facts_.devices, option.backend);
        if (!device) return std::nullopt;
        const auto predicted = predict_step(*device, option.work);
        if (!predicted) return std::nullopt;
        const TrainingOption& first = facts_.options.front();
        if (option.backend != first.backend || !now) return predicted->seconds();
        if (contended_cpu()) return predicted->seconds() * step / now->seconds();  // other programs slow all alike
        const double rest = std::max(0.0, step - now->seconds()) / std::max(1.0, first.work.updates);
        // A trial may be faster than its products were measured to be: then so is the option.
        const double faster = std::min(1.0, step / now->seconds());
        return predicted->seconds() * faster + rest * option.work.updates;
    }

    /// Chooses for each group the option with the largest gain; of nearly equal ones the first, which changes least.
    void compare_options(double step, const std::optional<StepTime>& now) {
        constexpr double nearly = 0.8;  // a larger batch also changes how a trial learns
        std::map<std::string, Change> best;
        for (const TrainingOption& option : facts_.options) {
            if (option.changes.empty()) continue;
            const auto seconds = time_of(option, step, now);
            if (!seconds || *seconds <= 0) continue;
            const double gain = step / *seconds;
            const auto found = best.find(option.group);
            if (gain < worth_changing || (found != best.end() && nearly * gain <= *found->second.gain)) continue;
            best[option.group] = {.keys = option.changes,
                                  .group = option.group,
                                  .gain = gain,
                                  .basis = option.measured ? "measured now" : "predicted from the calibration",
                                  .why = option.why};
        }
        for (auto& [group, change] : best) advice_.changes.push_back(std::move(change));
    }

    /// Prefers measurements of `parallel: auto` to an estimate. Returns true if there are any.
    bool use_found_number() {
        const FoundConcurrency& found = facts_.found_at_once;
        if (found.number == 0) return false;
        const std::string found_by = "resources.parallel: auto has measured on this machine that ";
        if (found.number == facts_.at_once) {
            say(found_by + std::to_string(found.number) + " at once are the right number for these trials.");
            return true;
        }
        ThroughputCurve curve;
        for (const RateChange& change : found.changes) curve.add(change);
        const auto known = curve.gain(facts_.at_once, found.number);
        if (!known) return false;
        const double gain = std::exp(known->log_gain);
        char times[16];
        std::snprintf(times, sizeof times, "%.2f", gain);
        say(found_by + std::to_string(found.number) + " at once do " + times + " times the work of " +
            std::to_string(facts_.at_once) + '.');
        if (gain >= worth_changing)
            advice_.changes.push_back({.keys = {{"resources.parallel", "auto"}},
                                       .group = "parallel",
                                       .gain = gain,
                                       .basis = "measured by parallel: auto",
                                       .why = "It begins with the " + std::to_string(found.number) +
                                              " that it has found, and checks them again."});
        return true;
    }

    /// Native trials compute with one thread each.
    void use_all_cores() {
        const auto cores = static_cast<std::int64_t>(facts_.cores);
        const auto used = host(Quantity::utilization);
        if (facts_.on_device || facts_.at_once >= cores || !used || *used > idle_host) return;
        say("The CPU was busy " + percent_text(*used / 100) + " of the time: " + counted(facts_.at_once, "trial") +
            " at once, of one thread each, on " + cores_text(facts_.cores) + ".");
        advice_.changes.push_back({.keys = {{"resources.parallel", "auto"}},
                                   .group = "parallel",
                                   .gain = static_cast<double>(cores) / static_cast<double>(facts_.at_once),
                                   .basis = "estimated, one trial a core",
                                   .why = "A trial for each core."});
    }

    [[nodiscard]] bool contended_cpu() const {
        return host(Quantity::cpu_pressure).value_or(0) >= contended &&
               host(Quantity::utilization).value_or(0) >= busy_host;
    }

    void judge_contention() {
        const auto waiting = host(Quantity::cpu_pressure), used = host(Quantity::utilization);
        if (!contended_cpu()) return;
        say("The CPU was busy " + percent_text(*used / 100) + " and processes waited for it in " +
            percent_text(*waiting / 100) +
            " of the time: more threads ran than there are cores. Native trials take one each, so other programs did.");
        if (advice_.bound == Bound::unknown) advice_.bound = Bound::cpu;
    }

    // ---- Scripts: they are seen from outside.

    void judge_script() {
        const auto used = host(Quantity::utilization);
        if (!used) {
            advice_.to_measure.push_back(
                "the use of the machine by trials: nothing was sampled, since they "
                "trained for a few seconds only, or an earlier version of hpo ran the study");
            return;
        }
        number_is_known_ = use_found_number();
        const auto waiting = host(Quantity::cpu_pressure), io = host(Quantity::io_pressure);
        const auto gpu = average({"gpu 0", Quantity::utilization});
        const auto own = average({"trials", Quantity::cores});
        const bool asks_too_much =
            facts_.threads && static_cast<double>(*facts_.threads * facts_.at_once) > facts_.cores;
        // Trials that use few of the cores wait for other programs, with any number of threads.
        const bool contention =
            *used >= busy_host && waiting.value_or(0) >= contended && (!own || *own > facts_.cores / 4);
        if (own) {
            const double each = *own / static_cast<double>(facts_.at_once);
            char text[160];
            std::snprintf(text, sizeof text, "Each trial used %.2g cores on average, with %lld at once on %s.", each,
                          static_cast<long long>(facts_.at_once), cores_text(facts_.cores).c_str());
            say(text);
            if (const double others = *used / 100 * facts_.cores - *own; others > 0.25 * facts_.cores) {
                std::snprintf(text, sizeof text, "Other programs used %.2g cores.", others);
                say(text);
            }
            if (each < waiting_trial && !facts_.on_device && !(contention && asks_too_much))
                return waits_for_data(100 * *own / facts_.cores, io);
        }
        if (contention) return too_many_threads(*used, *waiting);
        if (facts_.on_device && gpu) {
            if (*gpu >= idle_gpu) {
                say("GPU 0 was busy " + percent_text(*gpu / 100) + " of the time.");
                advice_.bound = Bound::compute;
                return;
            }
            say("GPU 0 was busy " + percent_text(*gpu / 100) + " of the time, the CPU " + percent_text(*used / 100) +
                ".");
            if (*used >= busy_host) {
                advice_.bound = Bound::cpu;
                return say("The CPU prepares less than the GPU could take.");
            }
            return waits_for_data(*used, io);
        }
        if (*used >= busy_host) {
            advice_.bound = Bound::compute;
            return say("The CPU was busy " + percent_text(*used / 100) + " of the time and nothing waited for it.");
        }
        if (*used < idle_host) return waits_for_data(*used, io);
        say("The CPU was busy " + percent_text(*used / 100) + " of the time.");
    }

    void too_many_threads(double used, double waiting) {
        advice_.bound = Bound::cpu;
        say("The CPU was busy " + percent_text(used / 100) + " and processes waited for it in " +
            percent_text(waiting / 100) + " of the time: more threads ran than the " + cores_text(facts_.cores) +
            " can run.");
        const auto each = std::max<std::int64_t>(
            1,
            static_cast<std::int64_t>(facts_.cores / static_cast<double>(std::max<std::int64_t>(1, facts_.at_once))));
        if (facts_.threads)
            say(std::to_string(facts_.at_once) + " trials at once with " + std::to_string(*facts_.threads) +
                " threads each ask for " + std::to_string(facts_.at_once * *facts_.threads) + " cores.");
        if (!facts_.threads_key.empty() && facts_.threads.value_or(each + 1) > each)
            advice_.changes.push_back(
                {.keys = {{facts_.threads_key, std::to_string(each)}},
                 .gain = {},
                 .basis = "not measured",
                 .why = "As many threads in all as there are cores: threads that take turns lose time by it."});
        else if (facts_.at_once > 1)
            advice_.changes.push_back({.keys = {{"resources.parallel", std::to_string(facts_.at_once / 2)}},
                                       .gain = {},
                                       .basis = "not measured",
                                       .why = "Fewer trials at once leave each of them the cores that it uses."});
        advice_.to_measure.push_back(
            "the gain of fewer threads: run a few trials with the change, and compare their it/s");
    }

    void waits_for_data(double used, const std::optional<double>& io) {
        advice_.bound = Bound::data;
        say("Trials used " + percent_text(used / 100) + " of the CPU: they wait for something else than cores" +
            (io.value_or(0) >= busy_io
                 ? ", and processes waited for I/O in " + percent_text(*io / 100) + " of the time: the disk is slow"
                 : std::string(", such as data that one thread loads, or a service")) +
            ".");
        if (!facts_.loaders_key.empty())
            advice_.changes.push_back(
                {.keys = {{facts_.loaders_key, std::to_string(std::max<std::int64_t>(
                                                   2 * std::max<std::int64_t>(1, facts_.loaders.value_or(1)),
                                                   static_cast<std::int64_t>(facts_.cores)))}},
                 .gain = {},
                 .basis = "not measured",
                 .why = "More loader threads prepare data while the trial computes."});
        // Trials that wait leave cores to others: twice as many at once, until nine tenths of the cores are used.
        const double more = std::min(8.0, 90 / std::max(used, 1.0));
        const auto number = static_cast<std::int64_t>(static_cast<double>(facts_.at_once) * more);
        if (number_is_known_) return;
        if (number > facts_.at_once && io.value_or(0) < busy_io)
            advice_.changes.push_back(
                {.keys = {{"resources.parallel", std::to_string(number)}},
                 .group = "parallel",
                 .gain = static_cast<double>(number) / static_cast<double>(facts_.at_once),
                 .basis = "estimated, if each waits for itself",
                 .why = "Trials that wait leave their cores to others: " + std::to_string(number) +
                        " at once use the cores that " + std::to_string(facts_.at_once) + " leave idle."});
        else
            advice_.to_measure.push_back(
                "the gain of faster data: run a few trials on a copy in memory "
                "(/dev/shm), and compare their it/s");
    }

    const StudyFacts& facts_;
    bool number_is_known_ = false;  ///< `parallel: auto` has found how many at once
    Advice advice_;
};

}  // namespace

std::string_view to_text(Bound bound) {
    switch (bound) {
        case Bound::data:
            return "data-bound";
        case Bound::cpu:
            return "CPU-bound";
        case Bound::launches:
            return "launch-bound";
        case Bound::memory:
            return "memory-bound";
        case Bound::compute:
            return "compute-bound";
        case Bound::unknown:
            break;
    }
    return "limited by nothing that was measured";
}

std::pair<std::int64_t, std::string> largest_that_fits(std::int64_t fits, std::int64_t most,
                                                       const std::function<std::string(std::int64_t)>& refuses) {
    std::string why;
    std::int64_t refused = fits;
    while (refused < most && why.empty()) {
        refused = std::min(most, 2 * std::max<std::int64_t>(1, fits));
        why = refuses(refused);
        if (why.empty()) fits = refused;
    }
    while (!why.empty() && refused - fits > 1) {
        const std::int64_t middle = fits + (refused - fits) / 2;
        if (std::string reason = refuses(middle); reason.empty())
            fits = middle;
        else
            refused = middle, why = std::move(reason);
    }
    return {std::max(fits, std::int64_t{0}), why};
}

const DeviceCalibration* calibration_for(const std::vector<DeviceCalibration>& devices, std::string_view backend) {
    const auto found = std::find_if(devices.begin(), devices.end(), [&](const DeviceCalibration& device) {
        return device.device == backend || std::string_view(device.device).starts_with(std::string(backend) + ' ');
    });
    return found == devices.end() ? nullptr : &*found;
}

Advice advise(const StudyFacts& facts) { return Adviser(facts).advise(); }

}  // namespace hpo
