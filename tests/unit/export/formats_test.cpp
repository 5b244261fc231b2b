// The bytes of TensorBoard's files and Optuna's JSON, checked against values that other programs computed.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "hpo/protobuf.hpp"
#include "orchestrator/export/optuna.hpp"
#include "orchestrator/export/records.hpp"
#include "orchestrator/export/registry.hpp"
#include "orchestrator/store/sqlite.hpp"
#include "support.hpp"
#include "tests/support/time_zone.hpp"

namespace hpo::exporting {

using protobuf::Message;

namespace {

using namespace std::string_literals;

TEST(Crc32c, GivesTheChecksumsOfRfc3720) {
    EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
    EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
    std::string rising;
    for (char c = 0; c < 32; ++c) rising += c;
    EXPECT_EQ(crc32c(rising), 0x46dd794eU);
    EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
    EXPECT_EQ(crc32c(""), 0U);
}

TEST(Records, AreFramedByTheirLengthAndMaskedChecksums) {
    const std::string record = framed("abc");
    ASSERT_EQ(record.size(), 8 + 4 + 3 + 4);
    EXPECT_EQ(record.substr(0, 8), "\3\0\0\0\0\0\0\0"s);
    EXPECT_EQ(record.substr(12, 3), "abc");
    EXPECT_EQ(masked(0), 0xa282ead8U);
    EXPECT_EQ(masked(1), 0xa282ead8U + (1U << 17));
}

TEST(Message, EncodesTheExamplesOfTheDocumentation) {
    EXPECT_EQ(Message().number(1, 150).encoded(), "\x08\x96\x01"s);
    EXPECT_EQ(Message().bytes(2, "testing").encoded(), "\x12\x07testing"s);
    EXPECT_EQ(Message().message(3, Message().number(1, 150)).encoded(), "\x1a\x03\x08\x96\x01"s);
    EXPECT_EQ(Message().number(1, -2).encoded(), "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"s);
    EXPECT_EQ(Message().real(1, 1.0).encoded(), "\x09\0\0\0\0\0\0\xf0\x3f"s);
    EXPECT_EQ(Message().single(2, 1.0F).encoded(), "\x15\0\0\x80\x3f"s);
}

TEST(Optuna, WritesDistributionsLikeOptuna) {
    Dimension real{"lr"};
    real.low = 1e-4, real.high = 1, real.log = true;
    EXPECT_EQ(nlohmann::json::parse(distribution_json(real)), nlohmann::json::parse(R"({"name": "FloatDistribution",
        "attributes": {"step": null, "low": 0.0001, "high": 1.0, "log": true}})"));
    Dimension stepped{"z"};
    stepped.step = 0.25;
    EXPECT_EQ(nlohmann::json::parse(distribution_json(stepped)), nlohmann::json::parse(R"({"name": "FloatDistribution",
        "attributes": {"step": 0.25, "low": 0.0, "high": 1.0, "log": false}})"));
    Dimension whole{"n"};
    whole.kind = Kind::integer, whole.low = 1, whole.high = 8;
    EXPECT_EQ(distribution_json(whole),
              R"({"name":"IntDistribution","attributes":{"log":false,"step":1,"low":1,"high":8}})");
    Dimension choice{"c"};
    choice.kind = Kind::categorical;
    choice.choices = {std::string("a"), std::int64_t{1}, true, 2.5, std::vector<std::int64_t>{64, 32}};
    EXPECT_EQ(distribution_json(choice),
              R"({"name":"CategoricalDistribution","attributes":{"choices":["a",1,true,2.5,"[64, 32]"]}})");
}

TEST(Optuna, StoresACategoryAsItsIndex) {
    Dimension choice{"c"};
    choice.kind = Kind::categorical;
    choice.choices = {std::string("a"), std::int64_t{1}, 2.5};
    EXPECT_EQ(internal_value(choice, std::string("a")), 0);
    EXPECT_EQ(internal_value(choice, 1.0), 1);
    EXPECT_EQ(internal_value(choice, 2.5), 2);
    EXPECT_EQ(internal_value(Dimension{"x"}, 0.5), 0.5);
    EXPECT_EQ(internal_value(Dimension{"n"}, std::int64_t{7}), 7);
}

/// Returns what Optuna would show as the start and the duration of a trial from 30 minutes before `change` to 20 after.
std::string exported_times(const char* zone, double change) {
    const testing::TimeZone in(zone);
    const testing::TemporaryFolder folder;
    StudyRecord record;
    record.trials = {small_trial(1, TrialState::complete, {0.5})};
    record.trials[0].started_at = change - 1800.25;
    record.trials[0].ended_at = record.last_time = change + 1200;
    const auto written = optuna_format.write(small_study(), record, as_it_is, folder / "o.db", "o.db");
    EXPECT_TRUE(written) << written.error().message;
    auto database = sqlite::Database::open(folder / "o.db", sqlite::Mode::read_only, 0);
    const auto text = database->value(
        "SELECT datetime_start || ', ' || CAST(ROUND(86400 * (julianday(datetime_complete) - "
        "julianday(datetime_start))) AS INTEGER) || ' s' FROM trials");
    return text ? *text : text.error().message;
}

TEST(Optuna, NoTrialEndsBeforeItStartedWhenTheClocksAreChanged) {
    constexpr double spring = 1774746000, autumn = 1792890000;        // 2026-03-29 and 2026-10-25, 01:00 UTC
    constexpr double us_spring = 1772953200, us_autumn = 1793512800;  // 2026-03-08 07:00 and 2026-11-01 06:00 UTC
    EXPECT_EQ(exported_times("Europe/Berlin", spring), "2026-03-29 02:29:59.750000, 3000 s");
    EXPECT_EQ(exported_times("Europe/Berlin", autumn), "2026-10-25 01:29:59.750000, 3000 s");
    EXPECT_EQ(exported_times("America/New_York", us_spring), "2026-03-08 02:29:59.750000, 3000 s");
    EXPECT_EQ(exported_times("America/New_York", us_autumn), "2026-11-01 00:29:59.750000, 3000 s");
    EXPECT_EQ(exported_times("Asia/Kathmandu", spring), "2026-03-29 06:14:59.750000, 3000 s");
    EXPECT_EQ(exported_times("UTC", spring), "2026-03-29 00:29:59.750000, 3000 s");
}

}  // namespace
}  // namespace hpo::exporting
