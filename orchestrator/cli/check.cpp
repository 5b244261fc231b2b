// hpo check: explains what a study will do on this machine, before it runs.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "hpo/printable.hpp"
#include "hpo/step_name.hpp"
#include "hpo/units.hpp"
#include "orchestrator/cli/best_config.hpp"
#include "orchestrator/cli/check_backends.hpp"
#include "orchestrator/cli/check_samples.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/packing.hpp"
#include "orchestrator/cli/prediction.hpp"
#include "orchestrator/cli/script_ready.hpp"
#include "orchestrator/cli/study_source.hpp"
#include "orchestrator/engine/live_machine.hpp"
#include "orchestrator/engine/one_worker.hpp"
#include "orchestrator/engine/session_concurrency.hpp"
#include "orchestrator/engine/warm_start.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/sampling/proposer.hpp"
#include "orchestrator/scheduling/concurrency.hpp"
#include "orchestrator/scheduling/core_shares.hpp"
#include "orchestrator/scheduling/footprints.hpp"

#include "orchestrator/script/home.hpp"
#include "orchestrator/script/syntax/metrics.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/script/terminal.hpp"
#include "orchestrator/stopping/registry.hpp"
#include "orchestrator/study/study_file.hpp"
#include "orchestrator/view/prediction.hpp"

