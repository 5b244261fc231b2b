// hpo init: writes a first study for data or a script, and checks it.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "hpo/regular_file.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/moved_aside.hpp"
#include "orchestrator/engine/worker_output.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/init/study_for_script.hpp"
#include "orchestrator/output/output_path.hpp"

namespace hpo::commands {

namespace {

namespace fs = std::filesystem;

struct InitArguments {
    std::string data, target, format;
    std::string path = "study.yaml";
    bool force = false;
};

/// Asks the worker, which has the readers of training. Throws Fatal with its message.
init::DataFacts describe(const std::string& format, const std::string& path, const std::string& target) {
    std::vector<std::string> arguments{"--describe", path, "--format", format};
    if (!target.empty()) arguments.insert(arguments.end(), {"--target", target});
    const WorkerOutput output = worker_output(arguments);
    if (output.text.empty())
        throw Fatal("the worker ended with status " + std::to_string(output.status) + " while it read " + path);
    return or_fail(init::read_facts(output.text, path));
}

std::string text_of(const std::string& path) {
    constexpr std::uintmax_t most_bytes = 4 << 20;
    or_fail(check_regular(path));
    std::error_code failed;
    if (fs::file_size(path, failed) > most_bytes) throw Fatal(path + ": too large for a script");
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

init::FirstStudy for_script(const std::string& path) {
    const auto configuration = [folder = fs::path(path).parent_path()](const std::string& file) {
        std::error_code failed;
        const fs::path found = folder / file;
        return fs::is_regular_file(found, failed) ? std::optional(text_of(found)) : std::nullopt;
    };
    return or_fail(init::study_for_script(path, text_of(path), configuration));
}

/// Refuses scripts in other languages than Python, whose flags are not read.
void refuse_other_language(const std::string& path) {
    constexpr std::pair<std::string_view, std::string_view> programs[] = {
        {".sh", "sh"},    {".bash", "bash"}, {".zsh", "zsh"}, {".r", "Rscript"}, {".R", "Rscript"},
        {".jl", "julia"}, {".pl", "perl"},   {".rb", "ruby"}, {".js", "node"},   {".lua", "lua"}};
    const std::string ending = fs::path(path).extension();
    for (const auto& [known, program] : programs)
        if (ending == known)
            throw Fatal(path +
                        ": hpo init reads data and Python scripts; write the study of this script by hand, with "
                        "worker: {command: [" +
                        std::string(program) + ", " + path +
                        ", \"--lr={lr}\"]} and lr "
                        "in its space (docs/scripts.md)");
}

init::FirstStudy for_data(const InitArguments& arguments) {
    std::error_code failed;
    const bool is_folder = fs::is_directory(arguments.data, failed);
    std::string format = arguments.format.empty() ? init::format_of(arguments.data, is_folder) : arguments.format;
    if (format.empty() || format == "script") refuse_other_language(arguments.data);
    if (format.empty())
        throw Fatal(arguments.data +
                    ": unknown format; give --format csv, parquet, series, npy, images, idx, text or "
                    "script");
    if (!arguments.target.empty() && (format == "images" || format == "idx" || format == "text" || format == "script"))
        throw Fatal("--target is for tables and NumPy's arrays, not for the format " + format);
    if (format == "script") return for_script(arguments.data);
    const bool as_series = format == "series";
    if (as_series) format = init::format_of(arguments.data, false) == "parquet" ? "parquet" : "csv";
    init::DataFacts facts = describe(format, arguments.data, arguments.target);
    if (arguments.target.empty())
        if (const std::string target = init::likely_target(facts); !target.empty()) {
            facts = describe(format, arguments.data, target);
            facts.target_was_guessed = true;
        }
    return or_fail(init::study_for_data(facts, as_series));
}

/// Checks the study as `hpo check` does, without training: a step of a wide table may take long. Throws Fatal with its
/// errors.
void check_written(const std::string& path) {
    const WorkerOutput checked =
        program_output({installed_programs().hpo.string(), "check", "--untimed", "--json", path}, {}, true);
    if (checked.status != 0)
        throw Fatal(path + " was written, but hpo check refuses it; correct it by hand:\n" + checked.text);
}

int init_command(const InitArguments& arguments) {
    std::signal(SIGPIPE, SIG_IGN);
    std::error_code failed;
    if (!fs::exists(arguments.data, failed)) throw Fatal("no file and no folder " + arguments.data);
    auto output = or_fail(OutputPath::at(arguments.path, OutputPath::Kind::file, arguments.force));
    const init::FirstStudy first = for_data(arguments);
    tell_moved_aside(or_fail(write_whole(output, first.text)));
    std::string text;
    for (const std::string& line : first.found) text += line + '\n';
    print(printable(text, true));
    for (const std::string& warning : first.warnings)
        std::fprintf(stderr, "hpo: warning: %s\n", printable_line(warning).c_str());
    check_written(arguments.path);
    print("\nwrote " + printable(arguments.path) + ", which hpo check accepts\nNext    hpo check " +
          printable(arguments.path) + "   what it does here\n        hpo run " + printable(arguments.path) +
          "     search\n");
    return 0;
}

}  // namespace

CommandAction init(CLI::App& app) {
    const auto arguments = std::make_shared<InitArguments>();
    app.add_option("DATA", arguments->data,
                   "A CSV or Parquet file, NumPy's arrays, a folder of images by class, a text, or a Python script")
        ->required();
    app.add_option(
        "--target", arguments->target,
        "Tables: the column to predict, or several (A,B), default: one called target, label or the like, else the "
        "last; NumPy's arrays: the array of targets in an archive or a folder, or its NPY file beside a single one");
    app.add_option(
        "--format", arguments->format,
        "csv, parquet, series (rows in the order of time), npy, images, idx, text or script; default: by the "
        "name");
    app.add_option("-o,--output", arguments->path, "The study file to write")->capture_default_str();
    app.add_flag("--force", arguments->force, "Replace an existing file, which is kept under another name");
    return [arguments] { return init_command(*arguments); };
}

}  // namespace hpo::commands
