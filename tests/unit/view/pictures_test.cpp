// The views, compared with stored pictures: at 80x24 and 40x10, without a terminal, without colours, with 10,000
// trials.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "hpo/open_trials.hpp"
#include "hpo/text.hpp"
#include "hpo/training_seconds.hpp"
#include "orchestrator/simulation/pace.hpp"
#include "orchestrator/view/detail.hpp"
#include "orchestrator/view/progress.hpp"
#include "orchestrator/view/report.hpp"
#include "orchestrator/view/table.hpp"
#include "orchestrator/view/top.hpp"
#include "orchestrator/view/trial_list.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/paths.hpp"
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

Study sample_study() {
    Study study;
    study.name = "sample";
    study.seed = 7;
    study.worker = NativeWorker{};
    study.fixed = {{"data", std::string("fashion_mnist")}};
    study.budget.trials = 16;
    study.budget.epochs = 10;
    study.space = {{.name = "batch_size"}, {.name = "lr"}, {.name = "activation"}};
    return study;
}

StudyRecord sample_record(std::int64_t trials) {
    StudyRecord record;
    std::int64_t sequence = 0;
    testing::make_sample_events(trials, [&](const Event& event) {
        ++sequence;
        apply(record, {sequence, 1000.0 + static_cast<double>(sequence), event}, sample_study().objective);
    });
    return record;
}

const Moment moment{125, 2, true};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

std::vector<int> widths_of(const std::string& text) {
    std::vector<int> widths;
    for (const auto& line : lines_of(text)) widths.push_back(columns(line));
    return widths;
}

/// Expects `text` to equal tests/unit/view/pictures/NAME.txt. HPO_DRAW=1 in the environment rewrites the file.
void expect_picture(const std::string& name, const std::string& text) {
    const std::string file = testing::source_folder() + "/tests/unit/view/pictures/" + name + ".txt";
    if (::getenv("HPO_DRAW")) std::ofstream(file) << text;
    std::ifstream in(file);
    std::ostringstream expected;
    expected << in.rdbuf();
    EXPECT_EQ(text, expected.str()) << "picture " << name;
}

TEST(Pictures, TopAt80x24) {
    const auto text = draw_top(sample_study(), sample_record(16), moment, {}, {80, 24, false, true});
    EXPECT_EQ(lines_of(text).size(), 24u);
    EXPECT_THAT(widths_of(text), Each(Le(80)));
    expect_picture("top_80x24", text);
}

TEST(Pictures, TopOfSeveralObjectivesShowsAllOfThemAndTheParetoFront) {
    Study study = sample_study();
    study.objective = {"val_loss", Direction::minimize, Objective::At::best};
    study.objective.further = {{"latency", Direction::minimize}};
    StudyRecord record;
    for (const auto& [loss, latency] : {std::pair(0.3, 5.0), std::pair(0.2, 9.0), std::pair(0.4, 8.0)}) {
        TrialRecord trial;
        trial.number = static_cast<std::int64_t>(record.trials.size()) + 1;
        trial.state = TrialState::complete;
        trial.value = loss;
        trial.best_step = 1;
        trial.curve.push_back({.step = 1, .metrics = {{"val_loss", loss}, {"latency", latency}}});
        record.trials.push_back(trial);
    }
    const auto lines = lines_of(draw_top(study, record, moment, {}, {120, 0, false, true}));
    EXPECT_THAT(lines[1], Mentions("Pareto", "val_loss", "latency: 2 of 3 trials"));
    const auto head = std::find_if(lines.begin(), lines.end(),
                                   [](const std::string& line) { return line.find("TRIAL") != std::string::npos; });
    ASSERT_NE(head, lines.end());
    EXPECT_THAT(*head, AllOf(HasSubstr("latency"), HasSubstr("FRONT")));
    EXPECT_THAT(head[1], AllOf(HasSubstr("    2 complete"), HasSubstr("9.000 yes")));
    EXPECT_THAT(head[2], AllOf(HasSubstr("    1 complete"), HasSubstr("5.000 yes")));
    EXPECT_THAT(head[3], AllOf(HasSubstr("    3 complete"), HasSubstr("8.000"), Not(HasSubstr("yes"))));
}

