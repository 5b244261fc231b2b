// Checkpoints are written by another thread while the next step trains.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include "tests/contract/worker/fixture.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/training/background.hpp"

namespace hpo {
namespace {

using test::FakeHost;
using test::small_params;
using test::small_run;
using test::WorkerFixture;
using ::testing::Contains;
using ::testing::ElementsAre;
using to_worker::Action;
namespace fs = std::filesystem;

std::string content_of(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

/// Keeps the only thread of a worker's Background busy, so that later jobs wait.
class Busy {
   public:
    explicit Busy(Background& background)
        : done_(background.start([over = over_.get_future().share()] { over.wait(); })) {}
    ~Busy() { end(); }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    void end() {
        if (!ended_) over_.set_value();
        ended_ = true;
    }

   private:
    std::promise<void> over_;
    bool ended_ = false;
    std::future<void> done_;
};

struct CheckpointWriting : ::testing::Test {
    [[nodiscard]] to_worker::Run run(const char* name, std::int64_t steps, bool resume = false) const {
        auto run = small_run(small_params(), steps);
        run.folder = folder / name;
        run.resume = resume;
        return run;
    }
    const hpo::testing::TemporaryFolder temporary;
    const fs::path folder = temporary.path();
};

TEST_F(CheckpointWriting, TheNextStepTrainsMeanwhileAndItsReportWaits) {
    WorkerFixture worker;
    std::optional<Busy> busy(std::in_place, worker.context.background);
    FakeHost host;
    const fs::path last = folder / "trial" / "last.ckpt", best = folder / "trial" / "best.ckpt";
    std::int64_t in_second_step = 0;
    bool written_early = false;
    host.on_ask = [&] {
        if (host.reports.size() == 1 && ++in_second_step < 5) written_early |= fs::exists(last) || fs::exists(best);
        if (in_second_step == 5) busy->end();
        return true;
    };
    std::vector<bool> written_at_report;
    host.on_report = [&](const Report&) {
        written_at_report.push_back(fs::exists(last) && fs::exists(best));
        return Action::go_on;
    };
    EXPECT_EQ(run_trial(run("trial", 3), worker.context, host).outcome, Outcome::complete);
    EXPECT_FALSE(written_early);
    EXPECT_THAT(written_at_report, ElementsAre(false, true, true));
}

TEST_F(CheckpointWriting, ATrialThatPausesOrIsStoppedHasItsFilesAtItsEnd) {
    WorkerFixture worker;
    for (const Action action : {Action::pause, Action::stop}) {
        const fs::path files = folder / (action == Action::pause ? "paused" : "stopped");
        const fs::path last = action == Action::pause ? files / "last.ckpt" : fs::path();
        FakeHost host;
        host.on_report = [&](const Report&) { return action; };
        std::vector<fs::path> at_end;
        TrialGroup group(worker.context, [&](const from_worker::Finished& finished) {
            EXPECT_EQ(finished.checkpoint, last);
            for (const auto& file : fs::directory_iterator(files)) at_end.push_back(file.path());
        });
        group.add(run(files.filename().c_str(), 5), host);
        while (!group.empty()) group.step();
        EXPECT_THAT(at_end, Contains(files / "best.ckpt"));
        EXPECT_EQ(fs::exists(files / "last.ckpt"), action == Action::pause);
    }
}

/// The orchestrator ends a trial by its last report, and may be killed then, or end the worker.
TEST_F(CheckpointWriting, TheBestWeightsOfTheLastStepAreWrittenBeforeItsReport) {
    WorkerFixture worker;
    FakeHost host;
    auto trial = run("trial", 2);
    trial.objective = {"loss", Direction::minimize, Objective::At::best};
    std::string at_report;
    host.on_report = [&](const Report&) {
        at_report = content_of(folder / "trial" / "best.ckpt");
        return Action::go_on;
    };
    EXPECT_EQ(run_trial(trial, worker.context, host).outcome, Outcome::complete);
    ASSERT_LT(host.reports[1].metrics.at("loss"), host.reports[0].metrics.at("loss"));
    EXPECT_EQ(at_report, content_of(folder / "trial" / "best.ckpt"));
}

/// A SIGKILL while a checkpoint waits to be written leaves the files that are on the disk at that moment.
TEST_F(CheckpointWriting, KilledBeforeTheFilesAreWrittenATrialResumesWithTheSameBits) {
    WorkerFixture worker;
    FakeHost whole;
    std::optional<Busy> busy;
    whole.on_report = [&](const Report& report) {
        if (report.step < 4) busy.emplace(worker.context.background);
        return Action::go_on;
    };
    std::size_t copied = 0;
    whole.on_ask = [&] {
        if (whole.reports.size() > copied) {
            copied = whole.reports.size();
            fs::copy(folder / "whole", folder / ("killed-" + std::to_string(copied)));
            busy.reset();
        }
        return true;
    };
    ASSERT_EQ(run_trial(run("whole", 4), worker.context, whole).outcome, Outcome::complete);
    ASSERT_EQ(copied, 3U);
    for (std::size_t killed = 1; killed <= copied; ++killed) {
        const std::string name = "killed-" + std::to_string(killed);
        FakeHost again;
        ASSERT_EQ(run_trial(run(name.c_str(), 4, true), worker.context, again).outcome, Outcome::complete);
        EXPECT_EQ(again.from_step, static_cast<std::int64_t>(killed) - 1) << "its last step is repeated";
        EXPECT_EQ(again.reports.front().metrics, whole.reports[killed - 1].metrics);
        for (const char* file : {"last.ckpt", "best.ckpt"})
            EXPECT_EQ(content_of(folder / name / file), content_of(folder / "whole" / file)) << file;
    }
}

TEST(Background, DoesItsJobsInOrderAndAllOfThem) {
    std::vector<int> done;
    {
        Background background(1);
        for (int i = 0; i < 100; ++i) (void)background.start([&done, i] { done.push_back(i); });
    }
    ASSERT_EQ(done.size(), 100U);
    EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
}

TEST(Background, SeveralThreadsWorkAtOnceAndAnExceptionIsHandedOver) {
    Background background(2);
    std::promise<int> from_second;
    auto first = background.start([&] { return from_second.get_future().get(); });
    auto second = background.start([&] { from_second.set_value(7); });
    EXPECT_EQ(first.get(), 7);
    second.get();
    EXPECT_THROW(background.start([]() -> int { throw std::bad_alloc(); }).get(), std::bad_alloc);
}

}  // namespace
}  // namespace hpo
