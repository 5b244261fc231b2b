// Reads the equipment of this machine for hpo devices and hpo doctor: cores, memory, GPUs, the sessions that use them,
// and the libraries that the native worker finds.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "orchestrator/devices/device.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/devices/session_registry.hpp"

namespace hpo {

struct MachineReading {
    Host host;
    std::int64_t available = 0;  ///< bytes of host memory that are free
    DeviceReadings readings;
    std::string problem;               ///< why GPUs could not be read; empty if they could
    nlohmann::ordered_json libraries;  ///< as worker_json() returns it; null if the worker was not asked
    std::vector<SessionReservations> sessions;
    std::vector<std::int64_t> ours;  ///< process ids of all processes of all sessions
    std::int64_t our_memory = 0;     ///< host memory that they use, in bytes
};

/// Reads all but `libraries`. Waits for the GPUs' drivers, and says so on stderr if that takes long.
MachineReading read_machine();

/// Returns the name of a GPU in measurements: "cuda 0", "opencl 1".
std::string bench_name(const DeviceReading& device);

bool has_cuda_device(const MachineReading& machine);

/// Returns the object that hpo-worker prints with this option (--libraries, --examine), or null if it prints none.
nlohmann::ordered_json worker_json(const char* option);

struct LibraryProblem {
    std::string library;  ///< cuda, nvrtc, nvrtc_builtins or cublas
    std::string follows;  ///< the consequence for the native worker
    std::string problem;  ///< why it cannot be used
};

/// Returns the CUDA libraries that are missing in the object of `--libraries`. None for null.
std::vector<LibraryProblem> cuda_problems(const nlohmann::ordered_json& libraries);

/// The sums of the running sessions' reservations and usage on one device.
struct Reserved {
    std::int64_t bytes = 0, used = 0;  ///< of memory
    double cores = 0;
    std::set<std::string> studies;
};
Reserved reserved_on(const std::vector<SessionReservations>& sessions, const std::string& device);

/// Returns the host's name if the reservation is of one host of a session on several; otherwise an empty text.
std::string host_among_several(const DeviceReservation& reservation);

/// Returns the bytes of host memory that other programs use.
std::int64_t others_on_host(const MachineReading& machine);

}  // namespace hpo
