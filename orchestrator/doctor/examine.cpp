#include "orchestrator/doctor/examine.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "hpo/user_cache.hpp"
#include "hpo/version.hpp"
#include "orchestrator/calibration/calibration.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/engine/kept_calibrations.hpp"
#include "orchestrator/engine/one_worker.hpp"
#include "orchestrator/engine/worker_output.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/script/terminal.hpp"
#include "orchestrator/store/file_system.hpp"
#include "orchestrator/store/holder_lock.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_ready_studies = 100;

/// Returns the folder, or the innermost existing folder around it, in which files will be written.
fs::path existing_part(fs::path folder) {
    std::error_code ignored;
    while (!fs::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
    return folder;
}

/// Returns why this user cannot make files in the folder or, if it does not exist, make the folder. Empty if they can.
std::string write_problem(const fs::path& folder) {
    const fs::path there = existing_part(folder);
    std::error_code ignored;
    if (!fs::is_directory(there, ignored)) return there.string() + " is no folder";
    if (::access(there.c_str(), W_OK | X_OK) == 0) return {};
    return (there == folder ? std::string("cannot be written: ") : there.string() + " cannot be written: ") +
           std::strerror(errno);
}

StoreFacts store_facts() {
    StoreFacts facts;
    const fs::path runs = fs::absolute(runs_folder()).lexically_normal();
    facts.path = runs.string();
    facts.problem = write_problem(runs);
    const fs::path there = existing_part(runs);
    facts.network = network_file_system(there);
    if (const auto locked = can_lock_in(there); !locked && facts.problem.empty())
        facts.lock_problem = locked.error().message;
    facts.free = free_space(there);
    for (const StudyFolder& study : list_studies(runs)) {
        ++facts.studies;
        if (holder_of(study)) ++facts.running;
    }
    return facts;
}

CacheFacts cache_facts() {
    CacheFacts facts;
    const fs::path cache = user_cache();
    if (cache.empty()) return facts;
    facts.path = cache.string();
    facts.problem = write_problem(cache);
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(cache, none))
        if (entry.path().filename().string().starts_with("kernels-")) ++facts.kernels;
    return facts;
}

PythonFacts python_facts(const fs::path& client) {
    PythonFacts facts;
    facts.path = script::path_of("python3");
    facts.client = client.string();
    if (facts.path.empty()) return facts;
    // -B: Python compiles nothing into the folder of the client.
    const WorkerOutput output =
        program_output({facts.path, "-B", "-c", "import hpo, platform; print('version', platform.python_version())"},
                       {{"PYTHONPATH", client.string()}}, true);
    const auto at = output.text.rfind("version ");
    if (output.status == 0 && at != std::string::npos)
        facts.version = output.text.substr(at + 8, output.text.find('\n', at) - at - 8);
    else
        facts.problem = output.text.empty() ? "it ended with status " + std::to_string(output.status) : output.text;
    // The last line of a traceback names the error.
    while (facts.problem.ends_with('\n')) facts.problem.pop_back();
    if (const auto line = facts.problem.rfind('\n'); line != std::string::npos) facts.problem.erase(0, line + 1);
    return facts;
}

/// Asks the worker for the data of the studies in the folder studies/ here.
std::vector<ReadyStudy> ready_studies(OneWorker& worker) {
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator("studies", none))
        if (entry.path().extension() == ".yaml" && files.size() < most_ready_studies) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::vector<ReadyStudy> studies;
    for (const fs::path& file : files) {
        try {
            const Study study = load_study(file.string(), {}, WithoutWorker::allowed);
            if (study.script() || !study.fixed.contains("path")) continue;
            const auto data = worker.explain_data(study.fixed, study.seed);
            const bool unread = !data && data.error().message.starts_with("data.");
            studies.push_back({file.string(), unread ? data.error().message : ""});
        } catch (const Refusal&) {
            continue;  // hpo check tells its errors
        } catch (const Fatal&) {
            continue;
        }
    }
    return studies;
}

}  // namespace

Installation examine() {
    const Programs programs = installed_programs();
    Installation here;
    here.version = version;
    here.machine = read_machine();
    here.machine.libraries = worker_json("--examine");
    here.worker = programs.worker.string();
    here.store = store_facts();
    here.cache = cache_facts();
    here.python = python_facts(programs.python);
    const auto worker = OneWorker::start(Study{}, programs, {});  // the worker trains a small trial before it is ready
    if (!worker) {
        here.worker_problem = worker.error().message;
        return here;
    }
    here.studies = ready_studies(**worker);
    KeptCalibrations kept = kept_calibrations();
    for (const DeviceCalibration& device : kept.devices)
        if (device.device == "cpu") here.measured.push_back(device.device);
    for (const DeviceReading& device : here.machine.readings.devices) {
        const std::string name = bench_name(device);
        if (kept_calibration(user_cache(), host_name(), here.machine.host.cpu_name, name, device.id))
            here.measured.push_back(name);
    }
    here.refused = std::move(kept.refused);
    return here;
}

std::filesystem::path existing_runs_folder() { return existing_part(fs::absolute(runs_folder()).lexically_normal()); }

}  // namespace hpo
