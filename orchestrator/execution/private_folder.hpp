// A folder that no other user can look into (0700), for Unix sockets: below $XDG_RUNTIME_DIR, or /tmp. Removed with its
// sockets by its owner's end; what a killed owner left is removed by the next with the same mark.
#pragma once

#include <filesystem>
#include <string>

#include "hpo/result.hpp"

namespace hpo {

class PrivateFolder {
   public:
    /// `mark` tells studies apart; at most one living holder a mark. Paths of sockets in it keep within the 108 bytes
    /// that an address holds, for names of up to 20 bytes.
    static Result<PrivateFolder> make(const std::string& mark);

    PrivateFolder(PrivateFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
    PrivateFolder& operator=(PrivateFolder&&) = delete;
    ~PrivateFolder();

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

   private:
    explicit PrivateFolder(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
};

}  // namespace hpo
