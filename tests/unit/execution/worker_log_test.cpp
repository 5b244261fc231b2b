#include "orchestrator/execution/worker_log.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "orchestrator/execution/log_reader.hpp"
#include "tests/support/mentions.hpp"
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

/// Returns the line with this number, of 10 bytes.
std::string numbered(int number) {
    const std::string digits = std::to_string(number);
    return std::string(9 - digits.size(), '.') + digits + '\n';
}

constexpr std::int64_t cap = 4000;

/// Appends the lines with these numbers.
void write_lines(WorkerLog& log, int first, int last) {
    for (int i = first; i <= last; ++i) log.append(numbered(i));
}

/// Expects a log of lines numbered from 1 to `last` that keeps its begin and its end, and counts what it leaves out.
void expect_begin_and_end(const std::string& text, int last) {
    const auto gap = static_cast<std::size_t>(log_gap::place(cap)), after = gap + log_gap::length();
    ASSERT_GT(text.size(), after + cap / 4 - 10);
    EXPECT_LE(text.size(), cap + log_gap::length());
    std::string all;
    for (int i = 1; i <= last; ++i) all += numbered(i);
    EXPECT_EQ(text.substr(0, gap), all.substr(0, gap));
    const std::string end = text.substr(after);
    EXPECT_EQ(end, all.substr(all.size() - end.size()));
    EXPECT_EQ(text.substr(gap, log_gap::length()),
              log_gap::line(static_cast<std::int64_t>(all.size() - gap - end.size())));
}

TEST(WorkerLog, KeepsTheBeginAndTheEndOfMuchOutputAndSaysHowMuchIsLeftOut) {
    const testing::TemporaryFolder folder;
    WorkerLog log(cap);
    log.open(folder / "log");
    write_lines(log, 1, 400);
    EXPECT_EQ(content(folder / "log").size(), 4000U) << "nothing is left out up to the cap";
    write_lines(log, 401, 409);
    for (int last = 410; last <= 1000; ++last) {
        write_lines(log, last, last);
        expect_begin_and_end(content(folder / "log"), last);
    }
    EXPECT_THAT(content(folder / "log"), Mentions("bytes", "left"));
}

TEST(WorkerLog, KeepsTheEndOfOneLongLineAndOfALargeAppend) {
    const testing::TemporaryFolder folder;
    WorkerLog log(cap);
    log.open(folder / "log");
    log.append(std::string(100'000, 'x') + numbered(7));
    const std::string text = content(folder / "log");
    EXPECT_LE(text.size(), cap + log_gap::length());
    EXPECT_THAT(text, ::testing::EndsWith('x' + numbered(7)));
    EXPECT_EQ(text.size() - log_gap::length() +
                  log_gap::left_out(Descriptor(::open((folder / "log").c_str(), O_RDONLY)).get(), log_gap::place(cap)),
              100'010U);
}

TEST(WorkerLog, AFurtherAttemptGoesOnInAFullLog) {
    const testing::TemporaryFolder folder;
    for (int attempt = 0; attempt < 3; ++attempt) {
        WorkerLog log(cap);
        log.open(folder / "log");
        write_lines(log, 1, 1000);
        log.append(numbered(5000 + attempt));
    }
    const std::string text = content(folder / "log");
    EXPECT_THAT(text, ::testing::StartsWith(numbered(1)));
    EXPECT_THAT(text, ::testing::EndsWith(numbered(5002)));
    EXPECT_LE(text.size(), cap + log_gap::length());
}

TEST(LogReader, ReadsEachByteOnceWhileTheLogMovesItsEnd) {
    const testing::TemporaryFolder folder;
    WorkerLog log(cap);
    log.open(folder / "log");
    log.append(numbered(1));
    const Descriptor file(::open((folder / "log").c_str(), O_RDONLY | O_CLOEXEC));
    LogReader reader(file.get(), cap);
    std::string read = reader.next(), all = numbered(1);
    for (int i = 2; i <= 2000; ++i) {
        log.append(numbered(i));
        all += numbered(i);
        if (i % 70 != 0 && i != 2000) continue;
        for (std::string bytes = reader.next(); !bytes.empty(); bytes = reader.next()) read += bytes;
    }
    EXPECT_EQ(read, all);
}

TEST(LogReader, SaysThatOutputWasLeftOutBeforeItWasRead) {
    const testing::TemporaryFolder folder;
    WorkerLog log(cap);
    log.open(folder / "log");
    write_lines(log, 1, 250);
    const Descriptor file(::open((folder / "log").c_str(), O_RDONLY | O_CLOEXEC));
    LogReader reader(file.get(), cap);
    EXPECT_EQ(reader.next().size(), 2500U);
    write_lines(log, 251, 2000);
    const std::string rest = reader.next();
    EXPECT_THAT(rest, ::testing::StartsWith("\n["));
    EXPECT_THAT(rest, Mentions("bytes", "left"));
    EXPECT_THAT(rest, ::testing::EndsWith(numbered(2000)));
    EXPECT_EQ(reader.next(), "");
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
