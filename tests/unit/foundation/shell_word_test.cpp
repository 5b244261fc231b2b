#include "hpo/shell_word.hpp"

#include <gtest/gtest.h>

namespace hpo {
namespace {

TEST(ShellWord, QuotesWhatAShellWouldInterpret) {
    EXPECT_EQ(shell_word("--lr=0.001"), "--lr=0.001");
    EXPECT_EQ(shell_word(""), "''");
    EXPECT_EQ(shell_word("a b"), "'a b'");
    EXPECT_EQ(shell_word(";$(touch x)"), "';$(touch x)'");
    EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
    EXPECT_EQ(shell_word("a\nb"), "'a\nb'");
}

}  // namespace
}  // namespace hpo
