#include "orchestrator/study/schema.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hpo {
namespace {

using Json = nlohmann::ordered_json;
using study::form_schema;

TEST(FormSchema, WordsStandForThemselves) {
    EXPECT_EQ(form_schema("best|last"), Json::parse(R"({"enum": ["best", "last"]})"));
}

TEST(FormSchema, NumbersHaveTheLimitsThatAreGiven) {
    EXPECT_EQ(form_schema("<integer 1 64>"), Json::parse(R"({"type": "integer", "minimum": 1, "maximum": 64})"));
    EXPECT_EQ(form_schema("<number 0.5>"), Json::parse(R"({"type": "number", "minimum": 0.5})"));
    EXPECT_EQ(form_schema("<number>"), Json::parse(R"({"type": "number"})"));
}

TEST(FormSchema, BarsWithinBracketsBelongToTheItems) {
    EXPECT_EQ(form_schema("auto|[a|<flag>]"), Json::parse(R"({"anyOf": [{"enum": ["auto"]},
        {"type": "array", "items": {"anyOf": [{"enum": ["a"]}, {"type": "boolean"}]}}]})"));
}

TEST(FormSchema, AnythingIsAValue) { EXPECT_EQ(form_schema("<value>"), Json::object()); }

}  // namespace
}  // namespace hpo
