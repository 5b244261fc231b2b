// The parts of an experiment of Katib that have a file each.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/import/reading.hpp"

namespace hpo::importing {

/// Names of parameters in Katib, with those in the study.
using KatibNames = std::map<std::string, std::string>;

/// Reads a number as Kubernetes writes it, in quotes: "0.01".
std::optional<double> quoted_number(const study::Node* node);

/// Converts the trial template of an experiment to the study's command and environment. Reports values that another
/// step of a workflow, or a config map, would fill in.
void read_katib_template(const Reading& reading, const study::Node& root, const KatibNames& names);

/// Converts the collector of metrics to patterns for the output of the command, which must be known. `metrics` are the
/// names of the objective and of additional metrics. Reports collectors that need more than the output.
void read_katib_metrics(const Reading& reading, const study::Node& spec, const std::vector<std::string>& metrics);

}  // namespace hpo::importing
