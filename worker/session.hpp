// A worker's life: hello, then plans and trials until the orchestrator says shutdown or goes away.
//
// One thread does all of it, as a worker has one core: between two iterations, two passes of an evaluation and two
// parts of the data it looks at the socket (a system call of well under a microsecond) and says that it is alive when
// that is due. So `alive` means progress: a worker that hangs falls silent.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/clock.hpp"
#include "hpo/messages.hpp"
#include "worker/connection.hpp"
#include "worker/training/trial.hpp"

namespace hpo {

class Session final : private TrialHost {
   public:
    Session(Connection& connection, Workshop& workshop, const Clock& clock);

    /// Returns when told to shut down; throws Disconnected when the orchestrator is gone, DeviceLost when the device
    /// is.
    void serve(const std::string& token);

   private:
    // TrialHost
    bool go_on(std::string_view phase) override;
    void started(std::int64_t from_step) override;
    std::optional<to_worker::Action> report(const Report& report) override;
    void say(const std::string& line) override;

    void stay_alive(std::string_view phase);
    void handle(OrchestratorMessage message);
    void decide(const to_worker::Decision& decision);
    void stop(const AttemptId& id);

    Connection& connection_;
    Workshop& workshop_;
    const Clock& clock_;
    Seconds alive_every_{5};
    Seconds last_alive_{0};
    std::deque<to_worker::Run> waiting_;  ///< the one slot is taken: they run one after the other
    AttemptId current_;                   ///< trial 0: none
    bool stop_ = false;                   ///< the current trial is to end
    bool shutdown_ = false;
    std::int64_t awaited_step_ = 0;  ///< whose decision is waited for; 0: none
    std::optional<to_worker::Action> decision_;
};

}  // namespace hpo
