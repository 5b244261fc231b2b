// The command of a trial from its start to its end: its output, what the launcher of its ranks tells, and signals.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "hpo/descriptor.hpp"
#include "orchestrator/script/launch.hpp"
#include "orchestrator/script/output.hpp"
#include "orchestrator/script/rank_records.hpp"

namespace hpo::script {

class RunningCommand {
   public:
    using Time = std::chrono::steady_clock::time_point;

    void begin(StartedCommand started);
    /// Returns true if the command has been started; it may have ended.
    [[nodiscard]] bool started() const { return pid_ != 0; }

    /// Returns the descriptors of its output to poll, -1 for a closed one.
    [[nodiscard]] std::array<int, 2> outputs() const { return output_.descriptors(); }
    /// Returns the descriptor of the launcher's records to poll, or -1.
    [[nodiscard]] int records() const { return records_.get(); }
    /// Reads about `max_bytes` bytes of each stream of its output. Returns true if there were any.
    bool take_output(std::size_t max_bytes, const CommandOutput::Read& read) { return output_.take(max_bytes, read); }
    /// Reads about `max_bytes` bytes of the launcher's records, and copies the lines in them to the log. Returns true
    /// if there were any.
    bool take_records(std::size_t max_bytes);

    /// Sends the signal to its process group, if the command has not ended.
    void signal(int number) const;
    /// Sends SIGTERM, and SIGKILL after `grace` by kill_if_due(). A second call does not lengthen the grace.
    void terminate(std::chrono::milliseconds grace);
    [[nodiscard]] std::optional<Time> kill_at() const { return kill_at_; }
    void kill_if_due(Time now) const;

    /// Reaps children of this process that have ended. Returns true if the command is one of them.
    bool reap();
    [[nodiscard]] bool ended() const { return ended_; }
    /// Returns its status, as waitpid() returns it, once it has ended.
    [[nodiscard]] int status() const { return status_; }
    /// Returns the end of its output.
    [[nodiscard]] const std::string& tail() const { return output_.tail(); }
    /// Returns the ranks that have ended, in the order of their ends.
    [[nodiscard]] const std::vector<RankEnd>& rank_ends() const { return ranks_.ends(); }

   private:
    pid_t pid_ = 0;
    CommandOutput output_;
    Descriptor records_;  ///< of the launcher of the ranks; empty: the command has no ranks
    RankRecords ranks_;   ///< what it has told
    bool ended_ = false;
    int status_ = 0;
    std::optional<Time> kill_at_;
};

}  // namespace hpo::script
