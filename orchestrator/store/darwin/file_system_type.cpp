#include <sys/mount.h>
#include <sys/param.h>

#include <string_view>

#include "orchestrator/store/file_system.hpp"

namespace hpo {

/// Returns the name that the system has for the file system, such as smbfs, nfs, afpfs and webdav.
std::optional<std::string> network_file_system(const std::filesystem::path& path) {
    struct statfs status {};
    if (::statfs(path.c_str(), &status) != 0 || (status.f_flags & MNT_LOCAL) != 0) return std::nullopt;
    return std::string(status.f_fstypename);
}

/// A disk in memory (hdiutil attach ram://) looks as any other.
bool lies_in_memory(const std::filesystem::path& path) {
    struct statfs status {};
    return ::statfs(path.c_str(), &status) == 0 && std::string_view(status.f_fstypename) == "tmpfs";
}

}  // namespace hpo
