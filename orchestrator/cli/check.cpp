// hpo check: what a study means on this machine, before it runs.
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
#include "hpo/random.hpp"
#include "hpo/units.hpp"
#include "hpo/worker_key_defaults.hpp"
#include "orchestrator/cli/best_config.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/packing.hpp"
#include "orchestrator/cli/script_ready.hpp"
#include "orchestrator/cli/study_source.hpp"
#include "orchestrator/engine/live_machine.hpp"
#include "orchestrator/engine/one_worker.hpp"
#include "orchestrator/engine/warm_start.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/sampling/proposer.hpp"
#include "orchestrator/scheduling/concurrency.hpp"
#include "orchestrator/scheduling/footprints.hpp"
#include "orchestrator/scheduling/out_of_memory.hpp"
#include "orchestrator/script/home.hpp"
#include "orchestrator/script/syntax/metrics.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/script/terminal.hpp"
#include "orchestrator/stopping/registry.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::commands {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t most_samples = 32;  ///< configurations that are planned
constexpr std::int64_t probe_steps = 3;    ///< of the training that is timed; the last one counts
constexpr std::int64_t probe_iterations = 20;

struct CheckArguments {
    std::string file;
    std::vector<std::string> set;
    bool json = false;
};

/// Where nothing varies there is one configuration to try.
std::int64_t trials_of(const Study& study) { return study.space.empty() ? 1 : study.budget.trials; }

struct Range {
    double low = 0, middle = 0, high = 0;
};

Range range_of(std::vector<double> numbers) {
    std::sort(numbers.begin(), numbers.end());
    return {numbers.front(), numbers[numbers.size() / 2], numbers.back()};
}

/// A configuration of the space as the worker would meet it, with its answer.
struct Sample {
    std::int64_t trial = 0;
    Params params;
    from_worker::PlanAnswer answer;
    std::string too_large;            ///< for this machine, as it is configured, with the numbers; empty: it fits
    std::int64_t micro_batches = 0;   ///< in which it fits after all; 0: in none
    PackingQuestion::Trial reserved;  ///< as it would run

    [[nodiscard]] bool runs() const { return too_large.empty() || micro_batches > 0; }
};

using Samples = std::vector<Sample>;

template <class What>
Range range_over(const Samples& samples, What&& what) {
    std::vector<double> numbers;
    for (const Sample& sample : samples) numbers.push_back(static_cast<double>(what(sample)));
    return range_of(std::move(numbers));
}

/// Of those that run, the one in the middle by computation.
const Sample& typical(const Samples& samples) {
    std::vector<const Sample*> order;
    for (const Sample& sample : samples)
        if (sample.runs()) order.push_back(&sample);
    std::stable_sort(order.begin(), order.end(),
                     [](auto* a, auto* b) { return a->answer.flops_per_step < b->answer.flops_per_step; });
    return *order[order.size() / 2];
}

std::int64_t whole_param(const Params& params, const char* name) {
    const auto found = params.find(name);
    const double otherwise = default_number(name);
    return static_cast<std::int64_t>(found == params.end() ? otherwise : number_or(found->second, otherwise));
}

/// Where a study's keys stand: in a file, unless options of the command line have changed what it says.
struct CheckContext {
    const Study& study;
    std::string file;
    bool as_written = true;

    /// At what `message` is about: the worker begins with the key, as "training.batch_size: ".
    [[noreturn]] void refuse(const std::string& who, const std::string& message, const char* side = "") const {
        const std::string key = message.substr(0, message.find(": "));
        const std::string name = key.substr(key.rfind('.') + 1);
        const bool searched = std::any_of(study.space.begin(), study.space.end(),
                                          [&](const Dimension& dimension) { return dimension.name == name; });
        throw Refusal(error_at(as_written ? study.source : "", file,
                               searched ? "space." + name + side : "worker." + key, who + message));
    }
};

from_worker::PlanAnswer plan_or_fail(const CheckContext& context, OneWorker& worker, const Sample& sample) {
    auto answer = worker.plan(sample.params, context.study.budget.epochs, context.study.seed);
    if (!answer) context.refuse("trial " + std::to_string(sample.trial) + " could not run: ", answer.error().message);
    return std::move(*answer);
}

