// hpo check: what a study means on this machine, before it runs.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "hpo/random.hpp"
#include "hpo/units.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/study_source.hpp"
#include "orchestrator/engine/one_worker.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/sampling/proposer.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::commands {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t samples = 32;     ///< configurations that are planned
constexpr std::int64_t probe_steps = 3;  ///< of the training that is timed; the last one counts
constexpr std::int64_t probe_iterations = 20;

struct CheckArguments {
    std::string file;
    std::vector<std::string> set;
    bool json = false;
};

struct Range {
    double low = 0, middle = 0, high = 0;
};

Range range_of(std::vector<double> numbers) {
    std::sort(numbers.begin(), numbers.end());
    return {numbers.front(), numbers[numbers.size() / 2], numbers.back()};
}

/// Configurations of the space as the worker would meet them, with its answers.
struct Planned {
    std::vector<Params> params;
    std::vector<from_worker::PlanAnswer> answers;

    [[nodiscard]] Range over(double (*what)(const from_worker::PlanAnswer&)) const {
        std::vector<double> numbers;
        for (const auto& answer : answers) numbers.push_back(what(answer));
        return range_of(numbers);
    }
    /// The one in the middle by computation.
    [[nodiscard]] std::size_t typical() const {
        std::vector<std::size_t> order(answers.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::sort(order.begin(), order.end(),
                  [&](auto a, auto b) { return answers[a].flops_per_step < answers[b].flops_per_step; });
        return order[order.size() / 2];
    }
};

Planned plan_samples(const Study& study, OneWorker& worker) {
    auto proposer = Proposer::make(study);
    if (!proposer) throw Fatal(proposer.error().message);
    Planned planned;
    for (std::int64_t trial = 1; trial <= std::min(samples, std::max<std::int64_t>(1, study.budget.trials)); ++trial) {
        const auto proposal = proposer->propose(trial);
        if (!proposal) break;
        Params params = proposal->params;
        params.insert(study.worker.begin(), study.worker.end());
        auto answer = worker.plan(params, study.budget.epochs, study.seed);
        if (!answer) throw Fatal("trial " + std::to_string(trial) + " could not run: " + answer.error().message);
        planned.params.push_back(std::move(params));
        planned.answers.push_back(std::move(*answer));
    }
    return planned;
}

/// Seconds of one step of the typical configuration, measured here and now.
std::optional<double> measured_step(const Study& study, OneWorker& worker, const Planned& planned) {
    const std::size_t typical = planned.typical();
    const std::int64_t iterations = std::max<std::int64_t>(1, planned.answers[typical].iterations_per_step);
    to_worker::Run run;
    run.id = {1, 1};
    run.params = planned.params[typical];
    run.params["eval_every"] = std::min(iterations, probe_iterations);
    run.steps = probe_steps;
    run.seed = trial_seed(study.seed, 1);
    run.data_seed = study.seed;
    run.objective = study.objective;
    std::optional<double> speed;
    const auto finished = worker.run(run, [&](const Report& report) {
        speed = report.iterations_per_second;
        return to_worker::Action::go_on;
    });
    if (!finished) throw Fatal(finished.error().message);
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

std::string rules_text(const Study& study) {
    std::string text;
    for (const PartSpec& rule : study.stopping) {
        text += (text.empty() ? "" : ", ") + rule.type;
        std::string options;
        for (const auto& [name, value] : rule.options)
            options += (options.empty() ? "" : ", ") + name + ' ' + to_text(value);
        if (!options.empty()) text += " (" + options + ')';
    }
    return text.empty() ? "none: every trial runs to its end" : text;
}

/// Where nothing varies there is one configuration to try.
std::int64_t trials_of(const Study& study) { return study.space.empty() ? 1 : study.budget.trials; }

/// How many trials run at once, and what limits it.
struct AtOnce {
    std::int64_t trials = 1;
    std::string why;
};

/// `memory`: of a trial, over the space. Ends the command when not even the smallest fits.
AtOnce at_once(const Study& study, const Host& host, const Range& memory) {
    const auto places = std::min<std::int64_t>(plan_workers(study, host).places, trials_of(study));
    AtOnce answer{places, study.resources.parallel ? "resources.parallel" : "one a core"};
    if (memory.high <= 0) return answer;
    const Machine machine = live_machine(study, host, {});
    const double room = static_cast<double>(machine.memory - machine.memory_reserve - machine.memory_others);
    if (room < memory.low)
        throw Fatal("no trial fits: the smallest needs " + bytes_text(memory.low) + " of memory, and " +
                    bytes_text(std::max(0.0, room)) + " may be used" +
                    (study.resources.memory ? " (resources.memory)" : ""));
    const auto fit = static_cast<std::int64_t>(room / memory.high);
    answer.why += "; memory has room for " + std::to_string(fit) + " of the largest";
    if (fit < places) answer = {std::max<std::int64_t>(1, fit), "limited by memory: " + bytes_text(room) + " are free"};
    return answer;
}

int check_command(const CheckArguments& arguments) {
    std::signal(SIGPIPE, SIG_IGN);
    const Study study = load_study(arguments.file, {arguments.set, {}});
    const Host host = read_host();

    std::string text = row("study", study.name + ": " +
                                        (study.objective.direction == Direction::maximize ? "maximize " : "minimize ") +
                                        study.objective.metric + ", seed " + std::to_string(study.seed));
    text += row("space", describe(study.space));
    for (const Dimension& dimension : study.space) {
        const std::string name = "  " + dimension.name;
        text += name + std::string(name.size() < 20 ? 20 - name.size() : 1, ' ') + describe(dimension) + '\n';
    }
    text += row("budget", std::to_string(trials_of(study)) + (trials_of(study) == 1 ? " trial" : " trials") +
                              " of up to " + std::to_string(study.budget.epochs) + " steps" +
                              (study.budget.seconds ? ", " + duration_text(*study.budget.seconds) : ""));
    text += row("sampler", study.sampler.type);
    text += row("stopping", rules_text(study));

    Json json{{"study", study.name}, {"dimensions", study.space.size()}, {"trials", trials_of(study)}};
    Range memory;
    if (study.command.empty()) {
        auto worker = OneWorker::start(study, installed_programs());
        if (!worker) throw Fatal(worker.error().message);
        const Planned planned = plan_samples(study, **worker);
        const auto step = measured_step(study, **worker, planned);
        const Range parameters = planned.over([](const auto& a) { return static_cast<double>(a.parameters); });
        memory = planned.over([](const auto& a) { return static_cast<double>(a.footprint.host_bytes); });
        text += row("trial", text_of(parameters, whole) + " parameters");
        text += row("", text_of(memory, [](double n) { return bytes_text(n); }) + " of memory, data included");
        if (step)
            text += row("", duration_text(*step) + " a step, " +
                                duration_text(*step * static_cast<double>(study.budget.epochs)) +
                                " in full, for a typical one (measured now)");
        json["parameters"] = {parameters.low, parameters.middle, parameters.high};
        json["host_bytes"] = {memory.low, memory.middle, memory.high};
        json["seconds_per_step"] = step ? Json(*step) : Json(nullptr);
        if (step) {
            const AtOnce parallel = at_once(study, host, memory);
            const double all = *step * static_cast<double>(study.budget.epochs * trials_of(study)) /
                               static_cast<double>(parallel.trials);
            text += row("in all", duration_text(all) + " if nothing were stopped early");
        }
    } else {
        text += row("trial", "runs " + study.command.front() + "; its memory is learned while it runs");
    }
    const AtOnce parallel = at_once(study, host, memory);
    text +=
        row("machine", host.cpu_name + ", " + short_number(host.cores) + (host.cores == 1 ? " core, " : " cores, ") +
                           bytes_text(static_cast<double>(available_memory())) + " of memory free");
    text += row("at once", std::to_string(parallel.trials) + " (" + parallel.why + ")");
    json["at_once"] = parallel.trials;
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
