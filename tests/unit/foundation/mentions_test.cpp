// The matcher of messages holds on to facts and lets go of prose.
#include "tests/support/mentions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpo {
namespace {

using ::testing::Not;

TEST(Mentions, TheWordsAroundTheFactsAndTheirOrderAreFree) {
    for (const char* text :
         {"s.yaml:7: 'lr' is given twice: 5 GiB", "twice is 'lr' given at s.yaml:7, and that with 5 GiB"})
        EXPECT_THAT(text, Mentions("s.yaml:7", "'lr'", "twice", "5 GiB"));
    EXPECT_THAT("s.yaml:7: 'lt' is given twice", Not(Mentions("s.yaml:7", "'lr'")));
}

TEST(Mentions, ANumberIsAWholeOne) {
    EXPECT_THAT("5", Mentions("5"));
    EXPECT_THAT("step 5.", Mentions("step 5"));
    EXPECT_THAT("15 of 25", Mentions("25"));
    for (const char* other :
         {"15", "52", "0.5", "5.2", "trial 5.25", "5,000", "1,5", "-5", "(-5)", "1e5", "1e-5", "1e+5", "5e3", "5e-3"})
        EXPECT_THAT(other, Not(Mentions("5")));
    EXPECT_THAT("step 50", Not(Mentions("step 5")));
    EXPECT_THAT("s.yaml:71", Not(Mentions("s.yaml:7")));
    for (const char* text : {"50 or 5", "step-5", "2024-01-5", "5, 6", "5-6", "5 even", "5e", "x,5", "1e-5 or 5"})
        EXPECT_THAT(text, Mentions("5"));
    EXPECT_THAT("at -5", Mentions("-5"));
}

TEST(Mentions, TheFactsStandInOneLine) {
    EXPECT_THAT("trial 1 failed\ntrial 2 ended", Mentions("trial 2", "ended"));
    EXPECT_THAT("trial 1 failed\ntrial 2 ended", Not(Mentions("trial 1", "ended")));
    EXPECT_THAT("", Not(Mentions("a")));
}

TEST(MentionsInOrder, EachFactStandsBehindTheOneBefore) {
    EXPECT_THAT("9 of 16 GiB, at 9", MentionsInOrder("9", "16 GiB", "9"));
    EXPECT_THAT("16 of 9 GiB", Not(MentionsInOrder("9", "16")));
    EXPECT_THAT("step 3 is not after step 3", MentionsInOrder("step 3", "step 3"));
    EXPECT_THAT("step 3 is not after the last", Not(MentionsInOrder("step 3", "step 3")));
    EXPECT_THAT("val_top5 has 5 classes", MentionsInOrder("val_top5", "5"));
    EXPECT_THAT("val_top5 has 15 classes", Not(MentionsInOrder("val_top5", "5")));
    EXPECT_THAT("trial 1\ntrial 2", Not(MentionsInOrder("trial 1", "trial 2")));
    EXPECT_THAT("x\ntrial 1 of 2", MentionsInOrder("1", "2"));
}

}  // namespace
}  // namespace hpo