TEST(Pictures, TopAt40x10InAscii) {
    const auto text = draw_top(sample_study(), sample_record(16), moment, {}, {40, 10, false, false});
    EXPECT_EQ(lines_of(text).size(), 10u);
    EXPECT_THAT(widths_of(text), Each(Le(40)));
    for (char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 127));
    expect_picture("top_40x10", text);
}

TEST(Pictures, ProgressAt80x24) {
    const auto text = draw_progress(sample_study(), sample_record(16), moment, {80, 24, false, true});
    EXPECT_THAT(widths_of(text), Each(Le(80)));
    expect_picture("progress_80x24", text);
}

TEST(Pictures, ProgressOnASmallTerminalSaysHowManyTrialsAreNotShown) {
    const auto text = draw_progress(sample_study(), sample_record(16), moment, {40, 5, false, true});
    EXPECT_EQ(lines_of(text).size(), 4u);
    EXPECT_THAT(widths_of(text), Each(Le(40)));
    EXPECT_THAT(text, HasSubstr("and 2 more"));
}

TEST(Pictures, ReportAt80Columns) {
    const auto text =
        draw_report(sample_study(), sample_record(16), moment,
                    {"runs/sample", "all trials have ended", true, "studies/sample.yaml"}, {80, 24, false, true});
    expect_picture("report_80", text);
}

TEST(Pictures, TheReportAdvisesToTrainTheBestOnlyWhereHpoHasAWorkerForIt) {
    const auto text = [](const Study& study) {
        return draw_report(study, sample_record(16), moment, {}, {80, 24, false, true});
    };
    Study study = sample_study();
    EXPECT_THAT(text(study), HasSubstr("hpo train best.yaml"));
    study.worker = NoWorker{};  // trained by another program: hpo ask-tell
    EXPECT_THAT(text(study), Not(HasSubstr("hpo train")));
}

TEST(Pictures, TheReportSaysHowManyOfTheFrontItShows) {
    Study study = sample_study();
    study.objective = {.metric = "loss", .direction = Direction::minimize};
    study.objective.further = {{"size", Direction::minimize}};
    StudyRecord record;
    for (int i = 1; i <= 18; ++i) {
        TrialRecord trial;
        trial.number = i;
        trial.state = TrialState::complete;
        trial.curve = {{.step = 1, .metrics = {{"loss", i}, {"size", 20 - i}}}};
        score(trial, study.objective);
        record.trials.push_back(trial);
    }
    const Screen wide{0, 24, false, true};
    EXPECT_THAT(draw_report(study, record, moment, {}, wide), Mentions("12 of"));
    record.trials.resize(12);
    EXPECT_THAT(draw_report(study, record, moment, {}, wide), Not(HasSubstr("shown")));
}

TEST(Pictures, ReportAt40ColumnsShowsTheParametersThatFit) {
    const auto text = draw_report(sample_study(), sample_record(16), moment,
                                  {"runs/sample", "interrupted", true, "s.yaml"}, {40, 10, false, true});
    EXPECT_THAT(text, HasSubstr("\n  TRIAL  val_accuracy  EPOCH    TIME\n    *12        0.8975  10/10  15.0 s\n"));
    EXPECT_THAT(text, Mentions("3 more", "hpo show sample/12"));
    // Commands and paths are not truncated.
    EXPECT_THAT(text, HasSubstr("hpo best sample > best.yaml\n"));
    EXPECT_THAT(text, HasSubstr("Resume        hpo run s.yaml\n"));
}

TEST(Pictures, TheReportNamesParametersThatAreTheSameInAllTrialsOnce) {
    auto record = sample_record(16);
    for (TrialRecord& trial : record.trials) trial.params["activation"] = std::string("relu");
    const auto text = draw_report(sample_study(), record, moment, {}, {80, 24, false, true});
    EXPECT_THAT(text, AllOf(Mentions("activation", "relu"), HasSubstr("batch_size"), Not(HasSubstr("parameter"))));
}

