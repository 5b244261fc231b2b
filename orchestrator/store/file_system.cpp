#include "orchestrator/store/file_system.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "hpo/descriptor.hpp"
#include "orchestrator/store/file_lock.hpp"

namespace hpo {

std::optional<std::string> network_name(unsigned long magic) {
    static constexpr std::array<std::pair<unsigned long, const char*>, 9> known{{
        {0x6969, "NFS"},
        {0x517B, "SMB"},
        {0xFF534D42, "CIFS"},
        {0xFE534D42, "SMB 2"},
        {0x5346414F, "AFS"},
        {0x0BD00BD0, "Lustre"},
        {0x00C36400, "Ceph"},
        {0x19830326, "BeeGFS"},
        {0x47504653, "GPFS"},
    }};
    for (const auto& [number, name] : known)
        if (number == (magic & 0xFFFFFFFF)) return name;
    return std::nullopt;
}

Result<void> can_lock_in(const std::filesystem::path& folder) {
    const Descriptor handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!handle || !knows_file_locks(handle.get())) return Error{std::strerror(errno)};
    return {};
}

mode_t mode_of_locked_files(const std::filesystem::path& folder) {
    struct stat info {};
    if (::stat(folder.c_str(), &info) != 0) return 0600;
    return 0600 | ((info.st_mode & S_IWGRP) ? 0060 : 0) | ((info.st_mode & S_IWOTH) ? 0006 : 0);
}

std::optional<std::int64_t> free_space(const std::filesystem::path& path) {
    struct statvfs status {};
    if (::statvfs(path.c_str(), &status) != 0) return std::nullopt;
    return static_cast<std::int64_t>(status.f_bavail * status.f_frsize);
}

}  // namespace hpo
