// hpo check: explains before a run how a study will use this machine.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "hpo/printable.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/run_slurm.hpp"
#include "orchestrator/cluster/hosts_site.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/preview/preview.hpp"
#include "orchestrator/simulation/predict_study.hpp"
#include "orchestrator/study/study_file.hpp"
#include "orchestrator/view/prediction.hpp"
#include "orchestrator/view/preview.hpp"

namespace hpo::commands {

namespace {

struct CheckArguments {
    std::string file;
    std::vector<std::string> set;
    std::string on;                      ///< slurm; empty: this machine
    std::optional<std::string> devices;  ///< simulated hardware; absent: this machine alone
    bool untimed = false;
    bool json = false;
};

int check_command(const CheckArguments& arguments) {
    std::signal(SIGPIPE, SIG_IGN);
    const Study study = load_study(arguments.file, {arguments.set, {}}, WithoutWorker::allowed);
    const bool on_slurm = arguments.on == "slurm";
    if (!study.resources.hosts.empty() || (on_slurm && study.resources.slurm.nodes > 1))
        if (const auto several = cluster::for_several_hosts(study); !several) throw Fatal(several.error().message, 2);
    const std::string warnings = warnings_of(arguments.file, {arguments.set, {}});
    if (arguments.json) std::fputs(warnings.c_str(), stderr);
    const CheckedStudy checked{study, arguments.file, arguments.set.empty()};
    const auto tell = [](const DeviceNotice& notice) { std::fputs(("hpo: " + notice.text + '\n').c_str(), stderr); };
    const Preview found = preview(checked, installed_programs(), tell, !arguments.untimed);
    nlohmann::ordered_json json = to_json(study, found);
    // Printed before the prediction, which may fail.
    if (!arguments.json) print(printable(warnings + view::draw_preview(checked, found), true));
    if (arguments.devices && study.has_worker()) {
        const PredictionReport report =
            predict_study({.study = arguments.file, .set = arguments.set, .devices = arguments.devices});
        json["prediction"] = to_json(report);
        if (!arguments.json) print("\nElsewhere, simulated:\n" + view::draw_prediction(report));
    }
    if (on_slurm) {
        RunArguments run;
        run.file = arguments.file;
        run.set = arguments.set;
        const slurm::Forecast forecast = forecast_on_slurm(run, study, installed_programs());
        if (!forecast.never.empty()) throw Fatal(forecast.never, 2);
        json["slurm"] = forecast.start;
        if (!arguments.json) print("\nSlurm: " + printable(forecast.start) + '\n');
    }
    if (arguments.json) print(json.dump() + '\n');
    return 0;
}

}  // namespace

CommandAction check(CLI::App& app) {
    const auto arguments = std::make_shared<CheckArguments>();
    app.add_option("file", arguments->file, "The study file")->required();
    app.add_option("--set", arguments->set, "Override one key: --set space.lr.high=0.1")
        ->take_all()
        ->type_name("KEY=VALUE");
    app.add_option("--on", arguments->on, "slurm: also ask Slurm whether the job of hpo run --on slurm could start")
        ->check(CLI::IsMember({"slurm"}));
    app.add_option("--devices", arguments->devices,
                   "Also predict how long the study takes on other hardware, such as 8xH200 (see hpo simulate)");
    app.add_flag("--untimed", arguments->untimed, "Train nothing, and leave out how long a trial takes");
    app.add_flag("--json", arguments->json, "One JSON object, for programs");
    return [arguments] { return check_command(*arguments); };
}

}  // namespace hpo::commands