TEST(Pictures, TheReportOfAStudyWithoutAValueSaysSoFirst) {
    StudyRecord record;
    TrialRecord trial;
    trial.number = 1;
    trial.state = TrialState::failed;
    trial.reason = "exit status 1: ValueError: no\n  File \"a.py\"";
    record.trials.push_back(trial);
    ReportFacts facts{"runs/sample", "budget reached"};
    const auto text = draw_report(sample_study(), record, {3, 1, false}, facts, {});
    EXPECT_THAT(text,
                AllOf(Mentions("sample: ", "val_accuracy", "1 trial", "3.0 s"), Mentions("budget", ": 1 failed")));
    EXPECT_THAT(text, Not(HasSubstr("hpo best")));
    EXPECT_THAT(text, Mentions("Failed ", " trial 1", "ValueError: no", "hpo show sample/1"));
    facts.reason_follows = true;
    EXPECT_THAT(draw_report(sample_study(), record, {3, 1, false}, facts, {}), Not(HasSubstr("ValueError")));
}

TEST(Pictures, TheReportOfAStudyWithAValueTellsOfFailuresAndNotOfDivergence) {
    auto record = sample_record(16);
    for (TrialRecord& trial : record.trials) {
        if (trial.number == 3) trial.state = TrialState::failed, trial.reason = "exit status 3";
        if (trial.number > 3 && trial.state == TrialState::failed) trial.state = TrialState::diverged;
        if (trial.state == TrialState::diverged) trial.reason = "loss is nan";
    }
    const auto text = draw_report(sample_study(), record, moment, {}, {80, 24, false, true});
    EXPECT_THAT(text, AllOf(Mentions("Failed ", "trial 3", "exit status 3"), Not(HasSubstr("nan"))));
}

TEST(Pictures, ProgressAt40ColumnsShowsTheTimeLeftAndTheValues) {
    const auto text = draw_progress(sample_study(), sample_record(16), moment, {40, 10, false, true});
    EXPECT_THAT(widths_of(text), Each(Le(40)));
    EXPECT_THAT(text, HasSubstr(" 10 to 38 s left\n"));
    EXPECT_THAT(text, HasSubstr("  trial   14   3/10  val_accuracy 0.8104\n"));
}

TEST(Pictures, ATrialInFull) {
    expect_picture("trial_80x24", draw_trial(sample_study(), sample_record(16).trial(12),
                                             {"runs/sample/logs/trial-0012.log", "runs/sample/checkpoints/trial-0012"},
                                             {80, 24, false, true}));
}

TEST(Pictures, ATrialInFullShowsItsMemoryItsDeviceAndItsMicroBatches) {
    auto record = sample_record(16);
    TrialRecord& trial = record.trial(12);
    trial.allocation = Allocation{{std::int64_t{3} << 30, std::int64_t{512} << 20, 1}, "GPU-8f6c1234", true, 4};
    trial.peak = {std::int64_t{5} << 29, std::int64_t{400} << 20, 0};
    trial.memory_deaths = 2;
    const auto text = draw_trial(sample_study(), trial, {}, {80, 0, false, true});
    EXPECT_THAT(text, AllOf(HasSubstr("memory          400.0 MiB measured, 512.0 MiB reserved"),
                            Mentions(" memory   2.500 GiB", "3.000 GiB", "alone"), Mentions("micro-batches   4"),
                            Mentions("memory   2 "), HasSubstr("device          GPU-8f6c1234")));
    trial.allocation = Allocation{};
    trial.peak = {0, 0, 0};
    EXPECT_THAT(
        draw_trial(sample_study(), trial, {}, {80, 0, false, true}),
        AllOf(HasSubstr("memory          93.00 MiB measured\n"), Not(HasSubstr("device")), Not(HasSubstr("micro"))));
}

TEST(Pictures, AnObjectiveThatIsCalledLossHasOneCurve) {
    Study study = sample_study();
    study.objective = {"loss", Direction::minimize, Objective::At::best};
    const auto text = draw_trial(study, sample_record(16).trial(12), {}, {80, 0, false, true});
    const auto first = text.find("\nloss            █");
    ASSERT_NE(first, std::string::npos) << text;
    EXPECT_EQ(text.find("\nloss            █", first + 1), std::string::npos) << text;
}

TEST(Pictures, TheCurveOfTheLossIsAboveThatOfAnObjectiveWhoseNameSortsBeforeIt) {
    Study study = sample_study();
    study.objective.metric = "accuracy";
    StudyRecord record = sample_record(16);
    TrialRecord& trial = record.trial(12);
    for (Report& report : trial.curve) report.metrics["accuracy"] = 1 - 1 / static_cast<double>(report.step);
    const auto text = draw_trial(study, trial, {}, {80, 0, false, true});
    const auto loss = text.find("\nloss            █"), accuracy = text.find("\naccuracy        ▁");
    ASSERT_NE(loss, std::string::npos) << text;
    ASSERT_NE(accuracy, std::string::npos) << text;
    EXPECT_LT(loss, accuracy) << text;
}

