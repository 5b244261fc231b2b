#include "orchestrator/view/preview.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <vector>

#include "hpo/batch_size.hpp"
#include "hpo/open_trials.hpp"
#include "hpo/printable.hpp"
#include "hpo/shell_word.hpp"
#include "hpo/step_name.hpp"
#include "hpo/text.hpp"
#include "orchestrator/scheduling/core_shares.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/study/study_file.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

namespace {

/// Returns one line of the output. The name is padded to a column of 12 characters.
std::string row(const std::string& name, const std::string& text) {
    return name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') + text + '\n';
}

std::string sample_range_text(const SampleRange& range, std::string (*text)(double)) {
    if (range.least == range.most) return text(range.least);
    return text(range.least) + " to " + text(range.most) + ", typically " + text(range.typical);
}

std::string integer_text(double number) { return std::to_string(static_cast<std::int64_t>(number)); }

// ---- The search

/// Returns "maximize val_accuracy", or "minimize val_loss and minimize latency (a Pareto front)".
std::string objective_text(const Objective& objective) {
    const auto goal = [](const std::string& metric, Direction direction) {
        return (direction == Direction::maximize ? "maximize " : "minimize ") + metric;
    };
    std::string text = goal(objective.metric, objective.direction);
    for (const Goal& one : objective.further) text += " and " + goal(one.metric, one.direction);
    return text + (objective.further.empty() ? "" : " (a Pareto front)");
}

std::string constraint_text(const Constraint& constraint) {
    return constraint.metric + (constraint.min ? " at least " + short_number(*constraint.min) : "") +
           (constraint.min && constraint.max ? " and" : "") +
           (constraint.max ? " at most " + short_number(*constraint.max) : "");
}

/// Returns "lr 0.001, width 64".
std::string configuration_text(const Params& params) {
    std::string text;
    for (const auto& [name, value] : params) text += (text.empty() ? "" : ", ") + name + ' ' + to_text(value);
    return text;
}

/// Lists the configurations that the study tries first.
std::string start_rows(const Study& study) {
    constexpr std::size_t shown = 5;
    const auto given = static_cast<std::int64_t>(study.start.size()), trials = trials_of(study);
    std::string text;
    for (std::size_t i = 0; i < std::min(study.start.size(), shown); ++i) {
        const bool is_complete = study.start[i].size() == study.space.size();
        text +=
            row(i == 0 ? "start" : "", configuration_text(study.start[i]) + (is_complete ? "" : ", the rest sampled"));
    }
    if (study.start.size() > shown) text += row("", "and " + std::to_string(study.start.size() - shown) + " more");
    if (given > trials) text += row("", "only the first " + std::to_string(trials) + " of them run (budget.trials)");
    return text;
}

/// Draws the prior studies of a warm start, the part of the space that is allowed, and the sampler.
std::string sampler_rows(const Study& study, const SearchPreview& search) {
    std::string text;
    for (const std::string& prior : search.priors) text += row(text.empty() ? "warm start" : "", prior);
    if (!search.offer.empty()) text += row("warm start", "none; " + search.offer);
    for (const std::string& condition : study.where)
        text += row(&condition == &study.where.front() ? "where" : "", condition);
    if (!search.about_allowed.empty()) text += row(study.where.empty() ? "ranges" : "", search.about_allowed);
    return text + row("sampler", search.sampler);
}

std::string rule_rows(const Study& study, const SearchPreview& search) {
    std::string text;
    for (const PartSpec& rule : study.stopping) {
        text += (text.empty() ? "" : ", ") + rule.type;
        std::string options;
        for (const auto& [name, value] : rule.options)
            options += (options.empty() ? "" : ", ") + name + ' ' + to_text(value);
        if (!options.empty()) text += " (" + options + ')';
    }
    if (!study.objective.further.empty())
        text += (text.empty() ? "" : "; ") + std::string("no rule that compares trials: there are several objectives");
    if (study.default_stopping && !study.stopping.empty())
        text += "; by default (stopping: [] trains every trial to its end)";
    constexpr std::int64_t worth_stopping = 6;  // steps of a trial: with fewer, no rung lies where trials pause
    const char* none = study.budget.open
                           ? "none: every trial runs to its end (state budget.epochs, and stopping: auto ends those "
                             "early that will hardly win)"
                       : study.budget.epochs >= worth_stopping
                           ? "none: every trial runs to its end (stopping: auto ends those early that will hardly win)"
                           : "none: every trial runs to its end";
    std::string rows = row("stopping", text.empty() ? none : text);
    for (const SearchPreview::Rule& rule : search.rules)
        if (!rule.plan.empty()) rows += row("  " + rule.type, rule.plan);
    return rows;
}

/// Draws the objective, the space, the budget, the sampler and the stopping rules.
std::string search_rows(const Study& study, const SearchPreview& search) {
    const std::int64_t trials = trials_of(study);
    std::string text = row(
        "study", study.name + ": " + objective_text(study.objective) + ", seed " + std::to_string(study.seed) +
                     (study.repeats > 1 ? ", up to " + std::to_string(study.repeats) + " seeds a configuration" : ""));
    for (const Constraint& constraint : study.objective.constraints)
        text +=
            row(&constraint == &study.objective.constraints.front() ? "constraints" : "", constraint_text(constraint));
    text += row("space", describe(study.space));
    for (const Dimension& dimension : study.space) {
        const std::string name = "  " + dimension.name;
        text += name + std::string(static_cast<std::size_t>(std::max(1, 20 - columns(name))), ' ') +
                describe(dimension) + '\n';
    }
    const std::string length =
        study.budget.open ? ", each until its program ends" : " of up to " + steps_text(study, study.budget.epochs);
    const std::string time = study.budget.seconds ? duration_text(*study.budget.seconds) : "";
    const bool exhausts = !study.space.empty() && trials < study.budget.trials;
    const std::string why = !exhausts                     ? ""
                            : is_open_ended(study.budget) ? " (all configurations)"
                                                          : " (all configurations; budget.trials allows " +
                                                                std::to_string(study.budget.trials) + ")";
    text += row("budget", is_open_ended(study.budget) && !exhausts
                              ? time + " for as many trials as it allows" + (study.budget.open ? "" : ",") + length
                              : counted(trials, "trial") + why + length + (time.empty() ? "" : ", " + time));
    return text + start_rows(study) + sampler_rows(study, search) + rule_rows(study, search);
}

/// Describes the parts that are kept, as "the best 5 checkpoints, all trial folders of ended trials".
std::string keep_text(const Study& study) {
    const auto text = [](const std::optional<std::int64_t>& limit, const std::string& noun) {
        const std::string count = !limit ? "all " : *limit == 0 ? "no " : "the best " + std::to_string(*limit) + ' ';
        return count + noun + (limit && *limit == 1 ? "" : "s");
    };
    return text(study.keep.checkpoints, "checkpoint") + ", " + text(study.keep.folders, "trial folder") +
           " of ended trials";
}

// ---- Trials of the native worker

/// Draws how many samples do not fit as configured, the numbers of the first one, and how they will train instead.
std::string too_large_rows(const Samples& samples) {
    std::int64_t too_large = 0, shrunk = 0, least = 0, most = 0;
    const Sample* first = nullptr;
    for (const Sample& sample : samples) {
        if (sample.too_large.empty()) continue;
        if (!first) first = &sample;
        ++too_large;
        if (!sample.can_run()) continue;
        least = shrunk == 0 ? sample.micro_batches : std::min(least, sample.micro_batches);
        most = std::max(most, sample.micro_batches);
        ++shrunk;
    }
    if (!first) return {};
    // The worker chooses the cheaper of the two.
    const auto checkpointing = first->params.find("checkpointing");
    const bool recomputes = checkpointing != first->params.end() && checkpointing->second == Value{std::string("auto")};
    const std::int64_t failing = too_large - shrunk;
    std::string text =
        row("too large", std::to_string(too_large) + " of " + std::to_string(samples.size()) +
                             " sampled trials; trial " + std::to_string(first->trial) + " " + first->too_large);
    if (shrunk > 0)
        text += row("", (failing > 0   ? std::to_string(shrunk) + " of them train"
                         : shrunk == 1 ? "it trains"
                                       : "they train") +
                            (recomputes ? " in the memory of " : " in ") +
                            (least < most ? std::to_string(least) + " to " : "") + std::to_string(most) +
                            " micro-batches instead, with the same batch size");
    if (failing > 0)
        text += row("", std::to_string(failing) + (shrunk > 0 ? " of them" : "") +
                            " do not fit in any number of micro-batches and will fail; increase resources.memory or "
                            "narrow the space");
    return text;
}

/// Returns "4.1 ms", or "4.1 ms to 12 ms".
std::string steps_range_text(const std::vector<SampleForecast>& samples, double SampleForecast::*seconds) {
    const auto [least, most] =
        std::minmax_element(samples.begin(), samples.end(), [&](auto& a, auto& b) { return a.*seconds < b.*seconds; });
    const std::string low = duration_text((*least).*seconds), high = duration_text((*most).*seconds);
    return low == high ? low : low + " to " + high;
}

std::string backend_rows(const NativePreview& native) {
    const auto& [samples, cpu, gpu] = native.backends;
    if (samples.empty()) return {};
    const auto on_cpu = std::count_if(samples.begin(), samples.end(), [](const auto& one) { return one.on_cpu(); });
    return row("backend", std::to_string(on_cpu) + " of " + std::to_string(native.samples.size()) +
                              " sampled trials are predicted to be faster on " + cpu + " (" +
                              steps_range_text(samples, &SampleForecast::cpu) + " a step), " +
                              std::to_string(static_cast<std::ptrdiff_t>(samples.size()) - on_cpu) + " on " + gpu +
                              " (" + steps_range_text(samples, &SampleForecast::gpu) + ")") +
           row("", "each on the one where it is predicted to end first, given the running trials (resources.backend)");
}

std::string updates_rows(const NetworkPreview& networks, std::int64_t samples) {
    const std::string batch = networks.default_batch > 0
                                  ? " in batches of " + std::to_string(networks.default_batch) + " (by default, for " +
                                        std::to_string(samples) + " samples)"
                                  : "";
    std::string text =
        row("updates", sample_range_text(networks.epoch_updates, integer_text) + " an epoch" + batch + "; " +
                           sample_range_text(networks.trial_updates, integer_text) + " in a trial");
    if (2 * networks.few_updates <= networks.samples) return text;
    return text +
           row("", "warning: " + std::to_string(networks.few_updates) + " of " + std::to_string(networks.samples) +
                       " sampled trials make fewer than " + std::to_string(enough_updates_in_all) +
                       " updates, which hardly train a model: take smaller batches or more epochs "
                       "(budget.epochs)");
}

std::string native_rows(const Study& study, const NativePreview& native, bool on_device) {
    std::string text;
    for (const std::string& line : native.data) text += row(text.empty() ? "data" : "", printable(line));
    if (native.networks)
        text += row("trial", sample_range_text(native.networks->parameters, integer_text) + " parameters");
    if (native.rounds)
        text += row(native.networks ? "" : "trial",
                    sample_range_text(*native.rounds, integer_text) + " rounds of boosted trees");
    if (const std::int64_t processes = study.resources.trial.processes; processes > 1)
        text += row("", "in " + std::to_string(processes) + " processes, each with a part of every batch");
    text += row("", sample_range_text(native.host_bytes, bytes_text) + " of memory, data included");
    if (on_device) text += row("", sample_range_text(native.device_bytes, bytes_text) + " of the device's memory");
    const auto epochs = static_cast<double>(study.budget.epochs);
    if (native.step_seconds)
        text += row(
            "", duration_text(*native.step_seconds) + " a step, " + duration_text(*native.step_seconds * epochs) +
                    " in full, for a typical one" +
                    (native.side_by_side > 1 ? " among " + std::to_string(native.side_by_side) + " side by side" : "") +
                    " (measured now)");
    if (native.networks) text += updates_rows(*native.networks, native.samples.front().answer.training_samples);
    text += backend_rows(native) + too_large_rows(native.samples);
    if (native.step_seconds) {
        const auto at_once = static_cast<double>(std::max<std::int64_t>(1, native.packing.at_once));
        const auto trials = static_cast<double>(trials_of(study));
        text += row("in all",
                    duration_text(*native.step_seconds * epochs * trials / at_once) + " if nothing were stopped early");
    }
    return text;
}

// ---- Trials of a script

/// Draws the folder in which a script runs and the files that are written for it.
std::string folder_rows(const ScriptWorker& script, const ScriptPreview& preview) {
    const std::string& home = preview.home;
    std::string text =
        row("", "in " + (script.cwd.empty() ? home : (std::filesystem::path(home) / script.cwd).string()) +
                    (script.home.empty() || !script.cwd.empty() ? "" : ", the folder of its files"));
    if (!script.cwd.empty()) text += row("", "its relative paths are taken from " + home);
    for (const std::string& name : preview.unused)
        text += row("", "warning: nothing uses '" + name + "': no placeholder such as {" + name +
                            "} contains it, and the script does not contain " + script::variable_of(name));
    for (const auto& [name, file] : script.files)
        text += row("", "with " + name + " in each trial's folder" +
                            (file.source.empty() ? "" : ", written from the template " + file.source));
    for (const std::string& warning : preview.shadowed) text += row("", "warning: " + warning);
    return text;
}

/// Draws how a script's reports and output are read.
std::string report_rows(const Study& study, const ScriptPreview& preview) {
    const ScriptWorker& script = *study.script();
    std::string text;
    if (!script.shim.empty())
        text += row(
            "shim",
            script.shim + ": the script imports a stand-in, which provides the trial's parameters" +
                (script.metrics->patterns.empty() && script.metrics->file.empty() ? " and receives its reports" : ""));
    if (script.metrics && script.metrics->reports > 1)
        text += row("", "a step is " + std::to_string(script.metrics->reports) + " reports of " +
                            study.objective.metric + " (worker.step)");
    if (preview.terminal)
        text += row("", "prints to its own terminal, so that its output is not buffered (worker.terminal)");
    for (const std::string& warning : preview.pattern_warnings) text += row("warning", warning);
    return text + row("", "ended when it neither prints nor reports nor computes for " +
                              duration_text(study.resources.progress_timeout) + " (resources.progress_timeout)");
}

std::string needs_rows(const Study& study, const Prediction& needs, bool on_device) {
    if (needs.alone) return row("", "learned: the first trial runs alone until its first report");
    const std::int64_t gpus = study.resources.trial.devices();
    std::string memory;
    if (study.resources.trial.host_bytes) memory = size_text(needs.footprint.host_bytes) + " of memory";
    if (on_device)
        memory += (memory.empty() ? "" : ", ") + size_text(needs.footprint.device_bytes) +
                  std::string(" of device memory") +
                  (gpus > 1 ? " on each of " + std::to_string(gpus) + " devices" : "");
    const std::string cores = needs.footprint.cores > 0 ? " and " + cores_text(needs.footprint.cores) : "";
    std::string text = row("", "needs " + memory + cores + ", " + needs.why + ", until it is measured");
    if (!study.resources.trial.host_bytes)
        text += row("", "the host's memory of a trial is learned from the first trials");
    return text;
}

std::string script_rows(const Study& study, const ScriptPreview& preview, bool on_device) {
    const ScriptWorker& script = *study.script();
    const std::int64_t gpus = study.resources.trial.devices();
    const std::string where = !on_device ? ""
                              : gpus > 1 ? ", on " + std::to_string(gpus) + " devices at once"
                                         : ", on a device";
    const std::int64_t processes = study.resources.trial.processes;
    const std::string ranks = processes > 1 ? " in " + std::to_string(processes) + " processes" : "";
    const std::string path = preview.program.empty() ? "" : " (" + preview.program + ")";
    std::string text = row("trial", "runs " + script.command.front() + path + ranks + where);
    if (!script.metrics && processes > 1)
        text += row("", "must speak with hpo itself (Python: import hpo), as no argument has a placeholder");
    text += folder_rows(script, preview) + report_rows(study, preview);
    std::string modules;
    for (const std::string& module : script.preload) modules += (modules.empty() ? "" : ", ") + module;
    if (!modules.empty())
        text += row("preload", modules + ": imported once per worker; its trials are forked from that process");
    return text + needs_rows(study, preview.needs, on_device);
}

// ---- Trials at once

/// Returns "7.800 GiB, 800.0 MiB kept free, 1.100 GiB used by others: 5.919 GiB for trials; 2 reserve 246.0 MiB (4 %)".
std::string pool_text(const Packing::Pool& pool) {
    std::string text = size_text(pool.capacity);
    if (pool.reserve > 0) text += ", " + size_text(pool.reserve) + " kept free";
    if (pool.others > 0) text += ", " + size_text(pool.others) + " used by others";
    text += ": " + size_text(pool.available) + " for trials; ";
    if (pool.reserved == 0) return text + "none reserved";
    const std::int64_t percent = 100 * pool.reserved / std::max<std::int64_t>(1, pool.available);
    return text + std::to_string(pool.trials) + (pool.trials == 1 ? " reserves " : " reserve ") +
           size_text(pool.reserved) + " (" + (percent < 1 ? "under 1" : std::to_string(percent)) + " %)";
}

std::string packing_rows(const MachinePreview& machine) {
    const Packing& packing = machine.packing();
    std::string at_once = machine.learned() ? "1 at first, then as many as fit" : std::to_string(packing.at_once);
    if (const auto* native = std::get_if<NativePreview>(&machine.trials))
        at_once += " (" + std::to_string(native->typical_at_once) + " of the typical, " +
                   std::to_string(native->largest_at_once) + " of the largest)";
    if (!packing.limit.empty()) at_once += ", limited by " + packing.limit;
    std::string text = row("at once", at_once);
    for (const Packing::Pool& pool : packing.pools)
        text += row(pool.id.empty() ? "  host" : "  " + pool.id.substr(0, 8), pool_text(pool));
    if (!packing.kept_out.empty()) text += row("", "a trial waits for other programs: it " + packing.kept_out);
    return text;
}

std::string concurrency_row(const ConcurrencyPreview& search) {
    std::string text = "by their throughput: begins with " + std::to_string(search.start) +
                       (search.remembered ? ", as an earlier session found" : "");
    if (search.most > search.start)
        text += ", more (at most " + std::to_string(search.most) + ") while the total work per second rises";
    if (search.start > 1)
        text += search.most > search.start ? ", fewer where it does not fall"
                                           : ", fewer where the total work per second does not fall by that";
    return row("  chosen", text + " (resources.parallel sets it)");
}

std::string cores_row(const Study& study, const CoresPreview& cores) {
    std::string text = std::to_string(cores.each) + " for each trial";
    if (cores.workers == 1) return cores.each == 1 ? std::string() : row("  cores", text);
    if (!study.resources.parallel)
        text += "; the first one has up to " + std::to_string(std::min(cores_of_first_trial, cores.workers)) +
                " before others begin, if its updates are large enough";
    return row("  cores", text + "; workers without a trial help the others");
}

std::string machine_rows(const Study& study, const MachinePreview& machine) {
    std::string text = row("keep", keep_text(study));
    if (const auto* native = std::get_if<NativePreview>(&machine.trials))
        text += native_rows(study, *native, machine.on_device);
    else
        text += script_rows(study, std::get<ScriptPreview>(machine.trials), machine.on_device);
    if (const auto& hosts = study.resources.hosts; !hosts.empty()) {
        std::string names;
        for (const std::string& host : hosts) names += (names.empty() ? "" : ", ") + host;
        text += row("hosts", names + "; what follows is said of this machine");
    }
    text += row("machine", machine.host.cpu_name + ", " + cores_text(machine.host.cores) + ", " +
                               size_text(machine.memory_free) + " of memory free");
    text += packing_rows(machine);
    if (!machine.fewer_than_asked.empty()) text += row("", machine.fewer_than_asked);
    if (machine.concurrency) text += concurrency_row(*machine.concurrency);
    if (machine.cores) text += cores_row(study, *machine.cores);
    return text;
}

}  // namespace

std::string draw_preview(const CheckedStudy& checked, const Preview& preview) {
    const Study& study = checked.study;
    const std::string text = search_rows(study, preview.search);
    if (preview.machine) return text + machine_rows(study, *preview.machine);
    return text + row("trial", "trained by another program: hpo ask-tell " + shell_word(checked.file));
}

}  // namespace hpo::view
