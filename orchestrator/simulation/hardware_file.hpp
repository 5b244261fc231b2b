// Reads simulated hardware, and trials without measurements, from a YAML file (docs/simulation.md).
#pragma once

#include <filesystem>
#include <optional>

#include "hpo/result.hpp"
#include "orchestrator/simulation/drawn.hpp"
#include "orchestrator/simulation/hardware.hpp"

namespace hpo {

struct HardwareFile {
    Hardware hardware;
    std::optional<DrawnTrials> trials;
};

/// Fails with all problems of the file and their locations.
Result<HardwareFile> read_hardware_file(const std::filesystem::path& file);
/// Reads hardware from a text; `name` is shown in errors.
Result<HardwareFile> parse_hardware_file(std::string_view text, const std::string& name);

}  // namespace hpo