TEST(Pictures, ATrialOfManyMetricsShowsTheObjectiveAndTheOnesThatFitAndCountsTheRest) {
    auto record = sample_record(16);
    TrialRecord& trial = record.trial(12);
    const std::size_t others = trial.curve.back().metrics.size() - 1;
    for (int m = 0; m < 254; ++m) trial.curve.back().metrics["zz" + std::to_string(m)] = m;
    const std::string many = std::to_string(254 + others - 4);
    const auto on_screen = draw_trial(sample_study(), trial, {}, {80, 0, false, true});
    EXPECT_THAT(on_screen, AllOf(HasSubstr(many + " more "), HasSubstr("hpo show sample/12 --json")));
    EXPECT_THAT(on_screen, HasSubstr(" EPOCH     IT/S  val_accuracy "));
    EXPECT_THAT(draw_trial(sample_study(), trial, {}, {0, 0, false, true}),
                HasSubstr(std::to_string(254 + others - 11) + " more "))
        << "a file or a pipe has no width";
}

TEST(Pictures, ALongReasonIsWrappedBelowItself) {
    auto record = sample_record(16);
    record.trial(6).reason = "one two three four five six seven eight nine ten eleven twelve";
    const auto text = draw_trial(sample_study(), record.trial(6), {}, {40, 24, false, true});
    EXPECT_THAT(widths_of(text), Each(Le(40)));
    EXPECT_THAT(text, HasSubstr("reason          one two three four five\n"
                                "                six seven eight nine\n"
                                "                ten eleven twelve\n"));
}

TEST(Pictures, AWideTerminalShowsTheMetricsNameInFull) {
    EXPECT_THAT(draw_top(sample_study(), sample_record(16), moment, {}, {250, 24, false, true}),
                HasSubstr(" val_accuracy▼ CURVE"));
    EXPECT_THAT(draw_top(sample_study(), sample_record(16), moment, {}, {0, 0, false, true}),
                HasSubstr(" val_accuracy▼ CURVE"));
    EXPECT_THAT(draw_top(sample_study(), sample_record(16), moment, {}, {80, 24, false, true}),
                HasSubstr(" val_accu…▼ CURVE"));
}

TEST(Pictures, UnknownMemoryIsShownAsUnknown) {
    auto record = sample_record(16);
    TrialRecord& trial = record.trial(6);
    for (Report& report : trial.curve) report.peak_bytes.reset();
    trial.allocation = Allocation{.alone = true};
    EXPECT_THAT(draw_trial(sample_study(), trial, {}, {80, 0, false, true}), Mentions("memory          not", "alone"));
}

TEST(Pictures, AStudyWithoutTrialsIsDrawnByEveryView) {
    const StudyRecord nothing;
    const Screen screen{80, 24, false, true};
    EXPECT_THAT(draw_top(sample_study(), nothing, {}, {}, screen), HasSubstr("yet"));
    EXPECT_THAT(draw_progress(sample_study(), nothing, {}, screen), HasSubstr("yet"));
    EXPECT_THAT(draw_report(sample_study(), nothing, {}, {}, screen), Mentions("No trial", "val_accuracy."));
}

TEST(Pictures, OfTrialsThatBreakAConstraintEquallyTheBestIsTheNearest) {
    Objective objective{.metric = "loss", .direction = Direction::minimize};
    objective.constraints = {Constraint{.metric = "size", .max = 1}};
    StudyRecord record;
    for (const double loss : {0.7, 0.3, 0.4}) {
        TrialRecord trial;
        trial.number = static_cast<std::int64_t>(record.trials.size()) + 1;
        trial.state = TrialState::complete;
        Report report;
        report.step = 1;
        report.metrics = {{"loss", loss}, {"size", 5}};
        trial.curve = {report};
        score(trial, objective);
        record.trials.push_back(trial);
    }
    EXPECT_THAT(constraints_text(record, objective), Mentions("trial 2: size 5.000", "above 1.000"));
}

