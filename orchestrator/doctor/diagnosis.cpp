#include "orchestrator/doctor/diagnosis.hpp"

#include <algorithm>
#include <cstdio>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/devices/assess.hpp"
#include "orchestrator/devices/selection.hpp"
#include "orchestrator/output/trial_json.hpp"

namespace hpo {

namespace {

using Json = nlohmann::ordered_json;
using std::string;

constexpr std::int64_t little_space = std::int64_t{256} << 20;

/// The worker's finding about one library: its file, or why it cannot be used.
struct FoundLibrary {
    string path, problem;
};

FoundLibrary library_in(const Json& libraries, const char* name) {
    if (!libraries.is_object() || !libraries.contains(name)) return {"", "the worker does not say"};
    const Json& found = libraries[name];
    return {found.value("path", ""), found.value("problem", "")};
}

/// " (8 Performance, 2 Efficiency)"; empty where all cores are alike.
string kinds_text(const std::vector<CoreKind>& kinds) {
    string text;
    for (const CoreKind& kind : kinds)
        text += (text.empty() ? " (" : ", ") + std::to_string(kind.cores) + ' ' + printable(kind.name);
    return text.empty() ? text : text + ')';
}

class Doctor {
   public:
    explicit Doctor(const Installation& installation)
        : here_(installation), devices_(installation.machine.readings.devices) {}

    Diagnosis examine() {
        host();
        worker();
        gpus();
        cuda();
        opencl();
        store();
        cache();
        calibrations();
        python();
        data();
        return std::move(found_);
    }

   private:
    void add(Finding finding) { found_.findings.push_back(std::move(finding)); }
    void well(const string& subject, const string& text) { add({subject, Health::well, text, "", ""}); }

    void host() {
        const Host& host = here_.machine.host;
        well("processor", printable(host.cpu_name) + ", " + cores_text(host.cores) + kinds_text(host.kinds) + "; " +
                              size_text(host.memory) + " of memory, " + size_text(here_.machine.available) + " free, " +
                              size_text(others_on_host(here_.machine)) + " used by other programs");
    }

    void worker() {
        const Json& libraries = here_.machine.libraries;
        const string version = libraries.is_object() ? libraries.value("version", "") : "";
        const string follows = "the built-in models cannot be trained";
        const string cure =
            "build or install hpo and hpo-worker together: cmake --build build/release --target hpo hpo-worker";
        if (!here_.worker_problem.empty())
            return add({"worker", Health::wrong, printable(here_.worker) + ": " + printable_line(here_.worker_problem),
                        follows, cure});
        if (version != here_.version)
            return add({"worker", Health::wrong,
                        printable(here_.worker) + " is of version " +
                            (version.empty() ? "unknown" : printable(version)) + ", and hpo of version " +
                            here_.version,
                        follows, cure});
        well("worker", printable(here_.worker) + " " + printable(version) + " trains");
        found_.devices.emplace_back("cpu");
        if (libraries.contains("cpu")) well("CPU backend", printable(libraries["cpu"].value("name", "")));
        const FoundLibrary one_dnn = library_in(libraries, "onednn");
        if (!one_dnn.path.empty())
            well("oneDNN", printable(one_dnn.path));
        else if (one_dnn.problem.empty())
            add({"oneDNN", Health::absent,
                 "left out on this processor, by HPO_ONEDNN=off or by HPO_BLAS: the CPU backend's other library "
                 "multiplies",
                 "", ""});
        else
            add({"oneDNN", Health::missing, printable(one_dnn.problem),
                 "OpenBLAS computes all products in float32, and may take longer for large ones",
                 "apt install libdnnl2"});
        const FoundLibrary xgboost = library_in(libraries, "xgboost");
        if (!xgboost.path.empty())
            well("XGBoost", printable(xgboost.path));
        else
            add({"XGBoost", Health::missing, "the library is not installed", "model.type: trees cannot be grown",
                 "apt install libxgboost0"});
    }

    void gpus() {
        const string& problem = here_.machine.problem;
        if (!problem.empty())
            add({"GPU drivers", Health::missing, printable_line(problem), "trials do not train on the GPUs concerned",
                 ""});
        if (devices_.empty() && problem.empty())
            add({"GPUs", Health::absent, "there is no GPU here: trials train on the CPU", "", ""});
        for (const DeviceReading& device : devices_) {
            const string subject = (device.cpu ? "device " : "GPU ") + std::to_string(device.index);
            if (device.lost) {
                add({subject, Health::missing, printable(name_of(device) + " cannot be used: " + device.reason),
                     "no trial trains on it", "nvidia-smi -q shows its state"});
                continue;
            }
            string text = printable(device.name) + " (" + printable(device.id) + ")";
            if (device.unified) {
                text += " uses the host's memory";
                if (device.kind == DeviceKind::metal) text += ", up to " + size_text(device.memory) + " of it";
            } else {
                text += ": " + size_text(device.memory) + " of memory";
                if (device.used) {
                    const Reserved reserved = reserved_on(here_.machine.sessions, device.id);
                    text += ", " + size_text(device.memory - *device.used) + " free, " +
                            size_text(used_by_others(device, here_.machine.ours, reserved.used)) +
                            " used by other programs";
                }
            }
            if (device.cpu) text += "; it is a CPU by OpenCL, which a study uses only if it names it";
            well(subject, text);
        }
    }

