// A folder that no other user can look into (0700), for Unix sockets: below $XDG_RUNTIME_DIR, else below /tmp, $TMPDIR,
// /var/tmp or /dev/shm, whichever can be written and has a short enough name. Removed with its
// sockets by its owner's end. A living owner holds a lock on it: what a killed one left is removed by whoever makes the
// next.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "hpo/descriptor.hpp"
#include "hpo/result.hpp"

namespace hpo {

class PrivateFolder {
   public:
    /// `mark` stands, shortened, in the name. Paths of sockets in it keep within the 108 bytes
    /// that an address holds, for names of up to 20 bytes.
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
