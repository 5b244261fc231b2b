// hpo report: writes a page about a study.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/moved_aside.hpp"
#include "orchestrator/cli/study_document.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/output/output_path.hpp"
#include "orchestrator/page/page.hpp"

namespace hpo::commands {

namespace {

struct ReportArguments {
    std::string study, path;
    bool force = false;
};

int report_command(const ReportArguments& arguments) {
    std::signal(SIGXFSZ, SIG_IGN);
    const StudyFolder folder = choose_study(arguments.study);
    const std::string path = arguments.path.empty() ? folder.name() + ".html" : arguments.path;
    if (path == "-") {
        StudySnapshot snapshot = snapshot_or_fail(folder);
        print(page::with_study(study_document(snapshot)));
        return 0;
    }
    auto output = or_fail(OutputPath::at(path, OutputPath::Kind::file, arguments.force));
    StudySnapshot snapshot = snapshot_or_fail(folder);
    const std::string text = page::with_study(study_document(snapshot));
    tell_moved_aside(or_fail(write_whole(output, text)));
    std::fprintf(stderr, "hpo: %s of %s%s in %s (%s); open it in a browser\n",
                 counted(static_cast<std::int64_t>(snapshot.record.trials.size()), "trial").c_str(),
                 snapshot.study.name.c_str(), snapshot.holder ? ", which continues," : "",
                 printable(output.path().string()).c_str(), bytes_text(static_cast<double>(text.size())).c_str());
    return 0;
}

}  // namespace

CommandAction report(CLI::App& app) {
    const auto arguments = std::make_shared<ReportArguments>();
    app.add_option("STUDY", arguments->study,
                   "A study's name, folder or YAML file; it may be running; default: the most recent one");
    app.add_option("-o,--output", arguments->path, "The file to write; - prints it; default: STUDY.html");
    app.add_flag("--force", arguments->force, "Replace an existing file, which is kept under another name");
    return [arguments] { return report_command(*arguments); };
}

}  // namespace hpo::commands
