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
    RankLines lines(1);
    EXPECT_EQ(lines.feed("epoch 1 lo"), "");
    EXPECT_EQ(lines.feed("ss=0.3\n\nepoch 2"), "[rank1]: epoch 1 loss=0.3\n[rank1]: \n");
    EXPECT_EQ(lines.rest(), "[rank1]: epoch 2\n");
    EXPECT_EQ(lines.rest(), "");
}

TEST(Ranks, OfAProgressBarTheLastStateIsWritten) {
    RankLines lines(3);
    EXPECT_EQ(lines.feed("\r 1/3\r 2/3"), "");
    EXPECT_EQ(lines.feed("\r 3/3\r\nwindows\r\n"), "[rank3]:  3/3\n[rank3]: windows\n");
    EXPECT_EQ(lines.feed("text\r\r\n"), "[rank3]: text\n");
}

TEST(Ranks, ALineWithoutAnEndIsCut) {
    RankLines lines(1);
    const std::string text = lines.feed(std::string(40000, 'x'));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
    EXPECT_EQ(std::count(text.begin(), text.end(), 'x') + std::ranges::count(lines.rest(), 'x'), 40000);
}

TEST(Ranks, ALineThatHasItsLabelGetsNoSecondOne) {
    RankLines lines(1);
    EXPECT_EQ(lines.feed("[rank1]: ValueError: no\n[rank2]: hello\n"),
              "[rank1]: ValueError: no\n[rank1]: [rank2]: hello\n");
}

TEST(Ranks, TheLastLinesAreKeptWithoutLabels) {
    RankLines lines(1);
    for (int i = 0; i < 2000; ++i) lines.feed("a line of twenty\n");
    lines.feed("bar 1\rbar 2\nend");
    lines.rest();
    EXPECT_TRUE(lines.tail().ends_with("a line of twenty\nbar 2\nend\n"));
    EXPECT_LE(lines.tail().size(), 16U * 1024);
    EXPECT_GE(lines.tail().size(), 8U * 1024 - 64);
}

}  // namespace
}  // namespace hpo::script
