// The page of `hpo report`: packed columns, and the study inside the page.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "orchestrator/page/columns.hpp"
#include "orchestrator/page/page.hpp"

namespace hpo::page {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Packed, Base64IsThatOfTheStandard) {
    EXPECT_EQ(base64(""), "");
    EXPECT_EQ(base64("f"), "Zg==");
    EXPECT_EQ(base64("fo"), "Zm8=");
    EXPECT_EQ(base64("foo"), "Zm9v");
    EXPECT_EQ(base64("foob\xff"), "Zm9vYv8=");
}

TEST(Packed, NumbersHaveTheBytesThatThePageReads) {
    EXPECT_EQ(packed(std::vector<double>{1.5, absent}).dump(), R"({"type":"f64","data":"AAAAAAAA+D8AAAAAAAD4fw=="})");
    EXPECT_EQ(packed(std::vector<float>{}).dump(), R"({"type":"f32","data":""})");
    EXPECT_EQ(packed(std::vector<std::uint32_t>{0, 255})["type"], "u8");
    EXPECT_EQ(packed(std::vector<std::uint32_t>{0, 300}).dump(), R"({"type":"u16","data":"AAAsAQ=="})");
    EXPECT_EQ(packed(std::vector<std::uint32_t>{70000})["type"], "u32");
}

TEST(Packed, ManyEqualNumbersAreStoredOnce) {
    EXPECT_EQ(packed(std::vector<std::uint32_t>(9, 7)).dump(), R"({"type":"u8","data":"Bw==","times":9})");
    std::vector<double> numbers(9, absent);
    EXPECT_EQ(packed(numbers)["times"], 9);
    numbers.back() = 0;
    EXPECT_FALSE(packed(numbers).contains("times"));
}

TEST(Packed, TextsAreStoredOnce) {
    TextColumn column;
    for (const char* text : {"a", "b", "a"}) column.add(text);
    EXPECT_EQ(column.json().dump(), R"({"texts":["a","b"],"type":"u8","data":"AAEA"})");
}

TEST(Page, HasOnePlaceForTheStudy) {
    EXPECT_NE(text.find(place), std::string_view::npos);
    EXPECT_EQ(text.find(place), text.rfind(place));
}

TEST(Page, AllowsNoNetworkAndNoScriptButItsOwn) {
    EXPECT_THAT(std::string(text), HasSubstr("default-src 'none'; script-src 'sha256-"));
    for (const char* forbidden : {"unsafe-inline", "unsafe-eval", "http-equiv=\"refresh\"", "<script src", "@import"})
        EXPECT_THAT(std::string(text), Not(HasSubstr(forbidden)));
}

TEST(Page, ContainsTheLicenceOfItsCharts) { EXPECT_THAT(std::string(text), HasSubstr("Leon Sorokin")); }

TEST(Page, MarkupInNamesStaysText) {
    const Json study{{"study", "</script><script>alert(1)</script><!--"}};
    EXPECT_THAT(as_script(study), Not(HasSubstr("<")));
    EXPECT_EQ(Json::parse(as_script(study)), study);
    EXPECT_THAT(with_study(study), HasSubstr("\\u003c/script>"));
}

TEST(Page, BytesThatAreNotUtf8AreReplaced) {
    EXPECT_EQ(Json::parse(as_script(Json{{"log", "a\xff"}}))["log"], "a\uFFFD");
}

TEST(Curves, AShortCurveIsKeptWhole) { EXPECT_THAT(thinned(std::vector<double>{3, 2, 1}, 8), ElementsAre(0, 1, 2)); }

TEST(Curves, EndsPeaksAndGapsOfALongCurveAreKept) {
    std::vector<double> values(1000, 1.0);
    values[333] = 5;
    values[500] = -2;
    values[700] = absent;
    const auto kept = thinned(values, 32);
    EXPECT_LE(kept.size(), 32U);
    EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
    for (const std::size_t index : {0, 333, 500, 700, 999}) EXPECT_THAT(kept, ::testing::Contains(index));
}

TEST(Curves, BendsHaveMostPointsAndStraightPartsNone) {
    std::vector<double> values;
    for (int i = 1; i <= 100; ++i) values.push_back(i <= 10 ? 1.0 / i : 0.1);
    const auto kept = thinned(values, 12);
    EXPECT_LE(kept.size(), 12U);
    EXPECT_GE(std::count_if(kept.begin(), kept.end(), [](std::size_t index) { return index < 10; }), 8);
    EXPECT_THAT(thinned(std::vector<double>(100, 1.0), 12), ElementsAre(0, 99));
}

