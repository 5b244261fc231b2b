// Workers that cannot be started: when the engine tries again, and when the session ends.
#include "orchestrator/engine/launch_failures.hpp"

#include <gmock/gmock.h>

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

TEST(LaunchFailures, ThreeInARowEndTheSessionAndAHelloBeginsAnew) {
    LaunchFailures failures;
    EXPECT_FALSE(failures.failed("no such file"));
    EXPECT_FALSE(failures.failed("no such file"));
    failures.succeeded();
    EXPECT_FALSE(failures.failed("no such file"));
    EXPECT_FALSE(failures.failed("no such file"));
    EXPECT_THAT(failures.failed("no such file"), ::testing::Optional(Mentions("3 launches", ": no such file")));
}

TEST(LaunchFailures, ThoseOnALostDeviceAreForgiven) {
    LaunchFailures failures;
    EXPECT_FALSE(failures.failed("gone"));
    EXPECT_FALSE(failures.failed("gone"));
    failures.forgive();
    EXPECT_FALSE(failures.failed("gone"));
}

TEST(Shortage, PausesGrowAndAFloodOfFailuresIsOne) {
    LaunchFailures failures;
    Seconds now{10};
    EXPECT_TRUE(failures.may_launch(true, now));
    EXPECT_TRUE(failures.ran_short("EAGAIN", false, now).begins);
    EXPECT_FALSE(failures.ran_short("EAGAIN", false, now).begins);
    EXPECT_FALSE(failures.may_launch(false, now));
    double waited = 0.5;
    for (const double pause : {0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0}) {
        now += Seconds(pause);
        EXPECT_TRUE(failures.may_launch(false, now)) << waited;
        EXPECT_FALSE(failures.may_launch(true, now)) << "one at a time";
        EXPECT_FALSE(failures.ran_short("EAGAIN", false, now).over);
        EXPECT_FALSE(failures.may_launch(false, now));
        waited += pause;
    }
    failures.succeeded();
    EXPECT_TRUE(failures.may_launch(true, now));
}

TEST(Shortage, EndsTheSessionAfterTenMinutesWithoutATrialAtWork) {
    LaunchFailures failures;
    failures.ran_short("EAGAIN", false, Seconds(0));
    EXPECT_FALSE(failures.ran_short("EAGAIN", true, Seconds(900)).over) << "trials run";
    EXPECT_FALSE(failures.ran_short("EAGAIN", false, Seconds(1499)).over);
    EXPECT_THAT(failures.ran_short("EAGAIN", false, Seconds(1600)).over.value_or(""), Mentions("11m"));
}

}  // namespace
}  // namespace hpo
