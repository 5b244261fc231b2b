// Reads the output of a command, copies it to the trial's log, passes it on to a reader and keeps its end.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "hpo/descriptor.hpp"

namespace hpo::script {

class CommandOutput {
   public:
    /// `pipe` carries standard error, and also standard output if `terminal` is empty. Both must be non-blocking.
    void open(Descriptor pipe, Descriptor terminal);
    /// Returns the descriptors to poll, -1 for a closed one. A stream may end before the command does, or stay open
    /// after it, since other processes may have it open.
    [[nodiscard]] std::array<int, 2> descriptors() const { return {streams_[0].get(), streams_[1].get()}; }

    /// Reads about `max_bytes` bytes of each stream and passes them to `read` with the stream's index. Returns true if
    /// there was any output.
    using Read = std::function<void(std::string_view bytes, std::size_t stream)>;
    bool take(std::size_t max_bytes, const Read& read);

    /// Writes whole lines of other processes to the log. They begin on a line of their own.
    void add_to_log(std::string_view lines);

    /// Returns the last 8 to 16 KiB of the output.
    [[nodiscard]] const std::string& tail() const { return tail_; }

   private:
    bool take(std::size_t stream, std::size_t max_bytes, const Read& read);

    std::array<Descriptor, 2> streams_;
    std::string tail_;
    bool parted_ = false;  ///< its unfinished line was ended in the log, for lines of others
};

}  // namespace hpo::script
