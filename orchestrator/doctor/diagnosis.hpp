// Diagnoses an installation: lists the parts that are well and those that are missing, with consequence and cure. Pure;
// examine.cpp collects the facts.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/doctor/machine_reading.hpp"

namespace hpo {

/// The folder of all studies.
struct StoreFacts {
    std::string path;                    ///< absolute
    std::string problem;                 ///< why nothing can be written there; empty if it can
    std::optional<std::string> network;  ///< the network file system that it lies on
    std::string lock_problem;            ///< why files there cannot be locked; empty if they can
    std::optional<std::int64_t> free;    ///< bytes that this user can still write
    std::int64_t studies = 0, running = 0;
};

/// The folder in which compiled kernels and measurements are kept.
struct CacheFacts {
    std::string path;     ///< empty: neither XDG_CACHE_HOME nor HOME names one
    std::string problem;  ///< why nothing can be written there; empty if it can
    std::int64_t kernels = 0;
};

/// Python, for scripts that use the client.
struct PythonFacts {
    std::string path;     ///< of python3; empty: there is none
    std::string version;  ///< "3.11.2"; empty: it does not start, or does not find the client
    std::string client;   ///< the folder that scripts find the client in
    std::string problem;  ///< why the client cannot be used; empty if it can
};

/// A study of the folder studies/ that needs data.
struct ReadyStudy {
    std::string file;
    std::string problem;  ///< why its data cannot be read; empty if it can
};

struct Installation {
    std::string version;         ///< of hpo
    MachineReading machine;      ///< with `libraries` as hpo-worker --examine prints them
    std::string worker;          ///< path of the native worker
    std::string worker_problem;  ///< why it trains nothing on the CPU; empty if it does
    StoreFacts store;
    CacheFacts cache;
    std::vector<std::string> measured;  ///< devices with valid calibrations: "cpu", "cuda 0"
    std::vector<std::string> refused;   ///< sentences about calibrations that cannot be used
    PythonFacts python;
    std::vector<ReadyStudy> studies;
};

enum class Health {
    well,
    absent,   ///< not there, and nothing here needs it
    missing,  ///< hpo trains without it, but slower or not everything
    wrong,    ///< hpo cannot train here
};
std::string_view to_text(Health health);

struct Finding {
    std::string subject;  ///< "cuBLAS", "GPU 0"
    Health health = Health::well;
    std::string text;
    std::string follows;  ///< the consequence of the finding; may be empty
    std::string cure;     ///< a command or another remedy; empty where `text` has it, or where there is none
};

struct Diagnosis {
    std::vector<Finding> findings;
    std::vector<std::string> devices;  ///< on which trials can train: "cpu", "cuda 0", "opencl 1"

    /// Returns true if hpo can train here: no finding is wrong.
    [[nodiscard]] bool can_train() const;
};

Diagnosis diagnose(const Installation& installation);

/// Returns the object of hpo doctor --json (docs/json.md).
nlohmann::ordered_json to_json(const Diagnosis& diagnosis);

}  // namespace hpo
