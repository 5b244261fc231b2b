#include "orchestrator/script/ranks.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>

namespace hpo::script {
namespace {

using ::testing::ElementsAre;

constexpr int exit_of(int status) { return status << 8; }

TEST(Ranks, KnowThemselvesAndWhereToMeet) {
    EXPECT_THAT(rank_variables(2, 4, 4711), ElementsAre("RANK=2", "LOCAL_RANK=2", "WORLD_SIZE=4", "LOCAL_WORLD_SIZE=4",
                                                        "MASTER_ADDR=127.0.0.1", "MASTER_PORT=4711"));
}

TEST(Ranks, EndWithTheFirstThatFails) {
    RankEnds ends(3);
    EXPECT_FALSE(ends.ended(1, 0));
    EXPECT_TRUE(ends.ended(2, exit_of(3)));
    EXPECT_FALSE(ends.all_ended());
    EXPECT_FALSE(ends.ended(0, SIGTERM));  // it was ended for that
    EXPECT_TRUE(ends.all_ended());
    ASSERT_TRUE(ends.failure());
    EXPECT_EQ(ends.failure()->rank, 2U);
    EXPECT_EQ(failure_line(*ends.failure()), "hpo: rank 2 exited with status 3, and the other ranks were ended");
    EXPECT_EQ(failure_line({0, SIGKILL}), "hpo: rank 0 died of SIGKILL, and the other ranks were ended");
}

TEST(Ranks, ThatAllEndWellAreNoFailure) {
    RankEnds ends(2);
    EXPECT_FALSE(ends.ended(1, 0));
    EXPECT_FALSE(ends.ended(0, 0));
    EXPECT_TRUE(ends.all_ended());
    EXPECT_FALSE(ends.failure());
}

TEST(Ranks, LinesAreLabelledOnceTheyAreComplete) {
    LabelledLines lines(1);
    EXPECT_EQ(lines.feed("epoch 1 lo"), "");
    EXPECT_EQ(lines.feed("ss=0.3\n\nepoch 2"), "[rank1]: epoch 1 loss=0.3\n[rank1]: \n");
    EXPECT_EQ(lines.rest(), "[rank1]: epoch 2\n");
    EXPECT_EQ(lines.rest(), "");
}

TEST(Ranks, OfAProgressBarTheLastStateIsWritten) {
    LabelledLines lines(3);
    EXPECT_EQ(lines.feed("\r 1/3\r 2/3"), "");
    EXPECT_EQ(lines.feed("\r 3/3\r\nwindows\r\n"), "[rank3]:  3/3\n[rank3]: windows\n");
    EXPECT_EQ(lines.feed("text\r\r\n"), "[rank3]: text\n");
}

TEST(Ranks, ALineWithoutAnEndIsCut) {
    LabelledLines lines(1);
    const std::string text = lines.feed(std::string(7000, 'x'));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
    EXPECT_EQ(std::count(text.begin(), text.end(), 'x') + std::ranges::count(lines.rest(), 'x'), 7000);
}

const std::string output_of_ranks =
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]:   File \"t.py\", line 3, in <module>\n"
    "Traceback (most recent call last):\n"
    "[rank1]: ValueError: no\n"
    "RuntimeError: Connection closed by peer\n";

TEST(Ranks, TheOneThatFailedIsFoundWithItsOwnOutput) {
    const auto failed = failed_rank(output_of_ranks + failure_line({1, exit_of(1)}) + "\n");
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->rank, 1U);
    EXPECT_EQ(failed->output,
              "Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\nValueError: no\n");
    const auto first = failed_rank(output_of_ranks + failure_line({0, exit_of(1)}) + "\nlate\n");
    ASSERT_TRUE(first);
    EXPECT_EQ(first->output, "Traceback (most recent call last):\nRuntimeError: Connection closed by peer\n");
}

TEST(Ranks, NoneIsFoundWithoutTheLauncherSLine) {
    EXPECT_FALSE(failed_rank(output_of_ranks));
    EXPECT_FALSE(failed_rank("hpo: rank x exited with status 1, and the other ranks were ended\n"));
    EXPECT_FALSE(failed_rank("hpo: rank 1 is here\n"));
    EXPECT_FALSE(failed_rank(""));
}

TEST(Ranks, PatternsReadRank0Alone) {
    const auto reader = reader_of_rank_0(*make_output_reader({"loss (?<loss>{number})"}), false);
    Reading other, own;
    reader->read("[rank1]: loss 3", other);
    EXPECT_TRUE(other.metrics.empty());
    reader->read("loss 2", own);
    ASSERT_EQ(own.metrics.size(), 1U);
    EXPECT_EQ(own.metrics.front().number, 2);
}

TEST(Ranks, OthersThanRank0NeverPrintTheObjective) {
    const auto reader = reader_of_rank_0(*make_output_reader({}), true);
    Reading other, end;
    reader->read("[rank1]: loss=3", other);
    ASSERT_EQ(other.metrics.size(), 1U);
    EXPECT_EQ(other.metrics.front().name, "rank1_loss");
    EXPECT_EQ(other.metrics.front().bare, "rank1_loss") << "no other name of loss";
    reader->read(failure_line({1, exit_of(1)}), end);
    EXPECT_TRUE(end.metrics.empty());
}

}  // namespace
}  // namespace hpo::script
