// hpo top: keys and pictures.
#include <gmock/gmock.h>

#include "orchestrator/view/detail.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/sample_study.hpp"
#include "tests/unit/view/drawn_top.hpp"

namespace hpo::view {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;

Study top_study() {
    Study study;
    study.name = "sample";
    study.worker = NativeWorker{};
    study.fixed = {{"data", std::string("fashion_mnist")}};
    study.budget.trials = 16;
    study.budget.epochs = 10;
    study.space = {
        {.name = "batch_size", .kind = Kind::integer, .low = 256, .high = 4096, .log = true},
        {.name = "lr", .low = 3e-4, .high = 3e-2, .log = true},
        {.name = "activation", .kind = Kind::categorical, .choices = {std::string("relu"), std::string("gelu")}}};
    return study;
}

StudyRecord top_record(std::int64_t trials, const Study& study) {
    StudyRecord record;
    std::int64_t sequence = 0;
    testing::make_sample_events(trials, [&](const Event& event) {
        ++sequence;
        apply(record, {sequence, 1000.0 + static_cast<double>(sequence), event}, study.objective);
    });
    return record;
}

class Top : public ::testing::Test {
   protected:
    Study study_ = top_study();
    StudyRecord record_ = top_record(16, study_);
    PlayedTop top_{study_, record_};

