// What a command prints: copied to the trial's log, its end kept, and handed on to be read.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "hpo/descriptor.hpp"

namespace hpo::script {

class CommandOutput {
   public:
    /// `pipe`: standard error, and standard output where there is no terminal for it. Both do not block.
    void open(Descriptor pipe, Descriptor terminal);
    /// To be waited for; -1: closed. The end of the stream says nothing about the command: others may hold it.
    [[nodiscard]] std::array<int, 2> descriptors() const { return {streams_[0].get(), streams_[1].get()}; }

    /// Takes what is there, up to `most` bytes of each stream, and hands it to `read` with the stream's number. True:
    /// there was something.
    using Read = std::function<void(std::string_view bytes, std::size_t stream)>;
    bool take(std::size_t most, const Read& read);

    /// The end of what was printed, some kilobytes.
    [[nodiscard]] const std::string& tail() const { return tail_; }

   private:
    bool take(std::size_t stream, std::size_t most, const Read& read);

    std::array<Descriptor, 2> streams_;
    std::string tail_;
};

}  // namespace hpo::script
