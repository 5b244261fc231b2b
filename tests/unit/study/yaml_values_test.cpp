// The types of values: those of YAML 1.2's core schema, and warnings where a text looks like another type.
#include <gmock/gmock.h>

#include "hpo/open_trials.hpp"
#include "hpo/wire.hpp"
#include "support.hpp"

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string values_head = "study: s\nobjective: {metric: loss, direction: minimize}\nworker: {command: [x]";

/// Returns the values as JSON.
std::string values_of(const std::string& choices) {
    const auto study = parse(values_head + "}\nspace: {x: {type: categorical, choices: [" + choices + "]}}\n");
    if (!study) return study.error().message;
    wire::Json list = wire::Json::array();
    for (const Value& value : study->space.at(0).choices) list.push_back(wire::from(value));
    return list.dump();
}

TEST(YamlValues, HaveTheTypesOfTheCoreSchemaInChoices) {
    EXPECT_EQ(values_of("True, False"), "[true,false]");
    EXPECT_EQ(values_of("TRUE, false"), "[true,false]");
    EXPECT_EQ(values_of("null, 1"), "[null,1]");
    EXPECT_EQ(values_of("Null, 1"), "[null,1]");
    EXPECT_EQ(values_of("NULL, 1"), "[null,1]");
    EXPECT_EQ(values_of("~, 1"), "[null,1]");
    EXPECT_EQ(values_of("0o17, 0x1F, 007, +1, -2"), "[15,31,7,1,-2]");
    EXPECT_EQ(values_of("1e-3, 1E3, .5, 1., +1.5"), "[0.001,1000.0,0.5,1.0,1.5]");
    EXPECT_EQ(values_of("[True, 0x10], [~]"), "[[true,16],[null]]");
    EXPECT_EQ(values_of("tRUE, nULL, inf, NaN, 0b1, 1_000, 0o8, 0x, -0x1, 1:30, 2024-01-01, l1"),
              R"(["tRUE","nULL","inf","NaN","0b1","1_000","0o8","0x","-0x1","1:30","2024-01-01","l1"])");
    EXPECT_EQ(values_of(R"("True", 'null', "0x1F", "1", '~')"), R"(["True","null","0x1F","1","~"])");
    for (const char* number : {".inf", "-.INF", "+.Inf", ".nan", ".NaN", "0x7fffffffffffffff"})
        EXPECT_THAT(values_of(number), HasSubstr("must")) << number;
    EXPECT_THAT(values_of("True, true"), Mentions("true", "twice"));
}

TEST(YamlValues, HaveTheseTypesWhereverAFileTakesValues) {
    const auto study = parse(values_head +
                             ", params: {a: True, b: ~, c: 0o10, d: 1e-3, e: FALSE}}\n"
                             "space:\n  x: {type: categorical, choices: [true, False], prior: TRUE}\n"
                             "  y: {type: int, low: 0x1, high: 0x10, when: {x: [True]}}\n  z: {type: float, low: 0o1, "
                             "high: 0x2, log: True}\n"
                             "start: [{x: True, y: 0x2}]\n");
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(wire::from(study->fixed).dump(), R"({"a":true,"b":null,"c":8,"d":0.001,"e":false})");
    EXPECT_EQ(study->space[0].prior, Value(true));
    EXPECT_EQ(study->space[1].high, 16);
    EXPECT_EQ(study->space[1].when.at(0).any_of.at(0), Value(true));
    EXPECT_TRUE(study->space[2].log);
    EXPECT_EQ(study->start.at(0).at("x"), Value(true));
    const auto set =
        parse(values_head + "}\nspace: {x: {type: categorical, choices: [a, b]}}\n", {"space.x.choices=[True, NULL]"});
    ASSERT_TRUE(set) << set.error().message;
    EXPECT_EQ(set->space[0].choices.at(0), Value(true));
    const auto again = parse(write_study(*study));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->fixed, study->fixed);
}

std::string warnings(const std::string& text, const std::vector<std::string>& set = {}) {
    return value_warnings(text, "s.yaml", set);
}

