// Examinations of scripts that are also asked for studies without one.
#include "orchestrator/preview/script_ready.hpp"

#include <gmock/gmock.h>

#include "orchestrator/script/home.hpp"

namespace hpo {
namespace {

using ::testing::IsEmpty;

TEST(ScriptReady, AStudyWithoutAScriptHasNoFilesAndNoUnusedParameters) {
    Study study;
    study.space = {{.name = "lr", .low = 0, .high = 1}};
    for (const StudyWorker& worker : {StudyWorker(NoWorker{}), StudyWorker(NativeWorker{})}) {
        study.worker = worker;
        EXPECT_THAT(shadowed_files(study), IsEmpty());
        EXPECT_THAT(script::unused_parameters(study), IsEmpty());
        EXPECT_FALSE(missing_program(study));
    }
}

TEST(ScriptReady, AProgramThatIsNamedWithoutItsPathIsTheFirstOfThePath) {
    EXPECT_THAT(program_on_path({.command = {"sh"}}), ::testing::EndsWith("/sh"));
    EXPECT_THAT(program_on_path({.command = {"./sh"}}), IsEmpty());
    EXPECT_THAT(program_on_path({.command = {"{shell}"}}), IsEmpty());
}

}  // namespace
}  // namespace hpo
