// What the launcher of a trial's ranks (rank_launcher.hpp) tells the adapter: the lines of the ranks other than 0, for
// the log, and how each rank ended. It has a pipe of its own for them, so that nothing mixes with the output of rank 0.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/execution/frames.hpp"

namespace hpo::script {

/// The launcher's descriptor to which it writes records.
inline constexpr int rank_records_descriptor = 3;

struct RankEnd {
    std::size_t rank = 0;
    int status = 0;  ///< as waitpid() returns it
    int sent = 0;    ///< the last signal that the launcher had sent it, since another rank had failed, or since the
                     ///< launcher got that signal; or 0
    std::int64_t peak_bytes = 0;  ///< largest resident set of its largest process
    std::string output{};         ///< the end of its output; empty for rank 0, whose output the adapter reads
};

/// Returns the record of whole lines for the log.
std::string lines_record(std::string_view lines);
std::string end_record(const RankEnd& end);

/// Reads records.
class RankRecords {
   public:
    /// Reads bytes, which may be cut anywhere. Returns the lines for the log in them. Bytes behind one that the
    /// launcher cannot have written are not read.
    std::string feed(std::string_view bytes);
    /// Returns the ranks that have ended, in the order of their ends.
    [[nodiscard]] const std::vector<RankEnd>& ends() const { return ends_; }

   private:
    supervisor::FrameReader frames_;
    std::vector<RankEnd> ends_;
    bool readable_ = true;
};

/// Returns the memory that the ranks took at most, if all did so at the same time. Memory that they share counts for
/// each of them.
std::int64_t peak_of(const std::vector<RankEnd>& ends);

}  // namespace hpo::script
