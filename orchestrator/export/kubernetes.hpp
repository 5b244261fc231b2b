// A Job of Kubernetes (batch/v1) whose pods join a study: each runs `hpo agent --join`. The study's key is not in it,
// but in a Secret that the user makes from the join file, so that the file may be committed. Pure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/study.hpp"

namespace hpo::exporting {

/// A folder that pods see under the same path as this host.
struct PodVolume {
    std::string source;  ///< the name of a PersistentVolumeClaim, or the absolute path of a folder of each node
    std::string path;    ///< absolute
    friend bool operator==(const PodVolume&, const PodVolume&) = default;
};

/// The options of the Job that a study file does not have.
struct AgentJob {
    std::string named;  ///< the argument with which hpo run finds the study: its file or its name
    std::string image;
    std::int64_t agents = 1;
    std::optional<std::int64_t> cpus;   ///< of each pod; absent: those of one trial, as the study declares them
    std::optional<std::string> memory;  ///< of each pod, as Kubernetes writes it: "16Gi"; absent: likewise
    std::optional<std::int64_t> gpus;   ///< of each pod; absent: likewise, none where the study asks for no GPU
    std::vector<PodVolume> volumes;
    std::filesystem::path folder;    ///< of the study, absolute
    std::vector<std::string> files;  ///< of the study, absolute
    std::string data_set;            ///< the name of an installed one, such as fashion-mnist; empty: none
    unsigned user = 0, group = 0;    ///< that own the study's folder
};

/// Reads CLAIM:/PATH, /FOLDER-OF-NODES:/PATH or /PATH, which is both.
Result<PodVolume> parse_volume(std::string_view text);

/// Returns the name of the Job, a label of RFC 1123: "hpo-phase1". Different studies have different names.
std::string job_name_of(const std::string& study);

/// Returns the manifest. Fails, naming the option to give, if the study's folder is in no volume, or if cores or memory
/// of a pod are unknown.
Result<std::string> kubernetes_job(const Study& study, const AgentJob& job);

}  // namespace hpo::exporting
