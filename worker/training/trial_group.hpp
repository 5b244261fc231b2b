// Trials of one shape that train side by side, each a lane of one trainer. One alone is the usual case on a CPU. Trials
// come and go whenever one is at the end of a step; those that stay do not notice, also in the middle of theirs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/training/pressure.hpp"
#include "worker/training/trial.hpp"

namespace hpo {

/// Never throws but what hosts throw, and DeviceLost: whatever else goes wrong is an outcome in words, failed or
/// out_of_memory.
class TrialGroup {
   public:
    using Ended = std::function<void(const from_worker::Finished&)>;

    /// `ended` hears of every trial that joined, once. The workshop outlives the group.
    TrialGroup(Workshop& workshop, Ended ended);

    [[nodiscard]] bool empty() const { return trials_.empty(); }
    [[nodiscard]] int size() const { return static_cast<int>(trials_.size()); }
    /// Whether the trial has the shape of those that are here; true where there are none.
    [[nodiscard]] bool takes(const to_worker::Run& run) const;

    /// It trains from the next step on. Data is loaded where it is not there yet, and a checkpoint read.
    void join(const to_worker::Run& run, TrialHost& host);

    /// All train until some are at the end of a step, and these are evaluated, reported, decided on.
    void step();

   private:
    using Member = std::unique_ptr<Trial>;

    template <class F>
    bool or_ended(const AttemptId& id, TrialHost& host, F&& work);
    void step_of_all();
    void end_all(Outcome outcome, const std::string& message);
    void finish(TrialHost& host, const AttemptId& id, Outcome outcome, const std::string& message);
    void begin_shape(const to_worker::Run& run, const Configuration& configuration, TrialHost& host);
    [[nodiscard]] GroupPlan plan_for(int lanes) const;
    [[nodiscard]] Configuration own_part(Configuration asked) const;
    [[nodiscard]] GoOn asking(const char* phase);
    [[nodiscard]] bool over(const AttemptId& id) const;
    void forget_those_over();
    void settle();
    void lay_out();
    void make_trainer();
    void relieve();

    Workshop& workshop_;
    Ended ended_;
    std::string shape_;
    std::optional<Configuration> configuration_;  ///< what the arena is laid out for: the trials', or their bucket
    std::optional<Trainer> trainer_;
    std::optional<MemoryPressure> pressure_;  ///< of this shape; none: micro-batches stay as they are
    std::vector<Member> trials_;              ///< in the order in which they came
    std::vector<AttemptId> over_;             ///< ended in this step: their lanes go with its end
};

/// One trial alone, from the beginning to the end.
from_worker::Finished run_trial(const to_worker::Run& run, Workshop& workshop, TrialHost& host);

}  // namespace hpo