    std::string bottom() { return top_.lines().back(); }
    std::string titles() { return top_.lines()[3]; }
    std::string first() { return top_.lines()[4]; }
};

TEST_F(Top, ATrialsPageKeepsLongNamesApartFromTheirValues) {
    TrialRecord& trial = record_.trial(1);
    trial.params = {{"min_child_weight", 5.5}, {"a_name_of_thirty_one_characters", 2.5}, {"lr", 0.5}};
    const std::string page = draw_trial(study_, trial, {}, {.width = 80, .height = 0});
    EXPECT_THAT(page, HasSubstr("a_name_of_thirty_one_characters  2.5"));
    EXPECT_THAT(page, HasSubstr("lr                               0.5"));
    EXPECT_THAT(page, HasSubstr("min_child_weight                 5.5"));
}

TEST_F(Top, ListsTheBestFirstAndTrialsWithoutAValueLast) {
    record_.trial(15).value.reset();  // running, no step yet
    EXPECT_THAT(top_.rows(), ElementsAre(12, 11, 10, 8, 4, 3, 2, 9, 7, 14, 1, 13, 15, 5, 6, 16));
    study_.objective.direction = Direction::minimize;
    EXPECT_EQ(top_.rows().front(), 13);
    top_.press("r");
    EXPECT_THAT(top_.rows(), ElementsAre(12, 11, 10, 8, 4, 3, 2, 9, 7, 14, 1, 13, 15, 5, 6, 16));
}

TEST_F(Top, SaysHowTheLastSessionEndedAndWhy) {
    top_.moment.held = record_.held = false;
    record_.end = SessionEnd::interrupted;
    record_.end_reason = "stopped by hpo stop\nand a log";
    EXPECT_THAT(top_.lines()[0], AllOf(HasSubstr("sample  interrupted  "), Mentions("2m 05s", "hpo stop")));
    EXPECT_EQ(top_.lines()[0].find("log"), std::string::npos);

    record_.end = SessionEnd::finished;  // a text without room beside the counts has a line of its own
    record_.end_reason = "20 trials without a better best (budget.patience)";
    EXPECT_THAT(top_.lines()[0], HasSubstr("sample  finished  "));
    EXPECT_EQ(top_.lines()[1], record_.end_reason);
    top_.screen = {40, 10, false, true};
    EXPECT_EQ(top_.lines().size(), 10);
    EXPECT_EQ(top_.lines()[1], "20 trials without a better best (budget…");

    const std::pair<SessionEnd, std::string> others[] = {
        {SessionEnd::out_of_time, "out of time"}, {SessionEnd::failed, "failed"}, {SessionEnd::none, "not running"}};
    for (const auto& [end, shown] : others) {
        record_.end = end;
        EXPECT_THAT(top_.lines()[0], HasSubstr("sample  " + shown + "  "));
    }
    StudyRecord failed = record_;
    failed.end = SessionEnd::finished;
    for (TrialRecord& trial : failed.trials) trial.state = TrialState::diverged;
    PlayedTop top{study_, failed};
    top.moment.held = false;
    EXPECT_THAT(top.lines()[0], HasSubstr("sample  failed  ")) << "as hpo ls says";
    record_.held = true;  // its end was not stored
    record_.end_reason = "of the session before";
    EXPECT_THAT(top_.lines()[0], HasSubstr("sample  killed  "));
    EXPECT_EQ(top_.picture().find("of the session before"), std::string::npos);
    top_.moment.held = true;
    EXPECT_THAT(top_.lines()[0], HasSubstr("sample  running  "));
}

TEST_F(Top, ANumberOfManyDigitsHasRoomForItsMarks) {
    top_.state.chosen = record_.trials.back().number;
    record_.trials.resize(123'456);
    for (std::size_t i = 16; i < record_.trials.size(); ++i)
        record_.trials[i].number = static_cast<std::int64_t>(i) + 1;
    record_.trials.back().state = TrialState::complete;
    record_.trials.back().value = 0.999;
    top_.state.chosen = 123'456;
    EXPECT_THAT(first(), HasSubstr(">*123456 complete"));
}

TEST_F(Top, ShowsThePredictedEndOfARunningTrialBeforeItsDevice) {
    top_.screen.width = 140;
    record_.trial(15).where = "cpu 3";
    const auto row = [&](std::int64_t trial) {
        const auto rows = top_.rows();
        const auto at = std::find(rows.begin(), rows.end(), trial) - rows.begin();
        return top_.lines()[static_cast<std::size_t>(4 + at)];
    };
    EXPECT_THAT(row(15), AllOf(HasSubstr("cpu 3"), Not(HasSubstr("->"))));
    top_.moment.ends = {{15, 0.81349}, {12, 0.5}};
    EXPECT_THAT(row(15), HasSubstr("-> 0.813  cpu 3"));
    EXPECT_THAT(row(12), Not(HasSubstr("->"))) << "it has ended";
    EXPECT_EQ(predicted_end(top_.moment, record_.trial(12)), std::nullopt);
}

TEST_F(Top, ATrialsPageHasThePredictedEnd) {
    top_.press({KeyCode::enter});
    EXPECT_THAT(top_.picture(), Not(HasSubstr("predicted")));
    top_.files.predicted_end = 0.81349;
    EXPECT_THAT(top_.picture(), Mentions("predicted", "   0.8135", "rule"));
}

TEST_F(Top, ATrialsPageWithOneValueSaysItInThePlaceOfAnEmptyChart) {
    record_.trials.resize(1);
    record_.trial(1).curve.resize(1);
    top_.press({KeyCode::enter});
    EXPECT_THAT(top_.picture(), Mentions(", the", "only", "value"));
}

TEST_F(Top, OffersToStopOnlyTrialsThatHaveNotEnded) {
    top_.state.page = TopPage::trial;
    top_.state.chosen = 15;
    EXPECT_THAT(bottom(), HasSubstr("x stop"));
    top_.state.chosen = 12;
    EXPECT_THAT(bottom(), Not(HasSubstr("x stop")));
}

TEST_F(Top, ShowsTheCurveOfTheObjectiveWhateverItIsCalled) {
    study_.objective = {"val_error", Direction::minimize, Objective::At::best};
    StudyRecord record;
    record.trials.resize(1);
    TrialRecord& trial = record.trials[0];
    trial.number = 1;
    trial.state = TrialState::complete;
    for (int step = 1; step <= 4; ++step) trial.curve.push_back({.step = step, .metrics = {{"val_error", 5.0 - step}}});
    score(trial, study_.objective);
    PlayedTop top{study_, record};
    EXPECT_THAT(top.picture(), AllOf(HasSubstr("val_error▲ CURVE"), HasSubstr("1.000 █▆▃▁")));
    // Of an ended trial the record has the best and the last step. The others are read.
    thin(trial);
    top.curves[1] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}};
    EXPECT_THAT(top.picture(), HasSubstr("1.000 ▁▃▆█"));
}

