// The output of a command: it is copied to the trial's log and passed on to a reader, and its end is kept.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "hpo/descriptor.hpp"

namespace hpo::script {

class CommandOutput {
   public:
    /// `pipe` carries standard error, and standard output if `terminal` is empty. Both must be non-blocking.
    void open(Descriptor pipe, Descriptor terminal);
    /// Returns the descriptors to poll; -1 for a closed one. The end of a stream does not mean that the command has
    /// ended, nor the reverse: other processes may have it open.
    [[nodiscard]] std::array<int, 2> descriptors() const { return {streams_[0].get(), streams_[1].get()}; }

    /// Reads up to `most` bytes of each stream and passes them to `read` with the stream's number. Returns whether
    /// there was any output.
    using Read = std::function<void(std::string_view bytes, std::size_t stream)>;
    bool take(std::size_t most, const Read& read);

    /// Returns the last kilobytes of the output.
    [[nodiscard]] const std::string& tail() const { return tail_; }

   private:
    bool take(std::size_t stream, std::size_t most, const Read& read);

    std::array<Descriptor, 2> streams_;
    std::string tail_;
};

}  // namespace hpo::script
