// Results that were acknowledged and that a damaged write-ahead log no longer gives back.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <sstream>

#include "orchestrator/store/result_log.hpp"
#include "orchestrator/store/store.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string bytes_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

class Acknowledged : public ::testing::Test {
   protected:
    /// One more trial that ends with this value, in the study's database.
    static bool end_trial(Store& store, std::int64_t trial, double value) {
        const auto proposed = store.append(event::Proposed{trial, {}, {}});
        if (!proposed) return false;
        const auto step = store.add(event::Reported{trial, 1, {.step = 1, .metrics = {{"loss", value}}}});
        return step && store.mark({step->sequence, {value, 1, 1}, trial}) &&
               store.append(event::Finished{trial, 1, TrialState::complete, "", ""});
    }
    /// A session of `trials` trials, trial n with the value n / 100, that is killed when all are acknowledged.
    void killed_session(std::int64_t trials) const {
        const pid_t child = ::fork();
        if (child == 0) {
            const auto store = open_store(file_);
            if (!store || !(*store)->set_source("study: s\n")) ::_exit(1);
            for (std::int64_t trial = 1; trial <= trials; ++trial)
                if (!end_trial(**store, trial, static_cast<double>(trial) / 100)) ::_exit(2);
            if (!(*store)->settle()) ::_exit(3);
            ::raise(SIGKILL);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    }
    /// Changes one bit of the write-ahead log.
    void damage(double where) const {
        std::string bytes = bytes_of(log());
        ASSERT_GT(bytes.size(), 10'000u);
        const auto at = static_cast<std::size_t>(where * static_cast<double>(bytes.size()));
        bytes[at] = static_cast<char>(bytes[at] ^ 4);
        std::ofstream(log(), std::ios::binary | std::ios::trunc) << bytes;
    }
    [[nodiscard]] std::int64_t ended() const {
        const auto viewer = open_store_read_only(file_);
        std::int64_t count = 0;
        const auto events = (*viewer)->events(0, 100'000);
        for (const StoredEvent& event : *events) count += std::holds_alternative<event::Finished>(event.event) ? 1 : 0;
        return count;
    }
    /// Opens the study as a run does. Returns its warning.
    std::string warning_of_a_run(const std::function<void(Store&)>& then = {}) const {
        std::string warned;
        const auto store = open_store(file_, [&](const std::string& text) { warned += text; });
        EXPECT_TRUE(store) << store.error().message;
        if (then) then(**store);
        return warned;
    }
    [[nodiscard]] fs::path log() const { return file_.string() + "-wal"; }
    [[nodiscard]] fs::path results() const { return file_.string() + "-results"; }

    testing::TemporaryFolder folder_;
    fs::path file_ = folder_ / "study.db";
};

TEST_F(Acknowledged, ResultsBehindADamagedBitOfTheLogAreNamed) {
    for (const double where : {0.1, 0.5, 0.9}) {
        SCOPED_TRACE(where);
        for (const char* ending : {"", "-wal", "-shm", "-results", "-wal.damaged"}) fs::remove(file_.string() + ending);
        killed_session(40);
        EXPECT_EQ(ended(), 40);
        damage(where);
        const std::string damaged = bytes_of(log());
        const std::int64_t left = ended();
        ASSERT_LT(left, 40);
        const auto viewer = open_store_read_only(file_);
        EXPECT_THAT((*viewer)->missing_results(), HasSubstr(" (complete, 0."));
        const std::string warned = warning_of_a_run([](Store& store) { EXPECT_TRUE(store.set_source("study: s\n")); });
        std::int64_t named = 0;
        for (std::int64_t trial = 1; trial <= 40; ++trial)
            named += warned.find("trial " + std::to_string(trial) + " (complete") != std::string::npos ? 1 : 0;
        EXPECT_EQ(named, std::min<std::int64_t>(40 - left, 20)) << warned;
        if (left < 19) {
            EXPECT_THAT(warned, HasSubstr(" to 40."));
        }
        EXPECT_THAT(warned, HasSubstr("trial " + std::to_string(left + 1) + " (complete, "));
        EXPECT_EQ(bytes_of(log().string() + ".damaged"), damaged);
        EXPECT_THAT(warning_of_a_run(), IsEmpty()) << "the user was told";
    }
}

TEST_F(Acknowledged, ResultsAreNamedOnceAndInTheOrderOfTheirTrials) {
    // Trials that run at once end in any order, and an end may be stored again with its reason.
    EXPECT_EQ(text_of(std::vector<StoredEnd>{{7, 5, TrialState::complete, 0.5, 0},
                                             {8, 3, TrialState::complete, 0.25, 0},
                                             {9, 5, TrialState::complete, 0.5, 0},
                                             {10, 4, TrialState::failed, {}, 0}}),
              "trial 3 (complete, 0.2500), trial 4 (failed), trial 5 (complete, 0.5000)");
}

TEST_F(Acknowledged, ARunThatIsRefusedForgetsNothing) {
    killed_session(10);
    damage(0.5);
    const std::string damaged = bytes_of(log());
    EXPECT_THAT(warning_of_a_run(), HasSubstr("trial 10 (complete, 0.1000)"));
    EXPECT_THAT(warning_of_a_run(), HasSubstr("trial 10 (complete, 0.1000)"));
    EXPECT_FALSE(fs::exists(log().string() + ".damaged"));
    EXPECT_EQ(bytes_of(log()), damaged);
}

TEST_F(Acknowledged, NothingIsMissingAfterAnOrderlyEndAndNothingIsLeftOfTheLog) {
    warning_of_a_run([](Store& store) {
        EXPECT_TRUE(end_trial(store, 1, 0.5));
        EXPECT_TRUE(store.settle());
    });
    EXPECT_FALSE(fs::exists(results()));
    EXPECT_THAT(warning_of_a_run(), IsEmpty());
}

TEST_F(Acknowledged, TornAndDamagedLinesSayNothing) {
    killed_session(3);
    const std::string lines = bytes_of(results());
    for (const std::string& torn :
         {lines + "12 4 3 77", lines + "12 4 3 77 0.5 99\n", lines + std::string(500, '\0'), lines + "\n\n\n",
          lines.substr(0, lines.size() / 2), std::string(), std::string("\xff\xfe garbage \n")}) {
        std::ofstream(results(), std::ios::binary | std::ios::trunc) << torn;
        EXPECT_THAT(warning_of_a_run(), IsEmpty());
    }
    // Lines that a session writes after them are read.
    std::ofstream(results(), std::ios::binary | std::ios::trunc) << lines + "12 4 3 77";
    {
        const auto store = open_store(file_);
        ASSERT_TRUE(end_trial(**store, 4, 0.5));
        ASSERT_TRUE((*store)->settle());
        EXPECT_THAT(bytes_of(results()), HasSubstr("\n12 "));
    }
}

TEST_F(Acknowledged, APipeInItsPlaceIsRefusedAndNotWaitedFor) {
    { const auto store = open_store(file_); }
    ASSERT_EQ(::mkfifo(results().c_str(), 0600), 0);
    const auto store = open_store(file_);
    ASSERT_TRUE(store);
    const auto refused = (*store)->set_source("study: s\n");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("study.db-results"));
}

TEST_F(Acknowledged, ANewDatabaseInTheSameFolderMissesNothing) {
    killed_session(3);
    fs::remove(file_);
    fs::remove(log());
    fs::remove(file_.string() + "-shm");
    EXPECT_THAT(warning_of_a_run(), IsEmpty());
}

/// A result is named only once the disk has it: a loss of power is no false alarm, in any state of both files.
TEST_F(Acknowledged, AResultIsNamedOnlyOnceTheDiskHasIt) {
    testing::TemporaryFolder disk;
    int checked = 0;
    const auto store = open_store(file_, {}, [&]() -> Result<void> {
        // The disk has all that was written before; of the lines, all that were ever written.
        for (const char* ending : {"", "-wal"})
            fs::copy(file_.string() + ending, (disk / "study.db").string() + ending,
                     fs::copy_options::overwrite_existing);
        return {};
    });
    ASSERT_TRUE(store);
    ASSERT_TRUE((*store)->set_source("study: s\n"));
    for (std::int64_t trial = 1; trial <= 200; ++trial) {
        ASSERT_TRUE(end_trial(**store, trial, 0.5));
        if (trial % 20 != 0) continue;
        ASSERT_TRUE((*store)->settle());  // nothing is copied during the check
        fs::remove((disk / "study.db").string() + "-shm");
        fs::copy(results(), (disk / "study.db").string() + "-results", fs::copy_options::overwrite_existing);
        const auto after_the_loss = open_store_read_only(disk / "study.db");
        ASSERT_TRUE(after_the_loss) << after_the_loss.error().message;
        EXPECT_THAT((*after_the_loss)->missing_results(), IsEmpty());
        ++checked;
    }
    EXPECT_EQ(checked, 10);
}

}  // namespace
}  // namespace hpo