TEST_F(Top, HasAColumnForEachParameterThatFits) {
    EXPECT_THAT(titles(), HasSubstr(" batch_size       lr activation"));
    EXPECT_THAT(first(), HasSubstr("       1024    0.006 gelu"));
    top_.screen.width = 60;
    EXPECT_THAT(titles(), AllOf(HasSubstr("batch_size"), Not(HasSubstr("activation"))));
    top_.screen.width = 120;
    EXPECT_THAT(titles(), HasSubstr("activation  DEVICE/REASON"));
}

TEST_F(Top, WritesLongChoicesOutWhereTheScreenHasRoom) {
    const std::string choice = "a_model_with_a_long_name";
    study_.space[2].choices[0] = choice;
    record_.trial(12).params["activation"] = choice;
    EXPECT_THAT(first(), HasSubstr("a_model_wit…"));
    top_.screen.width = 180;
    EXPECT_THAT(first(), HasSubstr(choice));
}

TEST_F(Top, ChoosesTheParametersThatHaveAColumn) {
    top_.press("o");
    EXPECT_THAT(top_.picture(), AllOf(HasSubstr("> [x] batch_size\n  [x] lr\n"), Mentions("space", "hides")));
    top_.press(" j");
    EXPECT_THAT(top_.picture(), HasSubstr("  [ ] batch_size\n> [x] lr\n"));
    top_.press("o");
    EXPECT_THAT(titles(), AllOf(Not(HasSubstr("batch_size")), HasSubstr("lr activation")));
    top_.press("oaq");
    EXPECT_THAT(titles(), HasSubstr("batch_size"));
}

TEST_F(Top, ShowsSpeedTimeMemoryAndDeviceByTab) {
    top_.press("\t");
    EXPECT_THAT(titles(), HasSubstr("CURVE      IT/S    TIME   MEMORY DEVICE/REASON"));
    EXPECT_THAT(top_.picture(), HasSubstr("121.5  15.0 s 93.0 MiB"));
    top_.press("\t");
    EXPECT_THAT(titles(), HasSubstr("batch_size"));
}

TEST_F(Top, MarksTheColumnThatItSortsBy) {
    EXPECT_THAT(titles(), HasSubstr("val_accu…▼"));
    top_.press("s");
    EXPECT_THAT(titles(), AllOf(HasSubstr("batch_size▲"), Not(HasSubstr("▼"))));
    EXPECT_THAT(top_.rows(), ElementsAre(5, 10, 15, 1, 6, 11, 16, 2, 7, 12, 3, 8, 13, 4, 9, 14));
    top_.press("ss");
    EXPECT_THAT(titles(), HasSubstr("activation▲"));
    EXPECT_EQ(top_.rows().front(), 2) << "the first of gelu";
    top_.press("r");
    EXPECT_THAT(titles(), HasSubstr("activation▼"));
    EXPECT_EQ(top_.rows().front(), 1) << "the first of relu";
    top_.press("sr");
    EXPECT_THAT(titles(), HasSubstr("TRIAL▼"));
    EXPECT_EQ(top_.rows().front(), 16);
    top_.press("S");
    EXPECT_THAT(titles(), HasSubstr("activation▲"));
    top_.press("b");
    EXPECT_EQ(top_.rows().front(), 12);
    top_.screen.utf8 = false;
    EXPECT_THAT(titles(), HasSubstr("val_ac...v"));
}