TEST(Pictures, ColoursAreUsedOnlyOnRequest) {
    const auto record = sample_record(16);
    for (bool colour : {false, true}) {
        const Screen screen{80, 24, colour, true};
        for (const auto& text : {draw_top(sample_study(), record, moment, {}, screen),
                                 draw_progress(sample_study(), record, moment, screen),
                                 draw_report(sample_study(), record, moment, {}, screen)})
            EXPECT_EQ(text.find('\x1b') != std::string::npos, colour);
    }
}

TEST(Pictures, ColoursDoNotChangeTheText) {
    const auto record = sample_record(16);
    auto strip = [](const std::string& text) {
        std::string plain;
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] == '\x1b')
                i = text.find('m', i);
            else
                plain += text[i];
        }
        return plain;
    };
    EXPECT_EQ(strip(draw_progress(sample_study(), record, moment, {80, 24, true, true})),
              draw_progress(sample_study(), record, moment, {80, 24, false, true}));
}

TEST(Pictures, ControlCharactersInReasonsAreEscaped) {
    auto record = sample_record(16);
    record.trial(6).reason = "bad\x1b]0;title\x07 \xff and\nmore";
    const auto text = draw_top(sample_study(), record, moment, {}, {0, 0, false, true});
    EXPECT_THAT(text, AllOf(HasSubstr("bad\\x1b]0;title\\x07 \\xff"), Not(HasSubstr("\x1b")), Not(HasSubstr("\x07"))));
}

TEST(Pictures, WithoutATerminalTopShowsAllTrialsAndWholeReasons) {
    const auto text = draw_top(sample_study(), sample_record(16), moment, {}, {0, 0, false, false});
    EXPECT_EQ(lines_of(text).size(), 3u + 16u);
    EXPECT_THAT(text, AllOf(Mentions("plateau:", "better than 0.8", "3 steps"), Not(HasSubstr("quit"))));
}

TEST(Canvas, TextIsCutAndPaddedByColumnsNotBytes) {
    const Screen screen{80, 24, false, true};
    EXPECT_EQ(pad_right("größe", 7, screen), "größe  ");
    EXPECT_EQ(pad_left("größe", 7, screen), "  größe");
    EXPECT_EQ(pad_right("größer", 5, screen), "größ…");
    EXPECT_EQ(pad_right("larger", 5, {80, 24, false, false}), "la...");
    EXPECT_EQ(pad_right("abc", 0, screen), "");
    EXPECT_EQ(columns("▁▂█"), 3);
}

TEST(Canvas, SparklinesScaleBetweenLeastAndGreatest) {
    const std::vector<double> falling{4, 3, 2, 1};
    EXPECT_EQ(sparkline(falling, 10, true), "█▆▃▁");
    EXPECT_EQ(sparkline(falling, 10, false), "^=._");
    EXPECT_EQ(sparkline(falling, 2, true), "█▁");
    EXPECT_EQ(sparkline(std::vector<double>{1, std::nan(""), 2}, 10, true), "▁!█");
    EXPECT_EQ(sparkline(std::vector<double>{5, 5}, 10, true), "▁▁");
    EXPECT_EQ(sparkline({}, 10, true), "");
}

TEST(Canvas, TableColumnsAreAsWideAsTheirCells) {
    Table table({{"STUDY"}, {"BEST", Table::Align::right}});
    table.add({"phase1", "0.8953"});
    table.add({"a", "12"});
    EXPECT_EQ(table.draw({0, 0, false, true}), "STUDY     BEST\nphase1  0.8953\na           12\n");
}

TEST(Summary, SavingsAreTheSkippedStepsAtTheSpeedOfEachStoppedTrial) {
    const Savings saved = savings(sample_study(), sample_record(16)).value();
    EXPECT_EQ(saved.epochs(), 12);  // trials 1 and 9 saved six of ten steps each; a stop by the user saves nothing
    EXPECT_TRUE(saved.timed);
    EXPECT_DOUBLE_EQ(saved.seconds(), 18);
    ASSERT_EQ(saved.rules.size(), 1u);
    EXPECT_EQ(saved.rules.at("plateau").trials, 2);
    EXPECT_EQ(saved.rules.at("plateau").epochs, 12);
}

