// The other ranks of a worker as processes, which rank 0 starts and ends. They are the worker's program again, and the
// kernel kills them when rank 0 dies, however that happens.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"
#include "worker/ranks/host_ranks.hpp"
#include "worker/ranks/rank_cores.hpp"

namespace hpo {

/// The argument before the identity of a rank other than 0 on the command line of a worker.
inline constexpr const char* follow_option = "--follow";

/// How a rank has ended.
struct RankEnd {
    int rank = 0;
    int status = 0;       ///< as waitpid tells it
    std::string words{};  ///< why, as the rank tells it; empty: it told nothing
};
/// Returns "rank 1 of the trial was killed by signal 9", or the rank's own words.
std::string to_text(const RankEnd& end);
/// Ends this process as `end` tells, so that its parent sees the same end.
[[noreturn]] void end_like(const RankEnd& end);

class RankProcesses {
   public:
    /// `arguments`: those of this process, without its name.
    RankProcesses(int size, std::vector<std::string> arguments) : size_(size), arguments_(std::move(arguments)) {}
    ~RankProcesses() { stop(); }
    RankProcesses(const RankProcesses&) = delete;
    RankProcesses& operator=(const RankProcesses&) = delete;

    [[nodiscard]] int size() const { return size_; }
    /// Starts all ranks unless all run. Returns true if it did: then communicator() is another one.
    Result<bool> start();
    /// Returns rank 0's communicator. Must not be called before start() or after stop().
    [[nodiscard]] HostCommunicator& communicator() { return *communicator_; }
    /// Returns rank 0's cores when this was made; the other ranks start on them.
    [[nodiscard]] const RankCores& cores() const { return cores_; }
    /// Kills all, and returns once they have ended.
    void stop();
    /// Returns the end of a rank that was lost, and stops the others.
    RankEnd end_of(const RankLost& lost);

   private:
    Result<void> start_rank(int rank, HostRanks& shared);
    [[nodiscard]] bool all_run();

    int size_;
    std::vector<std::string> arguments_;
    RankCores cores_;
    std::vector<pid_t> pids_;  ///< of ranks 1, 2, ...; 0: it has ended
    std::unique_ptr<HostCommunicator> communicator_;
};

/// Returns the communicator of a rank other than 0 from the text after follow_option; null: the text is none, or
/// memory is short.
std::unique_ptr<HostCommunicator> follow_host_ranks(std::string_view identity);

}  // namespace hpo
