// The stream of frames between an orchestrator and its agents, and their messages.
#include "orchestrator/cluster/stream.hpp"

#include <gmock/gmock.h>

#include "orchestrator/cluster/codec.hpp"

namespace hpo::cluster {
namespace {

using Frames = std::vector<std::pair<int, std::string>>;

struct Read {
    StreamReader reader;
    Frames frames;
    bool feed(std::string_view bytes) {
        return reader.feed(bytes, [&](std::uint8_t kind, std::string_view payload) {
            frames.emplace_back(kind, std::string(payload));
        });
    }
};

const Opening ours{stream_version, "1.2.3"};

TEST(Stream, HasTheSameBytesOnEveryMachine) {
    EXPECT_EQ(frame(7, "abc"), std::string("\x03\0\0\0\x07"
                                           "abc",
                                           8));
    EXPECT_EQ(encode(ours), std::string("\x01hpo agent\x02\x01\0\0\0\x05\0\0\0"
                                        "1.2.3",
                                        24));
}

TEST(Stream, IsReadInAnyPieces) {
    const std::string bytes = encode(ours) + frame(1, "") + frame(2, "two") + frame(3, std::string(100'000, 'x'));
    for (const std::size_t piece : {std::size_t(1), std::size_t(7), bytes.size()}) {
        Read read;
        for (std::size_t at = 0; at < bytes.size(); at += piece) ASSERT_TRUE(read.feed(bytes.substr(at, piece)));
        EXPECT_EQ(read.reader.opening(), ours);
        ASSERT_EQ(read.frames.size(), 3U);
        EXPECT_EQ(read.frames[1], std::pair(2, std::string("two")));
        EXPECT_EQ(read.frames[2].second.size(), 100'000U);
    }
}

TEST(Stream, SkipsTheGreetingOfALoginShell) {
    Read read;
    EXPECT_TRUE(read.feed("Welcome to node 7\n\x01hpo\n"));
    EXPECT_TRUE(read.feed(encode(ours) + frame(4, "x")));
    EXPECT_EQ(read.reader.greeting(), "Welcome to node 7\n\x01hpo\n");
    EXPECT_EQ(read.frames, (Frames{{4, "x"}}));
}

TEST(Stream, RefusesAnotherVersionAndEndlessGreetingsAndFrames) {
    Read other;
    EXPECT_FALSE(other.feed(encode(Opening{stream_version + 1, "9"}) + frame(1, "")));
    EXPECT_EQ(other.reader.opening()->program, "9");
    EXPECT_TRUE(other.frames.empty());
    Read shell;
    EXPECT_FALSE(shell.feed(std::string(most_greeting + 1, 'x')));
    Read large;
    EXPECT_TRUE(large.feed(encode(ours)));
    EXPECT_FALSE(large.feed(std::string("\xff\xff\xff\xff\x01", 5)));
    EXPECT_FALSE(large.feed(frame(1, "")));
}

/// Returns a message as it arrives at the other end.
template <class All, class Message>
Message passed(const Message& message, Result<All> (*decode)(std::uint8_t, std::string_view)) {
    Read read;
    EXPECT_TRUE(read.feed(encode(ours) + encode(All(message))));
    EXPECT_EQ(read.frames.size(), 1U);
    auto decoded = decode(static_cast<std::uint8_t>(read.frames.at(0).first), read.frames.at(0).second);
    EXPECT_TRUE(decoded) << (decoded ? "" : decoded.error().message);
    return std::get<Message>(*decoded);
}
template <class Message>
Message to(const Message& message) {
    return passed<ToAgent>(message, decode_to_agent);
}
template <class Message>
Message from(const Message& message) {
    return passed<FromAgent>(message, decode_from_agent);
}

TEST(Messages, ReachTheAgent) {
    const auto setup = to(to_agent::Setup{"name: \"x\"\n", "/runs/x", "/home/me", "tag@a", 2.5, 3});
    EXPECT_EQ(setup.study, "name: \"x\"\n");
    EXPECT_EQ(setup.folder, "/runs/x");
    EXPECT_EQ(setup.alive_every, 2.5);
    EXPECT_EQ(setup.hosts, 3);
    LaunchSpec spec;
    spec.command = {"python", "a b"};
    spec.environment = {{"LR", "1"}};
    spec.cpus = {0, 3};
    spec.folder = "/home/x";
    spec.preload = {"python"};
    spec.devices = {1};
    const auto launch = to(to_agent::Launch{4, spec});
    EXPECT_EQ(launch.slot, 4);
    EXPECT_EQ(launch.spec.command, spec.command);
    EXPECT_EQ(launch.spec.environment, spec.environment);
    EXPECT_EQ(launch.spec.cpus, spec.cpus);
    EXPECT_EQ(launch.spec.folder, spec.folder);
    EXPECT_EQ(launch.spec.preload, spec.preload);
    EXPECT_EQ(launch.spec.devices, spec.devices);
    EXPECT_EQ(to(to_agent::Send{2, "{\"type\":\"stop\"}\n"}).lines, "{\"type\":\"stop\"}\n");
    EXPECT_EQ(to(to_agent::LogTo{2, "/a\nb"}).file, "/a\nb");
    EXPECT_EQ(to(to_agent::Terminate{2, 1.5}).grace, 1.5);
    EXPECT_EQ(to(to_agent::Kill{300}).slot, 300);
    const auto holds = to(to_agent::Holds{{{.device = "host", .reserved = 7, .cores = 1.5, .limit = 9}}, "waits"});
    EXPECT_EQ(holds.devices.at(0).reserved, 7);
    EXPECT_EQ(holds.devices.at(0).limit, 9);
    EXPECT_EQ(holds.waits, "waits");
}

TEST(Messages, ReachTheOrchestrator) {
    from_agent::Hello hello{"node1", 8, true, {}};
    hello.reading.host = {.cores = 7.5, .memory = std::int64_t{1} << 40, .reserve = 2, .others = 3, .free = {}};
    hello.reading.accelerators = {{.id = "GPU-1", .memory = 10, .others = 4, .unified = true, .free = 6}};
    hello.reading.hidden = {true};
    hello.reading.workers = {{3, 100, 200}};
    const auto told = from(hello);
    EXPECT_EQ(told.host, "node1");
    EXPECT_EQ(told.workers, 8);
    EXPECT_EQ(told.reading.host.cores, 7.5);
    EXPECT_EQ(told.reading.host.memory, std::int64_t{1} << 40);
    EXPECT_FALSE(told.reading.host.free);
    EXPECT_EQ(told.reading.accelerators.at(0).id, "GPU-1");
    EXPECT_EQ(told.reading.accelerators.at(0).free, 6);
    EXPECT_TRUE(told.reading.accelerators.at(0).unified);
    EXPECT_TRUE(told.reading.hidden.at(0));
    EXPECT_EQ(told.reading.workers.at(0).device_bytes, 200);
    EXPECT_EQ(from(from_agent::Refused{"no"}).reason, "no");
    EXPECT_FALSE(from(from_agent::Goodbye{"bye", false}).own_fault);
    EXPECT_TRUE(from(from_agent::Notice{true, "hot"}).warning);
}

TEST(Messages, CarryTheEventsOfWorkers) {
    const auto event = [](const execution::Event& one) {
        const auto happened = from(from_agent::Happened{5, one});
        EXPECT_EQ(happened.slot, 5);
        return happened.event;
    };
    from_worker::Hello hello;
    hello.pid = 4711;
    hello.capabilities = {"plan"};
    EXPECT_EQ(std::get<execution::Ready>(event(execution::Ready{hello})).hello.pid, 4711);
    from_worker::Reported report;
    report.id = {3, 2};
    report.report.step = 9;
    report.report.metrics = {{"loss", 0.1}};
    const auto received = std::get<execution::Received>(event(execution::Received{report}));
    EXPECT_EQ(std::get<from_worker::Reported>(received.message).report.metrics.at("loss"), 0.1);
    const auto exited =
        std::get<execution::Exited>(event(execution::Exited{1, 9, true, "last words", 1'000, "silent", true}));
    EXPECT_EQ(exited.code, 1);
    EXPECT_EQ(exited.signal, 9);
    EXPECT_TRUE(exited.out_of_memory_kill);
    EXPECT_EQ(exited.log_tail, "last words");
    EXPECT_EQ(exited.peak_bytes, 1'000);
    EXPECT_EQ(exited.cause, "silent");
    EXPECT_TRUE(exited.host_lost);
    EXPECT_EQ(std::get<execution::LaunchFailed>(event(execution::LaunchFailed{2, "cannot"})).message, "cannot");
    EXPECT_EQ(std::get<execution::MalformedLines>(event(execution::MalformedLines{3, "x"})).lines, 3);
    EXPECT_EQ(std::get<execution::Notice>(event(execution::Notice{"note"})).text, "note");
}

TEST(Messages, OthersAreRefused) {
    EXPECT_FALSE(decode_to_agent(0, ""));
    EXPECT_FALSE(decode_to_agent(99, ""));
    EXPECT_FALSE(decode_to_agent(3, "\x01"));
    EXPECT_FALSE(decode_to_agent(1, "{}"));
    EXPECT_FALSE(decode_from_agent(4, std::string("\0\0\0\0\x01{}", 7)));
    EXPECT_FALSE(decode_from_agent(3, "[1,2"));
}

}  // namespace
}  // namespace hpo::cluster
