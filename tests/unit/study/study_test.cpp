#include <gmock/gmock.h>

#include "orchestrator/study/study_file.hpp"

namespace hpo {
namespace {

TEST(ReadyStudies, DebugReads) {
    const auto study = read_study(HPO_SOURCE_DIR "/studies/debug.yaml");
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->name, "debug");
}

}  // namespace
}  // namespace hpo
