// A session whose trials may compute on the host and on an accelerator.
#include "tests/unit/engine/played.hpp"

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using hpo::testing::GiB;
using hpo::testing::MiB;
using hpo::testing::Played, hpo::testing::PlayedParts;
using ::testing::HasSubstr;

/// A device that multiplies at this rate, in operations per second, for all shapes.
DeviceCalibration with_rate(const std::string& name, double rate, double launch) {
    DeviceCalibration device;
    device.device = name;
    device.launch = MeasuredTime{launch, launch, launch};
    for (const std::int64_t size : {16, 1024}) {
        const double flops = 2 * std::pow(static_cast<double>(size), 3);
        device.products.push_back({"float32", size, size, size, 1, flops, flops, MeasuredTime{flops / rate, 0, 0}, {}});
    }
    return device;
}

enum class Size { small, large };

class BothBackends : public hpo::testing::OneStore {
   protected:
    void begin(std::vector<Size> sizes, double cores, bool gpu_is_measured = true, std::int64_t device_bytes = GiB) {
        sizes_ = std::move(sizes);
        device_bytes_ = device_bytes;
        study.worker = NativeWorker{};
        study.budget.trials = static_cast<std::int64_t>(sizes_.size());
        std::map<int, DeviceCalibration> measured{{host_only, with_rate("cpu", 1e9, 0)}};
        if (gpu_is_measured) measured.emplace(0, with_rate("cuda 0", 1e11, 0.01));
        Machine machine{.hosts = {{.cores = cores, .memory = 64 * GiB}}};
        machine.accelerators.push_back({.id = "GPU-0", .memory = 8 * GiB});
        workers_ = static_cast<WorkerIndex>(cores) + 1;
        play.emplace(study, store, workers_, machine, PlayedParts{.calibrations = measured, .host_too = true});
        serve();
    }
    /// Answers for all workers until nothing happens any more.
    void serve() {
        for (bool goes_on = true; goes_on;) {
            goes_on = false;
            while (!play->executor.launched.empty()) {
                const WorkerIndex index = play->executor.launched.front();
                play->executor.launched.pop_front();
                on_[index] = play->started_on.at(starts_++).front();
                play->ready(index, {"plan"}, on_[index] == host_only ? 1 : 8);
                goes_on = true;
            }
            for (WorkerIndex index = 0; index < workers_; ++index) {
                if (play->executor.terminated.erase(index) != 0) play->exit(index, 0), goes_on = true;
                for (auto& queue = play->executor.sent[index]; !queue.empty(); goes_on = true) {
                    const OrchestratorMessage message = queue.front();
                    queue.pop_front();
                    if (const auto* question = std::get_if<to_worker::Plan>(&message)) answer(index, question->id);
                    if (const auto* run = std::get_if<to_worker::Run>(&message))
                        begun[run->id.trial] = {index, run->id};
                }
            }
        }
    }
    void answer(WorkerIndex index, std::int64_t trial) {
        const bool large = sizes_.at(static_cast<std::size_t>(trial) - 1) == Size::large;
        const bool on_host = on_[index] == host_only;
        play->say(index, from_worker::PlanAnswer{.id = trial,
                                                 .footprint = {on_host ? 0 : device_bytes_, 50 * MiB, 1},
                                                 .parameters = 1,
                                                 .iterations_per_step = 1,
                                                 .flops_per_step = large ? 1e12 : 1e6});
    }
    /// Ends a trial that has begun.
    void complete(std::int64_t trial) {
        const auto [index, id] = begun.at(trial);
        for (const std::int64_t step : {1, 2})
            play->say(index, from_worker::Reported{id, {.step = step, .metrics = {{"loss", 0.5}}}});
        play->finish(index, id);
        serve();
    }
    int device_of(std::int64_t trial) { return begun.contains(trial) ? on_.at(begun.at(trial).first) : -2; }

    std::optional<Played> play;
    std::map<std::int64_t, std::pair<WorkerIndex, AttemptId>> begun;

   private:
    std::vector<Size> sizes_;
    std::int64_t device_bytes_ = 0;
    std::map<WorkerIndex, int> on_;
    std::size_t starts_ = 0;
    WorkerIndex workers_ = 0;
};

TEST_F(BothBackends, SmallTrialsComputeOnTheHostAndLargeOnesOnTheDeviceAtTheSameTime) {
    begin({Size::small, Size::large, Size::small, Size::large}, 4);
    EXPECT_EQ(begun.size(), 4u);
    EXPECT_EQ(device_of(1), host_only);
    EXPECT_EQ(device_of(2), 0);
    EXPECT_EQ(device_of(3), host_only);
    EXPECT_EQ(device_of(4), 0);
    EXPECT_EQ(play->trial(1).allocation->device, "");
    EXPECT_EQ(play->trial(2).allocation->device, "GPU-0");
    EXPECT_THAT(play->trial(1).allocation->forecast.why, HasSubstr("cpu"));
    EXPECT_THAT(play->trial(2).allocation->forecast.why, Mentions("20.6 s"));
    EXPECT_THAT(play->trial(2).allocation->forecast.why, Mentions("cuda 0", "33m 20s", "cpu"));
    for (const std::int64_t trial : {1, 2, 3, 4}) complete(trial);
    EXPECT_EQ(play->engine->end(), Engine::End::finished);
}

TEST_F(BothBackends, TheWorkerOfTheDeviceTakesACoreOfTheHost) {
    begin({Size::small, Size::large, Size::small}, 2);
    EXPECT_EQ(device_of(1), host_only);
    EXPECT_EQ(device_of(2), 0);
    EXPECT_FALSE(begun.contains(3));
    complete(1);
    EXPECT_EQ(device_of(3), host_only);
    complete(2);
    complete(3);
    EXPECT_EQ(play->engine->end(), Engine::End::finished);
}

TEST_F(BothBackends, WithoutMeasurementsOfTheDeviceAllComputeOnIt) {
    begin({Size::small, Size::large}, 4, false);
    EXPECT_EQ(device_of(1), 0);
    EXPECT_EQ(device_of(2), 0);
}

TEST_F(BothBackends, ATrialThatDoesNotFitTheDeviceComputesOnTheHost) {
    begin({Size::large, Size::large}, 4, true, 20 * GiB);
    EXPECT_EQ(device_of(1), host_only);
    EXPECT_EQ(device_of(2), host_only);
    EXPECT_EQ(play->trial(1).state, TrialState::running);
}

TEST_F(BothBackends, ATrialThatOtherProgramsKeepOffTheDeviceComputesOnTheHost) {
    begin({Size::large, Size::large}, 4);
    EXPECT_EQ(device_of(2), 0);
    play->machine.accelerators[0].others = 8 * GiB;
    complete(1);
    EXPECT_EQ(play->engine->end(), Engine::End::none);
}

TEST_F(BothBackends, WithoutTheDeviceTheSessionGoesOnOnTheHost) {
    begin({Size::large, Size::large, Size::large}, 2);
    EXPECT_EQ(device_of(1), 0);
    play->machine.accelerators[0].usable = false;
    play->tick();
    EXPECT_EQ(play->engine->end(), Engine::End::none) << play->engine->end_reason();
    EXPECT_THAT(play->notices, Mentions("device GPU-0", "lost"));
    serve();
    EXPECT_EQ(device_of(1), host_only);
    EXPECT_EQ(device_of(2), host_only);
    complete(1);
    complete(2);
    complete(3);
    EXPECT_EQ(play->engine->end(), Engine::End::finished);
}

}  // namespace
}  // namespace hpo