TEST_F(Top, OrdersByStateAndByWhatOnlySomeTrialsHave) {
    top_.state.order = {{TrialField::Kind::state}};
    EXPECT_THAT(top_.rows(), ElementsAre(14, 15, 13, 12, 11, 10, 8, 4, 3, 2, 9, 7, 1, 5, 6, 16));
    top_.moment.held = false;  // a paused trial is one that has ended
    EXPECT_THAT(top_.rows(), ElementsAre(14, 15, 12, 11, 10, 8, 4, 3, 2, 9, 7, 1, 13, 5, 6, 16));
    for (const std::int64_t without : {3, 8}) record_.trial(without).params.erase("lr");
    top_.state.order = {{TrialField::Kind::parameter, "lr"}};
    EXPECT_THAT(top_.rows(), ElementsAre(7, 14, 1, 15, 2, 9, 16, 10, 4, 11, 5, 12, 6, 13, 3, 8));
    top_.press("r");
    EXPECT_THAT(top_.rows(), ElementsAre(6, 13, 5, 12, 4, 11, 10, 2, 9, 16, 1, 15, 7, 14, 3, 8));
}

TEST_F(Top, FiltersWhileTheUserTypes) {
    top_.press("/");
    EXPECT_THAT(bottom(), Mentions("/ ▏", "batch_size<0.2 state=complete"));
    top_.press("activation=relu lr<");
    EXPECT_EQ(top_.rows().size(), 16u) << "not readable yet";
    EXPECT_EQ(bottom(), "/ activation=relu lr<▏  lr<: expected a number, such as <0.2                1/16");
    top_.press("0.003");
    EXPECT_THAT(top_.rows(), ElementsAre(15, 7, 1));
    top_.press("\r");
    EXPECT_THAT(bottom(), AllOf(HasSubstr("/ activation=relu lr<0.003"), HasSubstr("1/3 of 16")));
    top_.press("/\x7f\x7f\x7f\x7f\x7f");
    EXPECT_THAT(bottom(), HasSubstr("/ activation=relu lr<▏"));
    top_.press("\x1b");
    EXPECT_EQ(top_.rows().size(), 3u) << "esc keeps the filter as it was";
    top_.press("\x1b");
    EXPECT_EQ(top_.rows().size(), 16u);
    top_.press("/nothing\r");
    EXPECT_THAT(top_.picture(), Mentions("No trial", "filter"));
    EXPECT_EQ(top_.press("\r"), TopRequest::none);
    EXPECT_EQ(top_.state.page, TopPage::table);
}

TEST_F(Top, AnUnknownNameInTheFilterIsSaidWithTheNearest) {
    top_.screen.width = 120;
    top_.press("/batchsize=256\r");
    EXPECT_THAT(bottom(), Mentions("batchsize", "batch_size"));
    EXPECT_TRUE(top_.state.typing);
}

TEST_F(Top, ShowsThePositionAndKeepsTheChosenTrial) {
    EXPECT_THAT(bottom(), HasSubstr(" 1/16"));
    top_.press("jj");
    EXPECT_EQ(top_.state.chosen, 10);
    EXPECT_THAT(bottom(), HasSubstr(" 3/16"));
    top_.press("ss");
    EXPECT_EQ(top_.state.chosen, 10);
    EXPECT_THAT(top_.picture(), HasSubstr("\n>   10 complete"));
    top_.press("G");
    EXPECT_THAT(bottom(), HasSubstr(" 16/16"));
}

