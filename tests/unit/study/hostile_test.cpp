// Files that are made to break a parser. Each ends in an error, quickly and without deep recursion.
#include <gmock/gmock.h>

#include "support.hpp"

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using ::testing::HasSubstr;

std::string repeated(const std::string& text, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += text;
    return out;
}

TEST(Hostile, ABombOfAliasesIsRefusedAtItsFirstAnchor) {
    EXPECT_THAT(first_line(problem("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n")),
                Mentions("s.yaml:1:4:", "anchors", "&name", "not"));
    EXPECT_NE(problem("study: &a [*a]\n"), "(accepted)");
    EXPECT_NE(problem("worker:\n  <<: *x\n"), "(accepted)");
}

TEST(Hostile, AHundredThousandOpenBracketsAreOneError) {
    for (const char* piece : {"[", "{", "- ", "? ", "[a: ", "{a: ", "!a ", "a: ", "&a ", "'", "\"", "{[", "- {"})
        EXPECT_NE(problem("study: " + repeated(piece, 60000)), "(accepted)") << piece;
    EXPECT_NE(problem(repeated("- ", 100000)), "(accepted)");
    EXPECT_NE(problem(repeated("[", 100000) + repeated("]", 100000)), "(accepted)");
}

TEST(Hostile, DepthIsBounded) {
    EXPECT_EQ(first_line(problem("study: " + repeated("[", 40) + "1" + repeated("]", 40))),
              "s.yaml:1:23: nested more than 16 deep");
    std::string stairs;
    for (int i = 0; i < 400; ++i) stairs += repeated(" ", i) + "a:\n";
    EXPECT_EQ(first_line(problem(stairs)), "s.yaml:17:17: nested more than 16 deep");
    EXPECT_EQ(problem(synthetic, {repeated("a.", 50000) + "b=1"}).substr(0, 11), "--set a.a.a");
}

TEST(Hostile, SizeAndNumberOfValuesAreBounded) {
    EXPECT_THAT(problem(repeated("# padding\n", 30000)), MentionsInOrder("s.yaml: ", "larger", "256 KiB"));
    EXPECT_THAT(problem("study: [" + repeated("a, ", 5000) + "]"), Mentions("more than 4096 values"));
    EXPECT_THAT(problem(synthetic + "space: {depth: {type: int, low: 1, high: 2}}",
                        {"worker.model.hidden=[" + repeated("1,", 100) + "]"}),
                Mentions("64 numbers at most"));
}

TEST(Hostile, BytesThatAreNotUtf8AreRefusedWithTheirPlace) {
    EXPECT_EQ(first_line(problem("study: s\nseed: \xff\n")), "s.yaml:2:7: not UTF-8");
    EXPECT_EQ(first_line(problem("study: \xed\xa0\x80\n")), "s.yaml:1:8: not UTF-8");
    EXPECT_EQ(first_line(problem("study: \x1b[31m\n")), "s.yaml:1:8: a control character");
    EXPECT_EQ(first_line(problem(std::string("study: a\0b\n", 11))), "s.yaml:1:9: a control character");
    EXPECT_THAT(first_line(problem("study: \"\\x1b[31m\"\n")), Mentions("s.yaml:1:8:", "UTF-8", "control", "broken"));
    EXPECT_EQ(first_line(problem("\xff\xfes\0t\0u\0")), "s.yaml:1:1: not UTF-8");
}

TEST(Hostile, ErrorsNeverHoldRawControlCharacters) {
    const std::string error = problem("study: \x1b[31mred\xff\n");
    for (const char c : error) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << static_cast<int>(c);
}

TEST(Hostile, AnEmptyFileIsAnError) {
    for (const char* text : {"", "\n\n", "# nothing\n", "---\n", "~", "null"})
        EXPECT_THAT(first_line(problem(text)),
                    Mentions("s.yaml:", "'study'", "'space'", "'worker'", "hpo ask-tell", "empty", "none"))
            << text;
    EXPECT_THAT(first_line(problem("- a\n")), MentionsInOrder("s.yaml:1:1: ", "map (key: value)", "found", "list"));
    EXPECT_THAT(first_line(problem("a")),
                ::testing::AllOf(Mentions("s.yaml:1:1:", "a map"), ::testing::EndsWith("found a")));
}

TEST(Hostile, MalformedAndHugeNumbersAreRefused) {
    for (const char* number : {".nan", ".inf", "-.inf", "1e999", "-1e999", "1_000", "0x", "0o8", "1e", ".", "--1"})
        EXPECT_NE(problem(synthetic, {std::string("worker.training.lr=") + number}), "(accepted)") << number;
    EXPECT_NE(problem(synthetic, {"seed=9007199254740993"}), "(accepted)");
    EXPECT_NE(problem(synthetic, {"budget.time=99999999999999999999d"}), "(accepted)");
    EXPECT_NE(problem(synthetic, {"resources.memory=99999999999GiB"}), "(accepted)");
    const std::string script = "study: s\nobjective: {metric: m, direction: minimize}\nworker: {command: [x]}\n";
    EXPECT_THAT(problem(script + "space: {x: {type: float, low: -1e308, high: 1e308}}"),
                Mentions("'space.x'", "wider than"));
    EXPECT_THAT(problem(script + "space: {x: {type: float, low: 0, high: 1, step: 1e-300}}"), HasSubstr("fine"));
}

}  // namespace
}  // namespace hpo