/// Whether the data has as many samples: no sampled trial shows it.
void check_largest_batch(const CheckContext& context, OneWorker& worker, const Sample& sample) {
    for (const Dimension& dimension : context.study.space) {
        if (dimension.name != "batch_size") continue;
        double largest = dimension.high;
        for (const Value& choice : dimension.choices) largest = std::max(largest, number_or(choice, 0));
        Params params = sample.params;
        params["batch_size"] = static_cast<std::int64_t>(largest);
        const auto answer = worker.plan(params, context.study.budget.epochs, context.study.seed);
        if (!answer && answer.error().message.find("batch_size: ") != std::string::npos)
            context.refuse("the largest could not run: ", answer.error().message,
                           dimension.choices.empty() ? ".high" : ".choices");
    }
}

PackingQuestion::Trial reserved_by(const from_worker::PlanAnswer& answer) {
    return {answer.footprint, answer.fusion_key, answer.colocated};
}

/// In more micro-batches, until it fits the empty machine: as the study would, with the same batch. What the worker
/// does not take any more does not fit.
void shrink(const Study& study, OneWorker& worker, const Machine& machine, Sample& sample) {
    const std::int64_t batch_size = whole_param(sample.params, "batch_size");
    auto parts = next_accumulation(batch_size, whole_param(sample.params, "accumulation"));
    for (; parts; parts = next_accumulation(batch_size, *parts)) {
        sample.params["accumulation"] = *parts;
        const auto answer = worker.plan(sample.params, study.budget.epochs, study.seed);
        if (!answer) return;
        sample.reserved = reserved_by(*answer);
        if (never_fits(machine, sample.reserved.footprint, !machine.accelerators.empty())) continue;
        sample.micro_batches = *parts;
        return;
    }
}

/// Ends the command when not even one fits.
Samples plan_samples(const CheckContext& context, OneWorker& worker, const Machine& machine) {
    const Study& study = context.study;
    const auto priors = load_prior_studies(study);
    if (!priors) throw Fatal(priors.error().message);
    auto proposer = Proposer::make(study, *priors);
    if (!proposer) throw Fatal(proposer.error().message);
    Samples samples;
    for (std::int64_t trial = 1; trial <= std::min(most_samples, trials_of(study)); ++trial) {
        const auto proposal = proposer->propose(trial);
        if (!proposal) break;
        Sample sample;
        sample.trial = trial;
        sample.params = proposal->params;
        sample.params.insert(study.worker.begin(), study.worker.end());
        if (trial == 1) check_largest_batch(context, worker, sample);
        sample.answer = plan_or_fail(context, worker, sample);
        sample.reserved = reserved_by(sample.answer);
        if (const auto why = never_fits(machine, sample.reserved.footprint, !machine.accelerators.empty())) {
            sample.too_large = *why;
            shrink(study, worker, machine, sample);
        }
        samples.push_back(std::move(sample));
    }
    if (std::none_of(samples.begin(), samples.end(), [](const Sample& sample) { return sample.runs(); })) {
        const auto smallest = std::min_element(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
            return a.reserved.footprint.host_bytes < b.reserved.footprint.host_bytes;
        });
        throw Fatal("no trial fits, in however small micro-batches: as it is configured, the smallest (trial " +
                    std::to_string(smallest->trial) + ") " + smallest->too_large +
                    (study.resources.memory ? "; resources.memory sets the limit" : ""));
    }
    return samples;
}

/// Seconds of one step of the typical configuration, measured here and now: of so many side by side.
std::optional<double> measured_step(const Study& study, OneWorker& worker, const Sample& sample,
                                    std::int64_t side_by_side) {
    const std::int64_t iterations = std::max<std::int64_t>(1, sample.answer.iterations_per_step);
    to_worker::Run run;
    run.params = sample.params;
    run.params["eval_every"] = std::min(iterations, probe_iterations);
    run.steps = probe_steps;
    run.data_seed = study.seed;
    run.objective = study.objective;
    std::vector<to_worker::Run> runs(static_cast<std::size_t>(side_by_side), run);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[i].id = {static_cast<std::int64_t>(i) + 1, 1};
        runs[i].seed = trial_seed(study.seed, i + 1);
    }
    std::optional<double> speed;
    const auto finished = worker.run(runs, [&](const Report& report) {
        speed = report.iterations_per_second;
        return to_worker::Action::go_on;
    });
    if (!finished) throw Fatal(finished.error().message);
    if (finished->outcome == Outcome::failed) throw Fatal("a trial would fail: " + finished->message);
    if (!speed || !(*speed > 0)) return std::nullopt;
    return static_cast<double>(iterations) / *speed;
}

