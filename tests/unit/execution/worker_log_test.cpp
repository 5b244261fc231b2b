#include "orchestrator/execution/worker_log.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

std::string content(const std::filesystem::path& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

TEST(WorkerLog, AppendsToTheFileAndMarksEachFurtherAttempt) {
    const testing::TemporaryFolder folder;
    for (const char* text : {"one\n", "two\n"}) {
        WorkerLog log(1000);
        log.open(folder / "log");
        log.append(text);
    }
    EXPECT_THAT(content(folder / "log"),
                ::testing::MatchesRegex("one\n.another .*, [-0-9]+ [0-9:]+ [-+][0-9]+.\ntwo\n"));
}

TEST(WorkerLog, AWorkerThatWritesNothingLeavesNoFile) {
    const testing::TemporaryFolder folder;
    WorkerLog log(1000);
    log.open(folder / "log");
    EXPECT_FALSE(std::filesystem::exists(folder / "log"));
    log.append("one\n");
    EXPECT_EQ(content(folder / "log"), "one\n");
}

TEST(WorkerLog, IsTruncatedAtItsLimitWithOneNotice) {
    const testing::TemporaryFolder folder;
    for (int attempt = 0; attempt < 2; ++attempt) {
        WorkerLog log(10);
        log.open(folder / "log");
        for (int i = 0; i < 5; ++i) log.append("12345678");
        EXPECT_EQ(log.tail(), "1234567812345678123456781234567812345678");
    }
    EXPECT_EQ(content(folder / "log"), "1234567812\n[the log is full at 10 bytes; the rest was dropped]\n");
}

TEST(WorkerLog, AFullDiskEndsTheFileOnly) {
    const testing::TemporaryFolder folder;
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit tight{6, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &tight);
    WorkerLog log(1000);
    log.open(folder / "log");
    for (int i = 0; i < 3; ++i) log.append("1234\n");
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    log.append("5678\n");
    EXPECT_EQ(content(folder / "log"), "1234\n1");
    EXPECT_EQ(log.tail(), "1234\n1234\n1234\n5678");
}

TEST(WorkerLog, TheTailIsTheLastTwentyLinesWithinALimitOfBytes) {
    WorkerLog log(0);
    EXPECT_EQ(log.tail(), "");
    std::string last;
    for (int i = 1; i <= 1000; ++i) {
        log.append(std::to_string(i) + "\n");
        if (i > 980) last += std::to_string(i) + (i < 1000 ? "\n" : "");
    }
    EXPECT_EQ(log.tail(), last);
    log.append(std::string(1'000'000, 'x'));
    EXPECT_EQ(log.tail(), std::string(8192, 'x'));
    log.open({});
    EXPECT_EQ(log.tail(), "");
    log.append("\n\nsecond\n\n");
    EXPECT_EQ(log.tail(), "\n\nsecond");
}

}  // namespace
}  // namespace hpo