TEST(Curves, OneThatIsAllGapsIsBounded) { EXPECT_LE(thinned(std::vector<double>(100'000, absent), 32).size(), 32U); }

TEST(Curves, ThePointsOfAllTrialsAreBounded) {
    constexpr std::size_t trials = 10'000;
    CurveColumns curves("loss", trials);
    TrialRecord trial;
    for (std::int64_t step = 1; step <= 100; ++step) trial.curve.push_back({step, {{"loss", 1.0 / step}}});
    for (trial.number = 1; trial.number <= 1000; ++trial.number) curves.add(trial.number, curves.points_of(trial));
    EXPECT_LE(curves.json().dump().size(), 8'000'000 / 2 / (trials / 1000));
}

TEST(Curves, AValueThatIsNotFiniteIsAGap) {
    CurveColumns curves("loss", 1);
    TrialRecord trial;
    trial.number = 7;
    trial.curve = {{1, {{"loss", 1.0}}}, {2, {{"loss", INFINITY}}}, {3, {{"other", 1.0}}}};
    curves.add(trial.number, curves.points_of(trial));
    EXPECT_EQ(curves.json()["step"], packed(std::vector<std::uint32_t>{1, 2}));
    EXPECT_EQ(curves.json()["value"], packed(std::vector<float>{1, static_cast<float>(absent)}));
}

StoredEvent at(double time, Event event) { return {1, time, std::move(event)}; }

event::Launched launched(std::int64_t trial, std::int64_t attempt, const char* where) {
    event::Launched event{trial, attempt, where, {}};
    event.allocation.footprint.host_bytes = 64;
    return event;
}

TEST(Attempts, EachHasAPlaceATimeAndAnEnd) {
    AttemptColumns attempts;
    attempts.add(at(1, launched(1, 1, "cpu 0")));
    attempts.add(at(2, launched(2, 1, "gpu 0")));
    attempts.add(at(3, event::Paused{1, 1, "asha", ""}));
    attempts.add(at(4, launched(1, 2, "cpu 0")));
    attempts.add(at(5, event::Requeued{2, 1, Outcome::out_of_memory, true, ""}));
    attempts.add(at(6, event::Finished{1, 2, TrialState::complete, "", ""}));
    const Json json = attempts.json();
    EXPECT_EQ(json["trial"], packed(std::vector<std::uint32_t>{1, 2, 1}));
    EXPECT_EQ(json["begin"], packed(std::vector<double>{1, 2, 4}));
    EXPECT_EQ(json["until"], packed(std::vector<double>{3, 5, 6}));
    EXPECT_THAT(json["end"]["texts"], ElementsAre("paused", "out_of_memory", "complete"));
    EXPECT_EQ(json["reserved"], packed(std::vector<double>{64, 64, 64}));
}

TEST(Attempts, OneThatAKilledSessionLeftRunningEndsWithItsLastEvent) {
    AttemptColumns attempts;
    attempts.add(at(1, launched(1, 1, "cpu 0")));
    attempts.add(at(2, event::Measured{1, 1, {}}));
    attempts.add(at(100, event::SessionStarted{}));
    EXPECT_EQ(attempts.json()["until"], packed(std::vector<double>{2}));
    EXPECT_THAT(attempts.json()["end"]["texts"], ElementsAre("interrupted"));
}

TEST(Load, IsThinnedAndAveragedByTime) {
    std::vector<TelemetryRow> rows;
    for (int i = 0; i < 2000; ++i)
        rows.push_back({10.0 * i, 10, "gpu 0", "utilization", 5, 0, 50, 10, i == 7 ? 99.0 : 60.0});
    rows.push_back({1, 10, "gpu 0", "memory", 0, 3});
    rows.push_back({1, 10, "gpu 0", "of a later version", 1, 0, 1, 1, 1});
    const Json load = load_columns(rows);
    ASSERT_EQ(load.size(), 1U);
    EXPECT_EQ(load[0]["average"], packed(std::vector<double>(500, 50)));
    std::vector<double> most(500, 60);
    most[1] = 99;
    EXPECT_EQ(load[0]["most"], packed(most));
}

TEST(Trials, HaveTheirParametersAndWhetherTheyCount) {
    Study study;
    study.objective = {"loss", Direction::minimize, Objective::At::best};
    Dimension lr{"lr"}, tag{"tag"};
    tag.kind = Kind::categorical;
    tag.choices = {std::string("<b>"), std::string("plain")};
    study.space = {lr, tag};
    StudyRecord record;
    record.trials.resize(2);
    record.trials[0].number = 1;
    record.trials[0].params = {{"lr", 0.5}, {"tag", std::string("<b>")}};
    record.trials[0].state = TrialState::complete;
    record.trials[0].value = 2.0;
    record.trials[1].number = 2;
    record.trials[1].state = TrialState::failed;
    record.trials[1].value = 1.0;
    const Json json = trial_columns(study, record);
    EXPECT_EQ(json["count"], 2);
    EXPECT_EQ(json["value"], packed(std::vector<double>{2, 1}));
    EXPECT_EQ(json["counts"], packed(std::vector<std::uint32_t>{1, 0}));
    EXPECT_EQ(json["params"]["lr"], packed(std::vector<double>{0.5, absent}));
    EXPECT_EQ(json["params"]["tag"]["texts"], Json({"<b>", ""}));
    EXPECT_EQ(space_columns(study)[1]["choices"], Json({"<b>", "plain"}));
}

TEST(Trials, AStudyWithoutTrialsHasEmptyColumns) {
    EXPECT_EQ(trial_columns({}, {})["count"], 0);
    EXPECT_EQ(AttemptColumns().json()["trial"], packed(std::vector<std::uint32_t>{}));
    EXPECT_TRUE(load_columns({}).empty());
}

}  // namespace
}  // namespace hpo::page