std::string row(const std::string& name, const std::string& text) {
    return name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') + text + '\n';
}

std::string text_of(const Range& range, std::string (*text)(double)) {
    if (range.low == range.high) return text(range.low);
    return text(range.low) + " to " + text(range.high) + ", typically " + text(range.middle);
}

std::string whole(double number) { return std::to_string(static_cast<std::int64_t>(number)); }

/// What other studies tell, one a row, and the sampler. Ends the command where that cannot serve the study.
std::string sampler_text(const Study& study) {
    const auto priors = load_prior_studies(study);
    if (!priors) throw Fatal(priors.error().message);
    std::string text;
    for (const PriorStudy& prior : *priors) text += row(text.empty() ? "warm start" : "", describe(prior));
    const auto proposer = Proposer::make(study, *priors);
    if (!proposer) throw Fatal(proposer.error().message);
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
    std::string rows = row("stopping", text.empty() ? "none: every trial runs to its end" : text);
    for (const PartSpec& spec : study.stopping) {
        const auto rule = make_rule(spec, study.objective, study.budget.epochs);
        if (!rule) throw Fatal(rule.error().message);
        if (const std::string plan = (*rule)->plan(study.command.empty() && has_worker(study) ? "epoch" : "step");
            !plan.empty())
            rows += row("  " + spec.type, plan);
    }
    return rows;
}

/// null: all.
Json kept(const std::optional<std::int64_t>& most) { return most ? Json(*most) : Json(nullptr); }

/// "the best 5 checkpoints, all trial folders of ended trials": what stays of trials that have ended.
std::string keep_text(const Study& study) {
    const auto text = [](const std::optional<std::int64_t>& most, const std::string& what) {
        const std::string many = !most ? "all " : *most == 0 ? "no " : "the best " + std::to_string(*most) + ' ';
        return many + what + (most && *most == 1 ? "" : "s");
    };
    return text(study.keep.checkpoints, "checkpoint") + ", " + text(study.keep.folders, "trial folder") +
           " of ended trials";
}

/// What the packing is of: native samples, or a script's declared trial.
struct Load {
    PackingQuestion question;
    std::optional<PackingQuestion::Trial> typical, largest;
};

/// "2 cores", "0.5 cores".
std::string cores_text(double cores) {
    char text[40];
    std::snprintf(text, sizeof text, "%.4g", cores);
    return std::string(text) + (cores == 1 ? " core" : " cores");
}

std::string bytes(std::int64_t count) { return bytes_text(static_cast<double>(count)); }

/// "7.800 GiB less 800 MiB kept free and 1.1 GiB used by others: room for 5.9 GiB; 2 trials reserve 246 MiB, 4 %".
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

std::int64_t alike_at_once(PackingQuestion question, const PackingQuestion::Trial& trial) {
    question.trials = {trial};
    return pack(question).at_once;
}

/// The rows of a packing, and its JSON.
std::string packing_text(const Load& load, Json& json) {
    const Packing packing = pack(load.question);
    const bool learned = load.question.trials.empty();
    std::string at_once = learned ? "1 at first, then as many as fit" : std::to_string(packing.at_once);
    Json of = Json::object();
    if (load.typical && load.largest) {
        const std::int64_t typical = alike_at_once(load.question, *load.typical);
        const std::int64_t largest = alike_at_once(load.question, *load.largest);
        at_once += " (" + std::to_string(typical) + " of the typical, " + std::to_string(largest) + " of the largest)";
        of = {{"typical", typical}, {"largest", largest}};
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
        {"of", of}, {"limit", learned ? "" : packing.limit}, {"pools", pools}, {"waits", packing.kept_out}};
    return text;
}

