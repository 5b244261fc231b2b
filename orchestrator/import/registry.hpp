// The formats that can be converted to studies. A new one needs a file that defines its row and fills a study builder,
// and a line in registry.cpp. `hpo convert` takes its names, help and errors from the rows.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/import/reading.hpp"

namespace hpo::importing {

struct Format {
    std::string_view tool;   ///< name for --from; a tool may have several formats
    std::string_view title;  ///< "a W&B sweep"
    std::string_view signs;  ///< the keys by which it is recognized: "'parameters' with 'method'"
    /// Returns true if the file's top-level keys are those of this format.
    bool (*matches)(const study::Node& root);
    /// Fills `reading.builder` from a file that has this format.
    void (*read)(const Reading& reading, const study::Node& root);
};

/// Sweeps of Weights & Biases (docs.wandb.ai/models/sweeps/sweep-config-keys).
extern const Format wandb_sweep;
/// NNI, configurations of version 2 and 1 (nni.readthedocs.io: "Search Space" and "Experiment Config Reference").
extern const Format nni_space;
extern const Format nni_experiment;
/// Experiments of Katib (kubeflow.org/docs/components/katib).
extern const Format katib_experiment;
/// Configurations of Hydra's Optuna sweeper (hydra.cc/docs/plugins/optuna_sweeper).
extern const Format hydra_optuna;

std::span<const Format* const> formats();

/// Returns the names of the tools, each once: "wandb", "nni", ...
std::vector<std::string> tool_names();

}  // namespace hpo::importing