    /// The wheel with one of CUDA's libraries for the driver that is here.
    [[nodiscard]] string wheel(const string& name) const {
        const Json& libraries = here_.machine.libraries;
        const string version = libraries.contains("cuda") ? libraries["cuda"].value("version", "") : "";
        const int major = version.empty() ? 0 : std::atoi(version.c_str());
        return "python3 -m pip install " + name + (major == 11 || major == 12 ? "-cu" + std::to_string(major) : "") +
               ", or install the CUDA toolkit and set CUDA_HOME to its folder";
    }

    void cuda() {
        if (!has_cuda_device(here_.machine))
            return add({"CUDA", Health::absent, "not examined: there is no NVIDIA GPU here that works", "", ""});
        const Json& libraries = here_.machine.libraries;
        const auto problems = cuda_problems(libraries);
        bool usable = libraries.is_object() && !found_.devices.empty();
        for (const auto& [library, subject, cure] :
             {std::tuple("cuda", "CUDA driver", string("install libcuda.so.1, which comes with the NVIDIA driver")),
              std::tuple("nvrtc", "NVRTC", wheel("nvidia-cuda-nvrtc")),
              std::tuple("nvrtc_builtins", "NVRTC builtins", wheel("nvidia-cuda-nvrtc")),
              std::tuple("cublas", "cuBLAS", wheel("nvidia-cublas"))}) {
            const auto problem = std::find_if(problems.begin(), problems.end(),
                                              [&](const LibraryProblem& one) { return one.library == library; });
            if (problem != problems.end()) {
                usable = usable && problem->library == "cublas";
                add({subject, Health::missing, printable_line(problem->problem), problem->follows, cure});
                continue;
            }
            const FoundLibrary found = library_in(libraries, library);
            const string version = found.path.empty() ? "" : libraries[library].value("version", "");
            if (!found.path.empty())
                well(subject, printable(found.path) + (version.empty() ? "" : ", CUDA " + printable(version)));
        }
        for (const DeviceReading& device : devices_)
            if (usable && device.kind == DeviceKind::cuda && !device.lost) found_.devices.push_back(bench_name(device));
    }

    void opencl() {
        const FoundLibrary loader = library_in(here_.machine.libraries, "opencl");
        std::vector<string> platforms;
        bool has_gpu = false;
        for (const DeviceReading& device : devices_) {
            if (device.kind != DeviceKind::opencl || device.lost) continue;
            has_gpu = has_gpu || !device.cpu;
            if (std::find(platforms.begin(), platforms.end(), device.platform) == platforms.end())
                platforms.push_back(device.platform);
            if (!found_.devices.empty() && !device.cpu) found_.devices.push_back(bench_name(device));
        }
        if (!platforms.empty()) {
            string names;
            for (const string& platform : platforms) names += (names.empty() ? "" : ", ") + printable(platform);
            well("OpenCL", printable(loader.path) + (platforms.size() == 1 ? ", platform " : ", platforms ") + names);
        } else {
            const string text = loader.path.empty() ? printable_line(loader.problem)
                                                    : "the loader " + printable(loader.path) +
                                                          " finds no device that CUDA does not list as well";
            add({"OpenCL", Health::absent,
                 text + (has_cuda_device(here_.machine)
                             ? ""
                             : "; a GPU that is not NVIDIA's needs its vendor's OpenCL package (Debian: "
                               "mesa-opencl-icd or intel-opencl-icd)"),
                 "", ""});
        }
        const FoundLibrary blast = library_in(here_.machine.libraries, "clblast");
        if (has_gpu && blast.path.empty())
            add({"CLBlast", Health::missing, printable_line(blast.problem),
                 "hpo's own kernels multiply on OpenCL, which may be slower", "apt install libclblast1"});
        else if (has_gpu)
            well("CLBlast", printable(blast.path));
    }

