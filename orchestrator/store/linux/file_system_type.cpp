#include <sys/vfs.h>

#include "orchestrator/store/file_system.hpp"

namespace hpo {

namespace {

std::optional<unsigned long> magic_of(const std::filesystem::path& path) {
    struct statfs status {};
    if (::statfs(path.c_str(), &status) != 0) return std::nullopt;
    return static_cast<unsigned long>(status.f_type);
}

}  // namespace

std::optional<std::string> network_file_system(const std::filesystem::path& path) {
    const auto magic = magic_of(path);
    return magic ? network_name(*magic) : std::nullopt;
}

bool lies_in_memory(const std::filesystem::path& path) {
    constexpr unsigned long tmpfs = 0x01021994, ramfs = 0x858458f6;
    const auto magic = magic_of(path);
    return magic == tmpfs || magic == ramfs;
}

}  // namespace hpo
