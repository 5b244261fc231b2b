#include "tests/support/fake_memory.hpp"

#include <sys/mman.h>

#include <fstream>
#include <string>

#include "tests/support/fake_device.hpp"

namespace hpo::fake {

bool TrialMemory::take_device(std::int64_t bytes) {
    if (!take(bytes)) return false;
    device_ += bytes;
    return true;
}

bool TrialMemory::take_host(std::int64_t bytes) {
    if (bytes <= 0) return true;
    const auto size = static_cast<std::size_t>(bytes);
    void* start = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (start == MAP_FAILED) return false;
    blocks_.push_back({start, size});
    host_ += bytes;
    return true;
}

void TrialMemory::release() {
    for (const auto& [start, size] : blocks_) ::munmap(start, size);
    blocks_.clear();
    if (device_ > 0) take(-device_);
    device_ = host_ = 0;
}

std::optional<std::int64_t> peak_host_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
    return std::nullopt;
}

void reset_peak_host_bytes() { std::ofstream("/proc/self/clear_refs") << 5; }

}  // namespace hpo::fake
