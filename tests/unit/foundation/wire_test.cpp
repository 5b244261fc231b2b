#include <gmock/gmock.h>
#include <pthread.h>

#include <cmath>

#include "hpo/lines.hpp"
#include "hpo/random.hpp"
#include "hpo/wire.hpp"
#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;

TEST(Wire, AReportSurvivesTheRoundTripWithItsNonFiniteNumbers) {
    from_worker::Reported sent{{3, 2}, {}};
    sent.report.step = 7;
    sent.report.metrics = {{"loss", std::nan("")}, {"val_accuracy", 0.895}};
    sent.report.iterations_per_second = 170.25;
    sent.report.peak_bytes = 123456789;
    sent.report.warning = "loss rises";
    const std::string line = wire::encode(WorkerMessage{sent});
    ASSERT_EQ(line.back(), '\n');
    const auto got = wire::decode_worker(std::string_view(line).substr(0, line.size() - 1));
    ASSERT_TRUE(got) << got.error().message;
    const auto& back = std::get<from_worker::Reported>(*got);
    EXPECT_EQ(back.id, sent.id);
    EXPECT_TRUE(std::isnan(back.report.metrics.at("loss")));
    EXPECT_EQ(back.report.metrics.at("val_accuracy"), 0.895);
    EXPECT_EQ(back.report.iterations_per_second, 170.25);
    EXPECT_EQ(back.report.samples_per_second, std::nullopt);
    EXPECT_EQ(back.report.peak_bytes, 123456789);
    EXPECT_EQ(back.report.warning, "loss rises");
}

TEST(Wire, AQuestionAboutTheDataAndItsAnswerSurviveTheRoundTrip) {
    for (const bool asked : {true, false}) {
        const auto question =
            wire::decode_orchestrator(wire::encode(OrchestratorMessage{to_worker::Plan{3, {}, 1, 5, asked}}));
        ASSERT_TRUE(question) << question.error().message;
        EXPECT_EQ(std::get<to_worker::Plan>(*question).explain_data, asked);
        from_worker::PlanAnswer sent;
        if (asked) sent.data = {"3 rows", "target: \"y\""};
        const auto answer = wire::decode_worker(wire::encode(WorkerMessage{sent}));
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(std::get<from_worker::PlanAnswer>(*answer).data, sent.data);
    }
}

TEST(Wire, AHelloSurvivesTheRoundTrip) {
    from_worker::Hello sent{.token = "0f3a", .pid = 7, .slots = 4, .backend = "cuda"};
    for (const bool has_notes : {false, true}) {
        if (has_notes) sent.capabilities = {"plan"}, sent.notes = {"cuBLAS of /usr/lib", "a second line"};
        const auto got = wire::decode_worker(wire::encode(WorkerMessage{sent}));
        ASSERT_TRUE(got) << got.error().message;
        const auto& back = std::get<from_worker::Hello>(*got);
        EXPECT_EQ(back.slots, 4);
        EXPECT_EQ(back.capabilities, sent.capabilities);
        EXPECT_EQ(back.notes, sent.notes);
    }
}

TEST(Wire, AnEndSurvivesTheRoundTrip) {
    for (const std::int64_t peak : {0, 4096}) {
        const from_worker::Finished sent{.id = {7, 2},
                                         .outcome = Outcome::out_of_memory,
                                         .message = "MemoryError",
                                         .values = {{"loss", 0.5}},
                                         .checkpoint = "a",
                                         .last = true,
                                         .peak_bytes = peak};
        const auto got = wire::decode_worker(wire::encode(WorkerMessage{sent}));
        ASSERT_TRUE(got) << got.error().message;
        const auto& back = std::get<from_worker::Finished>(*got);
        EXPECT_EQ(back.message, "MemoryError");
        EXPECT_TRUE(back.last);
        EXPECT_EQ(back.peak_bytes, peak);
    }
}

