// hpo train: trains one configuration to the end, measures it on the test split and writes its weights to a file.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/output/model_card.hpp"
#include "orchestrator/output/output_path.hpp"
#include "orchestrator/single_training/train.hpp"

namespace hpo::commands {

namespace {

struct TrainArguments {
    std::string file;
    std::string output, card;
    std::vector<std::string> set;
    bool json = false;
    bool force = false;
};

/// Returns "step 3/20  loss 0.4120  val_accuracy 0.8730  ...  182.4 it/s".
std::string step_line(const Report& report, std::int64_t steps) {
    std::string line = "step " + std::to_string(report.step) + '/' + std::to_string(steps);
    for (const auto& [name, number] : report.metrics) line += "  " + name + ' ' + short_number(number);
    if (report.learning_rate) line += "  lr " + short_number(*report.learning_rate);
    if (report.iterations_per_second) line += "  " + short_number(*report.iterations_per_second) + " it/s";
    if (!report.warning.empty()) line += "  (" + report.warning + ')';
    return line + '\n';
}

/// Opens the output file of an option. This comes before training, so that no training is lost to a file that cannot be
/// written. Throws Fatal if it cannot.
OutputPath open_output(const std::string& option, const std::string& path, bool force) {
    if (path.empty()) throw Fatal(option + ": the name of a file is missing", 2);
    auto output = OutputPath::at(path, OutputPath::Kind::file, force);
    if (!output) throw Fatal(option + ' ' + output.error().message);
    if (const auto valid = check_utf8(output->path()); !valid) throw Fatal(option + ' ' + valid.error().message);
    return std::move(*output);
}

/// Throws Fatal if the card would take the place of the weights.
void refuse_one_file_for_both(const TrainArguments& arguments) {
    namespace fs = std::filesystem;
    std::error_code unknown;
    const auto one_name = [&](const std::string& path) { return fs::weakly_canonical(fs::absolute(path), unknown); };
    if (!arguments.card.empty() && one_name(arguments.output) == one_name(arguments.card))
        throw Fatal("-o and --card both name " + printable(arguments.card) + ": give the card a file of its own", 2);
}

/// Returns a line for the test score of a model, with the score of a constant prediction as the scale to read it by.
std::string score_text(const Metrics& values) {
    std::string model, baseline;
    for (const auto& [name, number] : values) {
        const bool constant = name.starts_with("baseline_");
        std::string& line = constant ? baseline : model;
        line += (line.empty() ? "" : "  ") + (constant ? name.substr(std::string_view("baseline_").size()) : name) +
                ' ' + short_number(number);
    }
    if (baseline.empty()) return model + '\n';
    const bool classes = values.contains("baseline_accuracy");
    return model + "\nalways predicting the " + (classes ? "majority class" : "mean") + " would score " + baseline +
           '\n';
}

int train_command(const TrainArguments& arguments) {
    std::signal(SIGPIPE, SIG_IGN);
    Study study = load_study(arguments.file, {arguments.set, {}});
    refuse_untrainable(study, arguments.file);
    refuse_one_file_for_both(arguments);
    const auto say = [](const std::string& text) { std::fputs(("hpo: " + text + '\n').c_str(), stderr); };
    if (const std::string changed = take_one_fold(study); !changed.empty()) say(changed);
    auto output = open_output("-o", arguments.output, arguments.force);
    std::optional<OutputPath> card;
    if (!arguments.card.empty()) card.emplace(open_output("--card", arguments.card, arguments.force));

    TrainingListener listener{say, [](std::int64_t) {}, [](const Report&) {}};
    if (!arguments.json) {
        listener.resumed = [](std::int64_t step) {
            print("resumed after step " + std::to_string(step) + ", where it was interrupted\n");
        };
        listener.reported = [&](const Report& report) { print(step_line(report, study.budget.epochs)); };
    }
    const Metrics values = train_to_file({study, arguments.file, arguments.set.empty()}, output, listener);
    if (card) or_fail(write_whole(*card, model_card(study, values, arguments.output)));

    if (arguments.json) {
        nlohmann::ordered_json json{{"study", study.name},
                                    {"weights", std::filesystem::absolute(output.path()).string()},
                                    {"values", nlohmann::ordered_json::object()}};
        for (const auto& [name, value] : values) json["values"][name] = value;
        print(json.dump() + '\n');
        return 0;
    }
    print(score_text(values) + "weights in " + arguments.output + '\n');
    return 0;
}

}  // namespace

CommandAction train(CLI::App& app) {
    const auto arguments = std::make_shared<TrainArguments>();
    app.add_option("file", arguments->file, "A study file without a search space, as hpo best writes it")->required();
    app.add_option("-o,--output", arguments->output, "The file for the weights (safetensors)")
        ->default_val("model.safetensors");
    app.add_option("--card", arguments->card, "Also write a model card, in Markdown: data, scores, configuration, use");
    app.add_option("--set", arguments->set, "Override one key: --set budget.epochs=40")
        ->take_all()
        ->type_name("KEY=VALUE");
    app.add_flag("--json", arguments->json, "One JSON object at the end, for programs");
    app.add_flag("--force", arguments->force, "Replace an existing file, which is kept under another name");
    return [arguments] { return train_command(*arguments); };
}

}  // namespace hpo::commands
