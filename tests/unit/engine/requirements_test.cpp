// The requirements of trials: from a worker's plan, from a prediction, or learned when memory runs out.
#include "orchestrator/engine/requirements.hpp"

#include <gmock/gmock.h>

#include "tests/support/memory_store.hpp"
#include "tests/unit/engine/played.hpp"

namespace hpo {
namespace {

using ::testing::HasSubstr;

/// Three queued trials of a study of the native worker or of a script.
class Needs : public ::testing::Test {
   protected:
    explicit Needs(bool script = false) {
        study_ = testing::small_study();
        if (!script) study_.worker = NativeWorker{};
        study_.resources.trial.host_bytes.reset();
        study_.fixed["batch_size"] = std::int64_t{4};
        ledger_.emplace(study_, store_, *Proposer::make(study_), *Rules::make(study_));
        EXPECT_TRUE(ledger_->replay());
        for (int n = 0; n < 3; ++n) ledger_->propose();
        table_.emplace(study_, *ledger_, placement_, false);
    }
    Job running(std::int64_t trial, std::int64_t reserved) {
        Job job;
        job.id = {trial, ledger_->launch(trial, "cpu 0", {})};
        job.phase = Job::Phase::running;
        job.held.reservation = {.trial = trial, .footprint = {0, reserved, 1}, .alone = true};
        return job;
    }
    static bool nobody(std::int64_t) { return false; }

    Study study_;
    testing::MemoryStore store_;
    std::optional<Ledger> ledger_;
    Placement placement_;
    std::optional<RequirementsTable> table_;
    const Machine machine_{.hosts = {{.cores = 4, .memory = 4 * GiB}}};
};

class ScriptNeeds : public Needs {
   protected:
    ScriptNeeds() : Needs(true) {}
};

TEST_F(Needs, AreKnownOnceAWorkerHasAnswered) {
    EXPECT_TRUE(table_->asks_workers());
    EXPECT_EQ(table_->known(1), nullptr);
    table_->answered({.id = 1, .footprint = {0, 5, 1}, .fusion_key = "mlp", .colocated = {0, 2, 1}}, true, false);
    ASSERT_NE(table_->known(1), nullptr);
    EXPECT_EQ(table_->known(1)->footprint.host_bytes, 5);
    EXPECT_EQ(table_->known(1)->fusion_key, "mlp");
    placement_.set_queued(1, true);
    EXPECT_EQ(placement_.needs_of(1).footprint.host_bytes, 5) << "placement is told";
    table_->forget(1);
    EXPECT_EQ(table_->known(1), nullptr);
    EXPECT_EQ(placement_.waiting(), 0U);
}

TEST_F(Needs, OnAUnifiedDeviceTheHostsMemoryIsWhatTheDevicesLeaves) {
    table_->answered({.id = 1, .footprint = {3, 5, 1}, .colocated = {4, 2, 1}}, false, true);
    EXPECT_EQ(table_->known(1)->footprint.host_bytes, 2);
    EXPECT_EQ(table_->known(1)->colocated.host_bytes, 0);
}

TEST_F(Needs, ATrialThatRanOutOfMemoryIsGivenMoreWhateverAWorkerAnswers) {
    const Job job = running(1, GiB);
    ledger_->requeue(1, Outcome::out_of_memory, false, "out of memory");
    const auto next =
        table_->learn_from(1, {.given = {.footprint = job.held.reservation.footprint}, .used = {}}, machine_);
    ASSERT_TRUE(next);
    EXPECT_THAT(*next, HasSubstr("reserved"));
    EXPECT_EQ(table_->known(1), nullptr) << "it is asked again";
    table_->answered({.id = 1, .footprint = {0, 5, 1}}, true, false);
    EXPECT_GT(table_->known(1)->footprint.host_bytes, GiB);
}

TEST_F(Needs, ATrialThatIsTooLargeIsTrainedInSmallerMicroBatchesDownToOneSample) {
    EXPECT_TRUE(table_->shrink(1, "needs 9 GiB"));
    EXPECT_EQ(table_->configuration(1).at("accumulation"), Value(std::int64_t{2}));
    EXPECT_TRUE(table_->shrink(1, "needs 8 GiB"));
    EXPECT_EQ(table_->of(1).micro_batches, 4);
    EXPECT_EQ(table_->of(1).shrunk, "needs 9 GiB");
    EXPECT_FALSE(table_->shrink(1, "needs 7 GiB"));
}

TEST_F(Needs, ATrialIsTriedAloneToFindTheCauseOfAnEnd) {
    table_->run_alone(2);
    table_->answered({.id = 2, .footprint = {0, 5, 1}}, true, false);
    EXPECT_TRUE(table_->known(2)->alone);
}

TEST_F(ScriptNeeds, ArePredictedAndTheFirstTrialRunsAloneUntilItsMemoryIsSeen) {
    EXPECT_FALSE(table_->asks_workers());
    table_->predict(1, machine_);
    table_->predict(2, machine_);
    EXPECT_TRUE(table_->known(1)->alone);
    Job job = running(1, 2 * GiB);
    EXPECT_EQ(table_->record_usage(job, {0, 100 * MiB, 0}), job.held.reservation) << "before its first step";
    job.last_step = 1;
    job.held.used = {0, 200 * MiB, 0};
    const Reservation now = table_->record_usage(job, job.held.used);
    EXPECT_EQ(now.footprint.host_bytes, 264 * MiB) << "what it does not take becomes free";
    EXPECT_FALSE(now.alone);
    table_->keep_peak(job, nobody);
    EXPECT_EQ(ledger_->record().trial(1).peak.host_bytes, 200 * MiB);
    EXPECT_EQ(table_->known(2), nullptr) << "what waits is predicted anew";
    table_->predict(2, machine_);
    EXPECT_FALSE(table_->known(2)->alone);
}

TEST_F(ScriptNeeds, APlanOfTheWorkerReplacesThePrediction) {
    table_->predict(1, machine_);
    Worker worker;
    EXPECT_FALSE(table_->learn_capabilities(worker));
    worker.plans = true;
    EXPECT_TRUE(table_->learn_capabilities(worker));
    EXPECT_EQ(table_->known(1), nullptr);
    EXPECT_FALSE(table_->learn_capabilities(worker)) << "said once";
}

}  // namespace
}  // namespace hpo
