// Viewers see all events, in any state of the summary, which is a cache of the events.
#include <gmock/gmock.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include "hpo/protobuf.hpp"
#include "orchestrator/engine/ledger.hpp"
#include "orchestrator/store/database_file.hpp"
#include "orchestrator/store/packed.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;

/// No file can grow: a full disk. Until the end of the scope.
class FullDisk {
   public:
    FullDisk() {
        ::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const struct rlimit none { 1, before_.rlim_max };
        ::setrlimit(RLIMIT_FSIZE, &none);
    }
    ~FullDisk() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        ::signal(SIGXFSZ, SIG_DFL);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;

   private:
    struct rlimit before_ {};
};

Study plain_study() {
    Study study;
    study.name = "summarised";
    study.objective = {"loss", Direction::minimize, Objective::At::best};
    study.space = {Dimension{.name = "x"}};
    study.worker = ScriptWorker{.command = {"played"}};
    study.budget.trials = 1000;
    study.budget.epochs = 3;
    study.sampler.type = "random";
    study.policy.scaled = false;
    return study;
}

class Summary : public ::testing::Test {
   protected:
    /// One session: a store, and a ledger that has read it.
    struct Running {
        std::unique_ptr<Store> store;
        Ledger ledger;
    };
    std::unique_ptr<Running> session() {
        auto store = open_store(file_);
        EXPECT_TRUE(store) << store.error().message;
        Store& events = **store;
        auto running = std::unique_ptr<Running>(
            new Running{*std::move(store), Ledger(study_, events, *Proposer::make(study_), *Rules::make(study_))});
        const auto replayed = running->ledger.replay();
        EXPECT_TRUE(replayed) << replayed.error().message;
        running->ledger.session_started({"host", 1, "test"});
        return running;
    }
    /// Trains `count` more trials to their ends.
    static void train(Ledger& ledger, int count) {
        for (int i = 0; i < count; ++i) {
            const std::int64_t trial = *ledger.propose();
            ledger.launch(trial, "cpu 0", {});
            for (std::int64_t step = 1; step <= 3; ++step) {
                Report report{.step = step};
                report.metrics["loss"] = 10.0 / static_cast<double>(trial * step);
                ledger.report(trial, report);
            }
        }
    }
    /// Trains ten trials in an orderly session.
    void train_ten() {
        const auto first = session();
        train(first->ledger, 5);
        first->ledger.summarize();
        train(first->ledger, 5);
        first->ledger.session_ended({1, "the end"});
    }
    [[nodiscard]] StudyRecord folded() const {
        StudyRecord record;
        record.thins = true;
        const auto viewer = open_store_read_only(file_);
        const auto events = (*viewer)->events(0, 1'000'000);
        EXPECT_TRUE(events) << events.error().message;
        for (const StoredEvent& event : *events) apply(record, event, study_.objective);
        return record;
    }
    /// Returns the record of a viewer: the summary, and the events since.
    [[nodiscard]] StudyRecord seen(Store& viewer, StudyRecord record = {}) const {
        record.thins = true;
        const auto read = viewer.read_summary(record);
        EXPECT_TRUE(read) << read.error().message;
        const auto events = viewer.events(record.sequence, 1'000'000);
        EXPECT_TRUE(events) << events.error().message;
        for (const StoredEvent& event : *events) apply(record, event, study_.objective);
        return record;
    }
    void expect_same(const StudyRecord& viewed, const StudyRecord& told) const {
        ASSERT_EQ(viewed.trials.size(), told.trials.size());
        EXPECT_EQ(viewed.sequence, told.sequence);
        EXPECT_EQ(viewed.end_reason, told.end_reason);
        EXPECT_EQ(viewed.end, told.end);
        for (const TrialRecord& one : told.trials) {
            const TrialRecord& other = viewed.trial(one.number);
            EXPECT_EQ(one.number, other.number);
            EXPECT_EQ(one.state, other.state) << one.number;
            EXPECT_EQ(one.value, other.value) << one.number;
            EXPECT_EQ(one.params, other.params) << one.number;
            EXPECT_EQ(one.repeat_of, other.repeat_of) << one.number;
            EXPECT_EQ(one.seeds, other.seeds) << one.number;
            EXPECT_EQ(one.steps(), other.steps()) << one.number;
        }
    }
    void expect_all_is_seen() const { expect_same(seen(**open_store_read_only(file_)), folded()); }
    [[nodiscard]] std::int64_t summarised() const { return (*open_store_read_only(file_))->summarized(); }