TEST(Summary, StepsThatAScriptRepeatsAfterAPauseAreNotSaved) {
    Study study = sample_study();
    StudyRecord record;
    const auto happens = [&](const Event& event) {
        apply(record, {record.sequence + 1, 1000, event}, study.objective);
    };
    const auto train = [&](std::int64_t trial, std::int64_t attempt, std::int64_t from, std::int64_t to) {
        happens(event::Launched{trial, attempt, "cpu 0", {}});
        for (std::int64_t step = from; step <= to; ++step) {
            event::Reported reported{trial, attempt, {}};
            reported.report.step = step;
            reported.report.seconds = 2.0 * static_cast<double>(step);
            happens(reported);
        }
    };
    for (std::int64_t n = 1; n <= 4; ++n) happens(event::Proposed{n, {}, {}});
    train(1, 1, 1, 1);  // a script starts over after each pause
    happens(event::Paused{1, 1, "asha", ""});
    train(1, 2, 1, 3);
    happens(event::Paused{1, 2, "asha", ""});
    train(1, 3, 1, 10);
    happens(event::Finished{1, 3, TrialState::complete, "", ""});
    train(2, 1, 1, 1);  // resumes from its last step
    happens(event::Paused{2, 1, "asha", ""});
    train(2, 2, 2, 3);
    happens(event::Finished{2, 2, TrialState::stopped, "asha", ""});
    train(3, 1, 1, 1);  // still waiting: an interrupted study has saved none of its steps
    happens(event::Paused{3, 1, "asha", ""});
    happens(event::Finished{4, 0, TrialState::failed, "", "cannot be planned"});  // never started
    EXPECT_EQ(record.trial(1).trained, 14);
    EXPECT_EQ(record.trial(2).trained, 3);
    const Savings saved = savings(study, record).value();
    EXPECT_EQ(saved.epochs(), 20 - 17);
    EXPECT_EQ(saved.of, 20);
    EXPECT_EQ(saved.repeated, 4) << "the rule's 7 less 4 are the 3 that were saved";
    EXPECT_EQ(saved.restarts, 3);
    EXPECT_DOUBLE_EQ(saved.seconds(), 2.0 * 7 - 2.0 * 4);
}

TEST(Summary, ATrialThatReportsEveryTenthStepHasSavedNone) {
    const Study study = sample_study();
    StudyRecord record;
    for (const Event& event : std::vector<Event>{
             event::Proposed{1, {}, {}}, event::Launched{1, 1, "asked for", {}}, event::Reported{1, 1, {.step = 10}},
             event::Reported{1, 1, {.step = 20}}, event::Finished{1, 1, TrialState::complete, "", ""}})
        apply(record, {record.sequence + 1, 1000, event}, study.objective);
    EXPECT_EQ(savings(study, record)->epochs(), 0);
}

TEST(Summary, FurtherImprovementsOfTheLeadingTrialAreNotAnnounced) {
    const Study study = sample_study();
    StudyRecord record;
    NewBests bests(study);
    const auto line = [&](const Event& event) {
        const StoredEvent stored{record.sequence + 1, 1000, event};
        apply(record, stored, study.objective);
        return bests.line(stored, record);
    };
    const auto report = [&](std::int64_t trial, std::int64_t step, double value) {
        event::Reported reported{trial, 1, {}};
        reported.report.step = step;
        reported.report.metrics["val_accuracy"] = value;
        return line(reported);
    };
    for (std::int64_t n = 1; n <= 2; ++n) line(event::Proposed{n, {}, {}}), line(event::Launched{n, 1, "cpu 0", {}});
    EXPECT_EQ(report(1, 1, 0.5), "new best 0.5000 val_accuracy, trial 1 at epoch 1");
    EXPECT_EQ(report(1, 2, 0.6), "");
    EXPECT_EQ(report(2, 1, 0.55), "");
    EXPECT_EQ(report(1, 3, 0.7), "");
    EXPECT_EQ(line(event::Paused{1, 1, "asha", ""}), "new best 0.7000 val_accuracy, trial 1 at epoch 3");
    EXPECT_EQ(report(2, 2, 0.8), "new best 0.8000 val_accuracy, trial 2 at epoch 2");
    EXPECT_EQ(line(event::Finished{2, 1, TrialState::stopped, "plateau", ""}), "");
    EXPECT_EQ(line(event::Launched{1, 2, "cpu 0", {}}), "");
    EXPECT_EQ(line(event::Finished{1, 2, TrialState::complete, "", ""}), "");
}

