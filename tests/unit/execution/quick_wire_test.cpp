// The fast codec for the messages of every step agrees with the general codec.
#include "orchestrator/execution/quick_wire.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "hpo/random.hpp"
#include "hpo/wire.hpp"

namespace hpo {
namespace {

/// Returns a report as the general codec encodes it, so that NaN equals NaN, or "" for other messages.
std::string by_codec(std::string_view line) {
    const auto decoded = wire::decode_worker(line);
    const auto* reported = decoded ? std::get_if<from_worker::Reported>(&*decoded) : nullptr;
    return reported ? wire::encode(WorkerMessage(*reported)) : "";
}
std::string quickly(std::string_view line) {
    const auto reported = wire::quick_report(line);
    return reported ? wire::encode(WorkerMessage(*reported)) : "";
}

const std::string full =
    R"({"attempt":2,"grad_norm":0.7726945082346598,"it_s":9672.5,"it_s_overall":1e4,"iteration":300,"loss_deviation":)"
    R"("nan","loss_trend":-2.5E-3,"lr":0,"metrics":{"loss":"inf","val_loss":-0.0,"val_accuracy":0.147},"micro_batch":8,)"
    R"("peak_bytes":19156992,"peak_device_bytes":1e9,"samples_s":1.25,"samples_s_overall":2,"seconds":0.5,"step":7,)"
    R"("trial":31,"type":"report","warning":"the loss rises"})";

TEST(QuickWire, AReportInTheWorkersFormIsReadLikeByTheCodec) {
    const std::string as_python_writes =
        R"({"type": "report", "trial": 1, "attempt": 1, "step": 1, "metrics": {"loss": 0.5, "a b": 1}})";
    for (const std::string& line :
         {full, full + "\r", as_python_writes,
          std::string(R"( {"metrics":{},"step":-3,)") + R"("attempt":0,"trial":0,"type":"report"})"}) {
        ASSERT_NE(by_codec(line), "") << line;
        EXPECT_EQ(quickly(line), by_codec(line)) << line;
    }
}

TEST(QuickWire, NumbersEqualTheCodecsToTheBit) {
    for (const char* number : {"-0",
                               "-0.0",
                               "0",
                               "1e308",
                               "1e309",
                               "-1e999",
                               "1e-400",
                               "5e-324",
                               "4.9e-324",
                               "01",
                               "1.",
                               ".5",
                               "+1",
                               "- 1",
                               "1e",
                               "1e+",
                               "0x10",
                               "inf",
                               "nan",
                               "\"nan\"",
                               "\"-inf\"",
                               "\"NaN\"",
                               "\"\"",
                               "null",
                               "true",
                               "9007199254740993",
                               "123456789012345678",
                               "1234567890123456789",
                               "18446744073709551616",
                               "0.1000000000000000055511151231257827",
                               "2.2250738585072011e-308",
                               "1E5",
                               "1e05",
                               "[1]",
                               "{}",
                               "\"1\"",
                               "1 2",
                               ""}) {
        const std::string line = R"({"type":"report","trial":1,"attempt":1,"step":1,"metrics":{"loss":)" +
                                 std::string(number) + R"(,"loss2":1}})";
        const std::string quick = quickly(line);
        if (!quick.empty()) {
            EXPECT_EQ(quick, by_codec(line)) << number;
            const double one = wire::quick_report(line)->report.metrics.at("loss");
            const auto other = wire::decode_worker(line);
            EXPECT_EQ(std::signbit(one),
                      std::signbit(std::get<from_worker::Reported>(*other).report.metrics.at("loss")))
                << number;
        }
    }
}

TEST(QuickWire, MutatedReportsAreReadLikeByTheCodecOrNotAtAll) {
    std::uint64_t draws = 0;
    const auto below = [&](std::size_t n) {
        return static_cast<std::size_t>(draw_unit(11, Purpose::synthetic, 1, draws++) * static_cast<double>(n));
    };
    const std::string bytes = "{}[]\",:.-+eE0123456789 \\\t\nantrifs\x7f\xc3";
    int read = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string line = full;
        for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
            const std::size_t at = below(line.size());
            const char byte = bytes[below(bytes.size())];
            switch (below(3)) {
                case 0:
                    line[at] = byte;
                    break;
                case 1:
                    line.insert(at, 1, byte);
                    break;
                default:
                    line.erase(at, 1 + below(4));
            }
        }
        const std::string quick = quickly(line);
        if (quick.empty()) continue;
        ++read;
        ASSERT_EQ(quick, by_codec(line)) << line;
    }
    EXPECT_GT(read, 1000);
}

TEST(QuickWire, OtherMessagesAreNotRead) {
    for (const char* line : {"", "{}", "report", R"({"type":"alive","trial":1,"attempt":1})", R"({"type":"report"})",
                             R"({"type":"log","trial":1,"attempt":1,"text":"\"report\""})"})
        EXPECT_FALSE(wire::quick_report(line)) << line;
}

TEST(QuickWire, ADecisionIsEncodedAsTheCodecEncodesIt) {
    for (const auto action : {to_worker::Action::go_on, to_worker::Action::stop, to_worker::Action::pause}) {
        const to_worker::Decision decision{{12345, 3}, 99, action};
        EXPECT_EQ(wire::quick_encode(decision), wire::encode(OrchestratorMessage(decision)));
    }
}

}  // namespace
}  // namespace hpo
