// A cause that fails every trial ends the session. Failures with different causes do not.
#include "orchestrator/engine/trial_failures.hpp"
#include "tests/support/mentions.hpp"

#include <gmock/gmock.h>

namespace hpo {
namespace {

class AlikeFailures : public ::testing::Test {
   protected:
    std::optional<std::string> fail(const TrialFailures::Failure& failure, const TrialFailures::Others& others = {}) {
        failures_.failed(failure);
        return failures_.reason_to_give_up(failure, others);
    }
    /// Returns the number of such failures after which the session ends.
    int until_given_up(const TrialFailures::Failure& failure, const TrialFailures::Others& others = {}) {
        for (int n = 1; n <= 50; ++n)
            if (fail(failure, others)) return n;
        return 0;
    }

    TrialFailures failures_;
};

TEST_F(AlikeFailures, ThreeAlikeBeforeAnyReportEndTheSession) {
    EXPECT_FALSE(fail({.reason = "no file /a/1"}));
    EXPECT_FALSE(fail({.reason = "no file /a/2"}));
    EXPECT_THAT(fail({.reason = "no file /a/3"}).value_or(""), Mentions("same", "no file /a/3"));
}

TEST_F(AlikeFailures, TrialsRefusedBeforeTheirStartDoNotEndTheSessionWhileAnotherRuns) {
    EXPECT_EQ(until_given_up({.reason = "needs 9 GiB"}, {.running = 1, .longest = Seconds(0)}), 0);
    EXPECT_TRUE(fail({.reason = "needs 9 GiB"}));
}

TEST_F(AlikeFailures, ThoseOfDifferentCausesDoNot) {
    for (const char* reason : {"one", "two", "one", "two", "one", "two", "one", "two"})
        EXPECT_FALSE(fail({.reason = reason}));
}

TEST_F(AlikeFailures, AfterAReportItTakesMoreThanRunAtOnce) {
    failures_.reported(1);
    EXPECT_EQ(until_given_up({.reason = "broken", .steps = 1}), 6);
    EXPECT_EQ(until_given_up({.reason = "else", .lasted = Seconds(1), .steps = 1}, {.running = 10}), 12);
}

TEST_F(AlikeFailures, ATrialThatGetsFurtherOrEndsOtherwiseBeginsTheCountAnew) {
    failures_.reported(1);
    for (int n = 0; n < 5; ++n) EXPECT_FALSE(fail({.reason = "broken", .steps = 1}));
    failures_.reported(2);
    EXPECT_FALSE(fail({.reason = "broken", .steps = 1}));
    for (int n = 0; n < 4; ++n) EXPECT_FALSE(fail({.reason = "broken", .steps = 1}));
    failures_.other_end();
    EXPECT_FALSE(fail({.reason = "broken", .steps = 1}));
}

TEST_F(AlikeFailures, ATrialThatHasRunForLongerThanAllOfThemMayStillSucceed) {
    failures_.reported(1);
    EXPECT_EQ(until_given_up({.reason = "broken", .lasted = Seconds(5)}, {.running = 1, .longest = Seconds(6)}), 0);
}

TEST_F(AlikeFailures, ANamedCauseIsTheParametersOnceTrialsHaveReported) {
    failures_.reported(1);
    EXPECT_EQ(until_given_up({.reason = "needs 40 GiB", .cause = "does not fit"}), 0);
}

}  // namespace
}  // namespace hpo
