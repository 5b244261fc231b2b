#include "orchestrator/store/event_codec.hpp"
#include "tests/support/mentions.hpp"

#include <gmock/gmock.h>

namespace hpo {
namespace {

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
    EXPECT_THAT(trial_two(R"(, "repeat_of": 2)").error().message, Mentions("before trial 2"));
}

Result<Event> session_ended(const std::string& reason, const std::string& more) {
    return to_event(2, 0, 0, R"({"seconds": 1.5, "reason": ")" + reason + "\"" + more + "}");
}

TEST(EventCodec, ASessionTellsHowItEnded) {
    for (const std::string_view name : session_end_names) {
        const auto event = session_ended("the end", R"(, "end": ")" + std::string(name) + "\"");
        ASSERT_TRUE(event) << event.error().message;
        EXPECT_EQ(to_text(std::get<event::SessionEnded>(*event).end), name);
        EXPECT_EQ(std::get<event::SessionEnded>(*to_event(2, 0, 0, to_row(*event).body)).end,
                  std::get<event::SessionEnded>(*event).end);
    }
    for (const char* wrong : {"\"over\"", "1", "null"})
        EXPECT_FALSE(session_ended("the end", std::string(", \"end\": ") + wrong)) << wrong;
}

TEST(EventCodec, ASessionOfAnEarlierVersionHasNoEndButThatOfAStudyThatWasOverWithBudgetLeft) {
    const auto end_of = [](const char* reason) {
        return std::get<event::SessionEnded>(*session_ended(reason, "")).end;
    };
    EXPECT_EQ(end_of("the study is over"), SessionEnd::finished);
    EXPECT_EQ(end_of("20 trials without a better best (budget.patience)"), SessionEnd::finished);
    EXPECT_EQ(end_of("every combination of the space was tried"), SessionEnd::finished);
    EXPECT_EQ(end_of("no further configuration was found that policy allows"), SessionEnd::finished);
    EXPECT_EQ(end_of("trial budget reached"), SessionEnd::none);
    EXPECT_EQ(end_of("interrupted"), SessionEnd::none);
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
