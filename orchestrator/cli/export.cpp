// hpo export: writes a study for other programs.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "hpo/result.hpp"
#include "hpo/text.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/export_kubernetes.hpp"
#include "orchestrator/cli/moved_aside.hpp"
#include "orchestrator/export/registry.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/output/output_path.hpp"

namespace hpo::commands {

namespace {

using exporting::Format;

struct ExportArguments {
    std::string study, to, path;
    bool force = false;
    KubernetesArguments kubernetes;
};

/// Returns the formats that can be written to standard output, as "csv and jsonl".
std::string printed_formats() {
    std::string names;
    for (const Format* format : exporting::formats())
        if (format->print != nullptr) names += (names.empty() ? "" : " and ") + std::string(format->name);
    return names;
}

exporting::WholeTrial whole_of(const StudySnapshot& snapshot) {
    return [&snapshot](const TrialRecord& trial) { return snapshot.whole(trial); };
}

/// Writes in pieces of about 64 KiB.
void write_to_stdout(const Format& format, const StudySnapshot& snapshot) {
    std::string buffer;
    or_fail(
        format.print(snapshot.study, snapshot.record, whole_of(snapshot), [&](std::string_view bytes) -> Result<void> {
            buffer += bytes;
            if (buffer.size() < 64 * 1024) return {};
            print(buffer);
            buffer.clear();
            return {};
        }));
    print(buffer);
}

/// Returns the number of trials that the format has no place for.
std::int64_t trials_left_out(const Format& format, const StudyRecord& record) {
    return format.takes == nullptr ? 0
                                   : std::count_if(record.trials.begin(), record.trials.end(),
                                                   [&](const TrialRecord& trial) { return !format.takes(trial); });
}

/// Returns "; 2 that have not started are left out", or an empty text.
std::string left_out_text(const Format& format, std::int64_t count) {
    if (count == 0) return "";
    const std::string once(format.taken_once);
    return "; " + counted(count, "that has not " + once + " is", "that have not " + once + " are") + " left out";
}

int export_command(const ExportArguments& arguments) {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    if (arguments.to == kubernetes_name)
        return export_kubernetes(arguments.study, arguments.path, arguments.force, arguments.kubernetes);
    refuse_kubernetes_options(arguments.kubernetes, arguments.to);
    const Format& format = *exporting::find_format(arguments.to);
    if (arguments.path == "-" && format.print == nullptr)
        throw Fatal("--to " + arguments.to + " needs the name of a file or folder; only " + printed_formats() +
                        " can be written to - (standard output)",
                    2);
    const StudySnapshot snapshot = snapshot_or_fail(choose_study(arguments.study));
    if (arguments.path == "-") {
        write_to_stdout(format, snapshot);
        return 0;
    }
    const auto left_out = trials_left_out(format, snapshot.record);
    const auto written = static_cast<std::int64_t>(snapshot.record.trials.size()) - left_out;
    if (left_out > 0 && written == 0)
        throw Fatal("no trial of " + snapshot.study.name + " has " + std::string(format.taken_once) +
                    ", so there is nothing to write for " + arguments.to + ": go on with hpo run " +
                    snapshot.study.name);
    OutputPath output = or_fail(OutputPath::at(arguments.path, format.kind, arguments.force));
    or_fail(exporting::write(format, snapshot.study, snapshot.record, whole_of(snapshot), output.temporary(),
                             output.path()));
    const auto aside = or_fail(output.finish());
    tell_moved_aside(aside);
    std::fprintf(stderr, "hpo: %s of %s%s in %s%s\n", counted(written, "trial").c_str(), snapshot.study.name.c_str(),
                 snapshot.holder ? ", which continues," : "", printable(output.path().string()).c_str(),
                 left_out_text(format, left_out).c_str());
    return 0;
}

}  // namespace

CommandAction export_study(CLI::App& app) {
    const auto arguments = std::make_shared<ExportArguments>();
    app.add_option("STUDY", arguments->study, "A study's name, folder or YAML file; it may be running")->required();
    std::vector<std::string> names;
    std::string descriptions;
    for (const Format* format : exporting::formats()) {
        names.emplace_back(format->name);
        descriptions +=
            (descriptions.empty() ? "" : "; ") + std::string(format->name) + ": " + std::string(format->description);
    }
    names.emplace_back(kubernetes_name);
    descriptions += std::string("; ") + kubernetes_name + ": a Job whose pods run trials, for kubectl apply";
    app.add_option("--to", arguments->to, descriptions)->required()->check(CLI::IsMember(names));
    app.add_option("OUT", arguments->path, "The file or folder to write; - prints " + printed_formats())->required();
    app.add_flag("--force", arguments->force, "Replace an existing file or folder, which is kept under another name");
    add_kubernetes_options(app, arguments->kubernetes);
    return [arguments] { return export_command(*arguments); };
}

}  // namespace hpo::commands
