// Tests how long a group waits for further trials.
#include <gmock/gmock.h>

#include "worker/session.hpp"

namespace hpo::test {
namespace {

TEST(Patience, IsAtMostTheTimeOfAStepOnceThatIsKnown) {
    const Patience first = patience_for_trials({}), fast = patience_for_trials(Seconds(0.003)),
                   middle = patience_for_trials(Seconds(0.1)), slow = patience_for_trials(Seconds(60));
    EXPECT_DOUBLE_EQ(fast.quiet.count(), 0.003);
    EXPECT_DOUBLE_EQ(fast.in_all.count(), 0.003);
    EXPECT_EQ(middle.quiet, first.quiet) << "the gap between two trials does not depend on the device";
    EXPECT_DOUBLE_EQ(middle.in_all.count(), 0.1);
    EXPECT_EQ(slow.quiet, first.quiet);
    EXPECT_EQ(slow.in_all, first.in_all);
}

}  // namespace
}  // namespace hpo::test
