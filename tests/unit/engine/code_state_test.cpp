// The state of the code that a study runs.
#include "orchestrator/engine/code_state.hpp"

#include <gtest/gtest.h>

namespace hpo {
namespace {

TEST(CodeState, ALongListOfChangedFilesEndsWithALineThatSaysSo) {
    EXPECT_EQ(first_lines(" M a\n M b", 9), " M a\n M b");
    EXPECT_EQ(first_lines(" M a\n M b\n M c", 10), " M a\n M b\n(more)");
    EXPECT_EQ(first_lines("R  one very long line -> another", 10), "(more)");
    EXPECT_EQ(first_lines("", 0), "");
}

}  // namespace
}  // namespace hpo
