// hpo export: a study for other programs.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>

#include "hpo/printable.hpp"
#include "hpo/result.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/study_choice.hpp"
#include "orchestrator/cli/study_snapshot.hpp"
#include "orchestrator/exchange/optuna.hpp"
#include "orchestrator/exchange/output.hpp"
#include "orchestrator/exchange/tables.hpp"
#include "orchestrator/exchange/tensorboard.hpp"

namespace hpo::commands {

namespace {

using exchange::Output;

struct ExportArguments {
    std::string study, to, path;
    bool force = false;
};

template <class T>
T or_fail(Result<T> result) {
    if (!result) throw Fatal(result.error().message);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

Result<void> write_rows(const ExportArguments& arguments, const StudySnapshot& snapshot, const exchange::Sink& sink) {
    return arguments.to == "csv" ? exchange::write_csv(snapshot.study, snapshot.record, sink)
                                 : exchange::write_jsonl(snapshot.study, snapshot.record, sink);
}

/// Whole kilobytes at a time.
void write_to_stdout(const ExportArguments& arguments, const StudySnapshot& snapshot) {
    std::string waiting;
    or_fail(write_rows(arguments, snapshot, [&](std::string_view bytes) -> Result<void> {
        waiting += bytes;
        if (waiting.size() < 64 * 1024) return {};
        print(waiting);
        waiting.clear();
        return {};
    }));
    print(waiting);
}

Result<void> write_rows_to_file(const ExportArguments& arguments, const StudySnapshot& snapshot, const Output& output) {
    auto file = exchange::FileWriter::create(output.temporary(), output.path());
    if (!file) return file.error();
    auto written = write_rows(arguments, snapshot, [&](std::string_view bytes) { return file->write(bytes); });
    return written ? file->close(true) : written;
}

Result<void> write(const ExportArguments& arguments, const StudySnapshot& snapshot, const Output& output) {
    if (arguments.to == "optuna")
        return exchange::write_optuna(snapshot.study, snapshot.record, output.temporary(), output.path());
    if (arguments.to == "tensorboard")
        return exchange::write_tensorboard(snapshot.study, snapshot.record, output.temporary(), output.path());
    return write_rows_to_file(arguments, snapshot, output);
}

int export_command(const ExportArguments& arguments) {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    const bool rows = arguments.to == "csv" || arguments.to == "jsonl";
    if (arguments.path == "-" && !rows)
        throw Fatal("--to " + arguments.to + " needs a name to write to; - (standard output) is for csv and jsonl", 2);
    const StudySnapshot snapshot =
        snapshot_or_fail(choose_study(arguments.study), arguments.to == "csv" ? Curves::thinned : Curves::whole);
    if (arguments.path == "-") {
        write_to_stdout(arguments, snapshot);
        return 0;
    }
    const auto kind = arguments.to == "tensorboard" ? Output::Kind::folder : Output::Kind::file;
    Output output = or_fail(Output::at(arguments.path, kind, arguments.force));
    if (arguments.to == "optuna") or_fail(exchange::no_journal_beside(output.path()));
    or_fail(write(arguments, snapshot, output));
    const auto aside = or_fail(output.finish());
    if (!aside.empty()) std::fprintf(stderr, "hpo: what was there lies in %s now\n", printable(aside.string()).c_str());
    std::fprintf(stderr, "hpo: %zu trials of %s%s in %s\n", snapshot.record.trials.size(), snapshot.study.name.c_str(),
                 snapshot.holder ? ", which goes on," : "", printable(output.path().string()).c_str());
    return 0;
}

}  // namespace

CommandAction export_study(CLI::App& app) {
    const auto arguments = std::make_shared<ExportArguments>();
    app.add_option("STUDY", arguments->study, "A study's name, folder or YAML file; it may be running")->required();
    app.add_option("--to", arguments->to,
                   "optuna: an SQLite database that Optuna opens; csv: a row a trial; jsonl: a JSON object a trial, "
                   "with its steps; tensorboard: a folder of event files")
        ->required()
        ->check(CLI::IsMember({"optuna", "csv", "jsonl", "tensorboard"}));
    app.add_option("OUT", arguments->path, "The file or folder to make; - prints csv and jsonl")->required();
    app.add_flag("--force", arguments->force, "Set aside what is there, under another name");
    return [arguments] { return export_command(*arguments); };
}

}  // namespace hpo::commands