TEST(YamlValues, TextsThatOthersReadAsTruthValuesAreWarnedOfWithPlaceAndCure) {
    for (const char* word : {"yes", "Yes", "YES", "on", "On", "oN"})
        EXPECT_THAT(warnings(values_head + "}\nspace: {x: {type: categorical, choices: [" + word + ", 1]}}\n"),
                    Mentions("s.yaml:4:42: warning: " + std::string(word), "YAML 1.2", " true",
                             "\"" + std::string(word) + "\""))
            << word;
    for (const char* word : {"no", "NO", "off", "Off"})
        EXPECT_THAT(warnings(values_head + ", params: {a: [1, " + word + "]}}\n"),
                    Mentions("s.yaml:3:40: warning: ", " false", "\"" + std::string(word)));
    EXPECT_THAT(warnings(values_head + ", params: {a: 1_000_000}}\n"), HasSubstr("number: write"));
    EXPECT_THAT(warnings(values_head + "}\nstart: [{x: no}]\n"), HasSubstr("s.yaml:4:13"));
    EXPECT_THAT(warnings(values_head + "}\n", {"worker.params.a=yes"}),
                HasSubstr("--set worker.params.a=yes: warning"));
}

TEST(YamlValues, ADirectionThatContradictsTheNameOfItsMetricIsWarnedOf) {
    const auto of = [](const std::string& objective) {
        return warnings("study: s\nobjective: " + objective + "\nworker: {command: [a]}\n");
    };
    EXPECT_THAT(of("{metric: valid_acc, direction: minimize}"),
                Mentions("s.yaml:2:43: warning: 'valid_acc'", "higher", "maximize"));
    EXPECT_THAT(of("[{metric: a, direction: minimize}, {metric: val/Loss, direction: maximize}]"),
                Mentions("s.yaml:2:77: warning: 'val/Loss'", "lower", "minimize"));
    EXPECT_THAT(warnings("study: s\n", {"objective.metric=f1", "objective.direction=minimize"}), HasSubstr("'f1'"));
    for (const char* right : {"{metric: acc, direction: maximize}", "{metric: loss, direction: minimize}",
                              "{metric: neg_loss, direction: maximize}", "{metric: acc_std, direction: minimize}",
                              "{metric: accuracy_loss, direction: minimize}", "{metric: reward, direction: minimize}",
                              "{metric: loss}", "{}", "acc"})
        EXPECT_EQ(of(right), "") << right;
}

TEST(Budget, ATimeAloneAllowsAsManyTrialsAsItHasRoomFor) {
    const std::string head = values_head + "}\nspace: {x: {type: float, low: 0, high: 1}}\n";
    const auto open_ended = parse(head + "budget: {time: 1h}\n");
    ASSERT_TRUE(open_ended) << open_ended.error().message;
    EXPECT_TRUE(is_open_ended(open_ended->budget));
    EXPECT_EQ(planned_trials(open_ended->budget), 64);
    EXPECT_TRUE(is_open_ended(parse(head, {"budget.time=1h"})->budget));
    const std::string written = write_study(*open_ended);
    EXPECT_THAT(written, AllOf(HasSubstr("time: 1h}"), Not(HasSubstr("trials:"))));
    EXPECT_TRUE(is_open_ended(parse(written)->budget)) << written;

    for (const char* budget : {"{time: 1h, trials: 64}", "{epochs: 3}", "{patience: 3}", "{trials: 1000000}"})
        EXPECT_FALSE(is_open_ended(parse(head + "budget: " + budget + "\n")->budget)) << budget;
    EXPECT_EQ(parse(head + "budget: {time: 1h}\n", {"budget.trials=8"})->budget.trials, 8);
    EXPECT_EQ(parse(head + "budget: {epochs: 3}\n")->budget.trials, 64);
}

TEST(YamlValues, WhatIsMeantAsItStandsIsNotWarnedOf) {
    for (const char* worker :
         {", params: {a: \"yes\", b: true, c: a_1, d: 1000, e: yesterday, f: 'on'}}\n", ", environment: {FLAG: yes}}\n",
          ", terminal: on, metrics: {}}\n", "}\npolicy: {regularization: off}\n"})
        EXPECT_EQ(warnings(values_head + worker), "") << worker;
    EXPECT_EQ(warnings("study: s\nworker: {data: {format: synthetic}}\nspace: {nesterov: {choices: [yes]}}\n"), "");
    EXPECT_EQ(warnings("{"), "");
}

TEST(YamlValues, APlaceholderInAValueIsWarnedOf) {
    EXPECT_THAT(warnings(values_head + ", params: {out: \"{folder}/x\", b: \"{other}\"}}\n"),
                AllOf(Mentions("s.yaml:3:38", "{folder}"), Not(HasSubstr("{other} "))));
}

}  // namespace
}  // namespace hpo
