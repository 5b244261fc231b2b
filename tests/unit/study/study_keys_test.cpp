// The table of study keys, checked against the parser that reads them.
#include "orchestrator/study/study_keys.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/unit/study/support.hpp"

namespace hpo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> parts_of(std::string_view path) {
    std::vector<std::string> parts(1);
    for (const char c : path) {
        if (c == '.')
            parts.emplace_back();
        else
            parts.back() += c;
    }
    for (std::string& part : parts)
        if (part == "NAME") part = "lr";
    return parts;
}

/// Returns a script's study with this key alone, in its enclosing maps. Its value has a type that no key accepts.
std::string study_with(const std::vector<std::string>& parts) {
    const std::string script =
        parts[0] == "worker" && parts.size() > 1 && parts[1] == "command" ? "" : "command: [a], ";
    std::string value = "{no_such_value: 1}";
    for (std::size_t at = parts.size(); at-- > 1;) value = "{" + parts[at] + ": " + value + "}";
    if (parts[0] == "worker") value.insert(1, script);
    std::string text = parts[0] == "study" ? "" : "study: s\n";
    if (parts[0] != "worker") text += "worker: {command: [a]}\n";
    return text + parts[0] + ": " + value + "\n";
}

TEST(StudyKeys, TheParserReadsEachKeyOfTheTable) {
    for (const study::StudyKey& key : study::study_keys) {
        const auto parts = parts_of(key.path);
        EXPECT_THAT(problem(study_with(parts)), Not(HasSubstr("key '" + parts.back() + "'"))) << key.path;
    }
}

TEST(StudyKeys, AKeyThatIsNotInTheTableIsUnknown) {
    for (const study::StudyKey& key : study::study_keys) {
        auto parts = parts_of(key.path);
        if (parts.size() < 2 || parts.back() == "lr" || parts[0] == "sampler")
            continue;  // names that other tables define
        parts.back() += "x";
        EXPECT_THAT(problem(study_with(parts)), HasSubstr("key '" + parts.back() + "'")) << key.path;
    }
}

}  // namespace
}  // namespace hpo
