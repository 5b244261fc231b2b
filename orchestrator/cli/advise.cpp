// hpo advise: names the limit of a study, which changes make it faster, and how long the search takes with each.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "hpo/printable.hpp"
#include "orchestrator/advice/facts.hpp"
#include "orchestrator/advice/report.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/study/edit.hpp"
#include "orchestrator/view/advice.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {

namespace {

struct AdviseArguments {
    std::string study;
    std::string apply;
    bool measure = false;
    bool json = false;
};

/// Returns why --measure did not measure all that it was asked for; empty if it did.
std::string what_was_measured(const StudyFacts& facts) {
    const auto count = std::count_if(facts.options.begin(), facts.options.end(),
                                     [](const TrainingOption& option) { return option.measured.has_value(); });
    if (count == 0) return "--measure measured nothing: the typical trial could not be trained for a few iterations";
    if (count == 1 && !facts.largest_batch)
        return "--measure found nothing to compare with: trees have no batch, precision or backend to choose";
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

int advise_command(const AdviseArguments& arguments) {
    if (!arguments.apply.empty()) refuse_existing(arguments.apply);  // before minutes of measuring
    const StudySnapshot snapshot = snapshot_or_fail(choose_study(arguments.study));
    const MeasuredStudy measured = read_measured(snapshot);
    AdviceReport report;
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

    add_search_times(report, measured);
    for (const auto& [key, value] : chosen_keys(report.advice)) report.lines.push_back(key + ": " + value);

    print(arguments.json ? to_json(report).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n'
                         : view::draw_advice(report, view::screen_of_stdout()));
    if (!arguments.apply.empty()) {
        apply(measured.study, chosen_keys(report.advice), arguments.apply);
        if (!arguments.json)
            print("\nWritten to " + printable(arguments.apply) + " under a new name; start it with: hpo run " +
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
