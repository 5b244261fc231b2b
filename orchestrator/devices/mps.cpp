#include "orchestrator/devices/mps.hpp"

#include <cstdlib>
#include <fstream>
#include <string>

namespace hpo {

namespace fs = std::filesystem;

std::optional<fs::path> mps_pipes(const fs::path& root) {
    const char* named = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
    const fs::path pipes = named != nullptr && *named != '\0' ? named : "/tmp/nvidia-mps";
    std::ifstream file(root / pipes.relative_path() / "nvidia-cuda-mps-control.pid");
    long long pid = 0;
    if (!(file >> pid) || pid <= 0) return std::nullopt;
    // The file of a daemon that was killed remains, and another process may have its pid by now.
    std::ifstream process(root / "proc" / std::to_string(pid) / "comm");
    std::string name;
    std::getline(process, name);
    if (!name.starts_with("nvidia-cuda-mps")) return std::nullopt;
    return pipes;
}

}  // namespace hpo
