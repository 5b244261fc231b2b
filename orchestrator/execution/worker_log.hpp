// The log of a worker's stdout and stderr: a file of limited size, and the last lines for messages. Output that cannot
// be written is dropped, so that a log never harms a trial.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "hpo/descriptor.hpp"

namespace hpo {

class WorkerLog {
   public:
    explicit WorkerLog(std::int64_t cap_bytes) : cap_(cap_bytes) {}

    /// Appends to `file` from now on, up to the cap (present content counts); with an empty path, to no file. The file
    /// is created with the first output. After the output of an earlier attempt a line says that another attempt
    /// begins, and when. Clears the tail.
    void open(std::filesystem::path file);
    void append(std::string_view bytes);
    /// Returns at most the last 20 lines, printable.
    [[nodiscard]] std::string tail() const;

   private:
    void create();
    void write(std::string_view bytes);

    std::int64_t cap_;
    std::filesystem::path path_;  ///< until there is output
    Descriptor file_;
    std::int64_t size_ = 0;
    std::string recent_;
};

}  // namespace hpo
