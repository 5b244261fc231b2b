// A folder for Unix sockets that no other user can read (mode 0700): below $XDG_RUNTIME_DIR, else below /tmp, $TMPDIR,
// /var/tmp or /dev/shm, the first one that is writable and has a short enough name. The owner removes it at its end and
// holds a lock on it until then; the folder of an owner that was killed is removed when the next one is made.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "hpo/descriptor.hpp"
#include "hpo/result.hpp"

namespace hpo {

class PrivateFolder {
   public:
    /// Makes a folder whose name contains a hash of `tag`. Sockets in it with names of up to 20 bytes have paths within
    /// the 108 bytes of an address.
    static Result<PrivateFolder> make(const std::string& tag);

    PrivateFolder(PrivateFolder&& other) noexcept : path_(std::move(other.path_)), lock_(std::move(other.lock_)) {
        other.path_.clear();
    }
    PrivateFolder& operator=(PrivateFolder&& other) noexcept {
        std::swap(path_, other.path_);
        std::swap(lock_, other.lock_);
        return *this;
    }
    ~PrivateFolder();

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

   private:
    PrivateFolder(std::filesystem::path path, Descriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}
    std::filesystem::path path_;
    Descriptor lock_;
};

}  // namespace hpo