TEST(Summary, ATrialThatFailsLosesTheLead) {
    const Study study = sample_study();
    StudyRecord record;
    NewBests bests(study);
    const auto line = [&](const Event& event) {
        const StoredEvent stored{record.sequence + 1, 1000, event};
        apply(record, stored, study.objective);
        return bests.line(stored, record);
    };
    const auto report = [&](std::int64_t trial, std::int64_t step, double value) {
        event::Reported reported{trial, 1, {}};
        reported.report.step = step;
        reported.report.metrics["val_accuracy"] = value;
        return line(reported);
    };
    for (std::int64_t n = 1; n <= 3; ++n) line(event::Proposed{n, {}, {}}), line(event::Launched{n, 1, "cpu 0", {}});
    report(1, 1, 0.8), report(1, 2, 0.9);
    EXPECT_EQ(line(event::Finished{1, 1, TrialState::failed, "", "exit 3"}), "");
    EXPECT_EQ(report(2, 1, 0.5), "new best 0.5000 val_accuracy, trial 2 at epoch 1");
    EXPECT_EQ(report(3, 1, 0.7), "new best 0.7000 val_accuracy, trial 3 at epoch 1");
    EXPECT_EQ(line(event::Finished{3, 1, TrialState::diverged, "", ""}),
              "new best 0.5000 val_accuracy, trial 2 at epoch 1");
}

TEST(Summary, TheStartOfAnInterpreterDoesNotCountAsTimeOfAStep) {
    Study study = sample_study();
    StudyRecord record;
    const auto happens = [&](const Event& event) {
        apply(record, {record.sequence + 1, 1000, event}, study.objective);
    };
    const auto train = [&](std::int64_t trial, std::int64_t attempt, double before, double pace, std::int64_t to) {
        happens(event::Launched{trial, attempt, "cpu 0", {}});
        for (std::int64_t step = 1; step <= to; ++step) {
            event::Reported reported{trial, attempt, {}};
            reported.report.step = step;
            reported.report.seconds =
                before + 3 + pace * static_cast<double>(step);  // training starts after three seconds
            happens(reported);
        }
    };
    for (std::int64_t n = 1; n <= 4; ++n) happens(event::Proposed{n, {}, {}});
    train(1, 1, 0, 0.5, 1);
    EXPECT_EQ(step_seconds(record)[0], std::nullopt);  // the share of the start is not known yet
    happens(event::Paused{1, 1, "asha", ""});
    train(1, 2, 3.5, 0.5, 4);  // starts over, and its seconds continue
    train(2, 1, 0, 0.5, 4);
    train(3, 1, 0, 0.25, 1);
    train(4, 1, 0, 40, 1);
    EXPECT_THAT(step_seconds(record), ElementsAre(0.5, 0.5, 0.5, 40));
    happens(event::Finished{3, 1, TrialState::stopped, "asha", ""});
    EXPECT_DOUBLE_EQ(savings(study, record)->left_seconds, 9 * 0.5);
    // A running session keeps the best and the last step of trials that have ended, which may be one.
    for (TrialRecord& trial : record.trials) thin(trial);
    EXPECT_THAT(step_seconds(record), ElementsAre(0.5, 0.5, 0.5, 40));
    EXPECT_DOUBLE_EQ(savings(study, record)->left_seconds, 9 * 0.5);
}

TEST(Summary, TheSpeedOfAStudyIsInSamplesWhereBatchesAreKnown) {
    auto record = sample_record(16);  // trials 14 and 15 are running with batches of 4096 and 256
    const double speeds[] = {*record.trial(14).curve.back().iterations_per_second,
                             *record.trial(15).curve.back().iterations_per_second};
    EXPECT_EQ(total_speed(sample_study(), record),
              short_number((4096 * speeds[0] + 256 * speeds[1]) / 1000) + "k samples/s");
    record.trial(14).curve.back().samples_per_second = 1000;
    EXPECT_EQ(total_speed(sample_study(), record), short_number((1000 + 256 * speeds[1]) / 1000) + "k samples/s");
    record.trial(15).params.erase("batch_size");
    EXPECT_EQ(total_speed(sample_study(), record), short_number(speeds[0] + speeds[1]) + " it/s");
    EXPECT_EQ(total_speed(sample_study(), {}), "");
}

