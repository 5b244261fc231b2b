#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "hpo/printable.hpp"
#include "orchestrator/execution/connection.hpp"
#include "orchestrator/execution/environment.hpp"
#include "orchestrator/execution/frames.hpp"
#include "orchestrator/execution/limits.hpp"
#include "orchestrator/execution/private_folder.hpp"
#include "orchestrator/execution/process_table.hpp"
#include "orchestrator/execution/processes.hpp"

namespace hpo {
namespace {

TEST(Frames, AreReadWholeHoweverTheStreamIsSplit) {
    const std::string bytes = supervisor::frame(supervisor::Order::start, "abc") +
                              supervisor::frame(supervisor::Order::kill, "") +
                              supervisor::frame(supervisor::Order::terminate, std::string(5, '\0'));
    for (std::size_t size = 1; size <= bytes.size(); ++size) {
        supervisor::FrameReader reader;
        std::vector<std::pair<std::uint32_t, std::string>> received;
        for (std::size_t at = 0; at < bytes.size(); at += size)
            EXPECT_TRUE(
                reader.feed(std::string_view(bytes).substr(at, size),
                            [&](std::uint32_t kind, std::string_view text) { received.emplace_back(kind, text); }));
        EXPECT_THAT(received, ::testing::ElementsAre(::testing::Pair(1U, "abc"), ::testing::Pair(3U, ""),
                                                     ::testing::Pair(2U, std::string(5, '\0'))));
    }
}

TEST(Frames, AnImpossibleSizeIsRefused) {
    supervisor::FrameReader reader;
    EXPECT_FALSE(reader.feed(std::string(8, '\xff'), [](std::uint32_t, std::string_view) {}));
}

TEST(Frames, AStartIsDecodedAsItWasEncoded) {
    const supervisor::Start sent{{"./x", "", "-n", "a b\nc"}, {"A=", "B=c=d"}, {0, 3}, "/tmp"};
    const supervisor::Start received = supervisor::unpack_start(supervisor::pack(sent));
    EXPECT_EQ(received.command, sent.command);
    EXPECT_EQ(received.environment, sent.environment);
    EXPECT_EQ(received.cpus, sent.cpus);
    EXPECT_EQ(received.folder, sent.folder);
    EXPECT_THROW((void)supervisor::unpack_start("x"), std::out_of_range);
}

TEST(Printable, ControlCharactersAndInvalidBytesAreEscaped) {
    EXPECT_EQ(printable("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
              "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    EXPECT_EQ(printable("\x1b[2J\a\t\r\n\x7f"), "\\x1b[2J\\x07 \\x0d\\x0a\\x7f");
    EXPECT_EQ(printable("a\nb", true), "a\nb");
    EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "a C1 control";
    EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "changes the direction of text";
    EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
    EXPECT_EQ(printable("\xc0\x80\xed\xa0\x80"), "\\xc0\\x80\\xed\\xa0\\x80") << "overlong, and a surrogate";
}

TEST(Printable, LinesAreJoinedIntoOne) {
    EXPECT_EQ(printable_line("the worker died\n  | its words\n\n  | \x1b[2J"),
              "the worker died | its words | \\x1b[2J");
    EXPECT_EQ(printable_line("one"), "one");
    EXPECT_EQ(printable_line("\n \n"), "");
}

TEST(LaunchShortage, IsToldByItsErrorOrByTheOutputOfTheProgram) {
    for (const int error : {EAGAIN, EMFILE, ENFILE, ENOMEM, ENOBUFS, ETXTBSY, EINTR, ENOSPC, EDQUOT})
        EXPECT_TRUE(is_launch_shortage(error)) << std::strerror(error);
    for (const int error : {0, ENOENT, EACCES, EIO}) EXPECT_FALSE(is_launch_shortage(error)) << error;
    for (const char* output :
         {"RuntimeError: can't start new thread", "OSError: [Errno 28] No space left on device: 'x'",
          "bash: fork: Resource temporarily unavailable"})
        EXPECT_TRUE(is_launch_shortage(0, output)) << output;
    EXPECT_FALSE(is_launch_shortage(0, "ValueError: no space"));
}

TEST(WorkerEnvironment, GivesAsManyThreadsAsCores) {
    EXPECT_EQ(worker_environment(3).at("OPENBLAS_NUM_THREADS"), "3");
    EXPECT_EQ(worker_environment(0.2).at("OMP_NUM_THREADS"), "1");
    EXPECT_EQ(worker_environment(2).at("TF_NUM_INTRAOP_THREADS"), "2");
    EXPECT_EQ(worker_environment(1).at("MALLOC_TRIM_THRESHOLD_"), "4000000000");
}

TEST(PrivateFolder, IsAccessibleToItsUserOnlyAndShortEnoughForASocket) {
    auto folder = PrivateFolder::make("some study");
    ASSERT_TRUE(folder) << folder.error().message;
    struct stat info {};
    ASSERT_EQ(::stat(folder->path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700U);
    EXPECT_LT(folder->path().string().size() + 20, 108U);
    const auto path = folder->path();
    { const PrivateFolder moved = *std::move(folder); }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(PrivateFolder, WithoutAFreeDescriptorMakingItFailsAndLeavesNothing) {
    std::filesystem::path earlier;  // its name tells this test's folders from those of other tests
    {
        const auto folder = PrivateFolder::make("no descriptors");
        ASSERT_TRUE(folder);
        earlier = folder->path();
    }
    const std::string prefix = earlier.filename().string().substr(0, 21);
    const auto count = [&] {
        const auto all = std::filesystem::directory_iterator(earlier.parent_path());
        return std::count_if(begin(all), end(all),
                             [&](const auto& entry) { return entry.path().filename().string().starts_with(prefix); });
    };
    rlimit whole{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &whole), 0);
    const int next = ::dup(0);
    ::close(next);
    const rlimit none{static_cast<rlim_t>(next), whole.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const auto folder = PrivateFolder::make("no descriptors");
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &whole), 0);
    ASSERT_FALSE(folder);
    EXPECT_THAT(folder.error().message, ::testing::HasSubstr("open"));
    EXPECT_EQ(count(), 0);
}

TEST(PrivateFolder, RemovesTheFoldersOfKilledOwnersOnly) {
    auto living = PrivateFolder::make("a living study");
    ASSERT_TRUE(living);
    // A killed owner leaves its folder behind, not locked.
    std::string left = (living->path().parent_path() / "hpo-0123456789abcdef-XXXXXX").string();
    ASSERT_NE(::mkdtemp(left.data()), nullptr);
    const auto next = PrivateFolder::make("another study");
    ASSERT_TRUE(next);
    EXPECT_FALSE(std::filesystem::exists(left));
    EXPECT_TRUE(std::filesystem::exists(living->path()));
}

TEST(PrivateFolder, ATooLongRuntimeFolderIsNotUsed) {
    const char* before = std::getenv("XDG_RUNTIME_DIR");
    const std::string kept = before == nullptr ? "" : before;
    const std::filesystem::path deep = std::filesystem::temp_directory_path() / std::string(80, 'd');
    std::filesystem::create_directories(deep);
    ::setenv("XDG_RUNTIME_DIR", deep.c_str(), 1);
    auto folder = PrivateFolder::make("another study");
    before == nullptr ? ::unsetenv("XDG_RUNTIME_DIR") : ::setenv("XDG_RUNTIME_DIR", kept.c_str(), 1);
    std::filesystem::remove_all(deep);
    ASSERT_TRUE(folder);
    EXPECT_EQ(folder->path().parent_path(), "/tmp");
}

/// Starts a program that waits for ever with `entry` in its environment. Returns its pid.
pid_t sleeper(const std::string& entry) {
    int ready[2];
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
        const char* argv[] = {"sleep", "1000", nullptr};
        const char* envp[] = {"PATH=/usr/bin", entry.c_str(), nullptr};
        ::execve("/bin/sleep", const_cast<char**>(argv), const_cast<char**>(envp));
        ::_exit(1);
    }
    ::close(ready[1]);
    char byte;
    EXPECT_EQ(::read(ready[0], &byte, 1), 0);  // the pipe is closed by exec
    ::close(ready[0]);
    return pid;
}

bool killed(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

TEST(Sweep, KillsTheProcessesWithTheTagAndNoOthers) {
    const std::string tag = "unit." + std::to_string(::getpid());
    const pid_t ours = sleeper("HPO_TAG=" + tag + ":3");
    const pid_t plain = sleeper("HPO_TAG=" + tag);
    const pid_t others[] = {sleeper("HPO_TAG=" + tag + "1:3"), sleeper("XHPO_TAG=" + tag + ":3"),
                            sleeper("OTHER=HPO_TAG=" + tag)};
    EXPECT_EQ(kill_tagged(tag + ":3"), 1U);
    EXPECT_TRUE(killed(ours));
    EXPECT_TRUE(sweep(tag));
    EXPECT_TRUE(killed(plain));
    EXPECT_EQ(kill_tagged(tag), 0U);
    for (const pid_t other : others) {
        EXPECT_EQ(::waitpid(other, nullptr, WNOHANG), 0);
        ::kill(other, SIGKILL);
        ::waitpid(other, nullptr, 0);
    }
}

TEST(Sweep, KillsTheProcessesOfAnOlderVersion) {
    const std::string tag = "unit.old." + std::to_string(::getpid());
    const pid_t left = sleeper(std::string(old_tag_variable) + "=" + tag + ":0");
    EXPECT_THAT(tagged(tag), ::testing::ElementsAre(left));
    EXPECT_TRUE(sweep(tag));
    EXPECT_TRUE(killed(left));
}

TEST(Processes, ChildrenAreFoundWhateverTheirNames) {
    const pid_t child = sleeper("X=1");
    EXPECT_THAT(children_of(::getpid()), ::testing::Contains(child));
    EXPECT_THAT(children_of(child), ::testing::IsEmpty());
    ::kill(child, SIGKILL);
    EXPECT_THAT(children_of(::getpid()), ::testing::Contains(child)) << "a zombie, until it is reaped";
    ::waitpid(child, nullptr, 0);
}

TEST(Processes, AWorkersPidIsAcceptedIfItOwnsTheSocketOrIsAnAncestorOfTheOwner) {
    // This process stands for the supervisor, its child for the worker, its grandchild for the owner of the socket.
    int report[2], gate[2];
    ASSERT_EQ(::pipe(report), 0);
    ASSERT_EQ(::pipe(gate), 0);
    const pid_t worker = ::fork();
    if (worker == 0) {
        const pid_t holder = ::fork();
        char none;
        if (holder == 0) {
            ::close(gate[1]);
            ::_exit(static_cast<int>(::read(gate[0], &none, 1)));
        }
        ::close(gate[1]);
        if (::write(report[1], &holder, sizeof holder) != sizeof holder) ::_exit(1);
        ::waitpid(holder, nullptr, 0);
        ::_exit(0);
    }
    pid_t holder = 0;
    ASSERT_EQ(::read(report[0], &holder, sizeof holder), static_cast<ssize_t>(sizeof holder));
    const pid_t orchestrator = ::getppid();
    EXPECT_EQ(worker_process(holder, holder, orchestrator), holder);
    EXPECT_EQ(worker_process(worker, holder, orchestrator), worker);
    EXPECT_EQ(worker_process(1, holder, orchestrator), holder) << "in a namespace of its own it is 1";
    EXPECT_EQ(worker_process(::getpid(), holder, orchestrator), holder) << "the supervisor is no worker";
    EXPECT_EQ(worker_process(holder, worker, orchestrator), worker);
    EXPECT_EQ(worker_process(42, 0, orchestrator), 42) << "the socket does not say";
    for (const int end : {report[0], report[1], gate[0], gate[1]}) ::close(end);
    ::waitpid(worker, nullptr, 0);
}

TEST(Connection, ReportsThePidOfItsPeer) {
    boost::asio::io_context loop;
    WorkerConnection::Socket ours(loop), theirs(loop);
    boost::asio::local::connect_pair(ours, theirs);
    EXPECT_EQ(WorkerConnection(std::move(ours)).peer(), ::getpid());
}

}  // namespace
}  // namespace hpo
