// The log of a worker's stdout and stderr: a file of limited size with the begin and the end of the output, and the
// last lines for messages. Output that cannot be written is dropped, so that a log never harms a trial.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "hpo/descriptor.hpp"

namespace hpo {

constexpr std::int64_t most_log_bytes = 4 * 1024 * 1024;  ///< of output in a log file

/// The line that stands in a log between the begin and the end of its output. It always has the same length.
namespace log_gap {

/// Returns where it stands in a log of at most `cap` bytes of output.
constexpr std::int64_t place(std::int64_t cap) { return cap / 2; }
std::string line(std::int64_t left_out);
std::int64_t length();
/// Returns how many bytes of output the file leaves out at the line; 0 if there is none at this place.
std::int64_t left_out(int file, std::int64_t place);

}  // namespace log_gap

class WorkerLog {
   public:
    explicit WorkerLog(std::int64_t cap_bytes) : cap_(cap_bytes) {}

    /// Appends to `file` from now on (none with an empty path). Of more output than the cap, the first half of the cap
    /// stays and at least a quarter at the end. Present content counts. What was appended is in the file at once, so
    /// that it outlives this process. The file is created with the first output. After the output of an earlier attempt
    /// a line says that another attempt begins, and when. Clears the tail.
    void open(std::filesystem::path file);
    void append(std::string_view bytes);
    /// Returns at most the last 20 lines, printable.
    [[nodiscard]] std::string tail() const;

   private:
    void create();
    void write(std::string_view bytes);
    bool write_all(std::string_view bytes);
    bool make_room();
    [[nodiscard]] std::int64_t most_bytes() const { return cap_ + log_gap::length(); }

    std::int64_t cap_;
    std::filesystem::path path_;  ///< until there is output
    Descriptor file_;
    std::int64_t size_ = 0;
    std::string recent_;
};

}  // namespace hpo
