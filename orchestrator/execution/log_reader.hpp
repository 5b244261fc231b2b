// Reads the log of a trial while it grows.
#pragma once

#include <cstdint>
#include <string>

#include "orchestrator/execution/worker_log.hpp"

namespace hpo {

class LogReader {
   public:
    /// `file` is open for reading, and outlives the reader. `cap` is that of the log.
    explicit LogReader(int file, std::int64_t cap = most_log_bytes) : file_(file), gap_(log_gap::place(cap)) {}

    /// Returns the next bytes, at most 64 KiB; empty: there are none yet. Where the log has left out output that was
    /// not read before, it returns the line that says so. Throws std::system_error if the file cannot be read.
    std::string next();

   private:
    void follow_gap();

    int file_;
    std::int64_t gap_;
    std::int64_t place_ = 0;     ///< in the file
    std::int64_t left_out_ = 0;  ///< by the file, as of the last reading
};

}  // namespace hpo
