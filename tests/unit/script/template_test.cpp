#include "orchestrator/script/syntax/template.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <map>

#include "orchestrator/script/trial_values.hpp"

namespace hpo::script {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Lookup lookup = [](const std::string& name) -> std::optional<std::string> {
    static const std::map<std::string, std::string> values{{"lr", "0.1"}, {"text", ";$(touch x)\n-"}, {"a.b-c", "7"}};
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
};

TEST(Template, FillsNamesInBraces) {
    EXPECT_EQ(fill("--lr={lr}", lookup), "--lr=0.1");
    EXPECT_EQ(fill("{lr},{a.b-c}", lookup), "0.1,7");
    EXPECT_THAT(placeholders("{lr},{other}"), ElementsAre("lr", "other"));
}

TEST(Template, AValueIsNeverSplitIntoSeveralArguments) {
    EXPECT_THAT(fill({"train", "{text}", "--x={text}"}, {}, lookup),
                ElementsAre("train", ";$(touch x)\n-", "--x=;$(touch x)\n-"));
}

TEST(Template, BracesWithoutANameAreText) {
    for (const char* text : {"{", "}", "{}", "{ lr }", "{\"lr\": 1}", "a{1}", "{lr", "lr}"}) {
        EXPECT_THAT(placeholders(text), IsEmpty()) << text;
        EXPECT_EQ(fill(text, lookup), text);
    }
    EXPECT_EQ(fill("{{lr}}", lookup), "{lr}");
    EXPECT_EQ(fill("{{lr}", lookup), "{0.1");
}

TEST(Template, AnInactiveParametersArgumentAndItsOptionAreOmitted) {
    EXPECT_THAT(fill({"train", "--momentum", "{momentum}", "--lr", "{lr}"}, {}, lookup),
                ElementsAre("train", "--lr", "0.1"));
    EXPECT_THAT(fill({"train", "--momentum={momentum}", "-v"}, {}, lookup), ElementsAre("train", "-v"));
    EXPECT_THAT(fill({"train", "--fast", "--momentum={momentum}"}, {}, lookup), ElementsAre("train", "--fast"));
}

TEST(Template, ANestedListOfArgumentsIsOmittedAsAWhole) {
    const std::vector<std::string> command{"train", "-v", "-o", "momentum={momentum}", "--betas", "{lr}", "{lr}"};
    EXPECT_THAT(fill(command, {{2, 4}, {4, 7}}, lookup), ElementsAre("train", "-v", "--betas", "0.1", "0.1"));
    EXPECT_THAT(fill({"train", "-v", "{momentum}"}, {{2, 3}}, lookup), ElementsAre("train", "-v"));
}

TEST(Template, ATrueFlagBecomesItsTextAndAFalseOneIsOmitted) {
    const auto with = [](std::optional<bool> tied) {
        to_worker::Run run;
        if (tied) run.params["tied"] = *tied;
        TrialValues values(run, "/home");
        return fill({"train", "-v", "{flag:tied:--tied}", "{flag:tied:--on:--off}"}, {}, std::ref(values));
    };
    EXPECT_THAT(with(true), ElementsAre("train", "-v", "--tied", "--on"));
    EXPECT_THAT(with(false), ElementsAre("train", "-v", "--off"));
    EXPECT_THAT(with({}), ElementsAre("train", "-v"));
}

TEST(Template, NullIsOmittedWithItsOptionAndAListIsJson) {
    to_worker::Run run;
    run.params = {
        {"hidden", std::vector<std::int64_t>{64, 64}}, {"clip", JsonText{"null"}}, {"b", JsonText{"[0.9, 1]"}}};
    TrialValues values(run, "/home");
    EXPECT_THAT(fill({"train", "--clip", "{clip}", "--hidden={hidden}", "{b}"}, {}, std::ref(values)),
                ElementsAre("train", "--hidden=[64, 64]", "[0.9, 1]"));
}

TEST(Template, AnInvalidPlaceholderIsRefusedWithTheValidForms) {
    EXPECT_NE(take_apart("flag:tied").problem, "");
    EXPECT_NE(take_apart("params:../config.yaml").problem, "");
    EXPECT_NE(take_apart("params:config.txt").problem, "");
    EXPECT_EQ(take_apart("params:config.yml").problem, "");
}

TEST(Template, EnvironmentVariablesAreInCapitals) {
    EXPECT_EQ(variable_of("weight_decay.x1"), "HPO_PARAM_WEIGHT_DECAY_X1");
}

TEST(Template, EnvironmentVariablesOfNamesOfOneLengthDiffer) {
    EXPECT_EQ(variable_of("größe_2"), "HPO_PARAM_GRU00F6U00DFE_2");
    EXPECT_EQ(variable_of("学习率"), "HPO_PARAM_U5B66U4E60U7387");
    EXPECT_EQ(variable_of("隐藏层"), "HPO_PARAM_U9690U85CFU5C42");
}

}  // namespace
}  // namespace hpo::script
