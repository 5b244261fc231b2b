#include "worker/program.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "hpo/end_with_peer.hpp"
#include "hpo/shortage.hpp"
#include "hpo/user_cache.hpp"
#include "hpo/version.hpp"
#include "hpo/wire.hpp"
#include "hpo/worker_key_defaults.hpp"
#include "os/process.hpp"
#include "worker/backends/backends.hpp"
#include "worker/backends/cpu/blas.hpp"
#include "worker/backends/cpu/core_binding.hpp"
#include "worker/backends/cpu/cpu_device.hpp"
#include "worker/backends/cpu/products.hpp"
#include "worker/backends/cpu/thread_pool.hpp"
#include "worker/backends/gpu/cuda_compiler.hpp"
#include "worker/backends/gpu/cuda_libraries.hpp"
#include "worker/calibration.hpp"
#include "worker/data/data_facts.hpp"
#include "worker/prediction/predict.hpp"
#include "worker/profile.hpp"
#include "worker/ranks/rank_processes.hpp"
#include "worker/session.hpp"
#include "worker/training/process_memory.hpp"
#include "worker/training/rank_orders.hpp"
#include "worker/training/tuning.hpp"
#include "worker/trees/xgboost.hpp"

namespace hpo {
namespace {

constexpr const char* help =
    R"(hpo-worker trains the trials of a study. It is not meant to be started by hand: `hpo run` starts it.

It connects to the Unix socket named by HPO_ENDPOINT, says hello with HPO_TOKEN, and then answers plans and trains
trials, one after the other, until it is told to shut down or the connection closes. What it prints is the log of the
trial it trains.

  --backend NAME   what to compute on: cpu, cuda, opencl, or auto: the first of cuda, an OpenCL GPU and the CPU that
                   works (default: HPO_BACKEND, else cpu)
  --device N       number of the CUDA or OpenCL device (default: HPO_DEVICE, else the first)
  --slots N        concurrent trials, which train side by side: 1 to 256 (default: HPO_SLOTS, else 256 on a GPU and 1
                   on a CPU, where there is nothing to gain)
  --processes N    processes that train a trial together on the CPU, 1 to 64 (default: HPO_PROCESSES, else 1)
  --threads N      threads of a trial on the CPU, 1 to 1024, at most one on each core that the process may use, until
                   the orchestrator tells the worker its cores (default: HPO_THREADS, else 1)
  --calibrate ID   measure the device and print the results as JSON Lines (docs/protocol.md), unless the first of them
                   has the identity ID (may be empty): then nothing has changed, and nothing is measured
  --profile RUN    train a few updates of RUN, a message `run` of docs/protocol.md, and print the time of each operation
                   as JSON Lines
  --updates N      with --profile: number of updates, 1 to 100000 (default: 20)
  --quick          with --calibrate: fewer products, which takes a second or two
  --describe PATH  print what the data in a file or folder are as one JSON object, for hpo init, and exit; --format
                   NAME says their format (csv unless given), --target A,B the columns whose values are counted
  --predict MODEL  predict with the model in a safetensors file, print a summary as one JSON object, and exit; --data PATH
                   names the data and --output FILE the CSV file to write
  --libraries      print where the CUDA libraries that NVIDIA GPUs need are found, as one JSON object, and exit
  --examine        print what the worker computes with on the CPU, and all libraries that GPUs need, as one JSON object
                   for hpo doctor, and exit
  --kernels N      print the registers and the memory of each kernel on NVIDIA GPUs of compute capability N, such as 90 for
                   9.0, as JSON Lines, and exit; needs NVRTC, but neither a driver nor a GPU
  --version        print the version and exit
  --help           print this help and exit
)";

/// The settings of the environment, replaced by those of the command line.
struct Settings {
    std::string backend;
    std::string device;
    std::string slots;
    std::string threads;
    std::string processes;
    std::string updates;
    std::optional<std::string> followed;  ///< this process is another rank than 0
    bool quick = false;
    std::optional<std::string> profiled;    ///< a message `run`
    std::optional<std::string> described;   ///< a file or folder of data
    std::string format = "csv", target;     ///< of the data
    std::optional<std::string> model;       ///< a file, to predict with
    std::string data, output;               ///< of the prediction
    std::optional<std::string> calibrated;  ///< identity of the device whose measurements are kept; may be empty
};

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// Returns the number given for `name`, between 1 and `most`.
Result<int> number_of(const char* name, const std::string& text, int most) {
    int number = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec != std::errc{} || read.ptr != end || number < 1 || number > most)
        return Error{std::string(name) + ": " + text + " is not a number from 1 to " + std::to_string(most)};
    return number;
}