TEST_F(Top, AsksBeforeItStopsATrial) {
    top_.state.chosen = 15;
    top_.press("x");
    EXPECT_THAT(bottom(), Mentions("Stop trial 15?", "y: yes", "any", "key: no"));
    EXPECT_EQ(top_.press("n"), TopRequest::none);
    EXPECT_EQ(top_.press("y"), TopRequest::none);
    EXPECT_EQ(top_.press("xy"), TopRequest::stop_chosen);
    top_.state.chosen = 1;
    top_.press("x");
    EXPECT_THAT(bottom(), Mentions("trial 1", "already", "ended"));
    EXPECT_EQ(top_.press("\r"), TopRequest::none);
    EXPECT_EQ(top_.press("q"), TopRequest::none);
    EXPECT_EQ(top_.press("q"), TopRequest::quit);
    EXPECT_EQ(top_.press({KeyCode::closed}), TopRequest::quit);
}

TEST_F(Top, ADetailsPageFillsTheScreenAboveTheHelp) {
    top_.screen.height = 40;
    top_.press("\r");
    ASSERT_EQ(top_.lines().size(), 40u);
    EXPECT_EQ(bottom(), "↑↓ scroll  esc back  n p next, previous  l log  c compare");
    top_.screen.width = 40;
    EXPECT_THAT(bottom(), HasSubstr("esc back"));
}

TEST_F(Top, ADetailsPageScrollsToItsEndOnASmallTerminal) {
    top_.screen = {40, 10, false, true};
    const auto press = [&](Key key) {
        top_.press(key);
        EXPECT_EQ(top_.lines().size(), 10u);
        return top_.lines();
    };
    const auto first_lines = press({KeyCode::enter});
    ASSERT_EQ(top_.state.chosen, 12);
    const Rival rival;
    const auto count = trial_lines(study_, record_.trial(12), {}, top_.screen, &rival);
    top_.screen.height = static_cast<int>(count) + 1;
    const auto all = top_.lines();
    top_.screen.height = 10;
    EXPECT_EQ(press({KeyCode::down})[0], all[1]);
    EXPECT_EQ(press({KeyCode::page_down})[0], all[6]);
    const auto last = static_cast<std::size_t>(count) - 1;
    EXPECT_THAT(all[last], HasSubstr("     1    120.6"));
    EXPECT_EQ(press({KeyCode::end})[8], all[last]);
    EXPECT_EQ(press({KeyCode::down})[8], all[last]);
    EXPECT_EQ(press({KeyCode::up})[8], all[last - 1]);
    EXPECT_EQ(press({KeyCode::home}), first_lines);
    EXPECT_EQ(top_.state.chosen, 12);
}

TEST_F(Top, ATrialsPageHasItsCurveWithTheBestsItsLogAndItsAttempts) {
    top_.files = {"runs/sample/logs/trial-0011.log", "", {"epoch 9", "epoch \x1b[2J10"}};
    record_.trial(11).attempt = 3;
    record_.trial(11).failures = 1;
    record_.trial(11).memory_deaths = 1;
    top_.screen.height = 60;
    top_.press("j\r");
    EXPECT_THAT(top_.picture(), AllOf(HasSubstr("val_accuracy   · trial 12\n    0.8975 │"), HasSubstr("└───"),
                                      AllOf(HasSubstr("\n  epoch 9\n  epoch \\x1b[2J10\n")),
                                      Mentions("attempts        3", "1 failed", "1 ran", "memory")));
    top_.press("n");
    EXPECT_EQ(top_.state.chosen, 10);
    top_.press("pp");
    EXPECT_EQ(top_.state.chosen, 12);
    EXPECT_THAT(top_.picture(), AllOf(HasSubstr("val_accuracy\n"), Not(HasSubstr("·")))) << "the best alone";
}

TEST_F(Top, ALogIsFollowedUntilTheUserScrollsUp) {
    top_.screen.height = 6;
    for (int i = 1; i <= 20; ++i) top_.files.log_lines.push_back("line " + std::to_string(i));
    top_.press("l");
    EXPECT_EQ(top_.lines()[4], "line 20");
    top_.files.log_lines.push_back("line 21");
    EXPECT_EQ(top_.lines()[4], "line 21");
    top_.press("kk");
    EXPECT_EQ(top_.lines()[4], "line 19");
    top_.press("g");
    EXPECT_EQ(top_.lines()[1], "line 1");
    top_.press("G");
    EXPECT_EQ(top_.lines()[4], "line 21");
}

