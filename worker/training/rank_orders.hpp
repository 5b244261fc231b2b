// The ranks of a trial: rank 0 trains it as a worker with one process does, and gives the others orders. They load
// the same data, take over the trainer's state, and train the same steps with their own micro-batches. Rank 0 alone
// evaluates, reports, and writes files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/messages.hpp"
#include "worker/ranks/rank_processes.hpp"
#include "worker/training/trainer.hpp"
#include "worker/training/worker_context.hpp"

namespace hpo {

/// The next order of rank 0.
struct RankOrder {
    enum class Kind {
        clear,  ///< no arena: rank 0 waits until it is freed
        load,   ///< the data
        enter,  ///< the data, a trainer, and its state, which follows
        step    ///< with the trainer
    };
    Kind kind = Kind::step;
    to_worker::Run run;  ///< of load and enter
    Placement placement = Placement::device;
    Precision precision = Precision::float32;
    std::int64_t micro_batch = 1;  ///< samples, see GroupPace
    Checkpointing checkpointing = Checkpointing::none;
    double rate_scale = 1;   ///< of enter and step
    std::vector<int> cores;  ///< of all ranks; empty: one thread each on any core
};
std::string to_text(const RankOrder& order);
/// Throws std::exception for a text that to_text() has not returned.
RankOrder order_of(const std::string& text);

/// Returns a rank's own configuration with rank 0's choices: its plan divides batches as that of rank 0 does.
Configuration as_ordered(Configuration own, const RankOrder& order);

/// Returns the cores of a rank among those of the trial: as many for each rank, the one after the other. With fewer
/// cores than ranks, several ranks share a core.
std::vector<int> cores_of_rank(std::span<const int> cores, int rank, int size);

/// Rank 0. If another rank ends or cannot go on, calls throw OutOfMemory or InvalidTrial with its words, or end this
/// process as that rank was ended, since the attempt is over.
class LeadingRank {
   public:
    LeadingRank(int size, std::vector<std::string> arguments) : processes_(size, std::move(arguments)) {}

    [[nodiscard]] int size() const { return processes_.size(); }
    /// Starts the other ranks unless they run. Returns whether it did: trainers for earlier ones are of no use. If the
    /// system refuses processes or memory, which it may grant later, this process ends and with it the attempt.
    bool start();
    [[nodiscard]] Communicator& communicator() { return processes_.communicator(); }
    /// Has the other ranks load the data while this one does, too.
    void load(const to_worker::Run& run, const DataConfig& data);
    /// Has the other ranks free their arenas, of an earlier trial, and returns once they have.
    void clear();
    /// Gives the state of all replicas of `trainer` to the other ranks. `laid_out`: the trainer's configuration.
    void enter(const to_worker::Run& run, const Configuration& laid_out, Trainer& trainer, double rate_scale);
    /// Trains a step with all ranks: Trainer::train_step.
    bool train_step(Trainer& trainer, const ShouldContinue& should_continue, double rate_scale);
    /// Ends the other ranks, which are in the middle of something.
    void stop() { processes_.stop(); }
    /// Computes from the next step on with the cores of the trial, of which this process takes its own at once.
    void use_cores(Device& device, const std::vector<int>& cores);
    /// The most memory that the other ranks took together, at the ends of their steps. Bytes.
    [[nodiscard]] std::int64_t peak_of_others();

   private:
    void send(const RankOrder& order);
    template <class F>
    void guarded(F&& work);

    RankProcesses processes_;
    std::vector<int> cores_;
};

/// Serves rank 0 until it ends. Returns the exit status.
int follow_lead(HostCommunicator& ranks, WorkerContext& context);

}  // namespace hpo
