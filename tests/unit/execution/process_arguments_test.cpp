#include "orchestrator/execution/process_arguments.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace hpo {
namespace {

using namespace std::string_literals;

std::string answer(int count, const std::string& texts) {
    std::string bytes(sizeof count, '\0');
    std::memcpy(bytes.data(), &count, sizeof count);
    return bytes + texts;
}

TEST(ProcessArguments, AreFoundBehindThePaddedPathOfTheProgram) {
    const auto read = process_arguments(
        answer(2, "/usr/local/bin/python3\0\0\0\0python3\0train.py\0HPO_STUDY=a:1\0HOME=/\0\0stack\0"s));
    EXPECT_EQ(read.command, "python3\0train.py\0"s);
    EXPECT_EQ(read.environment, "HPO_STUDY=a:1\0HOME=/\0"s);
}

TEST(ProcessArguments, OfAProgramThatHidesItsEnvironmentHaveNone) {
    const auto read = process_arguments(answer(2, "/bin/sleep\0\0sleep\000600\0"s));
    EXPECT_EQ(read.command, "sleep\000600\0"s);
    EXPECT_EQ(read.environment, "");
}

TEST(ProcessArguments, KeepEmptyArguments) {
    const auto read = process_arguments(answer(3, "/bin/sh\0sh\0\0x\0A=1\0\0"s));
    EXPECT_EQ(read.command, "sh\0\0x\0"s);
    EXPECT_EQ(read.environment, "A=1\0"s);
}

TEST(ProcessArguments, OfAnAnswerThatIsCutShortAreWhatItHolds) {
    EXPECT_EQ(process_arguments("").command, "");
    EXPECT_EQ(process_arguments("\1\0").command, "");
    EXPECT_EQ(process_arguments(answer(9, "/bin/sh")).command, "");
    EXPECT_EQ(process_arguments(answer(9, "/bin/sh\0sh\0-c"s)).command, "sh\0-c\0"s);
    EXPECT_EQ(process_arguments(answer(-1, "/bin/sh\0A=1\0"s)).environment, "A=1\0"s);
}

}  // namespace
}  // namespace hpo