TEST_F(Top, ComparesATrialWithTheMarkedOneOrTheBest) {
    top_.press("c");
    EXPECT_THAT(top_.picture(), Mentions("best", "another"));
    top_.press("qqj");
    top_.press("c");
    EXPECT_THAT(top_.picture(), AllOf(HasSubstr("trial 11                  trial 12"),
                                      HasSubstr("val_accuracy      0.8944                    0.8975\n"),
                                      HasSubstr("\nactivation      * relu                      gelu\n"),
                                      HasSubstr("val_accuracy   trial 11   · trial 12")));
    top_.press("qqjj ");
    EXPECT_THAT(top_.picture(), HasSubstr(">   +8 complete"));
    top_.press("jc");
    EXPECT_THAT(top_.picture(), AllOf(HasSubstr("trial 4                   trial 8"),
                                      HasSubstr("\nactivation        gelu                      gelu\n")));
}

TEST_F(Top, GoesBackFromAComparisonOrALogToWhereItWasOpened) {
    for (const char* opens : {"c", "l"})
        for (const char* back : {"q", "\x1b"}) {
            top_.press("j");
            top_.press(opens);
            EXPECT_NE(top_.state.page, TopPage::table);
            top_.press(back);
            EXPECT_EQ(top_.state.page, TopPage::table) << opens;
            top_.press("\r");
            top_.press(opens);
            top_.press(back);
            EXPECT_EQ(top_.state.page, TopPage::trial) << opens;
            top_.press(back);
            EXPECT_EQ(top_.state.page, TopPage::table) << opens;
        }
}

TEST_F(Top, AsksBeforeItStopsTheStudy) {
    top_.press("X");
    EXPECT_THAT(bottom(), Mentions("Stop", "study?", "hpo run"));
    EXPECT_EQ(top_.press("n"), TopRequest::none);
    EXPECT_EQ(top_.press("Xy"), TopRequest::stop_study);
    top_.moment.held = false;
    EXPECT_EQ(top_.press("Xy"), TopRequest::none);
}

TEST_F(Top, SwitchesToAnotherStudy) {
    top_.studies = {"other", "sample", "third"};
    top_.press("w");
    EXPECT_THAT(top_.picture(), HasSubstr("> other\n  sample  (shown)\n  third\n"));
    EXPECT_EQ(top_.press("jj\r"), TopRequest::open_study);
    EXPECT_EQ(top_.state.picked, 2);
    top_.press("w");
    EXPECT_EQ(top_.press("q"), TopRequest::none);
    EXPECT_EQ(top_.state.page, TopPage::table);
}

TEST_F(Top, TakesClicksOnRowsAndTitlesAndTheWheel) {
    const auto click = [&](int column, int row) {
        top_.press("\x1b[<0;" + std::to_string(column) + ";" + std::to_string(row) + "M\x1b[<0;1;1m");
    };
    click(10, 7);  // the third row below titles in row 4
    EXPECT_EQ(top_.state.chosen, 10);
    EXPECT_EQ(top_.state.page, TopPage::table);
    top_.press("\x1b[<65;1;1M");
    EXPECT_EQ(top_.state.chosen, 3);
    top_.press("\x1b[<64;1;1M");
    EXPECT_EQ(top_.state.chosen, 10);
    click(3, 4);
    EXPECT_EQ(top_.rows().front(), 1) << "by the trial's number";
    click(3, 4);
    EXPECT_EQ(top_.rows().front(), 16);
    click(10, 5), click(10, 5);
    EXPECT_EQ(top_.state.page, TopPage::trial);
    EXPECT_EQ(top_.state.chosen, 16);
    top_.press("q");
    click(10, 24), click(200, 200), click(1, 1);
    EXPECT_EQ(top_.state.chosen, 16);
}

