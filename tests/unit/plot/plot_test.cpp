// The plots of hpo plot: their scales, their pictures in a terminal, and their SVG.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "hpo/standing.hpp"
#include "orchestrator/plot/drawing.hpp"
#include "orchestrator/plot/figures.hpp"
#include "orchestrator/plot/grid.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/sample_study.hpp"

namespace hpo::plot {
namespace {

using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

Study sample_study() {
    Study study;
    study.name = "sample";
    study.budget.epochs = 10;
    study.space = {
        {.name = "batch_size", .kind = Kind::integer, .low = 256, .high = 4096, .log = true},
        {.name = "lr", .low = 3e-4, .high = 3e-2, .log = true},
        {.name = "activation", .kind = Kind::categorical, .choices = {std::string("relu"), std::string("gelu")}}};
    return study;
}

StudyRecord sample_record(std::int64_t trials, const Study& study = sample_study()) {
    StudyRecord record;
    std::int64_t sequence = 0;
    testing::make_sample_events(trials, [&](const Event& event) {
        ++sequence;
        apply(record, {sequence, 1000.0 + static_cast<double>(sequence), event}, study.objective);
    });
    return record;
}

std::map<std::int64_t, page::CurvePoints> sample_curves(const StudyRecord& record) {
    const page::CurveColumns columns("val_accuracy", record.trials.size());
    std::map<std::int64_t, page::CurvePoints> curves;
    for (const TrialRecord& trial : record.trials)
        if (!trial.curve.empty()) curves[trial.number] = columns.points_of(trial);
    return curves;
}

std::vector<page::Attempt> sample_attempts() {
    page::AttemptColumns attempts;
    std::int64_t sequence = 0;
    testing::make_sample_events(16, [&](const Event& event) {
        ++sequence;
        attempts.add({sequence, 1000.0 + static_cast<double>(sequence), event});
    });
    return attempts.attempts();
}

analysis::Importance sample_importance() {
    analysis::Importance importance;
    importance.explained = 0.8;
    importance.ends.trained = 30, importance.ends.predicted = 12;
    importance.effects = {{"lr", {0.82, 0.1}, {}}, {"batch_size", {0.04, 0.06}, {}}, {"activation", {0.001, 0.01}, {}}};
    return importance;
}

Study two_objectives(Study study = sample_study()) {
    study.objective.further = {{"loss", Direction::minimize}};
    return study;
}

std::vector<Figure> all_figures() {
    const Study study = sample_study();
    const StudyRecord record = sample_record(16);
    return {history(study, record),
            curves(study, record, sample_curves(record)),
            importance(study, sample_importance()),
            slice(study, record),
            parallel(study, record, 8),
            timeline(study, sample_attempts()),
            front(two_objectives(), sample_record(16, two_objectives()))};
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

/// Expects `text` to equal tests/unit/plot/pictures/NAME. HPO_DRAW=1 in the environment rewrites the file.
void expect_picture(const std::string& name, const std::string& text) {
    const std::string file = testing::source_folder() + "/tests/unit/plot/pictures/" + name;
    if (std::getenv("HPO_DRAW")) std::ofstream(file) << text;
    std::ifstream in(file);
    std::ostringstream expected;
    expected << in.rdbuf();
    EXPECT_EQ(text, expected.str()) << "picture " << name;
}

TEST(Scales, HaveRoundTicksAndAtLeastTwo) {
    EXPECT_THAT(scale("", 0, 1).ticks(6), ElementsAre(0, 0.2, 0.4, DoubleEq(0.6), 0.8, 1));
    EXPECT_THAT(scale("", 0.198, 1.249).ticks(4), ElementsAre(0.5, 1));
    EXPECT_THAT(scale("", 0.21, 0.24).ticks(2), SizeIs(2));
    EXPECT_THAT(scale("", 1, 6, Scale::Unit::whole).ticks(3), ElementsAre(2, 4, 6));
    EXPECT_THAT(scale("", 1e-4, 1e-1, Scale::Unit::number, true).ticks(4), SizeIs(4));
    for (double high : {1.0001, 1.7, 3.0, 77.0, 1e9})
        for (int most : {2, 3, 5, 8}) {
            const auto ticks = scale("", 1, high).ticks(most);
            EXPECT_THAT(ticks, SizeIs(AllOf(Ge(2U), Le(static_cast<std::size_t>(most))))) << high << " " << most;
            EXPECT_THAT(ticks, Each(AllOf(Ge(1 - 1e-8 * high), Le(high * (1 + 1e-8)))));
        }
}

TEST(Scales, OfOneWholeNumberHaveOneTick) {
    EXPECT_THAT(scale("", 1, 1, Scale::Unit::whole).ticks(6), ElementsAre(1));
    EXPECT_THAT(scale("", 256, 256, Scale::Unit::whole, true).ticks(6), ElementsAre(256));
    EXPECT_THAT(scale("", 1, 2, Scale::Unit::whole).ticks(6), ElementsAre(1, 2));
}

TEST(Scales, OfOneValueHaveItInTheMiddle) {
    EXPECT_NEAR(scale("", 5, 5).at(5), 0.5, 1e-12);
    EXPECT_NEAR(scale("", 0, 0).at(0), 0.5, 1e-12);
    EXPECT_NEAR(scale("", -3, -3).at(-3), 0.5, 1e-12);
}

TEST(Scales, FewTerribleValuesDoNotFlattenTheOthers) {
    EXPECT_THAT(useful_range({1, 2, 3, 4, 5}), ::testing::Pair(1, 5));
    EXPECT_THAT(useful_range({1, 2, 3, 4, 1e9}), ::testing::Pair(1, 10));
    EXPECT_THAT(useful_range({0.9, 0.8, 0.7, 0.6, -1e9}), ::testing::Pair(::testing::DoubleNear(0, 1e-9), 0.9));
    EXPECT_THAT(useful_range({}), ::testing::Pair(0, 1));
}

TEST(Plots, PicturesAt80Columns) {
    const auto figures = all_figures();
    const char* names[] = {"history", "curves", "importance", "slice", "parallel", "timeline", "front"};
    for (std::size_t i = 0; i < figures.size(); ++i)
        expect_picture(std::string(names[i]) + "_80.txt", draw_text(figures[i], {80, 24, false, true}));
}

TEST(Plots, PicturesInAsciiAt40Columns) {
    const auto figures = all_figures();
    const std::string curves = draw_text(figures[1], {40, 20, false, false});
    expect_picture("curves_40_ascii.txt", curves);
    for (const char c : curves) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 0x7f)) << curves;
}

/// A study that has converged: most trials lie close to the best values.
StudyRecord many_trials(std::int64_t trials) {
    StudyRecord record = sample_record(trials);
    for (TrialRecord& trial : record.trials) {
        const double depth = std::pow(static_cast<double>(trial.number * 7919 % 1000) / 1000, 4);
        if (trial.value) trial.value = 0.95 - depth / (1 + static_cast<double>(trial.number) / 500);
    }
    return record;
}

TEST(Plots, ManyTrialsAreDrawnAsShades) {
    const Study study = sample_study();
    const StudyRecord record = many_trials(3'000);
    const view::Screen screen{80, 24, false, true};
    expect_picture("history_many_80.txt", draw_text(history(study, record), screen));
    expect_picture("slice_many_80.txt", draw_text(slice(study, record), screen));
    expect_picture("parallel_many_80.txt", draw_text(parallel(study, record, 8), screen));
    expect_picture("curves_many_80.txt", draw_text(curves(study, record, sample_curves(record)), screen));
    const std::string ascii = draw_text(history(study, record), {80, 24, false, false});
    EXPECT_THAT(ascii, HasSubstr("\n.:+% 1 to "));
}

TEST(Plots, EachMarkAndEachShadeHasASignOfItsOwn) {
    for (const bool utf8 : {true, false}) {
        std::set<std::string_view> signs;
        for (const Shape shape : {Shape::dot, Shape::ring, Shape::cross, Shape::star})
            EXPECT_TRUE(signs.insert(sign_of(shape, utf8)).second) << sign_of(shape, utf8);
        for (int level = 1; level <= Grid::shades; ++level)
            EXPECT_TRUE(signs.insert(shade_of(level, utf8)).second) << shade_of(level, utf8);
    }
}

TEST(Plots, TheLineOfTheBestLiesAboveTheOtherTrials) {
    const Study study = sample_study();
    for (const std::int64_t trials : {16, 300, 3'000}) {
        const std::string svg = draw_svg(history(study, many_trials(trials)));
        const auto line = svg.find("class=\"line\"");
        ASSERT_NE(line, std::string::npos);
        for (const char* other : {"class=\"mark", "class=\"density d"}) {
            const auto at = svg.find(other);
            EXPECT_TRUE(at == std::string::npos || at < line) << trials << other;
        }
    }
}

TEST(Plots, NoLineIsWiderThanTheScreen) {
    Study study = sample_study();
    study.objective.metric = "val_accuracy";
    study.space[0].name = "batch_size";
    study.space.push_back({.name = "幅の広い名前のパラメータ", .low = 0, .high = 1});
    study.space[2].choices.push_back(std::string("\x1b[31m<script>🙂🙂🙂🙂🙂🙂🙂"));
    StudyRecord record = sample_record(16, study);
    for (TrialRecord& trial : record.trials) trial.params["幅の広い名前のパラメータ"] = 0.5;
    auto figures = all_figures();
    figures.push_back(slice(study, record));
    figures.push_back(parallel(study, record, 3));
    for (const auto& many : {history(study, many_trials(3'000)), parallel(study, many_trials(3'000), 8)})
        figures.push_back(many);
    for (const int width : {20, 40, 80, 120, 250})
        for (const bool utf8 : {true, false})
            for (const Figure& figure : figures)
                for (const std::string& line : lines_of(draw_text(figure, {width, 24, false, utf8}))) {
                    EXPECT_LE(view::columns(line), width) << line;
                    EXPECT_THAT(line, Not(HasSubstr("\x1b")));
                }
}

TEST(Plots, TheBestPathIsKnownByItsDotsWithColourAndWithout) {
    for (const bool colour : {false, true}) {
        const std::string text = draw_text(all_figures()[4], {80, 24, colour, true});
        EXPECT_EQ(text.find("\x1b[32m") != std::string::npos, colour);
        const std::string keys = lines_of(text).back();
        EXPECT_THAT(keys, AllOf(HasSubstr("⠒"), HasSubstr("·")));
        EXPECT_EQ(keys.find("⠒"), keys.rfind("⠒"));
        EXPECT_LT(text.find("·"), text.size() - keys.size() - 1) << "drawn as the key says";
    }
}

TEST(Plots, SayWhyThereIsNothingToDraw) {
    const Study study = sample_study();
    const StudyRecord none, queued = sample_record(1);
    EXPECT_EQ(history(study, none).nothing, "study sample has no trial yet");
    EXPECT_EQ(history(study, queued).nothing, "no trial of sample has a value of val_accuracy yet");
    EXPECT_NE(curves(study, none, {}).nothing, "");
    EXPECT_NE(slice(study, queued).nothing, "");
    EXPECT_NE(parallel(study, queued, 3).nothing, "");
    EXPECT_EQ(timeline(study, {}).nothing, "no trial of sample has run yet");
    EXPECT_THAT(front(study, sample_record(16)).nothing, HasSubstr("one"));
    analysis::Importance importance;
    importance.no_effects = "Too few trials.";
    EXPECT_EQ(plot::importance(study, importance).nothing, "sample: Too few trials.");
}

TEST(Plots, ValuesThatAreNotFiniteAreLeftOut) {
    const Study study = sample_study();
    StudyRecord record = sample_record(16);
    record.trials[2].value = std::numeric_limits<double>::quiet_NaN();
    record.trials[3].value = std::numeric_limits<double>::infinity();
    record.trials[3].state = TrialState::failed;
    auto points = sample_curves(record);
    points[3].values[1] = std::numeric_limits<float>::quiet_NaN();
    for (const Figure& figure :
         {history(study, record), slice(study, record), parallel(study, record, 3), curves(study, record, points)}) {
        const std::string svg = draw_svg(figure);
        EXPECT_THAT(svg, AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
        EXPECT_NE(draw_text(figure, {80, 24, false, true}), "");
    }
}

TEST(Plots, OneTrialIsDrawn) {
    const Study study = sample_study();
    StudyRecord record = sample_record(16);
    record.trials.resize(2);
    record.trials.erase(record.trials.begin());
    record.trials[0].number = 1;
    for (const Figure& figure :
         {history(study, record), slice(study, record), curves(study, record, sample_curves(record))})
        EXPECT_EQ(figure.nothing, "");
    const Figure of_one = history(study, record);
    EXPECT_THAT(draw_text(of_one, {80, 24, false, true}), HasSubstr("●"));
    EXPECT_EQ(of_one.panels[0].paths[0].points.back().x, 1) << "no line to a trial that there is not";
}

TEST(Plots, SayThatOnlySomeOfManyTrialsAreShown) {
    const Study study = sample_study();
    const StudyRecord record = sample_record(16);
    auto some = sample_curves(record);
    EXPECT_THAT(curves(study, record, some).notes, ::testing::IsEmpty());
    some.erase(1);
    EXPECT_THAT(curves(study, record, some).notes, ::testing::ElementsAre(Mentions("best", "distances")));
    analysis::Importance importance;
    importance.effects.resize(1);
    importance.ends.drawn_from = 100'000;
    EXPECT_THAT(plot::importance(study, importance).notes,
                ::testing::Contains("drawn at random from the 100000 trials that ended"));
}

TEST(Plots, FailedTrialsHaveNoBest) {
    const Study study = sample_study();
    StudyRecord record = sample_record(16);
    for (TrialRecord& trial : record.trials)
        if (trial.number != 3) trial.state = TrialState::failed;
    const Figure some = parallel(study, record, 8);
    EXPECT_EQ(std::count_if(some.panels[0].paths.begin(), some.panels[0].paths.end(),
                            [](const Path& path) { return path.tone == Tone::best; }),
              1);
    EXPECT_EQ(some.panels[0].paths.back().points.back().y, some.panels[0].uprights.back().at(*record.trial(3).value));
    record.trial(3).state = TrialState::failed;
    for (const Figure& figure : {history(study, record), parallel(study, record, 8)}) {
        EXPECT_THAT(draw_text(figure, {80, 24, false, true}), Not(HasSubstr("best")));
        EXPECT_THAT(draw_svg(figure), Not(::testing::ContainsRegex("best[^<]*</text>")));
    }
}

TEST(Plots, CurvesOfOneStepAreMarks) {
    const Study study = sample_study();
    const StudyRecord record = sample_record(16);
    const std::int64_t best = best_trial(record, study.objective)->number;
    const Figure figure = curves(study, record, {{1, {{1}, {0.5F}}}, {best, {{1}, {0.9F}}}});
    EXPECT_THAT(
        draw_text(figure, {80, 24, false, true}),
        AllOf(HasSubstr("○\n"), HasSubstr("◆\n"), Mentions("◆", "trial " + std::to_string(best)), Not(HasSubstr("⡀"))));
    EXPECT_THAT(draw_svg(figure), HasSubstr("\"mark star best\""));
}

TEST(Plots, TrialsThatRunAtOnceOnADeviceHaveRowsOfTheirOwn) {
    const std::vector<page::Attempt> attempts{{1, "gpu 0", "complete", 0, 10, 0},
                                              {2, "gpu 0", "failed", 5, 8, 0},
                                              {3, "gpu 0", "running", 8, 12, 0},
                                              {4, "cpu 10", "stopped", 1, 2, 0},
                                              {5, "cpu 9", "stopped", 1, 2, 0}};
    const Figure figure = timeline(sample_study(), attempts);
    std::vector<std::string> labels;
    for (const Row& row : figure.rows) labels.push_back(row.label);
    EXPECT_THAT(labels, ElementsAre("cpu 9", "gpu 0", "gpu 0", "cpu 10"));
    EXPECT_THAT(figure.rows[2].bars, SizeIs(2));
}

TEST(Svg, MarkupInNamesStaysText) {
    Study study = sample_study();
    study.space[2].choices.push_back(std::string("<script>alert(1)</script>&\"'\x1b"));
    const std::string svg = draw_svg(slice(study, sample_record(16, study)));
    EXPECT_THAT(svg, AllOf(Not(HasSubstr("<script")), HasSubstr("&lt;script&gt;"), Not(HasSubstr("\x1b"))));
}

TEST(Svg, OfManyTrialsIsNoLargerThanItsCells) {
    const Study study = sample_study();
    const StudyRecord record = many_trials(10'000);
    for (const Figure& figure : {history(study, record), slice(study, record), parallel(study, record, 8)}) {
        const std::string svg = draw_svg(figure);
        EXPECT_LT(svg.size(), 400'000U);
        EXPECT_NE(svg.find("class=\"density d2\""), std::string::npos);
        EXPECT_NE(svg.find(" trials in one place</text>"), std::string::npos);
        EXPECT_THAT(lines_of(draw_text(figure, {80, 24, false, true})), SizeIs(Le(24U)));
    }
}

}  // namespace
}  // namespace hpo::plot
