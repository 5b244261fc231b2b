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
#include "hpo/random.hpp"
#include "hpo/text.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/engine/live_machine.hpp"
#include "orchestrator/engine/one_worker.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/output/model_card.hpp"
#include "orchestrator/output/output_path.hpp"
#include "orchestrator/preview/samples.hpp"
#include "orchestrator/study/study_file.hpp"

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

/// Throws Fatal unless the study is a single configuration for the native worker.
void refuse_untrainable(const Study& study, const TrainArguments& arguments) {
    if (!study.space.empty())
        throw Fatal(arguments.file + " leaves " + counted(static_cast<std::int64_t>(study.space.size()), "parameter") +
                    " open: search first (hpo run " + arguments.file + "), then train the result (hpo best " +
                    study.name + " > best.yaml; hpo train best.yaml)");
    if (study.script()) throw Fatal("hpo train trains built-in models; run the study's own command for " + study.name);
}

/// A file holds one model. Replaces folds by one split, whose validation part is as large as a fold, and says so.
void take_one_fold(Study& study) {
    const auto found = study.fixed.find("folds");
    if (found == study.fixed.end()) return;
    const double folds = number_or(found->second, 1);
    study.fixed.erase("folds");
    study.fixed["validation"] = 1 / folds;
    study.source = write_study(study);
    std::fprintf(stderr,
                 "hpo: %.0f folds make as many models, and a file holds one: this one is validated on a part of the "
                 "samples as large as a fold (data.validation: %s)\n",
                 folds, short_number(1 / folds).c_str());
}

/// Returns the configuration, in as many micro-batches as the memory asks for. Throws Refusal if the worker rejects it,
/// and Fatal if it fits in none.
Params that_fits(const Study& study, const TrainArguments& arguments, OneWorker& worker, const Machine& machine) {
    const Sample sample = plan_samples({study, arguments.file, arguments.set.empty()}, worker, machine).front();
    if (sample.micro_batches > 0)
        std::fprintf(stderr, "hpo: each batch is trained in %lld micro-batches: as it is it %s\n",
                     static_cast<long long>(sample.micro_batches), sample.too_large.c_str());
    return sample.params;
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

/// Writes the model card. Throws Fatal if that fails.
void write_card(OutputPath& output, const std::string& text) {
    auto file = or_fail(FileWriter::create(output.temporary(), output.path()));
    or_fail(file.write(text));
    or_fail(file.close(true));
    or_fail(output.finish());
}

/// Removes the checkpoints that training leaves beside the weights, and their folder if it is empty then.
void remove_checkpoints(const std::filesystem::path& folder) {
    std::error_code ignored;
    for (const char* name : {"last.ckpt", "last.ckpt.tmp", "best.ckpt", "best.ckpt.tmp"})
        std::filesystem::remove(folder / name, ignored);
    std::filesystem::remove(folder, ignored);
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
    return model + "\nalways predicting the " + (classes ? "commonest class" : "mean") + " would score " + baseline +
           '\n';
}

int train_command(const TrainArguments& arguments) {
    std::signal(SIGPIPE, SIG_IGN);
    Study study = load_study(arguments.file, {arguments.set, {}});
    refuse_untrainable(study, arguments);
    refuse_one_file_for_both(arguments);
    take_one_fold(study);
    auto output = open_output("-o", arguments.output, arguments.force);
    std::optional<OutputPath> card;
    if (!arguments.card.empty()) card.emplace(open_output("--card", arguments.card, arguments.force));
    const auto machine = open_machine(study, installed_programs(), [](const DeviceNotice& notice) {
        std::fputs(("hpo: " + notice.text + '\n').c_str(), stderr);
    });
    if (!machine) throw Fatal(machine.error().message);
    auto worker = OneWorker::start(study, installed_programs(), machine->target(machine->on_device() ? 0 : host_only));
    if (!worker) throw Fatal(worker.error().message);
    Study alone = study;
    alone.resources.parallel = 1;
    if (const auto cores = cores_of_workers(alone, plan_workers(alone, machine->host())); !cores.empty())
        (*worker)->use_cores(cores.front());

    to_worker::Run run;
    run.id = {1, 1};
    run.params = that_fits(study, arguments, **worker, machine->read());
    run.steps = study.budget.epochs;
    const auto seed = study.fixed.find("seed");
    run.seed =
        seed == study.fixed.end() ? trial_seed(study.seed, 1) : static_cast<std::uint64_t>(number_or(seed->second, 0));
    run.data_seed = study.seed;
    run.objective = study.objective;
    // While it trains, the weights of the best step so far and a checkpoint of the last step are kept beside the
    // output. An interrupted training of the same configuration resumes from that checkpoint.
    std::filesystem::path scratch = std::filesystem::absolute(output.path());
    scratch += ".parts";
    std::filesystem::create_directories(scratch);
    run.folder = scratch.string();
    run.resume = true;
    run.test = true;
    run.save = std::filesystem::absolute(output.temporary()).string();

    std::int64_t last = 0;
    const auto finished = (*worker)->run({&run, 1}, [&](const Report& report) {
        if (last == 0 && report.step > 1 && !arguments.json)
            print("resumed after step " + std::to_string(report.step - 1) + ", where it was interrupted\n");
        last = report.step;
        if (!arguments.json) print(step_line(report, run.steps));
        return to_worker::Action::go_on;
    });
    if (!finished) {
        std::error_code ignored;
        std::filesystem::remove(scratch, ignored);  // only if empty; checkpoints are kept for the next attempt
        throw Fatal(finished.error().message);
    }
    if (finished->outcome != Outcome::complete) {
        remove_checkpoints(scratch);
        throw Fatal("the training ended as " + std::string(to_text(finished->outcome)) + ": " + finished->message);
    }
    const auto aside = output.finish();
    if (!aside) throw Fatal(aside.error().message);
    remove_checkpoints(scratch);
    if (!aside->empty())
        std::fprintf(stderr, "hpo: the earlier file was moved to %s\n", printable(aside->string()).c_str());

    if (card) write_card(*card, model_card(study, finished->values, arguments.output));

    if (arguments.json) {
        nlohmann::ordered_json json{{"study", study.name},
                                    {"weights", std::filesystem::absolute(output.path()).string()},
                                    {"values", nlohmann::ordered_json::object()}};
        for (const auto& [name, value] : finished->values) json["values"][name] = value;
        print(json.dump() + '\n');
        return 0;
    }
    print(score_text(finished->values) + "weights in " + arguments.output + '\n');
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
