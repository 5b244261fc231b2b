// hpo advise: says what limits a study, which changes make it faster, and how long the search takes with each.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "hpo/printable.hpp"
#include "orchestrator/cli/advice_facts.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/engine/warm_start.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/output/trial_json.hpp"
#include "orchestrator/study/edit.hpp"
#include "orchestrator/view/advice.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {

namespace {

using Json = nlohmann::ordered_json;

struct AdviseArguments {
    std::string study;
    std::string apply;
    bool measure = false;
    bool json = false;
};

/// Returns the seconds of the whole search with a change. Nothing if its gain is not known, or it cannot be simulated.
std::optional<PredictedRange> search_time(const MeasuredStudy& measured, const std::vector<PriorStudy>& priors,
                                          const StepLaw& law, const Change& change) {
    if (!change.gain) return std::nullopt;
    const bool more_at_once = change.group == "parallel";
    const double gain = more_at_once ? 1 : *change.gain;
    Hardware hardware = hardware_of(measured.study, measured.run);
    hardware.speed = Span{gain, gain};
    for (DeviceGroup& group : hardware.groups) group.speed = hardware.speed;
    Study study = measured.study;
    study.resources.parallel = measured.run.workers;
    if (more_at_once) {
        study.resources.parallel = std::llround(static_cast<double>(measured.run.workers) * *change.gain);
        hardware.cores *= *change.gain;
    }
    const auto prediction =
        predict(study, priors, hardware, measured.run,
                [&](std::uint64_t draw) { return std::make_unique<RecordedWorkload>(study, measured.run, law, draw); },
                {.simulations = 8, .patience = 3});
    if (!prediction) return std::nullopt;
    return prediction->seconds;
}

/// The changes to make: all that are known to gain, or the first of those that are not known, if there is none.
std::vector<KeyAndValue> chosen(const Advice& advice) {
    std::vector<KeyAndValue> keys;
    const auto take = [&](const Change& change) { keys.insert(keys.end(), change.keys.begin(), change.keys.end()); };
    for (const Change& change : advice.changes)
        if (change.group == "together") return change.keys;
    for (const Change& change : advice.changes)
        if (change.gain) take(change);
    if (keys.empty() && !advice.changes.empty()) take(advice.changes.front());
    return keys;
}

/// Of --measure, if it has not measured what it was asked for: why. Else empty.
std::string what_was_measured(const StudyFacts& facts) {
    const auto count = std::count_if(facts.options.begin(), facts.options.end(),
                                     [](const TrainingOption& option) { return option.measured.has_value(); });
    if (count == 0) return "--measure measured nothing: the typical trial could not be trained for a few iterations";
    if (count == 1)
        return "--measure found nothing to compare with: no larger batch leaves an epoch 16 updates" +
               std::string(facts.largest_batch_limit.empty() ? "" : " or fits") +
               ", and no other precision or backend is free to choose";
    return {};
}

void refuse_existing(const std::string& file) {
    std::error_code failed;
    if (std::filesystem::exists(file, failed))
        throw Fatal("--apply " + printable(file) + ": the file exists and is not replaced; give a new name", 2);
}

/// Writes the study with the changes. Never replaces a file.
void apply(const Study& study, std::vector<KeyAndValue> changes, const std::string& file) {
    if (changes.empty()) throw Fatal("there is nothing to change in " + study.name);
    // Its trials would not be comparable with those that ran, so the study gets a name of its own.
    constexpr std::size_t longest_name = 64;
    const std::string suffix = "-faster";
    changes.emplace_back("study", study.name.substr(0, longest_name - suffix.size()) + suffix);
    const auto text = edit_study(study.source, study.name + " (as it ran)", changes, known_parts());
    if (!text) throw Fatal(text.error().message);
    refuse_existing(file);
    std::ofstream stream(file, std::ios::binary);
    stream << *text;
    stream.close();
    if (!stream) throw Fatal(printable(file) + " cannot be written: " + std::strerror(errno));
}

Json to_json(const view::AdviceReport& report) {
    const auto range = [](const std::optional<PredictedRange>& seconds) {
        return seconds ? Json{seconds->low, seconds->middle, seconds->high} : Json(nullptr);
    };
    Json changes = Json::array();
    for (std::size_t i = 0; i < report.advice.changes.size(); ++i) {
        const Change& change = report.advice.changes[i];
        Json keys = Json::object();
        for (const auto& [key, value] : change.keys) keys[key] = value;
        changes.push_back({{"kind", change.group},
                           {"keys", std::move(keys)},
                           {"gain", change.gain ? Json(*change.gain) : Json(nullptr)},
                           {"seconds", range(report.changed[i])},
                           {"basis", change.basis},
                           {"why", change.why}});
    }
    return {{"schema", json_schema},
            {"study", report.study},
            {"bound", to_text(report.advice.bound)},
            {"evidence", report.advice.evidence},
            {"seconds", range(report.now)},
            {"changes", std::move(changes)},
            {"largest_batch", report.facts.largest_batch ? Json(*report.facts.largest_batch) : Json(nullptr)},
            {"not_known", report.advice.to_measure}};
}

int advise_command(const AdviseArguments& arguments) {
    if (!arguments.apply.empty()) refuse_existing(arguments.apply);  // before minutes of measuring
    const StudySnapshot snapshot = snapshot_or_fail(choose_study(arguments.study));
    const MeasuredStudy measured = read_measured(snapshot);
    view::AdviceReport report;
    report.study = measured.study.name;
    report.facts = facts_of(snapshot, measured);
    if (arguments.measure && !report.facts.native)
        throw Fatal("--measure trains the built-in models with other options, and the trials of " + report.study +
                        " run a script; leave it out",
                    2);
    OptionCollector options(measured, arguments.measure);
    if (report.facts.native) options.collect(report.facts);
    report.advice = advise(report.facts);
    std::vector<Change> of_the_worker;
    for (const Change& change : report.advice.changes)
        if (!change.group.empty() && change.group != "parallel") of_the_worker.push_back(change);
    if (of_the_worker.size() > 1) {
        options.add_together(report.facts, of_the_worker);
        report.advice = advise(report.facts);
    }

    if (arguments.measure) report.advice.to_measure.push_back(what_was_measured(report.facts));
    std::erase(report.advice.to_measure, "");

    const StepLaw law(measured.study.space, measured.run);
    const auto priors = prior_studies_of(measured.study);
    if (!priors) throw Fatal(priors.error().message);
    report.now = search_time(measured, *priors, law, {.gain = 1});
    for (const Change& change : report.advice.changes)
        report.changed.push_back(search_time(measured, *priors, law, change));
    for (const auto& [key, value] : chosen(report.advice)) report.lines.push_back(key + ": " + value);

    print(arguments.json ? to_json(report).dump(2, ' ', false, Json::error_handler_t::replace) + '\n'
                         : view::draw_advice(report, view::screen_of_stdout()));
    if (!arguments.apply.empty()) {
        apply(measured.study, chosen(report.advice), arguments.apply);
        if (!arguments.json)
            print("\nWritten to " + printable(arguments.apply) + " under a name of its own; start it with: hpo run " +
                  printable(arguments.apply) + '\n');
    }
    return 0;
}

}  // namespace

CommandAction advise(CLI::App& app) {
    const auto arguments = std::make_shared<AdviseArguments>();
    app.add_option("STUDY", arguments->study, "A study that has run; default: the most recent one");
    app.add_flag("--measure", arguments->measure,
                 "Train the typical configuration for a few iterations with other batches, precisions and backends");
    app.add_option("--apply", arguments->apply,
                   "Write the study with the changes to this new file; comments and all else stay as they are");
    app.add_flag("--json", arguments->json, "One JSON object, for programs");
    return [arguments] { return advise_command(*arguments); };
}

}  // namespace hpo::commands