/// The numeric settings; 0: not given, or given as an empty text.
struct Numbers {
    int slots = 0;
    int threads = 0;
    int processes = 1;
    int updates = 20;
};
Result<Numbers> numbers_of(const Settings& settings) {
    Numbers numbers;
    for (const auto& [name, text, most, number] :
         {std::tuple{"slots", &settings.slots, max_replicas, &numbers.slots},
          std::tuple{"threads", &settings.threads, 1024, &numbers.threads},
          std::tuple{"processes", &settings.processes, 64, &numbers.processes},
          std::tuple{"updates", &settings.updates, 100'000, &numbers.updates}}) {
        if (text->empty()) continue;
        const auto read = number_of(name, *text, most);
        if (!read) return read.error();
        *number = *read;
    }
    return numbers;
}

Result<BackendChoice> choice_of(const Settings& settings) {
    BackendChoice choice;
    if (!settings.backend.empty()) choice.backend = settings.backend;
    if (settings.device.empty()) return choice;
    std::size_t number = 0;
    const char* end = settings.device.data() + settings.device.size();
    const auto read = std::from_chars(settings.device.data(), end, number);
    if (read.ec != std::errc{} || read.ptr != end)
        return Error{"device: " + settings.device + " is not a number of a device, such as 0"};
    choice.device = number;
    return choice;
}

/// OpenBLAS picks its kernels while it is loaded, so a better choice takes a second start.
void execute_again_with_better_kernels(char** argv) {
    const auto core = better_blas_core();
    if (!core) return;
    setenv("OPENBLAS_CORETYPE", core->c_str(), 1);
    ShortageWait shortage;
    const std::string program = os::own_program();
    do execv(program.c_str(), argv);
    while (shortage.try_again_after(errno));
    std::perror(("hpo-worker: " + program).c_str());  // the present kernels are slower, but they work
}

/// Memory for transient needs: messages, file buffers, and the libraries' packed copies of wide matrices. With
/// layers of up to a thousand units it was measured to be 1.5 to 3.5 MB with OpenBLAS and 7 MB with oneDNN, and up to
/// 1 % of the whole above.
constexpr std::int64_t transient_bytes = std::int64_t{8} << 20;

class NullHost final : public TrialHost {
    bool should_continue(std::string_view) override { return true; }
    void started(std::int64_t, const std::string&) override {}
    void report(const Report&) override {}
    std::optional<to_worker::Action> decision() override { return to_worker::Action::go_on; }
    void log(const std::string&) override {}
};

int print_description(const Settings& settings) {
    const auto facts = data_facts(settings.format, *settings.described, settings.target);
    nlohmann::json json = facts ? *facts : nlohmann::json{{"error", facts.error().message}};
    if (facts) json["trees"] = missing_xgboost().empty();
    std::printf("%s\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return facts ? 0 : 1;
}

int print_prediction(const Settings& settings) {
    end_with_peer(STDOUT_FILENO);  // only hpo waits for the predictions
    nlohmann::json json;
    try {
        if (!blas()) throw std::runtime_error(blas().error().message);
        const auto device = make_cpu_device();
        device->use_cores(own_cores());
        const auto summary = predict(*device, *settings.model, settings.data, settings.output);
        if (summary) return std::printf("%s\n", summary->c_str()), 0;
        json["error"] = summary.error().message;
    } catch (const std::exception& problem) {
        json["error"] = problem.what();
    }
    std::printf("%s\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return 1;
}

/// Prints the worker's facts for hpo doctor. Opens no GPU.
int print_examination() {
    nlohmann::json report = gpu::all_gpu_libraries();
    report["version"] = version;
    report["cpu"] = {{"name", make_cpu_device()->name()}};
    const auto one_dnn = one_dnn_file();
    report["onednn"] =
        one_dnn ? nlohmann::json{{"path", *one_dnn}} : nlohmann::json{{"problem", one_dnn.error().message}};
    const std::string& missing = missing_xgboost();
    report["xgboost"] =
        missing.empty() ? nlohmann::json{{"path", xgboost_file()}} : nlohmann::json{{"problem", missing}};
    std::printf("%s\n", report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return 0;
}

int print_kernels(const std::string& capability) {
    int number = 0;
    const char* end = capability.data() + capability.size();
    const auto read = std::from_chars(capability.data(), end, number);
    if (read.ec != std::errc{} || read.ptr != end || number < 10 || number > 999)
        return std::fprintf(stderr, "hpo-worker: --kernels: %s is no compute capability, such as 90\n",
                            capability.c_str()),
               2;
    const auto kernels = gpu::kernel_resources(number);
    if (!kernels) return std::fprintf(stderr, "hpo-worker: %s\n", kernels.error().message.c_str()), 1;
    for (const auto& [name, registers, shared_bytes, spilled] : *kernels) {
        const nlohmann::json line{
            {"kernel", name}, {"registers", registers}, {"shared_bytes", shared_bytes}, {"spilled_bytes", spilled}};
        std::printf("%s\n", line.dump().c_str());
    }
    return 0;
}

/// Trains a throw-away trial, so that the process loads everything that computing needs: OpenBLAS maps its buffers at
/// the first product, and a GPU's driver compiles and loads each kernel at its first launch and takes memory for the
/// recorded updates, which begin at the second step.
void train_once(WorkerContext& context) {
    to_worker::Run run;
    run.steps = 2;
    run.params = {{"format", std::string("synthetic")},
                  {"samples", std::int64_t{256}},
                  {"features", std::int64_t{512}},
                  {"classes", std::int64_t{10}},
                  {"hidden", std::vector<std::int64_t>{512}},
                  {"activation", std::string("gelu")},
                  {"norm", std::string("layer")},
                  {"dropout", 0.5},
                  {"batch_size", std::int64_t{128}}};
    NullHost host;
    const auto finished = run_trial(run, context, host);
    context.clear();
    if (finished.outcome != Outcome::complete) std::fprintf(stderr, "the first trial: %s\n", finished.message.c_str());
}

/// Measures the process, without data and arena, on the host and on the device.
void measure_process(WorkerContext& context) {
    context.device.measure_context();
    context.process_bytes = resident_bytes().value_or(0) + transient_bytes;
}

/// Flushes each line, so that a reader sees the progress.
int print_calibration(Device& device, const Clock& clock, const std::string& known, bool quick) {
    CalibrationOptions options;
    if (quick) options = {.products = quick_products(), .seconds = 0.02, .streamed = std::size_t{32} << 20};
    const auto print = [](const nlohmann::json& measured) {
        std::printf("%s\n", measured.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
        std::fflush(stdout);
    };
    try {
        if (known == identity_of(device))
            print({{"measured", "device"}, {"identity", known}});
        else
            calibrate(device, clock, options, print);
    } catch (const DeviceLost& lost) {
        std::fprintf(stderr, "hpo-worker: %s\n", lost.what());
        std::_Exit(device_failed_status);
    }
    return 0;
}

/// An `error` in the last line names a measurement that is impossible.
int print_profile(WorkerContext& context, const std::string& text, std::int64_t updates) {
    const auto print = [](const nlohmann::json& measured) {
        std::printf("%s\n", measured.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
        std::fflush(stdout);
    };
    try {
        const auto message = wire::decode_orchestrator(text);
        if (!message) throw InvalidTrial("--profile: " + message.error().message);
        const auto* run = std::get_if<to_worker::Run>(&*message);
        if (run == nullptr) throw InvalidTrial("--profile: this message is no run");
        if (is_trees(run->params)) throw InvalidTrial("model.type: trees make no updates, which are what is measured");
        profile_training(context, *run, updates, print);
        return 0;
    } catch (const DeviceLost&) {
        throw;
    } catch (const std::exception& problem) {
        print({{"error", problem.what()}});
        return 1;
    }
}

}  // namespace

int worker_main(int argc, char** argv) {
    Settings settings{variable("HPO_BACKEND"), variable("HPO_DEVICE"), variable("HPO_SLOTS"), variable("HPO_THREADS"),
                      variable("HPO_PROCESSES")};
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        const std::pair<std::string_view, std::string*> options[] = {
            {"--backend", &settings.backend}, {"--device", &settings.device},       {"--slots", &settings.slots},
            {"--threads", &settings.threads}, {"--processes", &settings.processes}, {"--updates", &settings.updates},
            {"--format", &settings.format},   {"--target", &settings.target},       {"--data", &settings.data},
            {"--output", &settings.output}};
        const auto* const option =
            std::ranges::find(options, argument, &std::pair<std::string_view, std::string*>::first);
        if (option != std::end(options) && i + 1 < argc) {
            *option->second = argv[++i];
            continue;
        }
        if (argument == "--profile" && i + 1 < argc) {
            settings.profiled = argv[++i];
            continue;
        }
        if (argument == "--describe" && i + 1 < argc) {
            settings.described = argv[++i];
            continue;
        }
        if (argument == "--predict" && i + 1 < argc) {
            settings.model = argv[++i];
            continue;
        }
        if (argument == "--calibrate" && i + 1 < argc) {
            settings.calibrated = argv[++i];
            continue;
        }
        if (argument == follow_option && i + 1 < argc) {
            settings.followed = argv[++i];
            continue;
        }
        if (argument == "--quick") {
            settings.quick = true;
            continue;
        }
        if (argument == "--libraries") return std::fputs(gpu::libraries_report().c_str(), stdout), 0;
        if (argument == "--examine") {
            execute_again_with_better_kernels(argv);
            return print_examination();
        }
        if (argument == "--kernels" && i + 1 < argc) return print_kernels(argv[i + 1]);
        if (argument == "--version") return std::printf("hpo-worker %s\n", version), 0;
        if (argument == "--help" || argument == "-h") return std::fputs(help, stdout), 0;
        return std::fprintf(stderr, "hpo-worker: unknown argument %s; see --help\n", argv[i]), 2;
    }
    if (settings.described) return print_description(settings);
    if (settings.model) {
        execute_again_with_better_kernels(argv);
        return print_prediction(settings);
    }
    os::name_thread("hpo-worker");  // the name in top; after its second start (below) it would be "exe"
    const char* endpoint = std::getenv("HPO_ENDPOINT");
    if (!settings.calibrated && !settings.profiled && !settings.followed && (endpoint == nullptr || *endpoint == '\0'))
        return std::fputs(help, stderr), 2;
    const bool of_a_trial =
        !settings.calibrated && !settings.profiled;  // other commands may find that variable of the user's
    if (const char* of_hpo = std::getenv("HPO_VERSION"); of_a_trial && of_hpo && std::string_view(of_hpo) != version)
        return std::fprintf(stderr, "hpo-worker is of version %s, and hpo of version %s: install both together\n",
                            version, of_hpo),
               2;
    const auto choice = choice_of(settings);
    if (!choice) return std::fprintf(stderr, "hpo-worker: %s\n", choice.error().message.c_str()), 2;
    const auto numbers = numbers_of(settings);
    if (!numbers) return std::fprintf(stderr, "hpo-worker: %s\n", numbers.error().message.c_str()), 2;
    const auto device = make_device(*choice);
    if (!device) return std::fprintf(stderr, "hpo-worker: %s\n", device.error().message.c_str()), 1;
    if ((*device)->backend() == "cpu") execute_again_with_better_kernels(argv);

    const SteadyClock clock;
    if (settings.calibrated) return print_calibration(**device, clock, *settings.calibrated, settings.quick);
    WorkerContext context{**device, clock, 0, 1, {}, {}, {}};
    if (numbers->processes > 1 && (*device)->backend() != "cpu")
        return std::fprintf(stderr, "hpo-worker: several processes of a trial train on the CPU alone, not on %s\n",
                            (*device)->name().c_str()),
               2;
    if (settings.followed) {
        context.processes = numbers->processes;
        const auto ranks = follow_host_ranks(*settings.followed);
        return ranks ? follow_lead(*ranks, context) : 2;
    }
    std::optional<LeadingRank> ranks;
    const char* token = std::getenv("HPO_TOKEN");
    try {
        // This precedes the connection, since the orchestrator waits for a hello only for a short time, and the first
        // product on a GPU may load half a gigabyte of library.
        if (const std::string remark = (*device)->remark(); !remark.empty())
            std::fprintf(stderr, "hpo-worker: %s\n", remark.c_str());
        if (!settings.profiled) train_once(context);
        context.slots = numbers->slots > 0 ? numbers->slots : (*device)->slots();
        if (numbers->processes > 1 && !settings.profiled) {
            ranks.emplace(numbers->processes, std::vector<std::string>(argv + 1, argv + argc));
            context.processes = numbers->processes;
            context.ranks = &*ranks;
            context.slots = 1;  // fused trials would have other plans in each rank
        }
        if ((*device)->slots() > 1 && variable("HPO_TUNING") != "off") {
            // Each session has a socket of its own.
            const FoundTuning found = kept_tuning(user_cache(), identity_of(**device), variable("HPO_ENDPOINT"),
                                                  [&] { return find_tuning(times_on(**device, clock)); });
            context.tuning = found.tuning;
            context.notes.push_back("measured on " + (*device)->name() + ": " + to_text(found));
        }
        if (numbers->threads > 1) {
            std::vector<int> cores = own_cores();
            cores.resize(std::min(cores.size(), static_cast<std::size_t>(numbers->threads)));
            if (ranks)
                ranks->use_cores(**device, cores);
            else
                (*device)->use_cores(cores);
            context.cores = std::move(cores);
        }
        if (settings.profiled) return print_profile(context, *settings.profiled, numbers->updates);
        measure_process(context);
        if (const std::string products = (*device)->products(); !products.empty()) context.notes.push_back(products);
        auto connection = Connection::open(endpoint);
        if (!connection) return std::fprintf(stderr, "hpo-worker: %s\n", connection.error().message.c_str()), 1;
        Session(*connection, context, clock).serve(token == nullptr ? "" : token);
    } catch (const Disconnected&) {
        std::fputs("the orchestrator closed the connection\n", stderr);
    } catch (const DeviceLost& lost) {
        // The orchestrator starts the trial again in another process, which opens the device again. Nothing is freed
        // here, since a driver may wait for ever for a device that has failed.
        std::fprintf(stderr, "hpo-worker: %s\n", lost.what());
        std::_Exit(device_failed_status);
    }
    return 0;
}

}  // namespace hpo
