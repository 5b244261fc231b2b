// The key `start`, whose configurations a study tries first, and the key `warm_start`.
#include <gmock/gmock.h>

#include "tests/support/mentions.hpp"
#include "tests/unit/study/support.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string searched = R"(study: s
worker: {command: [train]}
objective: {metric: loss, direction: minimize}
space:
  lr: {type: float, low: 0.001, high: 0.1, log: true}
  width: {type: int, low: 16, high: 64, step: 16}
  dropout: {type: float, low: 0, high: 0.5, step: 0.1}
  optimizer: {type: categorical, choices: [adamw, sgd]}
  momentum: {type: float, low: 0.8, high: 0.99, when: {optimizer: sgd}}
)";

std::string start_problem(const std::string& start) { return first_line(problem(searched + "start: " + start)); }

TEST(Start, IsAListOfConfigurationsInTheTermsOfTheSpace) {
    const auto study = parse(searched + "start: [{lr: 0.01, width: 32.0}, {optimizer: sgd, momentum: 0.9}]");
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_THAT(study->start, ElementsAre(Params{{"lr", 0.01}, {"width", std::int64_t{32}}},
                                          Params{{"optimizer", std::string("sgd")}, {"momentum", 0.9}}));
}

TEST(Start, IsWrittenAndReadBackAsTheSameConfigurations) {
    const auto study = parse(searched + "start: [{lr: 0.01, width: 32}, {dropout: 0.3}]");
    ASSERT_TRUE(study);
    const std::string written = write_study(*study);
    EXPECT_THAT(written, HasSubstr("start:\n  - {lr: 0.01, width: 32}\n  - {dropout: 0.3}\nsampler:"));
    EXPECT_EQ(parse(written)->start, study->start);
    EXPECT_TRUE(fix_parameters(*study, {}).start.empty());
}

TEST(Start, MistakesAreReportedWithPlaceAndCure) {
    EXPECT_THAT(start_problem("{lr: 0.01}"), Mentions("s.yaml:10:8:", "'start'", "[{lr: 0.001}]", "list"));
    EXPECT_EQ(start_problem("[0.01]"), "s.yaml:10:9: 'start' must be a map ({lr: 0.001}), found 0.01");
    EXPECT_THAT(start_problem("[{}]"), Mentions("s.yaml:10:9:", "'start'", "parameter", "no"));
    EXPECT_THAT(start_problem("[{lrr: 0.01}]"), Mentions("s.yaml:10:10:", "'start'", "'space'", "'lrr'", "'lr'"));
    EXPECT_THAT(start_problem("[{lr: 0.5}]"),
                Mentions("s.yaml:10:14:", "'lr'", "'space'", "never 0.5", "float 0.001 to 0.1", "log"));
    EXPECT_THAT(start_problem("[{width: 40}]"),
                Mentions("s.yaml:10:17:", "'width'", "'space'", "never 40", "int 16 to 64", "16", "by 16"));
    EXPECT_THAT(start_problem("[{optimizer: adam}]"),
                MentionsInOrder("s.yaml:10:21: 'optimizer'", "never", "adam: 'space'", "adamw, sgd"));
    EXPECT_THAT(start_problem("[{momentum: 0.9}]"),
                Mentions("s.yaml:10:10:", "'momentum'", "'optimizer'", "sgd", "only", "too"));
    EXPECT_THAT(start_problem("[{optimizer: adamw, momentum: 0.9}]"),
                Mentions("s.yaml:10:28:", "'momentum'", "'optimizer'", "sgd", "adamw", "only"));
    EXPECT_THAT(start_problem("[{lr: 0.01}, {lr: 1.0e-2}]"), Mentions("s.yaml:10:21:", "'start'", "twice"));
}

TEST(Start, CannotChangeOnceTheStudyHasStarted) {
    const auto before = parse(searched), after = parse(searched + "start: [{lr: 0.01}]");
    ASSERT_TRUE(before && after);
    EXPECT_EQ(refusal(compare(*before, *after)),
              "  start.1.lr: (absent) -> 0.01 (these configurations run first, and the study has begun)\n");
}

TEST(WarmStartKey, NamesStudiesOnceAndNeverItself) {
    const auto error = [](const std::string& value) { return first_line(problem(searched + "warm_start: " + value)); };
    EXPECT_THAT(parse(searched + "warm_start: old")->warm_start, ElementsAre("old"));
    const auto study = parse(searched + "warm_start: [old, runs/other]");
    EXPECT_THAT(study->warm_start, ElementsAre("old", "runs/other"));
    EXPECT_EQ(parse(write_study(*study))->warm_start, study->warm_start);
    const auto automatic = parse(searched + "warm_start: auto");
    EXPECT_TRUE(automatic->warm_start_auto && automatic->warm_start.empty());
    EXPECT_TRUE(parse(write_study(*automatic))->warm_start_auto);
    EXPECT_THAT(parse(searched + "warm_start: [auto]")->warm_start, ElementsAre("auto")) << "a study of that name";
    EXPECT_THAT(error("[s]"), Mentions("s.yaml:10:14:", "cannot", "itself"));
    EXPECT_EQ(error("[a, a]"), "s.yaml:10:17: 'warm_start' contains a twice");
    EXPECT_THAT(error("{a: 1}"), Mentions("s.yaml:10:13:", "'warm_start'", "[phase1]", "list"));
    EXPECT_THAT(error("['']"), Mentions("s.yaml:10:14:", "'warm_start'", "not", "empty"));
}

}  // namespace
}  // namespace hpo
