#include "orchestrator/execution/private_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "hpo/short_hash.hpp"

namespace hpo {
namespace fs = std::filesystem;
namespace {

fs::path base_folder() {
    constexpr std::size_t most_bytes = 56;  // leaves room for the folder's own name and a socket's
    const std::array<const char*, 5> candidates{std::getenv("XDG_RUNTIME_DIR"), "/tmp", std::getenv("TMPDIR"),
                                                "/var/tmp", "/dev/shm"};
    for (const char* folder : candidates)
        if (folder != nullptr && folder[0] == '/' && std::strlen(folder) <= most_bytes &&
            ::access(folder, W_OK | X_OK) == 0)
            return folder;
    return "/tmp";
}

/// Opens and locks the folder. On failure returns no descriptor and sets errno: EWOULDBLOCK if another process holds
/// it, ENOENT if it is gone.
Descriptor lock(const fs::path& folder) {
    Descriptor handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (handle && ::flock(handle.get(), LOCK_EX | LOCK_NB) != 0) handle.reset();
    return handle;
}

/// "hpo-", 16 digits of the tag's hash, '-', and a unique end.
bool has_our_form(const std::string& name) {
    return name.starts_with("hpo-") && name.find_first_not_of("0123456789abcdef", 4) == 20 && name[20] == '-';
}

/// Removes only folders of this user: in /tmp anybody may have made one with this name.
void remove_left_over(const fs::path& base) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(base, error)) {
        struct stat info {};
        if (!has_our_form(entry.path().filename().string())) continue;
        if (::lstat(entry.path().c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) continue;
        if (const Descriptor unowned = lock(entry.path())) fs::remove_all(entry.path(), error);
    }
}

}  // namespace

Result<PrivateFolder> PrivateFolder::make(const std::string& tag) {
    const fs::path base = base_folder();
    remove_left_over(base);
    constexpr int most_tries = 100;
    int why = 0;
    for (int tried = 0; tried < most_tries; ++tried) {
        std::string name = (base / ("hpo-" + short_hash(tag) + "-XXXXXX")).string();
        if (::mkdtemp(name.data()) == nullptr)
            return Error{"cannot make a private folder in " + base.string() + ": " + std::strerror(errno)};
        // Between mkdtemp() and lock() another process may have taken it for a folder that was left over.
        Descriptor handle = lock(name);
        if (handle && ::access(name.c_str(), F_OK) == 0) return PrivateFolder(name, std::move(handle));
        why = errno;
        if (why == EWOULDBLOCK || why == ENOENT) continue;
        ::rmdir(name.c_str());
        break;
    }
    return Error{"cannot open a private folder in " + base.string() + ": " + std::strerror(why)};
}

PrivateFolder::~PrivateFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
}

}  // namespace hpo
