// hpo train: one configuration to the end, its accuracy on the test split, its weights in a file.
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "hpo/random.hpp"
#include "hpo/units.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/study_source.hpp"
#include "orchestrator/engine/live_machine.hpp"
#include "orchestrator/engine/one_worker.hpp"

namespace hpo::commands {

namespace {

struct TrainArguments {
    std::string file;
    std::string output;
    std::vector<std::string> set;
    bool json = false;
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

/// Where the weights will lie, links resolved: a regular file, old or new, in a folder that can be written. Asked
/// before training, so that nothing is trained for a file that cannot be made; and a device is never replaced by a
/// file.
std::filesystem::path output_file(const std::string& output) {
    namespace fs = std::filesystem;
    std::error_code failed;
    if (output.empty()) throw Fatal("-o: the name of a file for the weights is missing", 2);
    const fs::path file = fs::weakly_canonical(fs::absolute(output), failed);
    if (failed) throw Fatal("-o " + output + ": " + failed.message());
    const auto there = fs::status(file, failed).type();
    if (there == fs::file_type::directory || !file.has_filename())
        throw Fatal("-o " + output + ": a folder; give the name of a file for the weights");
    if (there != fs::file_type::not_found && there != fs::file_type::regular)
        throw Fatal("-o " + output + ": not a regular file; give the name of a file for the weights");
    const fs::path folder = file.parent_path();
    if (!fs::is_directory(folder, failed)) throw Fatal("-o " + output + ": there is no folder " + folder.string());
    if (access(folder.c_str(), W_OK) != 0)
        throw Fatal("-o " + output + ": cannot write to the folder " + folder.string());
    return file;
}

int train_command(const TrainArguments& arguments) {
    std::signal(SIGPIPE, SIG_IGN);
    const Study study = load_study(arguments.file, {arguments.set, {}});
    refuse_what_cannot_be_trained(study, arguments);
    const auto output = output_file(arguments.output);
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
    const std::filesystem::path scratch = output.string() + ".parts";
    std::filesystem::create_directories(scratch);
    run.folder = scratch.string();
    run.resume = true;
    run.test = true;
    run.save = output.string();

    std::int64_t last = 0;
    const auto finished = (*worker)->run({&run, 1}, [&](const Report& report) {
        if (last == 0 && report.step > 1 && !arguments.json)
            print("goes on after step " + std::to_string(report.step - 1) + ", where it was interrupted\n");
        last = report.step;
        if (!arguments.json) print(step_line(report, run.steps));
        return to_worker::Action::go_on;
    });
    std::error_code ignored;
    std::filesystem::remove_all(scratch, ignored);
    if (!finished) throw Fatal(finished.error().message);
    if (finished->outcome != Outcome::complete)
        throw Fatal("the training ended as " + std::string(to_text(finished->outcome)) + ": " + finished->message);

    if (arguments.json) {
        nlohmann::ordered_json json{{"study", study.name}, {"weights", run.save}, {"values", finished->values}};
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
    return [arguments] { return train_command(*arguments); };
}

}  // namespace hpo::commands
