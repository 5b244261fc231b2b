// Ranges that depend on other parameters, and conditions between parameters.
#include <gmock/gmock.h>

#include "support.hpp"

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string of_script = "study: s\nobjective: {metric: m, direction: minimize}\nworker: {command: [a]}\n";
const std::string of_rates = of_script +
                             "space:\n"
                             "  lr: {type: float, low: 1.0e-4, high: 1.0e-1, log: true}\n"
                             "  layers: {type: int, low: 1, high: 8}\n"
                             "  width: {type: int, low: 16, high: 512}\n"
                             "  optimizer: {type: categorical, choices: [adam, sgd]}\n";

const Dimension& dimension_of(const Study& study, const std::string& name) {
    return *std::find_if(study.space.begin(), study.space.end(), [&](auto& one) { return one.name == name; });
}

TEST(DependentRanges, KnowTheWidestRangeThatTheOthersLeave) {
    const Study study = *parse(of_rates +
                               "  min_lr: {type: float, low: 1.0e-6, high: {parameter: lr}, log: true}\n"
                               "  heads: {type: int, low: 1, high: width / 3}\n"
                               "  wide: {type: float, low: 2 * min_lr, high: \"max(lr, 0.5) + layers\"}\n"
                               "  stepped: {type: float, low: 0, high: layers / 3, step: 0.25}\n");
    const Dimension& least = dimension_of(study, "min_lr");
    EXPECT_EQ(least.high_of, "lr");
    EXPECT_EQ(least.high, 0.1);
    EXPECT_EQ(describe(least), "float 1e-06 to lr, log");
    EXPECT_EQ(dimension_of(study, "heads").high, 170);
    EXPECT_EQ(dimension_of(study, "wide").low, 2e-6);
    EXPECT_EQ(dimension_of(study, "wide").high, 8.5);
    EXPECT_EQ(dimension_of(study, "stepped").high, 2.5) << "the last step before 8 / 3";
    EXPECT_THAT(describe(study.space), StartsWith("8 parameters"));
    const Study again = *parse(write_study(study));
    EXPECT_EQ(write_study(again), write_study(study));
    EXPECT_TRUE(compare(study, again).empty());
}

TEST(DependentRanges, AreDescribedWithoutACountOfConfigurations) {
    const Study study = *parse(of_script + "space: {a: {type: int, low: 1, high: 3}, b: {type: int, low: 1, high: a}}");
    EXPECT_EQ(describe(study.space), "2 parameters: 2 int");
}

TEST(DependentRanges, ErrorsNameThePlaceAndTheCure) {
    const auto of = [](const std::string& line) { return problem(of_rates + "  " + line + "\n"); };
    EXPECT_THAT(of("x: {type: float, low: 0, high: {parameter: rl}}"),
                ::testing::AllOf(StartsWith("s.yaml:9:46: "), Mentions("'space.x.high'", "unknown", "'rl'", "'lr'")));
    EXPECT_THAT(of("x: {type: float, low: 0, high: \"width / rl\"}"),
                ::testing::AllOf(StartsWith("s.yaml:9:43: "), Mentions("'space.x.high'", "unknown", "'rl'", "'lr'")));
    EXPECT_THAT(of("x: {type: float, low: 3, high: rl}"), ::testing::Not(HasSubstr("empty"))) << "one error";
    EXPECT_THAT(of("x: {type: float, low: 0, high: optimizer}"), Mentions("'optimizer'", "number"));
    EXPECT_THAT(of("x: {type: float, low: 0, high: {parametre: lr}}"), HasSubstr("finite"));
    EXPECT_THAT(of("x: {type: float, low: 0, high: 1 / (lr - 0.01)}"), Mentions("by 0"));
    EXPECT_THAT(of("x: {type: float, low: 3, high: lr}"), Mentions("'low'", "3, and 'high'", "0.1"));
    EXPECT_THAT(of("x: {type: float, low: lr - 1, high: 2, log: true}"), Mentions("'space.x.low'", "-0.9999"));
    EXPECT_THAT(of("x: {type: float, low: 0, high: lr, prior: 0.01}"), HasSubstr("range"));
    EXPECT_THAT(of("x: {type: float, low: 0, high: x}"), HasSubstr("x -> x"));
    EXPECT_THAT(of("x: {type: float, low: 0, high: y}\n  y: {type: float, low: 0, high: x}"), HasSubstr("x -> y -> x"));
    EXPECT_EQ(of("x: {type: int, low: 4, high: 2 * width}\n  y: {type: int, low: 0, high: 9, when: {x: [4, 64]}}"),
              "(accepted)");
    EXPECT_THAT(of("x: {type: int, low: 0, high: y}\n  y: {type: int, low: 0, high: 9, when: {x: 1}}"),
                HasSubstr("x -> y -> x"));
    EXPECT_THAT(of("x: {type: float, low: 0, high: lr}\nstart: [{x: 0.05, lr: 0.01}]"),
                Mentions("s.yaml:10:13: 'x'", "0.01"));
    EXPECT_EQ(of("x: {type: float, low: 0, high: lr}\nstart: [{x: 0.05}, {x: 0.01, lr: 0.05}]"), "(accepted)");
    EXPECT_EQ(of("x: {type: float, low: -lr, high: 1e-1}"), "(accepted)");
    EXPECT_EQ(of("x: {type: float, low: lr, high: 1, step: 0.25}\nstart: [{lr: 0.05, x: 0.3}]"), "(accepted)");
    EXPECT_EQ(of("x: {type: int, low: layers, high: 20, step: 5}\nstart: [{layers: 3, x: 8}]"), "(accepted)");
}