TEST_F(Top, ShowsTheBestSoFarAndTheBestByParameter) {
    EXPECT_EQ(top_.lines()[2], "best so far 0.803 ▁▆▆▆▆▇▇█████ 0.897   by batch_size ▇█ █▅▁  lr  ▅██▁");
    top_.screen.height = 15;
    EXPECT_THAT(top_.picture(), Not(HasSubstr("best so far")));
}

TEST_F(Top, WideCharactersKeepTheColumnsInLine) {
    study_.space[2].choices = {std::string("最適化"), std::string("gelu")};
    record_.trial(12).params["activation"] = std::string("最適化");
    study_.space[1].name = "学習率";
    top_.screen.width = 120;
    for (const auto& line : {titles(), first()}) EXPECT_LE(columns(line), 120) << line;
    EXPECT_EQ(columns("学習率"), 6);
    EXPECT_EQ(columns("e\u0301"), 1);
    EXPECT_EQ(cut("学習率", 3), "学");
    EXPECT_EQ(columns(pad_right("学習率", 4, top_.screen)), 4);
    top_.screen.utf8 = false;
    EXPECT_THAT(titles(), HasSubstr("??????"));
}

TEST_F(Top, AnyBytesAreTakenAsKeys) {
    for (const std::string bytes :
         {"\x1b[<0;1", "\x1b[<", "\x1b[<0;0;0M", "\x1b[<99;1;1M", "\x1b[<0;99999999999;1M", "\x1b[", "\xff\xfe"}) {
        top_.press(bytes);
        EXPECT_EQ(top_.lines().size(), 24u);
    }
}

TEST_F(Top, ShowsItsKeysAndScrollsThemOnASmallTerminal) {
    top_.press("?");
    EXPECT_THAT(top_.picture(), AllOf(HasSubstr("/            filter: NAME=VALUE"), Mentions("any", "key: back")));
    EXPECT_THAT(top_.lines(), Each(::testing::ResultOf(columns, Le(80))));
    top_.screen.height = 10;
    const auto first = top_.lines()[0];
    top_.press("G");
    EXPECT_NE(top_.lines()[0], first);
    EXPECT_THAT(top_.picture(), Mentions("lr        ", "best"));
    top_.press(" ");
    EXPECT_EQ(top_.state.page, TopPage::table);
}

TEST_F(Top, DrawsEveryPageWithinTheScreen) {
    for (const Screen screen : {Screen{40, 10, false, false}, Screen{80, 24, false, true}, Screen{120, 40, false, true},
                                Screen{250, 60, false, false}, Screen{10, 3, false, true}})
        for (const std::string keys :
             {"", "\t", "o", "?", "\r", "/", "/lr<", "/none\r", "x", "ss", "/lr<1\r", "jc", "l", "w", "X", " "}) {
            PlayedTop top{study_, record_, screen};
            top.press(keys);
            const auto lines = top.lines();
            EXPECT_EQ(lines.size(), static_cast<std::size_t>(screen.height)) << keys;
            EXPECT_THAT(lines, Each(::testing::ResultOf(columns, Le(screen.width)))) << keys;
            if (!screen.utf8) {
                EXPECT_THAT(top.picture(), Each(::testing::AnyOf('\n', AllOf(::testing::Ge(' '), Le('~'))))) << keys;
            }
        }
}

TEST_F(Top, OfAStudyWithoutTrialsTakesEveryKey) {
    const StudyRecord nothing;
    for (const std::string key :
         {"\r", "s", "S", "r", "x", "o", " ", "/", "?", "\t", "b", "j", "G", "c", "l", "w", "X", "\x1b", "\x1b[A"}) {
        PlayedTop top{study_, nothing};
        EXPECT_EQ(top.press(key), TopRequest::none);
        EXPECT_EQ(top.lines().size(), 24u);
    }
}

}  // namespace
}  // namespace hpo::view
