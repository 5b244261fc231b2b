// The pure parts of agents that join: repeated sending, the join file, the messages, and the address where a study
// listens.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "hpo/version.hpp"
#include "orchestrator/cluster/agent.hpp"
#include "orchestrator/cluster/host.hpp"
#include "orchestrator/cluster/how_left.hpp"
#include "orchestrator/cluster/join_file.hpp"
#include "orchestrator/cluster/join_messages.hpp"
#include "orchestrator/cluster/lasting.hpp"
#include "orchestrator/cluster/listen_at.hpp"
#include "orchestrator/cluster/refusals.hpp"
#include "orchestrator/cluster/replay_window.hpp"
#include "tests/support/mentions.hpp"

namespace hpo::cluster {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Host given(const char* name, Host::State state, const char* reason = "") {
    Host host;
    host.address = {name, {"ssh", name}};
    host.state = state;
    host.reason = reason;
    if (state == Host::State::up) host.first_device = 0;
    return host;
}

Host joined(const char* name, Host::State state) {
    Host host = given(name, state, "it was asked to end");
    host.address.command.clear();
    return host;
}

using State = Host::State;

TEST(AwaitsHosts, WithADoorOnlyWhileNoneIsUp) {
    EXPECT_TRUE(awaits_hosts({}, true));
    EXPECT_FALSE(awaits_hosts({}, false));
    EXPECT_FALSE(awaits_hosts(std::vector{joined("a", State::up)}, true));
    EXPECT_TRUE(awaits_hosts(std::vector{joined("a", State::left)}, true));
    EXPECT_TRUE(awaits_hosts(std::vector{given("a", State::aside)}, true));
    EXPECT_TRUE(awaits_hosts(std::vector{given("a", State::up), given("b", State::starting)}, true));
    EXPECT_TRUE(awaits_hosts(std::vector{given("a", State::up), given("b", State::starting)}, false));
    EXPECT_FALSE(awaits_hosts(std::vector{given("a", State::up), given("b", State::aside)}, false));
}

TEST(NoHostIsLeft, IfAllThatWereGivenAreSetAsideAndNoneHasJoined) {
    const std::vector lost{given("a", State::aside, "broken"), given("b", State::aside, "refused")};
    const std::string text = "no host is left: a: broken; b: refused";
    const auto with = [&](Host host) {
        auto hosts = lost;
        hosts.push_back(std::move(host));
        return hosts;
    };
    EXPECT_EQ(why_no_host_is_left(lost, false), text);
    EXPECT_EQ(why_no_host_is_left(lost, true), text);
    EXPECT_EQ(why_no_host_is_left(with(joined("c", State::left)), true), text);
    EXPECT_EQ(why_no_host_is_left(with(joined("c", State::up)), true), "");
    EXPECT_EQ(why_no_host_is_left(with(joined("c", State::starting)), true), "");
    EXPECT_EQ(why_no_host_is_left(with(given("c", State::resting)), true), "");
    EXPECT_EQ(why_no_host_is_left({}, true), "");
    EXPECT_EQ(why_no_host_is_left(std::vector{joined("c", State::left)}, true), "");
}

TEST(WorkersOf, CountsAwaitedHostsLikeTheLargestButNoneThatHasLeft) {
    Host up = given("a", State::up);
    up.hello.workers = 6;
    EXPECT_EQ(workers_of(std::vector{up}, false), 6);
    EXPECT_EQ(workers_of(std::vector{up, given("b", State::starting)}, false), 12);
    EXPECT_EQ(workers_of(std::vector{up, given("b", State::aside), joined("c", State::left)}, false), 6);
    EXPECT_EQ(workers_of(std::vector{up}, true), 0);
}

TEST(CountPresent, LeavesOutHostsThatWereSetAsideOrHaveLeft) {
    const std::vector hosts{given("a", State::up), given("b", State::starting), given("c", State::resting),
                            given("d", State::aside), joined("e", State::left)};
    EXPECT_EQ(count_present(hosts), 3);
}

TEST(ReplayWindow, KeepsWhatWasNotConfirmed) {
    ReplayWindow window;
    window.push("abc");
    window.push("def");
    EXPECT_EQ(window.unconfirmed(), "abcdef");
    EXPECT_TRUE(window.confirm(2));
    EXPECT_EQ(window.unconfirmed(), "cdef");
    EXPECT_TRUE(window.confirm(6));
    EXPECT_EQ(window.unconfirmed(), "");
    window.push("g");
    EXPECT_EQ(window.unconfirmed(), "g");
}

TEST(ReplayWindow, RefusesConfirmationsOfBytesThatWereNotSentOrAreForgotten) {
    ReplayWindow window;
    window.push("abcdef");
    EXPECT_FALSE(window.confirm(7));
    EXPECT_TRUE(window.confirm(3));
    EXPECT_FALSE(window.confirm(2));
    EXPECT_FALSE(window.confirm(~std::uint64_t{0}));
    EXPECT_EQ(window.unconfirmed(), "def");
}

TEST(ReplayWindow, IsFullUntilBytesAreConfirmed) {
    ReplayWindow window;
    window.push(std::string(ReplayWindow::most - 1, 'x'));
    EXPECT_FALSE(window.is_full());
    window.push("x");
    EXPECT_TRUE(window.is_full());
    EXPECT_TRUE(window.confirm(1));
    EXPECT_FALSE(window.is_full());
}

TEST(JoinMessages, AreReadAsTheyWereWritten) {
    const Join join{"session", "node \"1\"", (std::uint64_t{1} << 40) + 1};
    EXPECT_EQ(*decode_join(encode(join)), join);
    const Welcome welcome{"abc", 7};
    EXPECT_EQ(*decode_welcome(encode(welcome)), welcome);
    const Farewell farewell{SessionEnd::at_limit, "the time limit is near"};
    EXPECT_EQ(*decode_farewell(encode(farewell)), farewell);
    // Escaped, some characters take six bytes.
    for (const char letter : {'x', '\n', '\x01', '"', '\xff'}) {
        const auto cut = decode_farewell(encode(Farewell{SessionEnd::failed, std::string(9000, letter)}));
        ASSERT_TRUE(cut) << int(letter);
        EXPECT_GE(cut->reason.size(), 500U);
    }
    EXPECT_EQ(*decode_confirm(encode_confirm(0x0123456789abcdef)), 0x0123456789abcdefU);
}

TEST(JoinMessages, OthersAreRefused) {
    for (const char* wrong :
         {"", "{}", "[]", R"({"session":1,"host":"a","received":0})", R"({"session":"","host":"a","received":-1})",
          R"({"session":"","host":"a","received":0.5})"})
        EXPECT_FALSE(decode_join(wrong)) << wrong;
    EXPECT_FALSE(decode_join(encode(Join{"", std::string(5000, 'x'), 0})));
    EXPECT_FALSE(decode_welcome("{\"session\":\"\"}"));
    EXPECT_FALSE(decode_farewell(""));
    EXPECT_FALSE(decode_farewell(R"({"end":"over","reason":""})"));
    EXPECT_FALSE(decode_confirm("1234567"));
    EXPECT_FALSE(decode_confirm("123456789"));
}

JoinFile example() { return {"phase1", version, {"10.0.0.5", "127.0.0.1"}, 7000, fresh_key()}; }

TEST(JoinFile, IsReadAsItWasWritten) {
    const JoinFile file = example();
    EXPECT_EQ(*parse_join_file(text_of(file)), file);
    EXPECT_EQ(key_bytes(file.key).size(), 32U);
    EXPECT_NE(file.key, example().key);
    EXPECT_EQ(key_bytes("00ff"), std::string("\0\xff", 2));
}

TEST(JoinFile, RefusesTextsOfOthers) {
    const auto says = [](JoinFile file) { return parse_join_file(text_of(file)).error().message; };
    JoinFile wrong = example();
    wrong.key = "00";
    EXPECT_THAT(says(wrong), Mentions("64 hexadecimal", "digits"));
    wrong = example();
    wrong.addresses.clear();
    EXPECT_THAT(says(wrong), Mentions("1 to 64"));
    wrong = example();
    wrong.port = 0;
    EXPECT_THAT(says(wrong), Mentions("'port'", "1 to 65535"));
    EXPECT_THAT(parse_join_file("key: 1").error().message, Mentions("no JSON"));
    EXPECT_EQ(parse_join_file("[]").error().message, "no \"study\"");
    EXPECT_FALSE(parse_join_file(std::string(70'000, ' ')));
}

class JoinFileOnDisk : public ::testing::Test {
   protected:
    JoinFileOnDisk() { std::filesystem::create_directory(folder_); }
    ~JoinFileOnDisk() override { std::filesystem::remove_all(folder_); }
    const std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("hpo-join-test-" + std::to_string(::getpid()));
    const std::filesystem::path path_ = folder_ / join_file_name;
};

TEST_F(JoinFileOnDisk, CanBeReadByItsOwnerAlone) {
    std::ofstream(path_) << "an old one";
    const JoinFile file = example();
    const ::mode_t before = ::umask(0);
    ASSERT_TRUE(write_join_file(path_, file));
    ::umask(before);
    struct stat info {};
    ::stat(path_.c_str(), &info);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    EXPECT_EQ(*read_join_file(path_), file);
    ::chmod(path_.c_str(), 0640);
    EXPECT_THAT(read_join_file(path_).error().message, HasSubstr("users"));
}

TEST_F(JoinFileOnDisk, IsRemovedByTheSessionThatHasWrittenItAlone) {
    const JoinFile ours = example(), others = example();
    remove_join_file(path_, ours.key);
    ASSERT_TRUE(write_join_file(path_, others));
    remove_join_file(path_, ours.key);
    EXPECT_EQ(*read_join_file(path_), others);
    ASSERT_TRUE(write_join_file(path_, ours));
    ::chmod(path_.c_str(), 0644);
    remove_join_file(path_, ours.key);
    EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(JoinFileOnDisk, IsRefusedWithThePathAndTheCure) {
    EXPECT_THAT(read_join_file(path_).error().message, Mentions("join.json:", "file", "hpo run STUDY --listen"));
    EXPECT_THAT(read_join_file(folder_).error().message, HasSubstr("file"));
    JoinFile old = example();
    old.version = "0.1.0";
    ASSERT_TRUE(write_join_file(path_, old));
    EXPECT_THAT(read_join_file(path_).error().message, Mentions("0.1.0", std::string(version)));
    EXPECT_THAT(write_join_file(folder_ / "no" / "folder", old).error().message, HasSubstr("No such file"));
}

TEST(ListenAt, HasAnAddressAPortBothOrNone) {
    EXPECT_EQ(*parse_listen(""), (ListenAt{"0.0.0.0", 0}));
    EXPECT_EQ(*parse_listen(":7000"), (ListenAt{"0.0.0.0", 7000}));
    EXPECT_EQ(*parse_listen("7000"), (ListenAt{"0.0.0.0", 7000}));
    EXPECT_EQ(*parse_listen("10.0.0.5"), (ListenAt{"10.0.0.5", 0}));
    EXPECT_EQ(*parse_listen("10.0.0.5:7000"), (ListenAt{"10.0.0.5", 7000}));
    EXPECT_EQ(*parse_listen("fd00::5"), (ListenAt{"fd00::5", 0}));
    EXPECT_EQ(*parse_listen("[fd00::5]:7000"), (ListenAt{"fd00::5", 7000}));
    EXPECT_EQ(*parse_listen("[fd00::5]"), (ListenAt{"fd00::5", 0}));
}

TEST(ListenAt, OthersAreRefusedWithTheCure) {
    for (const char* wrong : {"study.yaml", "host:7000", "70000", ":", "10.0.0.5:", "10.0.0.5:70000", "10.0.0.5:-1",
                              "[", "[]", "[10.0.0.5]:1", "[fd00::5]7", "10.0.0.5:7x", "fd00::5:x"})
        EXPECT_FALSE(parse_listen(wrong)) << wrong;
    EXPECT_THAT(parse_listen("study.yaml").error().message, Mentions("--listen study.yaml:", "address"));
    EXPECT_THAT(parse_listen("study.yaml").error().message, Mentions("before", "hpo run study.yaml"));
}

constexpr int with_status(int code) { return code << 8; }

std::string left_text(int child, const std::optional<Farewell>& farewell, int status) {
    const HowLeft left = how_left("phase1", child, 0, farewell, "hpo agent --join f");
    EXPECT_EQ(left.status, status);
    return left.text;
}

TEST(HowLeft, TellsHowTheSessionEnded) {
    EXPECT_THAT(left_text(0, Farewell{SessionEnd::finished, "trial budget reached"}, 0),
                MentionsInOrder("phase1", "ended: ", "trial budget reached"));
    EXPECT_THAT(left_text(0, Farewell{SessionEnd::interrupted, "interrupted"}, 0),
                AllOf(MentionsInOrder("phase1", "interrupted", "hpo run", "hpo agent --join f"),
                      Not(HasSubstr(": interrupted"))));
    EXPECT_THAT(left_text(0, Farewell{SessionEnd::interrupted, "stopped by hpo stop"}, 0),
                MentionsInOrder("phase1", "interrupted: ", "stopped by hpo stop", "hpo run", "hpo agent --join f"));
    EXPECT_EQ(left_text(0, Farewell{SessionEnd::failed, "the disk is full"}, 1), "phase1 has failed: the disk is full");
    EXPECT_THAT(left_text(0, Farewell{}, 1), HasSubstr("agent"));
}

TEST(HowLeft, TellsThatTheOrchestratorWasSilentAlsoIfItIsBackBeforeTheAgentHasEnded) {
    for (const auto& farewell : {std::optional<Farewell>(), std::optional(Farewell{})})
        EXPECT_THAT(left_text(with_status(agent_heard_nothing), farewell, 1),
                    MentionsInOrder("phase1", "silent", "25 s", "hpo agent --join f"));
}

TEST(HowLeft, SaysNoMoreThanTheUserDoesNotKnow) {
    EXPECT_EQ(left_text(with_status(1), std::nullopt, 1), "") << "the agent has said why";
    EXPECT_EQ(how_left("phase1", 0, SIGINT, std::nullopt, ""), HowLeft{}) << "the user has asked for it";
    EXPECT_THAT(left_text(SIGKILL, std::nullopt, 1), Mentions("agent", "SIGKILL"));
    EXPECT_THAT(left_text(0, std::nullopt, 1), Mentions("asked", "phase1"));
}

TEST(HowLeft, SigtermEndsItAsOtherPrograms) {
    for (const auto& goes_on : {std::optional<Farewell>(), std::optional(Farewell{})})
        EXPECT_EQ(how_left("phase1", 0, SIGTERM, goes_on, "").status, 143);
    const Farewell finished{SessionEnd::finished, "trial budget reached"};
    EXPECT_EQ(how_left("phase1", 0, SIGTERM, finished, "").status, 0) << "the study was over already";
}

TEST(HostState, SaysSinceWhenAHostIsSilentAndWhatFollows) {
    const HostClock::time_point now{};
    Host host = given("vm", State::up);
    host.heard = now - std::chrono::seconds(12);
    EXPECT_EQ(host.state_text(now),
              (std::pair<std::string, std::string>("silent", "for 12 s; its trials are queued again after 30 s")));
}

TEST(HostState, IsUpWhileItIsSilent) {
    Host host = given("vm", State::up);
    host.heard = HostClock::now() - std::chrono::seconds(12);
    ASSERT_TRUE(host.is_silent(HostClock::now()));
    EXPECT_TRUE(any_up(std::vector{host}));
    EXPECT_FALSE(any_up(std::vector{joined("a", State::left), given("b", State::aside), given("c", State::resting)}));
}

TEST(Lasting, NeedsObservationsInARow) {
    using namespace std::chrono_literals;
    Lasting refused(1s);
    const Lasting::Time begin{};
    EXPECT_FALSE(refused.observe(begin, true));
    EXPECT_FALSE(refused.observe(begin + 999ms, true));
    EXPECT_FALSE(refused.observe(begin + 1s, false));
    EXPECT_FALSE(refused.observe(begin + 5s, true));
    EXPECT_FALSE(refused.observe(begin + 5500ms, true));
    EXPECT_TRUE(refused.observe(begin + 6s, true));
}

TEST(Refusals, AreToldAtOnceAndThenOnceAMinute) {
    using namespace std::chrono_literals;
    Refusals refusals;
    const Refusals::Time begin{};
    EXPECT_EQ(refusals.add(begin, "first"), "first");
    EXPECT_FALSE(refusals.due(begin + 100s));
    EXPECT_FALSE(refusals.add(begin + 1s, "second"));
    EXPECT_FALSE(refusals.add(begin + 2s, "third"));
    EXPECT_FALSE(refusals.due(begin + 59s));
    EXPECT_THAT(refusals.due(begin + 60s), ::testing::Optional(MentionsInOrder("third", "1 more", "minute")));
    EXPECT_FALSE(refusals.add(begin + 61s, "fourth"));
    EXPECT_THAT(refusals.add(begin + 130s, "fifth"), ::testing::Optional(MentionsInOrder("fifth", "1 more", "minute")));
}

}  // namespace
}  // namespace hpo::cluster
