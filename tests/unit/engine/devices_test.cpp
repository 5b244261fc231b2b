// Devices that fail under their trials or cannot start a worker, while the other devices continue.
#include <csignal>

#include "tests/unit/engine/played.hpp"

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using hpo::testing::GiB;
using hpo::testing::MemoryStore;
using hpo::testing::Played;
using hpo::testing::small_study;
using hpo::testing::with_devices;
using ::testing::HasSubstr;
using ::testing::Not;

class Devices : public hpo::testing::OneStore {};
class SeveralDevices : public hpo::testing::OneStore {};

Study study_of(int trials) {
    Study study = small_study();
    study.resources.trial.device_bytes = 5 * GiB;
    study.budget.trials = trials;
    return study;
}

/// Plays all workers until the session ends. `fail` returns true for a worker that it has failed; the others complete
/// their trials.
template <class F>
void play_on(Played& play, WorkerIndex workers, F&& fail) {
    for (int second = 0; second < 300 && play.engine->end() == Engine::End::none; ++second) {
        while (!play.executor.launched.empty()) {
            const WorkerIndex index = play.executor.launched.front();
            play.executor.launched.pop_front();
            if (!fail(index)) play.ready(index);
        }
        for (WorkerIndex index = 0; index < workers; ++index) {
            const AttemptId id = play.asked(index);  // a trial takes a second
            if (id.trial != 0 && !fail(index, play.trial(id.trial))) play.complete(index, id);
            if (play.executor.terminated.erase(index) != 0) play.exit(index, 0);
        }
        play.tick();
    }
}

/// Ends the workers of trials on `device` as workers whose device has failed. They fail after their start.
struct FailsUnder {
    Played& play;
    std::string device;
    bool operator()(WorkerIndex) const { return false; }
    bool operator()(WorkerIndex index, const TrialRecord& trial) const {
        if (trial.allocation->device != device) return false;
        play.exit(index, 0, device_failed_status);
        return true;
    }
};

TEST_F(Devices, OneThatFailsUnderTrialAfterTrialIsNotUsedAnyMoreAndTheOthersGoOn) {
    Played play(study_of(30), store, 2, with_devices(2));
    play_on(play, 2, FailsUnder{play, "GPU-0"});
    EXPECT_EQ(play.engine->end(), Engine::End::finished) << play.engine->end_reason();
    EXPECT_THAT(play.notices, HasSubstr("device GPU-0 failed 3 times"));
    for (const TrialRecord& trial : play.record().trials) {
        EXPECT_EQ(trial.state, TrialState::complete) << trial.number << ' ' << trial.reason;
        EXPECT_EQ(trial.allocation->device, "GPU-1");
    }
}

TEST_F(Devices, WithoutAnotherOneTheSessionEndsWithACureAndChargesAtMostOneTrial) {
    Played play(study_of(12), store, 1, with_devices(1));
    play_on(play, 1, FailsUnder{play, "GPU-0"});
    EXPECT_EQ(play.engine->end(), Engine::End::failed);
    EXPECT_THAT(play.engine->end_reason(), Mentions("left", "device GPU-0"));
    EXPECT_THAT(play.engine->end_reason(), Mentions("hpo run --backend", "resumes"));
    int failed = 0;
    for (const TrialRecord& trial : play.record().trials) failed += trial.state == TrialState::failed;
    EXPECT_LE(failed, 1);
}

TEST_F(Devices, ATrialThatEveryDeviceFailsAtIsChargedAndNoDeviceIsGivenUp) {
    Played play(study_of(12), store, 2, with_devices(2));
    struct Fails {
        Played& play;
        bool operator()(WorkerIndex) const { return false; }
        bool operator()(WorkerIndex index, const TrialRecord& trial) const {
            if (trial.number != 3) return false;
            play.exit(index, 0, device_failed_status);
            return true;
        }
    };
    play_on(play, 2, Fails{play});
    EXPECT_EQ(play.engine->end(), Engine::End::finished) << play.engine->end_reason();
    EXPECT_EQ(play.trial(3).state, TrialState::failed);
    EXPECT_EQ(play.trial(12).state, TrialState::complete);
    EXPECT_THAT(play.notices, Not(HasSubstr("used")));
}