TEST(DependentRanges, OfTheNativeWorkerStayWithinItsKeys) {
    EXPECT_THAT(problem(synthetic + "space: {depth: {type: int, low: 1, high: 8}, width: {type: int, low: 1, high: "
                                    "10000000 * depth}}"),
                HasSubstr("numbers"));
}

TEST(Where, IsOneConditionOrAList) {
    EXPECT_THAT(parse(of_rates + "where: layers * width <= 4096\n")->where, ElementsAre("layers * width <= 4096"));
    const Study study =
        *parse(of_rates + "where:\n  - layers * width <= 4096\n  - \"optimizer == 'sgd' or lr < 0.01\"\n");
    EXPECT_THAT(study.where, ElementsAre("layers * width <= 4096", "optimizer == 'sgd' or lr < 0.01"));
    EXPECT_EQ(parse(write_study(study))->where, study.where);
    EXPECT_THAT(write_study(fix_parameters(study, {})), ::testing::Not(HasSubstr("where")));
    EXPECT_THAT(parse(of_rates, {"where=layers < 4"})->where, ElementsAre("layers < 4"));
    EXPECT_TRUE(parse(of_rates + "where: layers < 4\n", {"where=null"})->where.empty());
}

TEST(Where, MayNameWhatTheWorkerFixes) {
    const std::string text =
        "study: s\nobjective: {metric: m, direction: minimize}\nworker: {command: [a], params: "
        "{total: 64, mode: fast}}\nspace: {x: {type: int, low: 1, high: 99}}\n";
    EXPECT_EQ(problem(text + "where: x * x < total and mode == 'fast'"), "(accepted)");
    EXPECT_THAT(problem(text + "where: x < totals"), HasSubstr("'total'"));
}

TEST(Where, ErrorsNameThePlaceAndTheCure) {
    const auto of = [](const std::string& line) { return problem(of_rates + line + "\n"); };
    EXPECT_THAT(of("where: layers * widht <= 4096"),
                ::testing::AllOf(StartsWith("s.yaml:9:17: "), Mentions("'where':", "'widht'", "'width'")));
    EXPECT_THAT(of("where: [layers < 4, \"width == 'a'\"]"),
                ::testing::AllOf(StartsWith("s.yaml:9:31: "), Mentions("'where': 'width'", "'a'")));
    EXPECT_THAT(of("where: >-\n  layers <\n  4 and rl < 2"),
                ::testing::AllOf(StartsWith("s.yaml:9:8: "), Mentions("'where':", "'rl'")));
    EXPECT_THAT(of("  where: layers < 3"),
                ::testing::AllOf(StartsWith("s.yaml:9:3: "), Mentions("'where'", "beside 'space'")));
    EXPECT_THAT(of("where: {layers: 3}"), Mentions("'where'", "\"layers * width <= 4096\""));
    EXPECT_THAT(of("where: [[layers < 3]]"), Mentions("'where'", "condition"));
    EXPECT_THAT(of("where: true"), "(accepted)");
    EXPECT_THAT(of("where: layers * width"), HasSubstr("condition"));
    EXPECT_THAT(of("where: layers < 4\nstart: [{layers: 5}]"), HasSubstr("breaks 'where': layers < 4"));
    EXPECT_EQ(of("where: layers * width < 64\nstart: [{layers: 5}]"), "(accepted)") << "the rest may keep it";
    EXPECT_THAT(problem(of_rates, {"where=layres < 4"}), StartsWith("--set where=layres < 4: 'where': unknown"));
    EXPECT_THAT(refusal(compare(*parse(of_rates), *parse(of_rates + "where: layers < 4"))),
                HasSubstr("where: (absent) -> [\"layers < 4\"] ("));
}

}  // namespace
}  // namespace hpo
