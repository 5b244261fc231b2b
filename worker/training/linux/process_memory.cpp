#include "worker/training/process_memory.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>

namespace hpo {
namespace {

/// The number behind `key` ("VmHWM:") in a file of lines such as "VmHWM:   1234 kB". Allocates nothing.
std::optional<std::int64_t> kilobytes(const char* file, std::string_view key) {
    const int descriptor = open(file, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return std::nullopt;
    char buffer[8192];
    const auto size = read(descriptor, buffer, sizeof buffer);
    close(descriptor);
    const std::string_view text(buffer, size > 0 ? static_cast<std::size_t>(size) : 0);
    const auto found = text.find(key);
    if (found == std::string_view::npos) return std::nullopt;
    const auto digits = text.find_first_of("0123456789", found + key.size());
    if (digits == std::string_view::npos) return std::nullopt;
    std::int64_t number = 0;
    std::from_chars(text.data() + digits, text.data() + text.size(), number);
    return number * 1024;
}

bool peak_is_older = false;  ///< than the last reset_peak()

}  // namespace

std::optional<std::int64_t> resident_bytes() { return kilobytes("/proc/self/status", "VmRSS:"); }

std::optional<std::int64_t> peak_bytes() { return kilobytes("/proc/self/status", peak_is_older ? "VmRSS:" : "VmHWM:"); }

void reset_peak() {
    malloc_trim(0);
    const int descriptor = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    peak_is_older = descriptor < 0 || write(descriptor, "5", 1) != 1;
    if (descriptor >= 0) close(descriptor);
}

std::optional<std::int64_t> available_bytes() { return kilobytes("/proc/meminfo", "MemAvailable:"); }

std::optional<HostMemory> host_memory() {
    const auto free = available_bytes();
    const auto total = kilobytes("/proc/meminfo", "MemTotal:");
    if (!free || !total) return std::nullopt;
    HostMemory memory{*free, *total};
    // Version 2: "0::/path"; without a limit memory.max says "max".
    std::ifstream group("/proc/self/cgroup");
    std::string line;
    while (std::getline(group, line) && !line.starts_with("0::")) {
    }
    if (!line.starts_with("0::")) return memory;
    const std::string folder = "/sys/fs/cgroup" + line.substr(3);
    std::int64_t most = 0, used = 0, number = 0;
    if (!(std::ifstream(folder + "/memory.max") >> most) || !(std::ifstream(folder + "/memory.current") >> used))
        return memory;
    std::ifstream parts(folder + "/memory.stat");
    for (std::string name; parts >> name >> number;)
        if (name == "file") used -= number;  // goes before anything is refused
    const std::int64_t left = std::max<std::int64_t>(0, most - used);
    return left < memory.free ? HostMemory{left, most} : memory;
}

}  // namespace hpo
