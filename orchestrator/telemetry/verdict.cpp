#include "orchestrator/telemetry/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "hpo/text.hpp"
#include "orchestrator/telemetry/text.hpp"

namespace hpo {

namespace {

// Thresholds in percent. They separate clear cases. Values between them produce no sentence.
constexpr double idle = 2;          // utilization of a device that does nothing
constexpr double poorly_used = 60;  // utilization that leaves much to gain
constexpr double busy = 90;
constexpr double small_kernels = 50;  // share of the power limit below which a busy GPU is filled only in part
constexpr double full_power = 80;
constexpr double cpu_contention = 40;  // time waited for CPU where more threads are runnable than there are cores
constexpr double io_bound = 15;
constexpr double memory_bound = 5;
constexpr double throttling = 5;
// A rise in power that an idle device does not show: a factor and a difference in watts.
constexpr double power_rise = 1.5, power_rise_watts = 20;

class Judge {
   public:
    Judge(const TelemetrySummary& summary, const VerdictContext& context) : summary_(summary), context_(context) {}

    std::vector<std::string> judge() {
        std::set<std::string> gpus;
        for (const auto& [channel, figures] : summary_)
            if (channel.source.starts_with("gpu ")) gpus.insert(channel.source);
        impossible_readings();
        for (const std::string& gpu : gpus) judge_gpu(gpu);
        judge_host(!gpus.empty());
        if (sentences_.empty()) nothing_at_its_limit();
        return sentences_;
    }

   private:
    [[nodiscard]] std::optional<ChannelSummary> of(const std::string& source, Quantity quantity) const {
        return find(summary_, {source, quantity});
    }
    [[nodiscard]] double average(const std::string& source, Quantity quantity) const {
        const auto found = of(source, quantity);
        return found ? found->average : 0;
    }
    void add(std::string sentence) { sentences_.push_back(std::move(sentence)); }

    void nothing_at_its_limit() {
        const auto utilization = of("host", Quantity::utilization);
        add("Nothing that was measured is at its limit" +
            (utilization
                 ? ": the CPU is busy " + value_text(Quantity::utilization, utilization->average) + " of the time."
                 : "."));
    }

    void impossible_readings() {
        for (const auto& [channel, figures] : summary_) {
            if (figures.impossible == 0) continue;
            add(name_of_source(channel.source) + ": " + std::to_string(figures.impossible) + " of " +
                std::to_string(figures.count + figures.impossible) + " readings of " +
                std::string(traits_of(channel.quantity).title) + " are impossible" +
                (figures.worst == 0 ? "" : " (" + value_text(channel.quantity, figures.worst) + ")") +
                " and are left out of the figures.");
        }
    }

    /// Returns the training speed of a study as text, or an empty string if none is known.
    [[nodiscard]] std::string progress() const {
        for (const auto& [channel, figures] : summary_)
            if (channel.quantity == Quantity::speed && figures.count > 0 && figures.average > 0)
                return channel.source + " trains at " + value_text(Quantity::speed, figures.average);
        return {};
    }

    /// Returns evidence that a device worked although its utilization is near 0, or an empty string if there is none.
    [[nodiscard]] std::string evidence_of_work(const std::string& gpu) const {
        const auto power = of(gpu, Quantity::power);
        if (power && power->most > power->least * power_rise && power->most > power->least + power_rise_watts)
            return "its power rose from " + value_text(Quantity::power, power->least) + " to " +
                   value_text(Quantity::power, power->most);
        if (const double traffic = average(gpu, Quantity::memory_utilization); traffic > idle)
            return "its memory was busy " + value_text(Quantity::memory_utilization, traffic) + " of the time";
        return {};
    }

    void judge_gpu(const std::string& gpu) {
        const std::string name = name_of_source(gpu);
        const auto utilization = of(gpu, Quantity::utilization);
        const auto limit = context_.power_limits.find(gpu);
        const auto power = of(gpu, Quantity::power);
        const double power_share = power && limit != context_.power_limits.end() && limit->second > 0
                                       ? 100 * power->average / limit->second
                                       : std::nan("");
        const std::string drawn = std::isnan(power_share) ? ""
                                                          : value_text(Quantity::power, power->average) + " of " +
                                                                value_text(Quantity::power, limit->second);
        if (!utilization) {
            add(name + ": its driver does not report its utilization" +
                (drawn.empty() ? "." : "; it draws " + drawn + "."));
        } else if (utilization->average < idle) {
            judge_idle_gpu(gpu, name, utilization->average);
        } else if (utilization->average < poorly_used) {
            add(name + " was busy " + value_text(Quantity::utilization, utilization->average) +
                " of the time: " + why_it_waits());
        } else if (utilization->average >= busy && power_share < small_kernels) {
            add(name + " was busy " + value_text(Quantity::utilization, utilization->average) +
                " of the time but drew only " + drawn +
                ": kernels are too small to fill it. Larger batches or more trials at once use the rest.");
        } else if (utilization->average >= busy && power_share >= full_power) {
            add(name + " is used fully: busy " + value_text(Quantity::utilization, utilization->average) +
                " of the time at " + drawn + ".");
        }
        if (const double share = average(gpu, Quantity::throttled); share > throttling)
            add(name + " lowered its clock for power or heat in " + value_text(Quantity::throttled, share) +
                " of the samples: improve its cooling or raise its power limit.");
    }