namespace hpo::commands {

namespace {

using Json = nlohmann::ordered_json;

struct CheckArguments {
    std::string file;
    std::vector<std::string> set;
    std::optional<std::string> devices;  ///< simulated hardware; absent: this machine alone
    bool json = false;
};

struct Range {
    double low = 0, middle = 0, high = 0;
};

Range range_of(std::vector<double> numbers) {
    std::sort(numbers.begin(), numbers.end());
    return {numbers.front(), numbers[numbers.size() / 2], numbers.back()};
}

template <class Quantity>
Range range_over(const Samples& samples, Quantity&& quantity) {
    std::vector<double> numbers;
    for (const Sample& sample : samples) numbers.push_back(static_cast<double>(quantity(sample)));
    return range_of(std::move(numbers));
}

/// Returns one line of the output. The name is padded to a column of 12 characters.
std::string row(const std::string& name, const std::string& text) {
    return name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') + text + '\n';
}

std::string text_of(const Range& range, std::string (*text)(double)) {
    if (range.low == range.high) return text(range.low);
    return text(range.low) + " to " + text(range.high) + ", typically " + text(range.middle);
}

std::string whole(double number) { return std::to_string(static_cast<std::int64_t>(number)); }

/// Describes the prior studies of a warm start, one per row, what the study allows, and the sampler. Throws Fatal if
/// the sampler cannot be created for the study.
std::string sampler_text(const Study& study, Json& json) {
    const auto priors = prior_studies_of(study);
    if (!priors) throw Fatal(priors.error().message);
    std::string text;
    for (const PriorStudy& prior : *priors) text += row(text.empty() ? "warm start" : "", describe(prior));
    const auto proposer = Proposer::make(study, *priors);
    if (!proposer) throw Fatal(proposer.error().message);
    json["allowed"] = proposer->allowed_share();
    for (const std::string& condition : study.where)
        text += row(&condition == &study.where.front() ? "where" : "", condition);
    if (const std::string allowed = proposer->about_allowed(); !allowed.empty())
        text += row(study.where.empty() ? "ranges" : "", allowed);
    return text + row("sampler", proposer->about());
}

std::string rules_text(const Study& study) {
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
    for (const PartSpec& spec : study.stopping) {
        const auto rule = make_rule(spec, study.objective, study.budget.epochs);
        if (!rule) throw Fatal(rule.error().message);
        if (const std::string plan = (*rule)->plan(study.command.empty() && has_worker(study) ? "epoch" : "step");
            !plan.empty())
            rows += row("  " + spec.type, plan);
    }
    return rows;
}

/// Returns the number, or null if all are kept.
Json kept(const std::optional<std::int64_t>& limit) { return limit ? Json(*limit) : Json(nullptr); }

/// Describes what is kept, as "the best 5 checkpoints, all trial folders of ended trials".
std::string keep_text(const Study& study) {
    const auto text = [](const std::optional<std::int64_t>& limit, const std::string& noun) {
        const std::string count = !limit ? "all " : *limit == 0 ? "no " : "the best " + std::to_string(*limit) + ' ';
        return count + noun + (limit && *limit == 1 ? "" : "s");
    };
    return text(study.keep.checkpoints, "checkpoint") + ", " + text(study.keep.folders, "trial folder") +
           " of ended trials";
}

/// The trials to pack: the samples of a native worker's study, or the declared footprint of a script's trial.
struct Load {
    PackingQuestion question;
    std::optional<PackingQuestion::Trial> typical, largest;  ///< absent for a script
};

/// Returns "2 cores", "0.5 cores".
std::string cores_text(double cores) {
    char text[40];
    std::snprintf(text, sizeof text, "%.4g", cores);
    return std::string(text) + (cores == 1 ? " core" : " cores");
}

std::string bytes(std::int64_t count) { return bytes_text(static_cast<double>(count)); }

/// Returns "7.800 GiB, 800.0 MiB kept free, 1.100 GiB used by others: 5.919 GiB for trials; 2 reserve 246.0 MiB (4 %)".
std::string pool_text(const Packing::Pool& pool) {
    std::string text = bytes(pool.capacity);
    if (pool.reserve > 0) text += ", " + bytes(pool.reserve) + " kept free";
    if (pool.others > 0) text += ", " + bytes(pool.others) + " used by others";
    text += ": " + bytes(pool.available) + " for trials; ";
    if (pool.reserved == 0) return text + "none reserved";
    const std::int64_t percent = 100 * pool.reserved / std::max<std::int64_t>(1, pool.available);
    return text + std::to_string(pool.trials) + (pool.trials == 1 ? " reserves " : " reserve ") + bytes(pool.reserved) +
           " (" + (percent < 1 ? "under 1" : std::to_string(percent)) + " %)";
}

/// Returns how many copies of one trial run at once.
std::int64_t copies_at_once(PackingQuestion question, const PackingQuestion::Trial& trial) {
    question.trials = {trial};
    return pack(question).at_once;
}

/// Packs the trials, describes the result in rows and adds it to `json`.
std::string packing_text(const Load& load, Json& json) {
    const Packing packing = pack(load.question);
    const bool learned = load.question.trials.empty();
    std::string at_once = learned ? "1 at first, then as many as fit" : std::to_string(packing.at_once);
    Json counts = Json::object();
    if (load.typical && load.largest) {
        const std::int64_t typical = copies_at_once(load.question, *load.typical);
        const std::int64_t largest = copies_at_once(load.question, *load.largest);
        at_once += " (" + std::to_string(typical) + " of the typical, " + std::to_string(largest) + " of the largest)";
        counts = {{"typical", typical}, {"largest", largest}};
    }
    if (!learned && !packing.limit.empty()) at_once += ", limited by " + packing.limit;
    std::string text = row("at once", at_once);
    Json pools = Json::array();
    for (const Packing::Pool& pool : packing.pools) {
        text += row(pool.id.empty() ? "  host" : "  " + pool.id.substr(0, 8), pool_text(pool));
        pools.push_back({{"device", pool.id.empty() ? Json(nullptr) : Json(pool.id)},
                         {"capacity", pool.capacity},
                         {"reserve", pool.reserve},
                         {"others", pool.others},
                         {"room", pool.available},
                         {"trials", pool.trials},
                         {"booked", pool.reserved}});
    }
    if (!packing.kept_out.empty()) text += row("", "a trial waits for other programs: it " + packing.kept_out);
    json["at_once"] = learned ? 1 : packing.at_once;
    json["packing"] = {
        {"of", counts}, {"limit", learned ? "" : packing.limit}, {"pools", pools}, {"waits", packing.kept_out}};
    return text;
}

/// Reports how many samples do not fit as configured, the numbers of the first one, and how they will train instead.
std::string too_large_text(const Samples& samples, Json& json) {
    std::int64_t shrunk = 0, failing = 0, least = 0, most = 0;
    const Sample* first = nullptr;
    Json list = Json::array();
    for (const Sample& sample : samples) {
        if (sample.too_large.empty()) continue;
        if (!first) first = &sample;
        list.push_back({{"trial", sample.trial},
                        {"reason", sample.too_large},
                        {"micro_batches", sample.micro_batches > 0 ? Json(sample.micro_batches) : Json(nullptr)}});
        if (!sample.can_run()) {
            ++failing;
            continue;
        }
        least = shrunk == 0 ? sample.micro_batches : std::min(least, sample.micro_batches);
        most = std::max(most, sample.micro_batches);
        ++shrunk;
    }
    json["too_large"] = list;
    if (!first) return {};
    // Which of the two costs less is the worker's choice.
    const auto checkpointing = first->params.find("checkpointing");
    const bool recomputes = checkpointing != first->params.end() && checkpointing->second == Value{std::string("auto")};
    std::string text =
        row("too large", std::to_string(list.size()) + " of " + std::to_string(samples.size()) +
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

std::int64_t total_bytes(const PackingQuestion::Trial& trial) {
    return trial.footprint.host_bytes + trial.footprint.device_bytes;
}

/// Removes fusion keys that only one sample has, since hardly another trial of the study will share them.
void drop_rare_fusion_keys(std::vector<PackingQuestion::Trial>& trials) {
    std::map<std::string, int> count;
    for (const PackingQuestion::Trial& trial : trials) ++count[trial.fusion_key];
    for (PackingQuestion::Trial& trial : trials)
        if (count[trial.fusion_key] == 1) trial.fusion_key.clear();
}

/// Describes the size of the samples, and adds it to `json`.
std::string sizes_text(const Samples& samples, bool on_device, Json& json) {
    const auto as_bytes = [](double n) { return bytes_text(n); };
    const Range parameters = range_over(samples, [](const Sample& sample) { return sample.answer.parameters; });
    const Range memory = range_over(samples, [](const Sample& sample) { return sample.answer.footprint.host_bytes; });
    json["parameters"] = {parameters.low, parameters.middle, parameters.high};
    json["host_bytes"] = {memory.low, memory.middle, memory.high};
    std::string text = row("trial", text_of(parameters, whole) + " parameters");
    text += row("", text_of(memory, as_bytes) + " of memory, data included");
    if (!on_device) return text;
    const Range device = range_over(samples, [](const Sample& sample) { return sample.answer.footprint.device_bytes; });
    json["device_bytes"] = {device.low, device.middle, device.high};
    return text + row("", text_of(device, as_bytes) + " of the device's memory");
}

/// Describes the trials of a native worker's study. Starts a worker to plan and time samples, and fills in `load`.
std::string native_text(const CheckedStudy& checked, const LiveMachine& machine, Load& load, Json& json) {
    const Study& study = checked.study;
    auto worker = OneWorker::start(study, installed_programs(), machine.target(machine.on_device() ? 0 : host_only));
    if (!worker) throw Fatal(worker.error().message);
    load.question.slots = slots_at_first(study, (*worker)->slots());
    load.question.slots_by_default = load.question.slots < (*worker)->slots();
    load.question.parallel = most_at_once(study, load.question.workers, load.question.slots);
    load.question.parallel_by_default = load.question.parallel && !study.resources.parallel;
    Samples samples = plan_samples(checked, **worker, load.question.machine);
    const Sample typical = typical_sample(samples);
    const auto predicted = machine.host_too() ? predict_samples(samples, machine) : std::vector<PredictedSample>();
    plan_on_cpu(study, predicted, samples);
    const auto data = (*worker)->explain_data(samples.front().params, study.seed);
    if (!data) throw Fatal(data.error().message);
    for (const Sample& sample : samples)
        if (sample.can_run()) load.question.trials.push_back(sample.reserved);
    drop_rare_fusion_keys(load.question.trials);
    const Packing packing = pack(load.question);
    const auto workers = std::max<std::int64_t>(1, packing.workers);
    const auto replicas = std::max<std::int64_t>(1, (packing.at_once + workers - 1) / workers);
    const auto step = measured_step(study, **worker, typical, replicas);
    std::vector<PackingQuestion::Trial> by_size = load.question.trials;
    std::sort(by_size.begin(), by_size.end(),
              [](const auto& a, const auto& b) { return total_bytes(a) < total_bytes(b); });
    load.typical = by_size[by_size.size() / 2];
    load.largest = by_size.back();

    std::string text;
    for (const std::string& line : *data) text += row(text.empty() ? "data" : "", printable(line));
    json["data"] = *data;
    text += sizes_text(samples, load.question.on_device, json);
    if (step)
        text += row(
            "", duration_text(*step) + " a step, " + duration_text(*step * static_cast<double>(study.budget.epochs)) +
                    " in full, for a typical one" +
                    (replicas > 1 ? " among " + std::to_string(replicas) + " side by side" : "") + " (measured now)");
    if (!predicted.empty()) {
        text += row("backend", describe_backends(predicted, samples.size(), machine));
        text += row("",
                    "each gets the one on which it is predicted to end first, given what runs (resources.backend "
                    "sets it)");
        json["backends"] = to_json(predicted);
    }
    text += too_large_text(samples, json);
    json["seconds_per_step"] = step ? Json(*step) : Json(nullptr);
    if (step) {
        const auto at_once = static_cast<double>(std::max<std::int64_t>(1, packing.at_once));
        text +=
            row("in all", duration_text(*step * static_cast<double>(study.budget.epochs * trials_of(study)) / at_once) +
                              " if nothing were stopped early");
    }
    return text;
}

/// Describes the folder in which a script runs and the files that are written for it, and adds them to `json`.
std::string folders_text(const Study& study, Json& json) {
    const std::string home = script::home_of(study);
    std::string text = row("", "in " + (study.cwd.empty() ? home : (std::filesystem::path(home) / study.cwd).string()) +
                                   (study.home.empty() || !study.cwd.empty() ? "" : ", the folder of its files"));
    if (!study.cwd.empty()) text += row("", "its relative paths are taken from " + home);
    json["home"] = home;
    json["unused"] = Json::array();
    for (const std::string& name : script::unused_parameters(study)) {
        text += row("", "warning: nothing uses '" + name + "': no placeholder such as {" + name +
                            "} contains it, and the script does not contain " + script::variable_of(name));
        json["unused"].push_back(name);
    }
    for (const auto& [name, file] : study.files)
        text += row("", "with " + name + " in each trial's folder" +
                            (file.source.empty() ? "" : ", written from the template " + file.source));
    json["shadowed"] = shadowed_files(study);
    for (const std::string& warning : shadowed_files(study)) text += row("", "warning: " + warning);
    return text;
}

/// Describes how a script's reports and output are read.
std::string reports_text(const Study& study) {
    std::string text;
    if (!study.shim.empty())
        text += row(
            "shim",
            study.shim + ": the script imports a stand-in, which provides the trial's parameters" +
                (study.metrics->patterns.empty() && study.metrics->file.empty() ? " and receives its reports" : ""));
    if (study.metrics && study.metrics->reports > 1)
        text += row("", "a step is " + std::to_string(study.metrics->reports) + " reports of " +
                            study.objective.metric + " (worker.step)");
    if (study.metrics && (study.metrics->terminal == TerminalUse::on ||
                          (study.metrics->terminal == TerminalUse::automatic && study.preload.empty() &&
                           script::profits_from_terminal(study.command))))
        text += row("", "prints to a terminal of its own, so that its output is not buffered (worker.terminal)");
    if (study.metrics)
        for (const std::string& pattern : study.metrics->patterns)
            if (const std::string warning = script::pattern_warning(pattern); !warning.empty())
                text += row("warning", warning);
    return text + row("", "ended when it neither prints nor reports nor computes for " +
                              duration_text(study.resources.progress_timeout) + " (resources.progress_timeout)");
}

/// Describes the trials of a script's study, whose footprint is declared or learned, and fills in `load`.
std::string script_text(const Study& study, Load& load, Json& json) {
    const Prediction prediction = FootprintModel(study.resources.trial, load.question.on_device).predict({});
    Footprint footprint = prediction.footprint;
    if (cores_are_searched(study)) footprint.cores = 0;
    load.question.trials = {{footprint, {}, {}, false}};
    const std::int64_t gpus = study.resources.trial.gpus;
    load.question.devices = static_cast<std::size_t>(gpus);
    const std::string on_device = gpus > 1 ? ", on " + std::to_string(gpus) + " devices at once" : ", on a device";
    std::string text = row("trial", "runs " + study.command.front() + (load.question.on_device ? on_device : ""));
    text += folders_text(study, json) + reports_text(study);
    json["progress_timeout"] = study.resources.progress_timeout;
    if (!study.preload.empty()) {
        std::string modules;
        for (const std::string& module : study.preload) modules += (modules.empty() ? "" : ", ") + module;
        text += row("preload", modules + ": imported once per worker; its trials are forked from that process");
    }
    json["needs"] = prediction.alone ? "learned" : "declared";
    // A resource that is not declared counts as zero here.
    if (const auto reason =
            never_fits(load.question.machine, prediction.footprint, load.question.on_device, load.question.devices))
        throw Fatal("no trial fits: each " + *reason);
    if (prediction.alone) {
        load.question.trials.clear();
        return text + row("", "what it needs is learned: the first trial runs alone until its first report");
    }
    std::string needs;
    if (study.resources.trial.host_bytes) needs = bytes(prediction.footprint.host_bytes) + " of memory";
    if (load.question.on_device)
        needs += (needs.empty() ? "" : ", ") + bytes(prediction.footprint.device_bytes) +
                 std::string(" of device memory") +
                 (gpus > 1 ? " on each of " + std::to_string(gpus) + " devices" : "");
    const std::string cores = footprint.cores > 0 ? " and " + cores_text(footprint.cores) : "";
    text += row("", "needs " + needs + cores + ", " + prediction.why + ", until it is measured");
    if (!study.resources.trial.host_bytes)
        text += row("", "what it needs of the host's memory is learned from the first trials");
    return text;
}

/// Returns "lr 0.001, width 64".
std::string configuration_text(const Params& params) {
    std::string text;
    for (const auto& [name, value] : params) text += (text.empty() ? "" : ", ") + name + ' ' + to_text(value);
    return text;
}

/// Lists the configurations that the study tries first.
std::string start_text(const Study& study) {
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

/// Returns "maximize val_accuracy", or "minimize val_loss and minimize latency (a Pareto front)".
std::string objective_text(const Objective& objective) {
    const auto goal = [](const std::string& metric, Direction direction) {
        return (direction == Direction::maximize ? "maximize " : "minimize ") + metric;
    };
    std::string text = goal(objective.metric, objective.direction);
    for (const Goal& one : objective.further) text += " and " + goal(one.metric, one.direction);
    return text + (objective.further.empty() ? "" : " (a Pareto front)");
}

/// Describes the objective, the space, the budget, the sampler and the stopping rules.
std::string search_text(const Study& study, Json& json) {
    std::string text = row(
        "study", study.name + ": " + objective_text(study.objective) + ", seed " + std::to_string(study.seed) +
                     (study.repeats > 1 ? ", up to " + std::to_string(study.repeats) + " seeds a configuration" : ""));
    for (const Constraint& constraint : study.objective.constraints)
        text += row(&constraint == &study.objective.constraints.front() ? "constraints" : "",
                    constraint.metric + (constraint.min ? " at least " + short_number(*constraint.min) : "") +
                        (constraint.min && constraint.max ? " and" : "") +
                        (constraint.max ? " at most " + short_number(*constraint.max) : ""));
    text += row("space", describe(study.space));
    for (const Dimension& dimension : study.space) {
        const std::string name = "  " + dimension.name;
        text += name + std::string(name.size() < 20 ? 20 - name.size() : 1, ' ') + describe(dimension) + '\n';
    }
    text += row("budget", std::to_string(trials_of(study)) + (trials_of(study) == 1 ? " trial" : " trials") +
                              (study.budget.open ? ", each until its program ends"
                                                 : " of up to " + steps_text(study, study.budget.epochs)) +
                              (study.budget.seconds ? ", " + duration_text(*study.budget.seconds) : ""));
    text += start_text(study) + sampler_text(study, json);
    text += rules_text(study);
    return text;
}

/// Describes how the number of trials at once will be found, if the study does not set it.
std::string search_of_concurrency(const Study& study, const WorkerPlan& plan, const SessionMachine& machine) {
    const auto search = concurrency_plan(study, plan, machine);
    if (!search || search->workers.most == 1) return {};
    const auto remembered = search->remembered.find(machine.on_device() ? 0 : host_only);
    const bool known = remembered != search->remembered.end();
    const std::int64_t most = search->workers.most;
    const std::int64_t start = known ? std::min(remembered->second.workers.number, most) : search->workers.start;
    std::string text =
        "by their throughput: begins with " + std::to_string(start) + (known ? ", as an earlier session found" : "");
    if (most > start) text += ", more (at most " + std::to_string(most) + ") while the total work per second rises";
    if (start > 1) text += ", fewer where it does not fall";
    return row("  chosen", text + " (resources.parallel sets it)");
}

/// How many cores a native trial on the CPU computes on.
std::string cores_of_trials(const Study& study, const WorkerPlan& plan, const SessionMachine& machine) {
    const auto cores = cores_of_workers(study, plan);
    if (cores.empty() || machine.on_device()) return {};
    const std::size_t each = cores.front().size();
    std::string text = std::to_string(each) + " for each trial";
    if (cores.size() == 1) return each == 1 ? std::string() : row("  cores", text);
    if (!study.resources.parallel)
        text += "; the first one has up to " +
                std::to_string(std::min(cores_of_first_trial, static_cast<std::int64_t>(cores.size()))) +
                " before others begin, if its updates are large enough";
    return row("  cores", text + "; those without a trial help the others");
}

int check_command(const CheckArguments& arguments) {
    std::signal(SIGPIPE, SIG_IGN);
    const Study study = load_study(arguments.file, {arguments.set, {}}, NoWorker::allowed);
    const std::string warnings = warnings_of(arguments.file, {arguments.set, {}});
    if (arguments.json) std::fputs(warnings.c_str(), stderr);
    Json json{{"study", study.name},
              {"dimensions", study.space.size()},
              {"where", study.where},
              {"trials", trials_of(study)},
              {"keep", {{"checkpoints", kept(study.keep.checkpoints)}, {"folders", kept(study.keep.folders)}}}};
    if (has_worker(study)) refuse_unready_script(study, arguments.set.empty() ? arguments.file : "");
    std::string text = warnings + search_text(study, json);
    if (!has_worker(study)) {
        const std::string trial =
            row("trial", "trained by another program: hpo ask-tell " + shell_word(arguments.file));
        print(arguments.json ? json.dump() + '\n' : printable(text + trial, true));
        return 0;
    }
    const auto machine = open_machine(study, installed_programs(), [](const DeviceNotice& notice) {
        std::fputs(("hpo: " + notice.text + '\n').c_str(), stderr);
    });
    if (!machine) throw Fatal(machine.error().message);
    const Host& host = machine->host();
    Load load;
    load.question.machine = machine->read();
    load.question.on_device = machine->on_device();
    const WorkerPlan plan = plan_workers(study, host);
    load.question.workers = plan.workers;
    load.question.parallel = study.resources.parallel;
    if (cores_are_searched(study)) {
        load.question.parallel = plan.workers;
        load.question.parallel_by_default = true;
    }
    load.question.budget_trials = trials_of(study);

    text += row("keep", keep_text(study));
    text += study.command.empty() ? native_text({study, arguments.file, arguments.set.empty()}, *machine, load, json)
                                  : script_text(study, load, json);
    text += row("machine",
                host.cpu_name + ", " + cores_text(host.cores) + ", " + bytes(available_memory()) + " of memory free");
    text += packing_text(load, json);
    if (const auto why = fewer_than_asked(study, host); !why.empty()) text += row("", why);
    text += search_of_concurrency(study, plan, *machine) + cores_of_trials(study, plan, *machine);
    if (!arguments.json) print(printable(text, true));  // now, as there may be no prediction
    if (arguments.devices) {
        const PredictionReport report =
            predict_study({.study = arguments.file, .set = arguments.set, .devices = arguments.devices});
        json["prediction"] = to_json(report);
        if (!arguments.json) print("\nElsewhere, simulated:\n" + view::draw_prediction(report));
    }
    if (arguments.json) print(json.dump() + '\n');
    return 0;
}

}  // namespace

CommandAction check(CLI::App& app) {
    const auto arguments = std::make_shared<CheckArguments>();
    app.add_option("file", arguments->file, "The study file")->required();
    app.add_option("--set", arguments->set, "Override one key: --set space.lr.high=0.1")
        ->take_all()
        ->type_name("KEY=VALUE");
    app.add_option("--devices", arguments->devices,
                   "Also predict how long the study takes on other hardware, such as 8xH200 (see hpo simulate)");
    app.add_flag("--json", arguments->json, "One JSON object, for programs");
    return [arguments] { return check_command(*arguments); };
}

}  // namespace hpo::commands