TEST(Wire, ARunSurvivesTheRoundTrip) {
    to_worker::Run sent{{1, 1},
                        {{"lr", 0.5},
                         {"batch_size", std::int64_t{256}},
                         {"hidden", std::vector<std::int64_t>{4, 2}},
                         {"nesterov", true},
                         {"optimizer", std::string("sgd")}},
                        20,
                        77,
                        1,
                        {"val_loss", Direction::minimize, Objective::At::last},
                        "runs/x",
                        true,
                        false,
                        ""};
    const std::string line = wire::encode(OrchestratorMessage{sent});
    const auto got = wire::decode_orchestrator(line);
    ASSERT_TRUE(got) << got.error().message;
    const auto& back = std::get<to_worker::Run>(*got);
    EXPECT_EQ(back.params, sent.params);
    EXPECT_EQ(back.objective.direction, Direction::minimize);
    EXPECT_EQ(back.objective.at, Objective::At::last);
    EXPECT_TRUE(back.resume);
}

TEST(Wire, CoresSurviveTheRoundTrip) {
    const auto got = wire::decode_orchestrator(wire::encode(OrchestratorMessage{to_worker::Cores{{3, 0}}}));
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(std::get<to_worker::Cores>(*got).cores, (std::vector<std::int64_t>{3, 0}));
    EXPECT_FALSE(wire::decode_orchestrator(R"({"type":"cores"})"));
    EXPECT_FALSE(wire::decode_orchestrator(R"({"type":"cores","cores":1})"));
    EXPECT_FALSE(wire::decode_orchestrator(R"({"type":"cores","cores":["0"]})"));
}

TEST(Wire, WrongMessagesAreErrorsThatSayWhy) {
    EXPECT_FALSE(wire::decode_worker("{\"type\":\"report\""));
    EXPECT_FALSE(wire::decode_worker("[1,2]"));
    EXPECT_FALSE(wire::decode_worker("\xff\xfe"));
    EXPECT_FALSE(
        wire::decode_worker(R"({"type":"report","trial":1,"attempt":1,"step":9007199254740994,"metrics":{}})"));
    EXPECT_FALSE(wire::decode_worker(R"({"type":"report","trial":1,"attempt":1,"step":1.5,"metrics":{}})"));
    EXPECT_TRUE(wire::decode_worker(R"({"type":"finished","trial":1,"attempt":1,"outcome":"lost"})"));
    EXPECT_FALSE(wire::decode_worker(R"({"type":"finished","trial":1,"attempt":1,"outcome":"interrupted"})"));
    const auto got = wire::decode_worker(R"({"type":"report","trial":1,"step":1,"metrics":{}})");
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().message, "no \"attempt\"");
}

TEST(Wire, ALineThatNestsDeeplyIsRefusedOnASmallStack) {
    const std::string deep = R"({"type":"report","trial":1,"attempt":1,"step":1,"metrics":{"loss":)" +
                             std::string(32000, '[') + std::string(32000, ']') + "}}";
    std::string said;
    const auto decode = [&] {
        const auto got = wire::decode_worker(deep);
        said = got ? "accepted" : got.error().message;
    };
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, std::size_t{1} << 19);
    pthread_t thread;
    const auto enter = [](void* call) -> void* { return (*static_cast<decltype(decode)*>(call))(), nullptr; };
    ASSERT_EQ(pthread_create(&thread, &attributes, enter, const_cast<void*>(static_cast<const void*>(&decode))), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    EXPECT_THAT(said, MentionsInOrder("not a number", "list", "object"));
}

TEST(Lines, AnOverlongLineIsDroppedAndTheStreamGoesOn) {
    LineSplitter lines(8);
    std::vector<std::string> got;
    const auto take = [&](std::string_view line) { got.emplace_back(line); };
    lines.feed("ab\ncd", take);
    lines.feed("ef\n0123456789", take);
    lines.feed("0123456789\nlast\n1234567\n12345678\nhalf", take);
    EXPECT_THAT(got, ElementsAre("ab", "cdef", "last", "1234567"));
    EXPECT_EQ(lines.dropped(), 2);
    EXPECT_EQ(lines.rest(), "half");
}

TEST(Random, PhiloxGivesThePapersKnownAnswers) {
    // Known-answer vectors of Random123's kat_vectors for philox4x32-10.
    EXPECT_EQ(philox({0, 0, 0, 0}, 0, 0), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
              (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

}  // namespace
}  // namespace hpo
