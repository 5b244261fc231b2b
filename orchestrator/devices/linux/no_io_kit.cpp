#include "orchestrator/devices/metal.hpp"

namespace hpo {

std::optional<std::string> accelerator_properties() { return std::nullopt; }
std::optional<std::int64_t> gpu_wired_limit() { return std::nullopt; }
bool has_io_kit() { return false; }

}  // namespace hpo
