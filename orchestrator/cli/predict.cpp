// hpo predict: predicts with a model that hpo train has written.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "hpo/descriptor.hpp"
#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/moved_aside.hpp"
#include "orchestrator/engine/worker_output.hpp"
#include "orchestrator/output/output_path.hpp"
#include "os/files.hpp"

namespace hpo::commands {

namespace {

struct PredictArguments {
    std::string model, data, output;
    bool json = false;
    bool force = false;
};

/// Runs the worker, whose readers and models are those of training, and returns its summary. Throws Fatal with its
/// error.
nlohmann::json run_worker(const PredictArguments& arguments, const std::string& output) {
    const WorkerOutput run =
        worker_output({"--predict", arguments.model, "--data", arguments.data, "--output", output});
    const auto summary = nlohmann::json::parse(run.text, nullptr, false);
    if (!summary.is_object())
        throw Fatal("the worker ended with status " + std::to_string(run.status) + " while it predicted");
    if (summary.contains("error")) throw Fatal(summary["error"].get<std::string>());
    return summary;
}

/// Predicts into a file without a name and prints it, so that an error leaves standard output empty.
nlohmann::json predict_to_stdout(const PredictArguments& arguments) {
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    const std::unique_ptr<std::FILE, Close> file(std::tmpfile());
    if (!file) throw Fatal("no temporary file: " + write_error("the folder of temporary files", errno).message);
    nlohmann::json summary = run_worker(arguments, "/dev/fd/" + std::to_string(fileno(file.get())));
    std::array<char, 65'536> bytes;
    std::rewind(file.get());
    for (std::size_t count = 0; (count = std::fread(bytes.data(), 1, bytes.size(), file.get())) > 0;)
        print({bytes.data(), count});
    return summary;
}

nlohmann::json predict_to_file(const PredictArguments& arguments) {
    auto output = OutputPath::at(arguments.output, OutputPath::Kind::file, arguments.force);
    if (!output) throw Fatal("-o " + output.error().message);
    const std::filesystem::path folder = std::filesystem::absolute(output->temporary()).parent_path();
    // The file gets its name at the end, so that an interrupted command leaves none. Not every file system can do this.
    const Descriptor unnamed = os::nameless_file(folder.c_str());
    const std::string through = "/dev/fd/" + std::to_string(unnamed.get());
    nlohmann::json summary = run_worker(arguments, unnamed ? through : output->temporary().string());
    if (unnamed && (::fsync(unnamed.get()) != 0 ||
                    ::linkat(AT_FDCWD, through.c_str(), AT_FDCWD, output->temporary().c_str(), AT_SYMLINK_FOLLOW) != 0))
        throw Fatal(write_error(output->path(), errno).message);
    const auto aside = or_fail(output->finish());
    tell_moved_aside(aside);
    return summary;
}

/// Returns "accuracy 0.912, loss 0.2310 on the 200 rows whose target is in the data"; empty: none is.
std::string score_text(const nlohmann::json& summary) {
    std::string text;
    for (const auto& [name, value] : summary["score"].items())
        text += (text.empty() ? "" : ", ") + name + ' ' + short_number(value.get<double>());
    if (text.empty()) return text;
    return text + " on the " + std::to_string(summary["scored"].get<std::int64_t>()) + " whose target is in the data";
}

int predict_command(const PredictArguments& arguments) {
    std::signal(SIGPIPE, SIG_IGN);
    const bool to_file = !arguments.output.empty() && arguments.output != "-";
    if (arguments.json && !to_file)
        throw Fatal("--json prints a summary to standard output: name a file for the predictions with -o", 2);
    const nlohmann::json summary = to_file ? predict_to_file(arguments) : predict_to_stdout(arguments);
    if (arguments.json) {
        print(summary.dump() + '\n');
        return 0;
    }
    for (const nlohmann::json& warning : summary["warnings"])
        std::fprintf(stderr, "hpo: warning: %s\n", printable_line(warning.get<std::string>()).c_str());
    const std::string score = score_text(summary);
    const auto rows = summary["rows"].get<std::int64_t>();
    const std::string predicted = counted(rows, "prediction") + (to_file ? " in " + printable(arguments.output) : "");
    std::fprintf(stderr, "hpo: %s\n", (predicted + (score.empty() ? "" : "; " + score)).c_str());
    return 0;
}

}  // namespace

CommandAction predict(CLI::App& app) {
    const auto arguments = std::make_shared<PredictArguments>();
    app.add_option("MODEL", arguments->model, "A model that hpo train has written (safetensors)")->required();
    app.add_option("DATA", arguments->data,
                   "Data of the kind that the model was trained on, with or without the target: a CSV or Parquet file, "
                   "an NPY file or archive, an image or a folder of images, an IDX file, a text or tokens")
        ->required();
    app.add_option("-o,--output", arguments->output, "The CSV file to write; default: standard output")
        ->check([](const std::string& path) { return path.empty() ? "the name of a file is missing" : ""; });
    app.add_flag("--json", arguments->json, "With -o: one JSON object with the number of rows and the score");
    app.add_flag("--force", arguments->force, "Replace an existing file, which is kept under another name");
    return [arguments] { return predict_command(*arguments); };
}

}  // namespace hpo::commands
