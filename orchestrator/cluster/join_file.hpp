// The join file of a study that listens: where its orchestrator is, and the key by which agents are known. Only its
// owner can read it (mode 600).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"

namespace hpo::cluster {

struct JoinFile {
    std::string study;
    std::string version;                 ///< of hpo, which agents must have
    std::vector<std::string> addresses;  ///< of the orchestrator's host, the first that works is used
    std::uint16_t port = 0;
    std::string key;  ///< 256 bits, as 64 hexadecimal digits
    friend bool operator==(const JoinFile&, const JoinFile&) = default;
};

/// The name of the file in the study's folder.
inline constexpr const char* join_file_name = "join.json";

/// Pure.
std::string text_of(const JoinFile& file);
/// Fails with the reason for texts that text_of() does not write. Pure.
Result<JoinFile> parse_join_file(std::string_view text);

/// Replaces the file.
Result<void> write_join_file(const std::filesystem::path& path, const JoinFile& file);
/// Removes the file if it has this key: another session may have written the one that is there now.
void remove_join_file(const std::filesystem::path& path, const std::string& key);
/// Fails, with the path and the cure, also for a file that other users can read or that another user has written, and
/// for that of another version of hpo.
Result<JoinFile> read_join_file(const std::filesystem::path& path);

/// Returns 256 random bits as 64 hexadecimal digits. Throws std::runtime_error if the kernel has none.
std::string fresh_key();
/// Returns the bytes of a key as JoinFile has it.
std::string key_bytes(const std::string& digits);

}  // namespace hpo::cluster