TEST_F(Devices, WorkersThatDieAtTheSameTimeOnOneAreNotBlamedAndTheirTrialsAreTriedAgainAlone) {
    study = study_of(4);
    study.resources.trial.device_bytes = 2 * GiB;
    Played play(study, store, 2, with_devices(1));
    play.ready(0);
    play.ready(1);
    const AttemptId first = play.asked(0), second = play.asked(1);
    ASSERT_TRUE(first.trial != 0 && second.trial != 0);
    play.exit(0, SIGSEGV);
    play.tick();
    play.exit(1, SIGABRT);
    for (int second_ = 0; second_ < 5; ++second_) play.tick();
    EXPECT_THAT(play.notices, Mentions("2 workers", "GPU-0"));
    for (const AttemptId id : {first, second}) {
        EXPECT_EQ(play.trial(id.trial).failures, 0);
        EXPECT_THAT(play.trial(id.trial).reason, HasSubstr("died"));
    }

    // The trials run one after the other now, and a trial whose worker dies is charged.
    play_on(play, 2, [&, deaths = 0](WorkerIndex index, auto... trial) mutable {
        if constexpr (sizeof...(trial) == 0) {
            return false;
        } else {
            const bool is_first = ((trial.number == first.trial) && ...);
            EXPECT_TRUE(!is_first || play.engine->running().size() == 1U);
            if (!is_first || deaths++ > 0) return false;
            play.exit(index, SIGSEGV);
            return true;
        }
    });
    EXPECT_EQ(play.engine->end(), Engine::End::finished) << play.engine->end_reason();
    EXPECT_EQ(play.trial(first.trial).failures, 1);
    EXPECT_EQ(play.trial(second.trial).failures, 0);
    for (const TrialRecord& trial : play.record().trials) EXPECT_EQ(trial.state, TrialState::complete) << trial.reason;
}

TEST_F(Devices, OneOnWhichNoWorkerStartsLeavesTheOthersToGoOn) {
    Played play(study_of(30), store, 2, with_devices(2));
    struct Fails {
        Played& play;
        int& starts;
        bool operator()(WorkerIndex index) const {
            if (index != 0) return false;  // worker 0 is on the first device
            play.exit(index, 0, 1);
            return ++starts, true;
        }
        bool operator()(WorkerIndex, const TrialRecord&) const { return false; }
    };
    int starts = 0;
    play_on(play, 2, Fails{play, starts});
    EXPECT_EQ(play.engine->end(), Engine::End::finished) << play.engine->end_reason();
    for (const TrialRecord& trial : play.record().trials) EXPECT_EQ(trial.allocation->device, "GPU-1");
    EXPECT_LE(starts, 3);
}

TEST_F(SeveralDevices, ATrialRunsOnAllOfThemAndIsNotChargedWithTheLossOfOne) {
    study = study_of(2);
    study.resources.trial.gpus = 2;
    Played play(study, store, 2, with_devices(3));
    ASSERT_EQ(play.started_on.size(), 1u) << "the third device alone is not enough for the second trial";
    EXPECT_EQ(play.started_on[0], (std::vector<int>{0, 1}));
    play.executor.launched.clear();
    play.ready(0);
    const AttemptId id = play.asked(0);
    EXPECT_EQ(play.trial(id.trial).allocation->device, "GPU-0,GPU-1");
    EXPECT_EQ(play.trial(id.trial).where, "gpu 0+1");

    play.machine.accelerators[1].usable = false;
    play.tick();
    EXPECT_THAT(play.notices, Mentions("device GPU-1", "lost"));
    play.exit(0, SIGTERM);
    for (int second = 0; second < 10; ++second) play.tick();
    ASSERT_EQ(play.started_on.size(), 2u) << "on those that are left";
    EXPECT_EQ(play.started_on[1], (std::vector<int>{0, 2}));
    EXPECT_EQ(play.trial(id.trial).failures, 0) << "it is not charged";
}

}  // namespace
}  // namespace hpo
