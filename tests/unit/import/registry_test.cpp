// The registry of formats that can be converted.
#include "orchestrator/import/registry.hpp"

#include <gmock/gmock.h>

#include <set>

#include "orchestrator/import/convert.hpp"
#include "tests/support/mentions.hpp"

namespace hpo::importing {
namespace {

using ::testing::HasSubstr;

TEST(ImportFormats, HaveDistinctTitlesAndTools) {
    std::set<std::string_view> titles;
    for (const Format* format : formats()) {
        EXPECT_TRUE(titles.insert(format->title).second) << format->title;
        EXPECT_NE(format->tool, any_tool);
        EXPECT_FALSE(format->signs.empty()) << format->title;
    }
    const std::vector<std::string> names = tool_names();
    EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
}

TEST(ImportFormats, AnUnrecognizedFileIsRefusedWithTheSignsOfEachFormat) {
    const auto nothing = [](const std::string&) -> Result<std::string> { return Error{"not there"}; };
    const auto refused = convert("a: 1\n", "a.yaml", any_tool, {}, nothing);
    ASSERT_FALSE(refused);
    for (const Format* format : formats()) EXPECT_THAT(refused.error().message, HasSubstr(std::string(format->signs)));
    for (const std::string& tool : tool_names())
        EXPECT_THAT(convert("a: 1\n", "a.yaml", tool, {}, nothing).error().message, Mentions("no ", tool));
}

}  // namespace
}  // namespace hpo::importing