/// The samples that do not fit as they are configured: how many, with numbers, and what will happen.
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
        if (!sample.runs()) {
            ++failing;
            continue;
        }
        least = shrunk == 0 ? sample.micro_batches : std::min(least, sample.micro_batches);
        most = std::max(most, sample.micro_batches);
        ++shrunk;
    }
    json["too_large"] = list;
    if (!first) return {};
    std::string text =
        row("too large", std::to_string(list.size()) + " of " + std::to_string(samples.size()) +
                             " sampled trials; trial " + std::to_string(first->trial) + " " + first->too_large);
    if (shrunk > 0)
        text += row("", (failing > 0   ? std::to_string(shrunk) + " of them train"
                         : shrunk == 1 ? "it trains"
                                       : "they train") +
                            std::string(" in ") + (least < most ? std::to_string(least) + " to " : "") +
                            std::to_string(most) + " micro-batches instead, with the same batch size");
    if (failing > 0)
        text += row("", std::to_string(failing) + (shrunk > 0 ? " of them" : "") +
                            " fit in no micro-batches and will fail: a larger resources.memory or a smaller space "
                            "is the cure");
    return text;
}

std::int64_t total(const PackingQuestion::Trial& trial) {
    return trial.footprint.host_bytes + trial.footprint.device_bytes;
}

/// What one sample alone has, hardly another trial of the study has.
void forget_rare_shapes(std::vector<PackingQuestion::Trial>& trials) {
    std::map<std::string, int> count;
    for (const PackingQuestion::Trial& trial : trials) ++count[trial.fusion_key];
    for (PackingQuestion::Trial& trial : trials)
        if (count[trial.fusion_key] == 1) trial.fusion_key.clear();
}

/// Rows on the native worker's trials.
std::string native_text(const CheckContext& context, const Target& target, Load& load, Json& json) {
    const Study& study = context.study;
    auto worker = OneWorker::start(study, installed_programs(), target);
    if (!worker) throw Fatal(worker.error().message);
    load.question.slots = (*worker)->slots();
    load.question.parallel = most_at_once(study, load.question.workers, load.question.slots);
    load.question.parallel_by_default = load.question.parallel && !study.resources.parallel;
    const Samples samples = plan_samples(context, **worker, load.question.machine);
    const auto data = (*worker)->explain_data(samples.front().params, study.seed);
    if (!data) throw Fatal(data.error().message);
    const Sample& middle = typical(samples);
    const Range parameters = range_over(samples, [](const Sample& sample) { return sample.answer.parameters; });
    const Range memory = range_over(samples, [](const Sample& sample) { return sample.answer.footprint.host_bytes; });
    for (const Sample& sample : samples)
        if (sample.runs()) load.question.trials.push_back(sample.reserved);
    forget_rare_shapes(load.question.trials);
    const Packing packing = pack(load.question);
    const auto workers = std::max<std::int64_t>(1, packing.workers);
    const auto side_by_side = std::max<std::int64_t>(1, (packing.at_once + workers - 1) / workers);
    const auto step = measured_step(study, **worker, middle, side_by_side);
    std::vector<PackingQuestion::Trial> order = load.question.trials;
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return total(a) < total(b); });
    load.typical = order[order.size() / 2];
    load.largest = order.back();

    std::string text;
    for (const std::string& line : *data) text += row(text.empty() ? "data" : "", printable(line));
    json["data"] = *data;
    text += row("trial", text_of(parameters, whole) + " parameters");
    const auto as_bytes = [](double n) { return bytes_text(n); };
    text += row("", text_of(memory, as_bytes) + " of memory, data included");
    if (load.question.on_device) {
        const Range device = range_over(samples, [](const Sample& s) { return s.answer.footprint.device_bytes; });
        text += row("", text_of(device, as_bytes) + " of the device's memory");
        json["device_bytes"] = {device.low, device.middle, device.high};
    }
    if (step)
        text += row("", duration_text(*step) + " a step, " +
                            duration_text(*step * static_cast<double>(study.budget.epochs)) +
                            " in full, for a typical one" +
                            (side_by_side > 1 ? " among " + std::to_string(side_by_side) + " side by side" : "") +
                            " (measured now)");
    text += too_large_text(samples, json);
    json["parameters"] = {parameters.low, parameters.middle, parameters.high};
    json["host_bytes"] = {memory.low, memory.middle, memory.high};
    json["seconds_per_step"] = step ? Json(*step) : Json(nullptr);
    if (step) {
        const auto at_once = static_cast<double>(std::max<std::int64_t>(1, packing.at_once));
        text +=
            row("in all", duration_text(*step * static_cast<double>(study.budget.epochs * trials_of(study)) / at_once) +
                              " if nothing were stopped early");
    }
    return text;
}

