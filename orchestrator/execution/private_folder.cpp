#include "orchestrator/execution/private_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hpo {
namespace fs = std::filesystem;
namespace {

/// FNV-1a, 64 bits, in hex.
std::string short_name(const std::string& mark) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const char c : mark) hash = (hash ^ static_cast<std::uint8_t>(c)) * 1099511628211ULL;
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

fs::path base_folder() {
    constexpr std::size_t most_bytes = 56;  // leaves room for the folder's own name and a socket's
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    std::error_code error;
    if (runtime != nullptr && runtime[0] == '/' && std::strlen(runtime) <= most_bytes && ::access(runtime, W_OK) == 0)
        return runtime;
    return "/tmp";
}

/// Folders of ours alone: in /tmp anybody may have made one of that name.
void remove_left_over(const fs::path& base, const std::string& prefix) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(base, error)) {
        struct stat info {};
        if (!entry.path().filename().string().starts_with(prefix)) continue;
        if (::lstat(entry.path().c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) continue;
        fs::remove_all(entry.path(), error);
    }
}

}  // namespace

Result<PrivateFolder> PrivateFolder::make(const std::string& mark) {
    const fs::path base = base_folder();
    const std::string prefix = "hpo-" + short_name(mark) + "-";
    remove_left_over(base, prefix);
    std::string name = (base / (prefix + "XXXXXX")).string();
    if (::mkdtemp(name.data()) == nullptr)
        return Error{"cannot make a private folder in " + base.string() + ": " + std::strerror(errno)};
    return PrivateFolder(name);
}

PrivateFolder::~PrivateFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
}

}  // namespace hpo
