// A worker's life: hello, then plans and trials until the orchestrator says shutdown or goes away.
//
// It has one slot or several: trials of one shape then train side by side, those that come take the places of those
// that went between two steps.
//
// One thread does all of it, as a worker has one core: between two iterations, two passes of an evaluation and two
// parts of the data it looks at the socket (a system call of well under a microsecond) and says that it is alive when
// that is due. So `alive` means progress: a worker that hangs falls silent.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/clock.hpp"
#include "hpo/messages.hpp"
#include "worker/connection.hpp"
#include "worker/training/trial_group.hpp"

namespace hpo {

class Session {
   public:
    Session(Connection& connection, Workshop& workshop, const Clock& clock);

    /// Returns when told to shut down; throws Disconnected when the orchestrator is gone, DeviceLost when the device
    /// is.
    void serve(const std::string& token);

   private:
    /// A trial that trains, as its way to the orchestrator.
    class Slot final : public TrialHost {
       public:
        Slot(Session& session, AttemptId of, std::string log) : id(of), session_(session), log_(std::move(log)) {}
        bool go_on(std::string_view phase) override;
        void started(std::int64_t from_step) override;
        void report(const Report& report) override;
        std::optional<to_worker::Action> decision() override;
        void say(const std::string& line) override;

        const AttemptId id;
        bool stop = false;              ///< it is to end
        std::int64_t awaited_step = 0;  ///< whose decision is waited for; 0: none
        std::optional<to_worker::Action> decided;

       private:
        Session& session_;
        std::string log_;
    };

    void take_in();
    void gather();
    void attend(std::string_view phase);
    void stay_alive(std::string_view phase);
    void handle(OrchestratorMessage message);
    void decide(const to_worker::Decision& decision);
    void stop(const AttemptId& id);
    Slot* slot(const AttemptId& id);

    Connection& connection_;
    Workshop& workshop_;
    const Clock& clock_;
    Seconds alive_every_{5};
    Seconds last_alive_{0};
    Seconds last_look_{0};
    std::deque<to_worker::Run> waiting_;  ///< for a slot, or for those of another shape to end
    std::map<AttemptId, Slot> slots_;     ///< that are taken
    TrialGroup group_;
    bool changed_ = false;  ///< trials came or went since the last step
    bool shutdown_ = false;
};

}  // namespace hpo
