// Runs Slurm's commands as children with a time limit, since a controller under load lets them hang.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "hpo/clock.hpp"

namespace hpo::slurm {

struct Answer {
    std::optional<int> status;  ///< exit status; absent: hung and killed, ended by a signal, or missing
    bool missing = false;       ///< there is no such program on PATH
    bool hung = false;          ///< the command was killed at the limit
    Seconds limit{0};           ///< of its time
    std::string out, error;     ///< at most a few MiB of each
};

/// The seam to Slurm: tests replace it by one that answers from a script.
class Commands {
   public:
    virtual ~Commands() = default;
    /// Runs a command to its end, or to the limit. `command` is a name on PATH and its arguments. May be called by
    /// several threads.
    virtual Answer run(const std::vector<std::string>& command) = 0;
    /// Waits before a command is repeated.
    virtual void pause(Seconds time) = 0;
    /// Returns true if commands fail since this process is about to end; Slurm may have carried them out.
    [[nodiscard]] virtual bool gave_up() const { return false; }
};

/// Runs the real commands. Children have a process group of their own, so that Ctrl-C in the terminal does not end them
/// in the middle, and no variable that changes their output or selects other users' jobs.
class RealCommands final : public Commands {
   public:
    /// `limit` is the time of one command.
    explicit RealCommands(Seconds limit) : limit_(limit) {}
    Answer run(const std::vector<std::string>& command) override;
    void pause(Seconds time) override;
    /// Kills commands that run, and lets later ones fail at once.
    void give_up() { gives_up_ = true; }
    [[nodiscard]] bool gave_up() const override { return gives_up_; }

   private:
    Seconds limit_;
    std::atomic<bool> gives_up_ = false;
};

/// Returns $HPO_SLURM_TIMEOUT in seconds, or 60. Throws Fatal if it is no duration.
Seconds command_limit();

}  // namespace hpo::slurm
