// hpo train: one configuration to the end, its accuracy on the test split, its weights in a file.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "hpo/printable.hpp"
#include "hpo/random.hpp"
#include "hpo/units.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/study_source.hpp"
#include "orchestrator/engine/live_machine.hpp"
#include "orchestrator/engine/one_worker.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/export/output.hpp"

namespace hpo::commands {

namespace {

struct TrainArguments {
    std::string file;
    std::string output;
    std::vector<std::string> set;
    bool json = false;
    bool force = false;
};

/// "epoch 3/20  loss 0.4120  val_accuracy 0.8730  ...  182.4 it/s".
std::string step_line(const Report& report, std::int64_t steps) {
    std::string line = "step " + std::to_string(report.step) + '/' + std::to_string(steps);
    for (const auto& [name, number] : report.metrics) line += "  " + name + ' ' + short_number(number);
    if (report.learning_rate) line += "  lr " + short_number(*report.learning_rate);
    if (report.iterations_per_second) line += "  " + short_number(*report.iterations_per_second) + " it/s";
    if (!report.warning.empty()) line += "  (" + report.warning + ')';
    return line + '\n';
}

/// What `hpo train` can train: one configuration, for the native worker.
void refuse_what_cannot_be_trained(const Study& study, const TrainArguments& arguments) {
    if (!study.space.empty())
        throw Fatal(arguments.file + " leaves " + std::to_string(study.space.size()) +
                    (study.space.size() == 1 ? " parameter" : " parameters") + " open: search first (hpo run " +
                    arguments.file + "), then train the result (hpo best " + study.name +
                    " > best.yaml; hpo train best.yaml)");
    if (!study.command.empty())
        throw Fatal("hpo train trains built-in models; run the study's own command for " + study.name);
}

/// Where the weights will lie. Asked before training, so that nothing is trained for a file that cannot be made.
exporting::Output place_for(const TrainArguments& arguments) {
    if (arguments.output.empty()) throw Fatal("-o: the name of a file for the weights is missing", 2);
    auto output = exporting::Output::at(arguments.output, exporting::Output::Kind::file, arguments.force);
    if (!output) throw Fatal("-o " + output.error().message);
    if (const auto named = check_utf8(output->path()); !named) throw Fatal("-o " + named.error().message);
    return std::move(*output);
}

/// The checkpoints that training leaves beside the weights, and their folder if nothing else is in it.
void remove_checkpoints(const std::filesystem::path& folder) {
    std::error_code ignored;
    for (const char* written : {"last.ckpt", "last.ckpt.tmp", "best.ckpt", "best.ckpt.tmp"})
        std::filesystem::remove(folder / written, ignored);
    std::filesystem::remove(folder, ignored);
}

int train_command(const TrainArguments& arguments) {
    std::signal(SIGPIPE, SIG_IGN);
    const Study study = load_study(arguments.file, {arguments.set, {}});
    refuse_what_cannot_be_trained(study, arguments);
    auto output = place_for(arguments);
    const auto machine = open_machine(study, installed_programs(), [](const DeviceNotice& notice) {
        std::fputs(("hpo: " + notice.text + '\n').c_str(), stderr);
    });
    if (!machine) throw Fatal(machine.error().message);
    auto worker = OneWorker::start(study, installed_programs(), machine->target(machine->on_device() ? 0 : host_only));
    if (!worker) throw Fatal(worker.error().message);

    to_worker::Run run;
    run.id = {1, 1};
    run.params = study.worker;
    run.steps = study.budget.epochs;
    const auto seed = study.worker.find("seed");
    run.seed =
        seed == study.worker.end() ? trial_seed(study.seed, 1) : static_cast<std::uint64_t>(number_or(seed->second, 0));
    run.data_seed = study.seed;
    run.objective = study.objective;
    // The weights to keep are those of the best step so far: they lie beside the output while it trains, with the last
    // step's checkpoint, from which an interrupted training of the same configuration goes on.
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
            print("goes on after step " + std::to_string(report.step - 1) + ", where it was interrupted\n");
        last = report.step;
        if (!arguments.json) print(step_line(report, run.steps));
        return to_worker::Action::go_on;
    });
    if (!finished) {
        std::error_code ignored;
        std::filesystem::remove(scratch, ignored);  // what is in it is for the next time
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
        std::fprintf(stderr, "hpo: what was there lies in %s now\n", printable(aside->string()).c_str());

    if (arguments.json) {
        nlohmann::ordered_json json{{"study", study.name},
                                    {"weights", std::filesystem::absolute(output.path()).string()},
                                    {"values", finished->values}};
        print(json.dump() + '\n');
        return 0;
    }
    std::string summary;
    for (const auto& [name, number] : finished->values)
        summary += (summary.empty() ? "" : "  ") + name + ' ' + short_number(number);
    print(summary + "\nweights in " + arguments.output + '\n');
    return 0;
}

}  // namespace

CommandAction train(CLI::App& app) {
    const auto arguments = std::make_shared<TrainArguments>();
    app.add_option("file", arguments->file, "A study file with nothing left to vary, as hpo best writes it")
        ->required();
    app.add_option("-o,--output", arguments->output, "Where the weights go (safetensors)")
        ->default_val("model.safetensors");
    app.add_option("--set", arguments->set, "Override one key: --set budget.epochs=40")
        ->take_all()
        ->type_name("KEY=VALUE");
    app.add_flag("--json", arguments->json, "One JSON object at the end, for programs");
    app.add_flag("--force", arguments->force, "Set aside what is there, under another name");
    return [arguments] { return train_command(*arguments); };
}

}  // namespace hpo::commands