    void sql(const std::string& text) const {
        sqlite3* database = nullptr;
        ASSERT_EQ(sqlite3_open(file_.c_str(), &database), SQLITE_OK);
        char* error = nullptr;
        ASSERT_EQ(sqlite3_exec(database, text.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
        sqlite3_close(database);
    }

    testing::TemporaryFolder folder_;
    fs::path file_ = folder_ / "study.db";
    Study study_ = plain_study();
};

TEST_F(Summary, AConfigurationsMeanIsThatOfTheSeedsThatEndedSinceItsOwnEnd) {
    study_.repeats = 3;
    const auto session = this->session();
    Ledger& ledger = session->ledger;
    const auto end = [&](std::int64_t trial, double loss) {
        ledger.launch(trial, "cpu 0", {});
        for (std::int64_t step = 1; step <= 3; ++step)
            ledger.report(trial, {.step = step, .metrics = {{"loss", loss}}});
    };
    end(*ledger.propose(), 0.5);
    ledger.summarize();
    for (const double loss : {0.25, 0.75}) {
        end(ledger.repeat(1), loss);
        ledger.summarize();
        expect_all_is_seen();
    }
    const StudyRecord bare = seen(**open_store_read_only(file_), {.parts = TrialParts::without_parameters});
    EXPECT_THAT(bare.trial(1).seeds, ::testing::ElementsAre(0.5, 0.25, 0.75));
    EXPECT_EQ(bare.trial(1).value, 0.5);
    EXPECT_EQ(bare.trial(2).repeat_of, 1);
}

TEST_F(Summary, AViewerThatDoesWithoutParametersReadsAllElse) {
    train_ten();
    const auto viewer = open_store_read_only(file_);
    StudyRecord bare = seen(**viewer, {.parts = TrialParts::without_parameters}), told = folded();
    for (TrialRecord& trial : told.trials) {
        EXPECT_TRUE(bare.trial(trial.number).params.empty());
        const auto proposal = (*viewer)->proposal(trial.number);
        ASSERT_TRUE(proposal) << proposal.error().message;
        EXPECT_EQ(std::get<event::Proposed>(proposal->event).params, trial.params);
        trial.params.clear();
    }
    expect_same(bare, told);
    const auto session = this->session();
    train(session->ledger, 3);
    session->ledger.session_ended({1, "the end"});
    bare = seen(**viewer, std::move(bare));
    ASSERT_EQ(bare.trials.size(), 13U);
    EXPECT_TRUE(bare.trials.back().params.empty()) << "also of trials that are read later";
    EXPECT_EQ(bare.trials.back().value, folded().trials.back().value);
}

TEST_F(Summary, AViewerOfTheStandingKnowsStatesAndValues) {
    train_ten();
    const auto viewer = open_store_read_only(file_);
    StudyRecord read = seen(**viewer, {.parts = TrialParts::standing});
    const auto expect_told = [&] {
        const StudyRecord told = folded();
        ASSERT_EQ(read.trials.size(), told.trials.size());
        for (const TrialRecord& trial : told.trials) {
            EXPECT_EQ(read.trial(trial.number).state, trial.state);
            EXPECT_EQ(read.trial(trial.number).value, trial.value);
            EXPECT_EQ(read.trial(trial.number).best_step, trial.best_step);
        }
    };
    expect_told();
    const auto session = this->session();
    train(session->ledger, 3);
    session->ledger.session_ended({1, "the end"});
    read = seen(**viewer, std::move(read));
    expect_told();
}

TEST_F(Summary, ThatCouldNotBeWrittenIsOwedByTheNextOne) {
    const auto first = session();
    train(first->ledger, 3);
    first->ledger.summarize();
    train(first->ledger, 3);
    first->ledger.settle();
    {
        const FullDisk full;
        EXPECT_THROW(first->ledger.summarize(), StoreFailed);
    }
    first->ledger.session_ended({1, "the disk was full"});
    expect_all_is_seen();
    EXPECT_EQ(summarised(), folded().sequence);
}

TEST_F(Summary, IsNotAheadOfStepsThatCouldNotBeStored) {
    const auto first = session();
    train(first->ledger, 3);
    first->ledger.summarize();
    const std::int64_t trial = *first->ledger.propose();
    first->ledger.launch(trial, "cpu 0", {});
    first->ledger.report(trial, {.step = 1, .metrics = {{"loss", 0.001}}});
    {
        const FullDisk full;
        EXPECT_THROW(first->ledger.flush(), StoreFailed);
        EXPECT_THROW(first->ledger.requeue(trial, Outcome::interrupted, false, "the disk is full"), StoreFailed);
        EXPECT_THROW(first->ledger.summarize(), StoreFailed);
    }
    first->ledger.requeue(trial, Outcome::interrupted, false, "the disk was full");
    first->ledger.session_ended({1, "the disk was full"});
    expect_all_is_seen();
    expect_same(first->ledger.stored_record(), folded());
    EXPECT_EQ(folded().trial(trial).value, 0.001) << "the step waited until it could be stored";
}

TEST_F(Summary, IsNotAheadOfACommitThatFailed) {
    const auto first = session();
    first->ledger.wait_for_commits();
    train(first->ledger, 3);
    first->ledger.commit();
    first->ledger.summarize();
    train(first->ledger, 2);
    {
        const FullDisk full;
        EXPECT_THROW(first->ledger.commit(), StoreFailed);
        EXPECT_THROW(first->ledger.summarize(), StoreFailed);
        EXPECT_THROW(first->ledger.session_ended({1, "the disk is full"}), StoreFailed);
    }
    EXPECT_EQ(folded().trials.size(), 3u);
    expect_all_is_seen();
    expect_same(first->ledger.stored_record(), folded());
    first->ledger.settle();
    EXPECT_EQ(folded().trials.size(), 5u) << "the results waited until they could be stored";
    expect_all_is_seen();
}

TEST_F(Summary, ThatIsDamagedIsNotReadAndIsMadeAnewByTheNextSession) {
    const std::vector<std::string> damages{
        "UPDATE summary SET body = CAST(x'ff' || substr(body, 2) AS BLOB) WHERE trial = 3",
        "UPDATE summary SET body = x'' WHERE trial = 3",
        "UPDATE summary SET sum = sum + 1 WHERE trial = 3",
        "UPDATE summary SET body = CAST(substr(body, 1, 5) || x'01' AS BLOB) WHERE trial = 0",
        "UPDATE summary SET sum = sum + 1 WHERE trial = 0",
        "DELETE FROM summary WHERE trial = 3",
        "DELETE FROM summary WHERE trial = 10",
        "DELETE FROM summary WHERE trial = 0",
        "DELETE FROM summary",
        "UPDATE summary SET trial = 4000000000 WHERE trial = 3",
        "UPDATE summary SET trial = 11 WHERE trial = 10",
        "INSERT OR REPLACE INTO summary SELECT 3, sequence, body, sum FROM summary WHERE trial = 4",
        "INSERT INTO summary SELECT 11, sequence, body, sum FROM summary WHERE trial = 4",
        "DELETE FROM step WHERE sequence = (SELECT max(sequence) FROM step);"
        "DELETE FROM event WHERE sequence > (SELECT max(sequence) FROM step)"};  // the summary is ahead of the events
    train_ten();
    std::int64_t session_number = 0;
    for (const std::string& damage : damages) {
        SCOPED_TRACE(damage);
        fs::copy_file(file_, folder_ / "whole.db", fs::copy_options::overwrite_existing);
        sql(damage);
        expect_all_is_seen();
        EXPECT_EQ(summarised(), 0);
        {
            const auto next = session();
            next->ledger.summarize();
            expect_all_is_seen();
            EXPECT_EQ(summarised(), folded().sequence) << "session " << ++session_number;
            next->ledger.session_ended({1, "the end"});
        }
        fs::copy_file(folder_ / "whole.db", file_, fs::copy_options::overwrite_existing);
    }
}

TEST_F(Summary, OfAnEarlierTimeIsNoticedTrialByTrial) {
    const auto first = session();
    train(first->ledger, 4);
    const std::int64_t running = *first->ledger.propose();
    first->ledger.launch(running, "cpu 0", {});
    first->ledger.summarize();
    sql("CREATE TABLE earlier AS SELECT * FROM summary");
    first->ledger.report(running, {.step = 1, .metrics = {{"loss", 0.5}}});
    first->ledger.finish(running, TrialState::stopped, "user", "");
    first->ledger.session_ended({1, "the end"});
    sql("INSERT OR REPLACE INTO summary SELECT * FROM earlier WHERE trial = 5; DROP TABLE earlier");
    expect_all_is_seen();
}

TEST_F(Summary, TellsHowTheLastSessionEnded) {
    train_ten();
    session()->ledger.session_ended({1, "the limit", SessionEnd::at_limit});
    EXPECT_EQ(summarised(), folded().sequence);
    expect_all_is_seen();
    const std::string earlier = protobuf::Message().number(1, 7).bytes(6, "the study is over").encoded();
    StudyRecord record;
    record.end = SessionEnd::failed;
    packed::read_totals(record, earlier);
    EXPECT_EQ(record.end, SessionEnd::finished) << "version 0.2.0 told the reason alone";
    packed::read_totals(record, protobuf::Message().number(1, 7).bytes(6, "interrupted").encoded());
    EXPECT_EQ(record.end, SessionEnd::none);
    EXPECT_ANY_THROW(packed::read_totals(record, protobuf::Message().number(9, 99).encoded()));
}

TEST_F(Summary, OfTheFirstVersionSpeaksOfNoRowsAndIsMadeAnew) {
    train_ten();
    const StudyRecord told = folded();
    const std::string totals = protobuf::Message()
                                   .number(1, told.sequence)
                                   .real(2, told.seconds)
                                   .number(3, 0)
                                   .real(4, told.held_since)
                                   .real(5, told.last_time)
                                   .bytes(6, told.end_reason)
                                   .encoded();
    std::string hex;
    for (const char byte : totals) {
        char two[3];
        std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
        hex += two;
    }
    sql("UPDATE summary SET body = x'" + hex + "', sum = " + std::to_string(row_sum(0, totals)) + " WHERE trial = 0");
    sql("DELETE FROM summary WHERE trial = 7");  // a write that had failed
    expect_all_is_seen();
    session()->ledger.session_ended({1, "the end"});
    expect_all_is_seen();
    EXPECT_EQ(summarised(), folded().sequence);
}

TEST_F(Summary, ThatIsDamagedWhileAViewerWatchesIsReadAgainOnceItIsWhole) {
    const auto first = session();
    train(first->ledger, 4);
    first->ledger.summarize();
    const auto viewer = open_store_read_only(file_);
    StudyRecord record = seen(**viewer);
    train(first->ledger, 2);
    first->ledger.summarize();
    sql("UPDATE summary SET sum = sum + 1 WHERE trial = 5");
    record = seen(**viewer, std::move(record));
    expect_same(record, folded());
    sql("UPDATE summary SET sum = sum - 1 WHERE trial = 5");
    train(first->ledger, 2);
    first->ledger.summarize();
    record = seen(**viewer, std::move(record));
    expect_same(record, folded());
    EXPECT_EQ(record.summarized, folded().sequence);
}

}  // namespace
}  // namespace hpo
