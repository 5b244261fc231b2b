// The loop of `hpo ask-tell`: reads requests from standard input and writes their answers to standard output.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "hpo/lines.hpp"
#include "hpo/shortage.hpp"
#include "orchestrator/ask_tell/lines.hpp"
#include "orchestrator/engine/control_port.hpp"

namespace hpo::ask_tell {

/// Makes signals wake a conversation. A second signal of the same kind ends the process at once. Throws Fatal if there
/// is no descriptor for it.
void wake_on_signals();

/// Reads requests and writes their answers. It goes on reading while answers are unread, so that a program may write
/// many requests before it reads the first answer. wake_on_signals() must have been called.
class Conversation {
   public:
    /// `store` is called after each batch of requests, before their answers are written. It must store the changes that
    /// they made. `in_place` returns false once the study's folder has been moved or removed. `control` is served, too;
    /// null: the session has none.
    Conversation(Session& session, std::function<void()> store, std::function<bool()> in_place,
                 ControlPort* control = nullptr)
        : session_(session), store_(std::move(store)), in_place_(std::move(in_place)), control_(control) {}

    /// Runs until the input ends and all answers are written, or a signal arrives, or something fails. Returns the
    /// reason in words. `failure` is left empty unless something failed. A closed output is no failure.
    std::string run(std::string& failure);

   private:
    bool write_some(std::string& failure);
    bool read_some(std::string& failure);
    void take(std::string_view line);
    void report_dropped();

    Session& session_;
    std::function<void()> store_;
    std::function<bool()> in_place_;
    ControlPort* control_;
    bool control_served_ = true;  ///< false: a client waits until a descriptor is free
    ShortageWait shortage_;
    LineSplitter lines_{longest_line};
    std::string out_;
    std::int64_t number_ = 0;   ///< of the last line, from 1
    std::int64_t dropped_ = 0;  ///< number of over-long lines that have been reported
    bool ended_ = false;        ///< true after the end of the input
};

}  // namespace hpo::ask_tell
