// hpo bench: measures the performance of this machine's devices.
#include <unistd.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "hpo/printable.hpp"
#include "hpo/user_cache.hpp"
#include "orchestrator/calibration/calibration.hpp"
#include "orchestrator/cli/bench_training.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/devices/assess.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/devices/monitor.hpp"
#include "orchestrator/doctor/machine_reading.hpp"
#include "orchestrator/engine/worker_output.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/output/trial_json.hpp"
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

/// A device to measure, and the environment that makes a worker use it.
struct BenchDevice {
    std::string name;  ///< "cpu", "cuda 0", "opencl 1"
    std::string id;    ///< UUID or name, used in the name of the stored file
    std::map<std::string, std::string> environment;
};

struct BenchDevices {
    std::vector<BenchDevice> usable;
    std::vector<std::string> lost;  ///< a sentence for each device that cannot be used, with the reason
};

/// Returns the CPU and all GPUs, or the devices of one backend. OpenCL CPUs are included only if `backend` is opencl.
BenchDevices bench_devices(const std::string& backend) {
    const auto wanted = [&](const char* name) { return backend.empty() || backend == name; };
    BenchDevices devices;
    if (wanted("cpu")) devices.usable.push_back({"cpu", read_host().cpu_name, {{"HPO_BACKEND", "cpu"}}});
    DeviceMonitor monitor({.program = installed_programs().hpo, .opencl = wanted("opencl")});
    monitor.start(SteadyClock().now(),
                  [](const std::string& message) { std::fprintf(stderr, "hpo: %s\n", message.c_str()); });
    for (const DeviceReading& device : monitor.latest().devices) {
        if (device.lost && wanted(device.kind == DeviceKind::cuda ? "cuda" : "opencl"))
            devices.lost.push_back(printable(name_of(device) + " cannot be used: " + device.reason, 300));
        if (device.lost) continue;
        if (device.kind == DeviceKind::cuda && wanted("cuda"))
            devices.usable.push_back(
                {bench_name(device), device.id, {{"HPO_BACKEND", "cuda"}, {"CUDA_VISIBLE_DEVICES", device.id}}});
        else if (device.kind == DeviceKind::opencl && wanted("opencl") && (!device.cpu || backend == "opencl"))
            devices.usable.push_back({bench_name(device),
                                      device.id,
                                      {{"HPO_BACKEND", "opencl"}, {"HPO_DEVICE", std::to_string(device.opencl)}}});
    }
    if (!monitor.latest().problem.empty())
        std::fprintf(stderr, "hpo: %s\n", printable(monitor.latest().problem).c_str());
    return devices;
}

/// Returns the stored measurements of a device if they are still valid, and measures it otherwise. If that fails,
/// prints a message and returns nothing.
std::optional<DeviceCalibration> calibration_of(const BenchDevice& device, const BenchArguments& arguments) {
    const std::string machine = host_name() + ", " + read_host().cpu_name;
    const std::filesystem::path cache = user_cache();
    const auto file = cache.empty() ? cache : calibration_file(cache, host_name(), device.name, device.id);
    const auto kept =
        arguments.again || arguments.quick || cache.empty() ? std::nullopt : load_calibration(file, machine);
    const bool show_progress = view::is_terminal(STDERR_FILENO);
    int results = 0;
    std::vector<std::string> options{"--calibrate", kept ? kept->identity : ""};
    if (arguments.quick) options.emplace_back("--quick");
    const WorkerOutput output = worker_output(options, device.environment, false, [&](std::string_view) {
        ++results;
        if (show_progress) std::fprintf(stderr, "\rmeasuring %s: %d results ", device.name.c_str(), results);
    });
    if (show_progress) std::fprintf(stderr, "\r\033[K");
    // The worker prints a single line if the device's identity has not changed.
    const bool unchanged = kept && output.status == 0 && results == 1;
    auto read = read_calibration(unchanged ? kept->lines : output.text, device.name);
    if (output.status != 0 || !read) {
        const WorkerOutput failure = worker_output(options, device.environment, true);
        const std::string text =
            output.status != 0 ? failure.text.substr(0, failure.text.find('\n')) : read.error().message;
        std::fprintf(stderr, "hpo: %s was not measured: %s\n", device.name.c_str(), printable(text, 300).c_str());
        return std::nullopt;
    }
    if (!unchanged && !arguments.quick && !cache.empty())
        if (const auto saved = save_calibration(file, machine, output.text); !saved)
            std::fprintf(stderr, "hpo: %s\n", saved.error().message.c_str());
    return std::move(*read);
}

Json number_or_null(double number) { return number > 0 ? Json(number) : Json(nullptr); }

Json time_json(const std::optional<MeasuredTime>& time) {
    if (!time) return nullptr;
    return {{"seconds", time->seconds}, {"least", time->least}, {"most", time->most}};
}

Json to_json(const std::vector<DeviceCalibration>& devices) {
    Json all = Json::array();
    for (const DeviceCalibration& device : devices) {
        Json products = Json::array();
        for (const MeasuredProduct& product : device.products)
            products.push_back({{"precision", product.precision},
                                {"rows", product.rows},
                                {"inputs", product.inputs},
                                {"outputs", product.outputs},
                                {"replicas", product.replicas},
                                {"flops", product.flops},
                                {"bytes", product.bytes},
                                {"time", time_json(product.time)},
                                {"left_out", product.left_out.empty() ? Json(nullptr) : Json(product.left_out)}});
        all.push_back({{"device", device.device},
                       {"name", device.name},
                       {"identity", device.identity},
                       {"memory_rate", number_or_null(device.memory_rate)},
                       {"rate_to_device", number_or_null(device.rate_to_device)},
                       {"rate_to_host", number_or_null(device.rate_to_host)},
                       {"launch", time_json(device.launch)},
                       {"launch_and_wait", time_json(device.launch_and_wait)},
                       {"products", std::move(products)}});
    }
    return {{"schema", json_schema}, {"devices", std::move(all)}};
}

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

/// Throws Fatal for an option that has no effect on what is measured.
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
    std::vector<DeviceCalibration> measured;
    const auto devices = bench_devices(arguments.backend);
    for (const BenchDevice& device : devices.usable)
        if (auto calibration = calibration_of(device, arguments)) measured.push_back(std::move(*calibration));
    if (devices.usable.empty()) throw Fatal(no_device(arguments.backend, devices));
    for (const std::string& lost : devices.lost) std::fprintf(stderr, "hpo: %s\n", lost.c_str());
    if (measured.empty()) throw Fatal("no device could be measured");
    print(arguments.json ? to_json(measured).dump(2, ' ', false, Json::error_handler_t::replace) + '\n'
                         : view::draw_calibrations(measured, view::screen_of_stdout()));
    return measured.size() == devices.usable.size() && devices.lost.empty() ? 0 : 1;
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
    app.add_flag("--again", arguments->again, "devices: measure although nothing has changed since the last time");
    app.add_flag("--quick", arguments->quick,
                 "devices: products of up to 1024 x 1024 alone, and shorter; the result is not kept");
    app.add_flag("--json", arguments->json, "One JSON object for programs");
    return [arguments, updates, threads] {
        refuse_unused_options(*arguments, updates->count() > 0, threads->count() > 0);
        return bench_command(*arguments);
    };
}

}  // namespace hpo::commands
