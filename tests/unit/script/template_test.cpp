#include "orchestrator/script/template.hpp"

#include <gmock/gmock.h>

#include <map>

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

TEST(Template, WhateverAValueHoldsItStaysPartOfOneArgument) {
    EXPECT_THAT(fill({"train", "{text}", "--x={text}"}, lookup),
                ElementsAre("train", ";$(touch x)\n-", "--x=;$(touch x)\n-"));
}

TEST(Template, BracesThatEncloseNoNameAreText) {
    for (const char* text : {"{", "}", "{}", "{ lr }", "{\"lr\": 1}", "a{1}", "{lr", "lr}"}) {
        EXPECT_THAT(placeholders(text), IsEmpty()) << text;
        EXPECT_EQ(fill(text, lookup), text);
    }
    EXPECT_EQ(fill("{{lr}}", lookup), "{lr}");
    EXPECT_EQ(fill("{{lr}", lookup), "{0.1");
}

TEST(Template, AnArgumentOfAParameterThatIsNotActiveIsLeftOutAndSoIsItsOption) {
    EXPECT_THAT(fill({"train", "--momentum", "{momentum}", "--lr", "{lr}"}, lookup),
                ElementsAre("train", "--lr", "0.1"));
    EXPECT_THAT(fill({"train", "--momentum={momentum}", "-v"}, lookup), ElementsAre("train", "-v"));
    EXPECT_THAT(fill({"train", "--fast", "--momentum={momentum}"}, lookup), ElementsAre("train", "--fast"));
}

TEST(Template, VariablesAreCapitals) { EXPECT_EQ(variable_of("weight_decay.x1"), "HPO_PARAM_WEIGHT_DECAY_X1"); }

}  // namespace
}  // namespace hpo::script