/// Where a script runs, and what is written for it.
std::string folders_text(const Study& study, Json& json) {
    const std::string home = script::home_of(study);
    std::string text = row("", "in " + (study.cwd.empty() ? home : (std::filesystem::path(home) / study.cwd).string()) +
                                   (study.home.empty() || !study.cwd.empty() ? "" : ", where its files lie"));
    if (!study.cwd.empty()) text += row("", "its relative paths are taken from " + home);
    json["home"] = home;
    json["unused"] = Json::array();
    for (const std::string& name : script::unused_parameters(study)) {
        const bool meant_a_flag = std::any_of(study.command.begin(), study.command.end(), [&](const std::string& word) {
            return word.find("{" + name + ":") != std::string::npos;
        });
        text += row("", "warning: nothing uses '" + name + "': it stands in no placeholder such as {" + name +
                            "}, and the script does not name " + script::variable_of(name) +
                            (meant_a_flag ? "; for a flag write {flag:" + name + ":--" + name + "}" : ""));
        json["unused"].push_back(name);
    }
    for (const auto& [name, file] : study.files)
        text += row("", "with " + name + " in each trial's folder" +
                            (file.source.empty() ? "" : ", of the template " + file.source));
    return text;
}

/// Rows on a script's trials: declared, or learned.
std::string script_text(const Study& study, Load& load, Json& json) {
    const Prediction prediction = FootprintModel(study.resources.trial, load.question.on_device).predict({});
    load.question.trials = {{prediction.footprint, {}, {}}};
    const std::int64_t gpus = study.resources.trial.gpus;
    load.question.devices = static_cast<std::size_t>(gpus);
    const std::string on = gpus > 1 ? ", on " + std::to_string(gpus) + " devices at once" : ", on a device";
    std::string text = row("trial", "runs " + study.command.front() + (load.question.on_device ? on : ""));
    text += folders_text(study, json);
    if (!study.shim.empty())
        text +=
            row("shim",
                study.shim + ": the script finds a stand-in, which has the trial's parameters" +
                    (study.metrics->patterns.empty() && study.metrics->file.empty() ? " and takes its reports" : ""));
    if (study.metrics && study.metrics->reports > 1)
        text += row("", "a step is " + std::to_string(study.metrics->reports) + " reports of " +
                            study.objective.metric + " (worker.step)");
    if (study.metrics && (study.metrics->terminal == TerminalUse::on ||
                          (study.metrics->terminal == TerminalUse::automatic && study.preload.empty() &&
                           script::profits_from_terminal(study.command))))
        text += row("", "prints to a terminal of its own, so that nothing is kept back (worker.terminal)");
    if (study.metrics)
        for (const std::string& pattern : study.metrics->patterns)
            if (const std::string warning = script::pattern_warning(pattern); !warning.empty())
                text += row("warning", warning);
    text += row("", "ended when it neither prints nor reports nor computes for " +
                        duration_text(study.resources.progress_timeout) + " (resources.progress_timeout)");
    json["progress_timeout"] = study.resources.progress_timeout;
    if (!study.preload.empty()) {
        std::string modules;
        for (const std::string& module : study.preload) modules += (modules.empty() ? "" : ", ") + module;
        text += row("preload", modules + ": imported once per worker; trials are forked from there");
    }
    json["needs"] = prediction.alone ? "learned" : "declared";
    // What is not declared counts as nothing here.
    if (const auto why =
            never_fits(load.question.machine, prediction.footprint, load.question.on_device, load.question.devices))
        throw Fatal("no trial fits: each " + *why);
    if (prediction.alone) {
        load.question.trials.clear();
        return text + row("", "what it needs is learned: the first trial runs alone until its first report tells");
    }
    std::string needs;
    if (study.resources.trial.host_bytes) needs = bytes(prediction.footprint.host_bytes) + " of memory";
    if (load.question.on_device)
        needs += (needs.empty() ? "" : ", ") + bytes(prediction.footprint.device_bytes) +
                 std::string(" of device memory") +
                 (gpus > 1 ? " on each of " + std::to_string(gpus) + " devices" : "");
    text += row("", "needs " + needs + " and " + cores_text(prediction.footprint.cores) + ", " + prediction.why +
                        ", until it is measured");
    if (!study.resources.trial.host_bytes)
        text += row("", "what it needs of the host's memory is learned from the first ones");
    return text;
}

