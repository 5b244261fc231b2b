#include "orchestrator/store/event_codec.hpp"

#include <gmock/gmock.h>

namespace hpo {
namespace {

using ::testing::HasSubstr;

constexpr int proposed = 3;

Result<Event> trial_two(const std::string& more) {
    return to_event(proposed, 2, 0, R"({"point": [0.5], "params": {"x": 1})" + more + "}");
}

TEST(EventCodec, AProposalOfAnEarlierVersionRepeatsNoTrial) {
    const auto event = trial_two("");
    ASSERT_TRUE(event) << event.error().message;
    EXPECT_EQ(std::get<event::Proposed>(*event).repeat_of, 0);
}

TEST(EventCodec, AProposalRepeatsATrialBeforeItOrIsDamaged) {
    EXPECT_EQ(std::get<event::Proposed>(*trial_two(R"(, "repeat_of": 1)")).repeat_of, 1);
    for (const char* wrong : {"0", "2", "3", "-1", "1.5", "\"1\"", "null", "[1]", "9223372036854775808"})
        EXPECT_FALSE(trial_two(std::string(", \"repeat_of\": ") + wrong)) << wrong;
    EXPECT_THAT(trial_two(R"(, "repeat_of": 2)").error().message, HasSubstr("not a trial before trial 2"));
}

TEST(Apply, ATrialThatRepeatsARepeatIsAContradiction) {
    StudyRecord record;
    const Objective objective;
    apply(record, {1, 0, event::Proposed{1, {}, {}}}, objective);
    apply(record, {2, 0, event::Proposed{2, {}, {}, 1}}, objective);
    EXPECT_THROW(apply(record, {3, 0, event::Proposed{3, {}, {}, 2}}, objective), std::out_of_range);
}

}  // namespace
}  // namespace hpo