TEST(Summary, PausedTrialsAreNotCountedAsEnded) {
    EXPECT_EQ(count_text(sample_study(), sample_record(16)), "15 started, 12 finished of 16");
}

TEST(Summary, OfAStudyThatItsTimeAloneEndsNamesNoNumberOfTrials) {
    Study study = sample_study();
    study.budget.trials = most_trials;
    study.budget.seconds = 500;
    EXPECT_EQ(count_text(study, sample_record(16)), "15 started, 12 finished");
    EXPECT_EQ(part_done(study, sample_record(16), {.seconds = 125, .held = false}), 0.25);
}

TEST(Summary, DivergedAndFailedTrialsAreNeverTheBest) {
    auto record = sample_record(16);
    record.trial(6).value = 2.0;
    EXPECT_EQ(best_trial(record, sample_study().objective)->number, 12);
}

TEST(TrainingSeconds, OfAScriptThatReportsAtOnceLastToItsEnd) {
    TrialRecord trial;
    EXPECT_FALSE(training_seconds(trial));
    trial.curve = {Report{.step = 1, .seconds = 0.006}};
    trial.attempt = 1;
    EXPECT_EQ(training_seconds(trial), 0.006) << "it runs";
    trial.started_at = 100;
    trial.ended_at = 160;
    EXPECT_EQ(training_seconds(trial), 60);
    trial.attempt = 2;
    EXPECT_EQ(training_seconds(trial), 0.006) << "it waited in between";
    trial.attempt = 1;
    trial.curve.back().iteration = 10;
    EXPECT_EQ(training_seconds(trial), 0.006) << "its worker measures its training";
    trial.curve = {Report{.step = 1}};
    trial.state = TrialState::complete;
    EXPECT_FALSE(training_seconds(trial)) << "another program trained it, which may have let it wait";
    trial.allocation = Allocation{.footprint = {.host_bytes = 1}};
    EXPECT_EQ(training_seconds(trial), 60) << "its only report is that of its end";
    trial.curve.clear();
    EXPECT_FALSE(training_seconds(trial));
    trial.state = TrialState::failed;
    trial.attempt = 3;
    EXPECT_EQ(training_seconds(trial), 60) << "its attempts hung before their first report";
}

TEST(TrainingSeconds, OfATrialThatWasRetriedAreFewerThanItTook) {
    TrialRecord trial;
    trial.curve = {Report{.step = 1, .seconds = 3}};
    trial.started_at = 100;
    trial.ended_at = 700;
    trial.attempt = 2;
    EXPECT_EQ(seconds_taken(trial), 3) << "it was interrupted, and waited for the next session";
    trial.failures = 1;
    EXPECT_EQ(seconds_taken(trial), 600) << "its first attempt hung";
    EXPECT_EQ(training_seconds(trial), 3);
    trial.ended_at = 0;
    EXPECT_EQ(seconds_taken(trial), 3) << "it runs";
}

TEST(Trials, ThatRunAgainHaveNoReasonInTheList) {
    auto record = sample_record(16);
    TrialRecord& trial = record.trial(14);
    ASSERT_EQ(trial.state, TrialState::running);
    trial.reason = "the worker hung";
    trial.rule = "halving";
    EXPECT_THAT(draw_trial_list(sample_study(), record, {}, {200, 80, false, true}), Not(HasSubstr("hung")));
    EXPECT_THAT(draw_trial(sample_study(), trial, {}, {200, 80, false, true}), Mentions("attempt", "hung"));
}

TEST(Report, OfAFailedSessionHasNoRunningTrials) {
    ReportFacts facts;
    facts.failed = true;
    const std::string report =
        draw_report(sample_study(), sample_record(16), {1, 1, false}, facts, {80, 24, false, true});
    EXPECT_THAT(report, ::testing::AllOf(HasSubstr("unfinished"), Not(HasSubstr("running"))));
}

TEST(Terminal, BytesAreDecodedIntoKeysOneByOne) {
    std::string bytes = "j\x1b[A\x1b[1;5Cq\r\x1b";
    std::vector<KeyCode> codes;
    while (!bytes.empty()) codes.push_back(take_key(bytes).code);
    EXPECT_THAT(codes, ElementsAre(KeyCode::character, KeyCode::up, KeyCode::none, KeyCode::character, KeyCode::enter,
                                   KeyCode::escape));
}

}  // namespace
}  // namespace hpo::view