    void judge_idle_gpu(const std::string& gpu, const std::string& name, double utilization) {
        const std::string measured = value_text(Quantity::utilization, utilization);
        const std::string work = evidence_of_work(gpu), rate = progress();
        if (!work.empty())
            add(name + ": its utilization of " + measured + " is contradicted, because " + work +
                ". Believe the latter: some drivers do not count every kind of work.");
        else if (!rate.empty())
            add(name + " says " + measured + " while " + rate +
                ". Believe the training speed. If these trials use this GPU, its driver does not count their work; "
                "otherwise they run elsewhere (see `hpo top`).");
        else
            add(name + " did nothing: its utilization was " + measured + ", and no other reading shows work.");
    }

    /// The kernel counts the waiting of all processes together, and hpo itself waits for the disk to store results.
    [[nodiscard]] static std::string some_wait_for_io(double io) {
        return "some process waited for I/O in " + value_text(Quantity::io_pressure, io) +
               " of the time, hpo's own storing included.";
    }

    /// Explains from the host's readings why a GPU has too little to do.
    [[nodiscard]] std::string why_it_waits() const {
        const double io = average("host", Quantity::io_pressure), host = average("host", Quantity::utilization);
        const auto cores = of("program", Quantity::cores);
        if (io > io_bound)
            return some_wait_for_io(io) + " If it waits for its data, keep them in memory or on a faster disk.";
        if (host > busy)
            return "it waits for the CPU, which was busy " + value_text(Quantity::utilization, host) +
                   " of the time; prepare data once instead of in each epoch, or on the GPU.";
        if (cores && cores->median > 0.85 && cores->median < 1.3 && context_.cores > 1.5)
            return "the program computes on one CPU core (" + value_text(Quantity::cores, cores->median) +
                   " used), which starts kernels or prepares data one after the other. Use larger batches, more "
                   "loader workers, or several trials at once.";
        return "neither the CPU (" + value_text(Quantity::utilization, host) +
               ") nor I/O explains it, so the time goes between kernels. Use larger batches or several trials at once.";
    }

    void judge_host(bool with_gpu) {
        const auto utilization = of("host", Quantity::utilization);
        if (const double share = average("host", Quantity::memory_pressure); share > memory_bound)
            add("Processes waited for memory in " + value_text(Quantity::memory_pressure, share) +
                " of the time: the host is short of memory. Run fewer trials at once.");
        if (const double share = average("host", Quantity::throttled); share > throttling)
            add("The control group's quota of CPU time held processes back in " +
                value_text(Quantity::throttled, share) + " of the time: use fewer threads or raise the quota.");
        if (with_gpu || !utilization) return;
        const double waiting = average("host", Quantity::cpu_pressure), io = average("host", Quantity::io_pressure);
        const auto cores = of("program", Quantity::cores);
        const std::string used = value_text(Quantity::utilization, utilization->average);
        const auto trials = of("trials", Quantity::cores), &own = trials ? trials : cores;
        const double others = own ? utilization->average / 100 * context_.cores - own->average : 0;
        const std::string own_text = own ? (trials ? "the trials used " : "this one used ") +
                                               value_text(Quantity::cores, own->average) + " of " +
                                               with_digits(context_.cores, 3) + " cores"
                                         : "";
        if (utilization->average >= busy && own && own->average < context_.cores / 2)
            add("The CPU is busy (" + used + ") with other programs: " + own_text + ".");
        else if (utilization->average >= busy && others > context_.cores / 4)
            add("The CPU is busy (" + used + ") also with other programs: " + own_text + ", others " +
                value_text(Quantity::cores, others) + ".");
        else if (utilization->average >= busy && waiting > cpu_contention && context_.within_cores)
            add("The CPU is busy (" + used + ") also with other programs: processes waited for it in " +
                value_text(Quantity::cpu_pressure, waiting) +
                " of the time, and the trials take no more cores than there are.");
        else if (utilization->average >= busy && waiting > cpu_contention)
            add("The CPU is busy (" + used + ") and processes waited for it in " +
                value_text(Quantity::cpu_pressure, waiting) +
                " of the time: more threads run than there are cores. Use fewer threads or fewer trials at once.");
        else if (utilization->average >= busy)
            add("The CPU is used fully (" + used + ").");
        else if (io > io_bound)
            add("The CPU is busy " + used + " of the time, and " + some_wait_for_io(io) +
                " If trials wait for their data, keep them in memory or on a faster disk.");
        else if (cores && cores->median > 0.85 && cores->median < 1.3 && context_.cores > 1.5)
            add("The program uses one of " + with_digits(context_.cores, 3) + " CPU cores (" +
                value_text(Quantity::cores, cores->median) +
                "). Run several trials at once, or let its libraries use more threads.");
        else if (utilization->average < poorly_used)
            add("The CPU is busy " + used + " of the time" +
                (of("host", Quantity::io_pressure) ? ", and processes hardly wait for I/O" : "") +
                ": the program sleeps or waits for others, or there is room for more trials at once.");
    }

    const TelemetrySummary& summary_;
    const VerdictContext& context_;
    std::vector<std::string> sentences_;
};

std::size_t samples_of(const TelemetrySummary& summary) {
    std::size_t samples = 0;
    for (const auto& [channel, figures] : summary) samples = std::max(samples, figures.count + figures.impossible);
    return samples;
}

}  // namespace

bool enough_for_a_verdict(const TelemetrySummary& summary) { return samples_of(summary) >= least_samples; }

std::vector<std::string> verdict(const TelemetrySummary& summary, const VerdictContext& context) {
    if (!enough_for_a_verdict(summary))
        return {"There are too few samples for a verdict (" + std::to_string(samples_of(summary)) + "; it takes " +
                std::to_string(least_samples) + ")."};
    return Judge(summary, context).judge();
}

}  // namespace hpo
