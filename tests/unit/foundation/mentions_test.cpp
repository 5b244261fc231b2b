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
    for (const char* other : {"15", "52", "0.5", "5.2", "trial 5.25"}) EXPECT_THAT(other, Not(Mentions("5")));
    EXPECT_THAT("step 50", Not(Mentions("step 5")));
    EXPECT_THAT("s.yaml:71", Not(Mentions("s.yaml:7")));
    EXPECT_THAT("50 or 5", Mentions("5"));
}

TEST(Mentions, TheFactsStandInOneLine) {
    EXPECT_THAT("trial 1 failed\ntrial 2 ended", Mentions("trial 2", "ended"));
    EXPECT_THAT("trial 1 failed\ntrial 2 ended", Not(Mentions("trial 1", "ended")));
    EXPECT_THAT("", Not(Mentions("a")));
}

}  // namespace
}  // namespace hpo