/// "lr 0.001, width 64".
std::string configuration_text(const Params& params) {
    std::string text;
    for (const auto& [name, value] : params) text += (text.empty() ? "" : ", ") + name + ' ' + to_text(value);
    return text;
}

/// The configurations that are tried first.
std::string start_text(const Study& study) {
    constexpr std::size_t shown = 5;
    const auto all = static_cast<std::int64_t>(study.start.size()), most = trials_of(study);
    std::string text;
    for (std::size_t i = 0; i < std::min(study.start.size(), shown); ++i) {
        const bool whole = study.start[i].size() == study.space.size();
        text += row(i == 0 ? "start" : "", configuration_text(study.start[i]) + (whole ? "" : ", the rest drawn"));
    }
    if (study.start.size() > shown) text += row("", "and " + std::to_string(study.start.size() - shown) + " more");
    if (all > most) text += row("", "only " + std::to_string(most) + " of them: budget.trials");
    return text;
}

/// "maximize val_accuracy", "minimize val_loss and minimize latency: a Pareto front".
std::string objective_text(const Objective& objective) {
    const auto goal = [](const std::string& metric, Direction direction) {
        return (direction == Direction::maximize ? "maximize " : "minimize ") + metric;
    };
    std::string text = goal(objective.metric, objective.direction);
    for (const Goal& one : objective.further) text += " and " + goal(one.metric, one.direction);
    return text + (objective.further.empty() ? "" : " (a Pareto front)");
}

/// What is searched, and how.
std::string search_text(const Study& study) {
    std::string text =
        row("study", study.name + ": " + objective_text(study.objective) + ", seed " + std::to_string(study.seed));
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
    text +=
        row("budget", std::to_string(trials_of(study)) + (trials_of(study) == 1 ? " trial" : " trials") + " of up to " +
                          std::to_string(study.budget.epochs) + (study.command.empty() ? " epochs" : " steps") +
                          (study.budget.seconds ? ", " + duration_text(*study.budget.seconds) : ""));
    text += start_text(study) + sampler_text(study);
    text += rules_text(study);
    return text;
}

int check_command(const CheckArguments& arguments) {
    std::signal(SIGPIPE, SIG_IGN);
    const Study study = load_study(arguments.file, {arguments.set, {}}, NoWorker::welcome);
    Json json{{"study", study.name},
              {"dimensions", study.space.size()},
              {"trials", trials_of(study)},
              {"keep", {{"checkpoints", kept(study.keep.checkpoints)}, {"folders", kept(study.keep.folders)}}}};
    if (!has_worker(study)) {
        const std::string trial = row("trial", "trained by somebody else: hpo ask-tell " + shell_word(arguments.file));
        print(arguments.json ? json.dump() + '\n' : search_text(study) + trial);
        return 0;
    }
    refuse_unready_script(study, arguments.set.empty() ? arguments.file : "");
    const auto machine = open_machine(study, installed_programs(), [](const DeviceNotice& notice) {
        std::fputs(("hpo: " + notice.text + '\n').c_str(), stderr);
    });
    if (!machine) throw Fatal(machine.error().message);
    const Host& host = machine->host();
    Load load;
    load.question.machine = machine->read();
    load.question.on_device = machine->on_device();
    load.question.workers = plan_workers(study, host).workers;
    load.question.parallel = study.resources.parallel;
    load.question.most = trials_of(study);

    std::string text = search_text(study) + row("keep", keep_text(study));
    text += study.command.empty() ? native_text({study, arguments.file, arguments.set.empty()},
                                                machine->target(machine->on_device() ? 0 : host_only), load, json)
                                  : script_text(study, load, json);
    text += row("machine",
                host.cpu_name + ", " + cores_text(host.cores) + ", " + bytes(available_memory()) + " of memory free");
    text += packing_text(load, json);
    print(arguments.json ? json.dump() + '\n' : text);
    return 0;
}

}  // namespace

CommandAction check(CLI::App& app) {
    const auto arguments = std::make_shared<CheckArguments>();
    app.add_option("file", arguments->file, "The study file")->required();
    app.add_option("--set", arguments->set, "Override one key: --set space.lr.high=0.1")
        ->take_all()
        ->type_name("KEY=VALUE");
    app.add_flag("--json", arguments->json, "One JSON object, for programs");
    return [arguments] { return check_command(*arguments); };
}

}  // namespace hpo::commands