    void store() {
        const StoreFacts& store = here_.store;
        const string follows = "no study can be stored";
        const string cure = "set HPO_RUNS to a local folder that this user can write to";
        const string folder = printable(store.path);
        if (!store.problem.empty())
            add({"studies", Health::wrong, folder + ": " + printable(store.problem), follows, cure});
        else if (!store.lock_problem.empty())
            add({"studies", Health::wrong, folder + " cannot be locked: " + printable(store.lock_problem), follows,
                 cure});
        else
            well("studies", folder + ": writable, with locks, " + (store.network ? "on " + *store.network + ", " : "") +
                                (store.free ? size_text(*store.free) + " free" : "free space not known") + "; " +
                                (store.studies == 0 ? "no study yet" : counted(store.studies, "study", "studies")) +
                                (store.running > 0 ? ", of which " + counted(store.running, "runs", "run") : ""));
        if (store.free && *store.free < little_space)
            add({"disk", Health::missing, size_text(*store.free) + " are free for studies in " + folder,
                 "checkpoints and logs may not fit", "free some space, or set HPO_RUNS to a folder on another disk"});
    }

    void cache() {
        const CacheFacts& cache = here_.cache;
        const string follows =
            "kernels for CUDA are compiled at each start of a worker, and measurements of devices are not kept";
        if (cache.path.empty())
            return add({"cache", Health::missing, "neither XDG_CACHE_HOME nor HOME holds an absolute path", follows,
                        "export XDG_CACHE_HOME=/a/folder/of/yours"});
        const string folder = printable(cache.path);
        if (!cache.problem.empty())
            return add({"cache", Health::missing, folder + ": " + printable(cache.problem), follows,
                        "make it writable, or set XDG_CACHE_HOME to another folder"});
        well("cache",
             folder + (cache.kernels > 0 ? ": " + counted(cache.kernels, "file", "files") + " with compiled kernels"
                                         : ": no compiled kernels yet"));
    }

    void calibrations() {
        for (const string& refused : here_.refused)
            add({"calibration", Health::missing, printable(refused), "hpo predicts nothing from them",
                 "hpo bench devices"});
        string measured, unmeasured;
        for (const string& device : found_.devices) {
            const bool known = std::find(here_.measured.begin(), here_.measured.end(), device) != here_.measured.end();
            string& list = known ? measured : unmeasured;
            list += (list.empty() ? "" : ", ") + device;
        }
        if (!measured.empty()) well("calibration", "measured: " + measured);
        if (!unmeasured.empty())
            add({"calibration", Health::missing, "not measured: " + unmeasured,
                 found_.devices.size() > 1
                     ? "hpo run does not choose between CPU and GPU by predicted times, and hpo advise is less precise"
                     : "hpo advise is less precise",
                 "hpo bench devices"});
    }

    void python() {
        const PythonFacts& python = here_.python;
        if (python.path.empty())
            return add({"python", Health::missing, "there is no python3 in PATH",
                        "scripts in Python cannot be searched; the built-in models can", "apt install python3"});
        if (!python.problem.empty())
            return add({"python", Health::missing, printable(python.path) + ": " + printable_line(python.problem),
                        "scripts that import the client (`import hpo`) fail",
                        "install hpo with its client: cmake --install build/release --prefix FOLDER"});
        well("python", printable(python.path) + " " + printable(python.version) + ", with the client in " +
                           printable(python.client));
    }

    void data() {
        std::int64_t ready = 0;
        for (const ReadyStudy& study : here_.studies) {
            if (study.problem.empty()) {
                ++ready;
                continue;
            }
            // The worker's message ends with the command where it knows one.
            const auto command = study.problem.find("apt install ");
            add({"data", Health::missing, printable(study.file) + ": " + printable_line(study.problem),
                 "this study cannot run here", command == string::npos ? "" : study.problem.substr(command)});
        }
        if (ready > 0) well("data", "there for " + counted(ready, "ready study", "ready studies"));
    }

    const Installation& here_;
    const std::vector<DeviceReading>& devices_;
    Diagnosis found_;
};

}  // namespace

std::string_view to_text(Health health) {
    switch (health) {
        case Health::well:
            return "well";
        case Health::absent:
            return "absent";
        case Health::missing:
            return "missing";
        case Health::wrong:
            return "wrong";
    }
    return "";
}

bool Diagnosis::can_train() const {
    return std::none_of(findings.begin(), findings.end(),
                        [](const Finding& finding) { return finding.health == Health::wrong; });
}

Diagnosis diagnose(const Installation& installation) { return Doctor(installation).examine(); }

Json to_json(const Diagnosis& diagnosis) {
    const auto text_or_null = [](const string& text) { return text.empty() ? Json(nullptr) : Json(text); };
    Json findings = Json::array();
    for (const Finding& finding : diagnosis.findings)
        findings.push_back({{"subject", finding.subject},
                            {"state", to_text(finding.health)},
                            {"text", finding.text},
                            {"follows", text_or_null(finding.follows)},
                            {"cure", text_or_null(finding.cure)}});
    return {{"schema", json_schema},
            {"can_train", diagnosis.can_train()},
            {"devices", diagnosis.devices},
            {"findings", std::move(findings)}};
}

}  // namespace hpo
