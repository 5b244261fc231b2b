// hpo bench: measures the performance of this machine's devices.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hpo/user_cache.hpp"
#include "orchestrator/calibration/calibration.hpp"
#include "orchestrator/cli/bench_training.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/doctor/measured_devices.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/output/calibration_json.hpp"
#include "orchestrator/view/calibration.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {

namespace {

using Json = nlohmann::ordered_json;

struct BenchArguments {
    std::string what, study, backend;
    std::vector<std::string> set;
    std::int64_t updates = 20;
    std::int64_t threads = 1;
    bool again = false, quick = false, json = false;
};

std::string no_device(const std::string& backend, const BenchDevices& devices) {
    if (devices.lost.empty()) return "there is no " + backend + " device here; `hpo devices` lists them";
    return "there is no " + backend + " device here that works: " + devices.lost.front();
}

/// Times training on the first device of the backend, by default that of the study, a GPU that CUDA knows, or the CPU.
int training_command(const BenchArguments& arguments) {
    if (arguments.study.empty()) throw Fatal("hpo bench training: the study is missing: hpo bench training STUDY", 2);
    const Study study = load_study(arguments.study, {arguments.set, {}});
    const std::string wanted = study.resources.backend == "auto" ? "" : study.resources.backend;
    const std::string backend = arguments.backend.empty() ? wanted : arguments.backend;
    const auto devices = bench_devices(backend);
    const auto& usable = devices.usable;
    if (usable.empty()) throw Fatal(no_device(backend, devices));
    const auto found = std::find_if(usable.begin(), usable.end(),
                                    [](const BenchDevice& device) { return device.name.find("cuda") == 0; });
    const BenchDevice& device = found != usable.end() ? *found : usable.front();
    const auto peaks = kept_calibration(user_cache(), host_name(), read_host().cpu_name, device.name, device.id);
    auto environment = device.environment;
    if (device.name != "cpu" && arguments.threads > 1)
        throw Fatal("hpo bench training: --threads are those of the CPU, and " + device.name +
                        " would be timed: add --backend cpu, or leave --threads out",
                    2);
    if (device.name == "cpu") environment["HPO_THREADS"] = std::to_string(arguments.threads);
    return bench_training({study, arguments.updates, arguments.json}, environment, peaks ? &*peaks : nullptr);
}

/// Throws Fatal for an option that has no effect on the measurements.
void refuse_unused_options(const BenchArguments& arguments, bool has_updates, bool has_threads) {
    const auto refuse = [&](const char* option, const std::string& cure) {
        throw Fatal("hpo bench " + arguments.what + ": " + option + " has no effect here: " + cure, 2);
    };
    if (arguments.what == "training") {
        if (arguments.quick) refuse("--quick", "leave it out; --updates N sets how many updates are timed");
        if (arguments.again) refuse("--again", "leave it out; training is timed each time");
        return;
    }
    if (!arguments.study.empty() || !arguments.set.empty())
        throw Fatal("hpo bench devices takes no study; hpo bench training STUDY times one", 2);
    if (has_updates) refuse("--updates", "leave it out; --quick measures fewer products for a shorter time");
    if (has_threads) refuse("--threads", "leave it out; the CPU is measured on one thread");
}

int bench_command(const BenchArguments& arguments) {
    if (arguments.what == "training") return training_command(arguments);
    std::vector<DeviceCalibration> all;
    const auto devices = bench_devices(arguments.backend);
    for (const BenchDevice& device : devices.usable)
        if (auto calibration = measured(device, {arguments.again, arguments.quick}))
            all.push_back(std::move(*calibration));
    if (devices.usable.empty()) throw Fatal(no_device(arguments.backend, devices));
    for (const std::string& lost : devices.lost) std::fprintf(stderr, "hpo: %s\n", lost.c_str());
    if (all.empty()) throw Fatal("no device could be measured");
    print(arguments.json ? calibrations_json(all).dump(2, ' ', false, Json::error_handler_t::replace) + '\n'
                         : view::draw_calibrations(all, view::screen_of_stdout()));
    return all.size() == devices.usable.size() && devices.lost.empty() ? 0 : 1;
}

}  // namespace

CommandAction bench(CLI::App& app) {
    const auto arguments = std::make_shared<BenchArguments>();
    app.add_option("WHAT", arguments->what,
                   "devices: speed of CPU and GPUs; training: time of each operation of a study's training")
        ->required()
        ->check(CLI::IsMember({"devices", "training"}));
    app.add_option("STUDY", arguments->study,
                   "training: a study file, or the name of a study that has run; its first trial is timed");
    app.add_option("--set", arguments->set, "training: override one key: --set worker.training.batch_size=512")
        ->take_all()
        ->type_name("KEY=VALUE");
    const CLI::Option* updates = app.add_option("--updates", arguments->updates, "training: updates that are timed")
                                     ->default_val(20)
                                     ->check(CLI::Range(1, 100000));
    const CLI::Option* threads =
        app.add_option("--threads", arguments->threads, "training: threads on the CPU, at most one on each core")
            ->default_val(1)
            ->check(CLI::Range(1, 1024));
    app.add_option("--backend", arguments->backend, "Only devices of this backend; opencl with its CPUs")
        ->check(CLI::IsMember({"cpu", "cuda", "opencl"}));
    app.add_flag("--again", arguments->again, "devices: measure again even if nothing changed since the last time");
    app.add_flag("--quick", arguments->quick,
                 "devices: products of up to 1024 x 1024 alone, and shorter; the result is not kept");
    app.add_flag("--json", arguments->json, "One JSON object for programs");
    return [arguments, updates, threads] {
        refuse_unused_options(*arguments, updates->count() > 0, threads->count() > 0);
        return bench_command(*arguments);
    };
}

}  // namespace hpo::commands
