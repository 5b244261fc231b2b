// hpo export --to kubernetes, which writes no results: a manifest by which pods join the study.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace hpo::commands {

inline constexpr const char* kubernetes_name = "kubernetes";

struct KubernetesArguments {
    std::string image, memory;
    std::int64_t agents = 1, cpus = 0, gpus = -1;  ///< 0 cpus, -1 gpus: as the study declares them
    std::vector<std::string> volumes;
    std::vector<const CLI::Option*> options;  ///< all of these
};

/// Adds the options that go with --to kubernetes alone.
void add_kubernetes_options(CLI::App& app, KubernetesArguments& arguments);

/// Throws Fatal if one of these options is given with another format.
void refuse_kubernetes_options(const KubernetesArguments& arguments, const std::string& format);

/// Writes the manifest for a study that need not have begun. `path` may be -, standard output.
int export_kubernetes(const std::string& study, const std::string& path, bool force,
                      const KubernetesArguments& arguments);

}  // namespace hpo::commands
