#include "orchestrator/sampling/gp_model.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <set>
#include <utility>

#include "hpo/random.hpp"
#include "orchestrator/sampling/trust_region.hpp"

namespace hpo {
namespace {

double uniform(std::uint64_t i) { return draw_unit(3, Purpose::synthetic, 1, i); }

Observation observed(std::int64_t trial, Point point, std::optional<double> loss, std::int64_t steps = 1) {
    Observation made;
    made.trial = trial;
    made.site = {point, std::vector<bool>(point.size(), true)};
    made.loss = loss;
    made.steps = steps;
    return made;
}

SearchSpace square() {
    SearchSpace space;
    space.bins = {0, 0};
    space.categorical = {false, false};
    space.active = [](const Point& point) { return std::vector<bool>(point.size(), true); };
    return space;
}

History parabola(std::int64_t trials) {
    History history;
    for (std::int64_t n = 1; n <= trials; ++n) {
        const Point point{uniform(static_cast<std::uint64_t>(2 * n)), uniform(static_cast<std::uint64_t>(2 * n + 1))};
        history.tell(observed(n, point, std::pow(point[0] - 0.3, 2) + std::pow(point[1] - 0.6, 2)));
    }
    return history;
}

TEST(Refits, EachFormIsFittedAtItsOwnTimeAndNoTwoOnceThereIsRoom) {
    for (std::size_t tells = 2; tells < 3000; ++tells) {
        std::size_t fits = 0;
        for (std::size_t form = 0; form < 5; ++form) {
            const std::size_t last = last_fit(tells, form, 5);
            ASSERT_LE(last, tells);
            ASSERT_GE(last, 2u);
            ASSERT_LE(tells - last, tells / 4 + 1) << "form " << form << " of " << tells;
            ASSERT_GE(last, last_fit(tells - 1, form, 5));
            fits += last == tells;
        }
        ASSERT_LE(fits, tells >= 40 ? 1u : 5u) << tells;
    }
}

TEST(Refits, AChoiceDoesNotDependOnEarlierQuestions) {
    const SearchSpace space = square();
    ModelChooser asked_always(space), asked_once(space);
    History history;
    Model always;
    const History all = parabola(70);
    for (const Observation& trial : all.trials()) {
        history.tell(trial);
        if (history.tells() > 4) always = asked_always.choose(history);
    }
    const Model once = asked_once.choose(history);
    EXPECT_EQ(always.scale, once.scale);
    EXPECT_EQ(always.parameters.length, once.parameters.length);
    EXPECT_EQ(always.parameters.noise, once.parameters.noise);
}

/// The sum over four coordinates of waves that are short beside the space.
double waves(const Point& point) {
    double sum = 0;
    for (const double x : point) sum += x * std::sin(18 * x);
    return sum;
}

SearchSpace four_dimensions() {
    SearchSpace space = square();
    space.bins.resize(4, 0);
    space.categorical.resize(4, false);
    return space;
}

TEST(ModelChooserTest, FindsThatAFunctionIsASumOfWavesOfItsCoordinates) {
    const SearchSpace space = four_dimensions();
    History history;
    for (std::int64_t n = 1; n <= 70; ++n) {
        Point point;
        for (std::uint64_t d = 0; d < 4; ++d) point.push_back(uniform(static_cast<std::uint64_t>(4 * n) + d));
        history.tell(observed(n, point, waves(point)));
    }
    const Model model = ModelChooser(space).choose(history);
    ASSERT_FALSE(model.parameters.additive_length.empty());
    for (std::size_t d = 0; d < 4; ++d) EXPECT_LT(model.parameters.additive_length[d], model.parameters.length[d]);
}

TEST(ModelChooserTest, DrawsSeveralModelsWhereFewTrialsLeaveThemLikely) {
    const SearchSpace space = square();
    ModelChooser chooser(space);
    const History few = parabola(7);
    const Model likeliest = chooser.choose(few);
    std::set<std::pair<Scale, bool>> forms;
    std::uint64_t element = 0;
    for (int i = 0; i < 60; ++i) {
        const Model drawn = chooser.choose(few, [&] { return uniform(10'000 + element++); });
        forms.emplace(drawn.scale, drawn.parameters.additive_length.empty());
        EXPECT_NE(drawn.parameters.length, likeliest.parameters.length);
    }
    EXPECT_GE(forms.size(), 3u);
    EXPECT_EQ(chooser.choose(few).parameters.length, likeliest.parameters.length) << "a draw changes no choice";
}

TEST(ModelChooserTest, WithPlainNeitherWarpsNorTakesLogarithms) {
    const SearchSpace space = square();
    ModelChooser plain(space, true), any(space);
    History history;
    const History points = parabola(30);
    for (const Observation& trial : points.trials()) {
        const Point& point = trial.site.point;
        history.tell(observed(trial.trial, point, std::sin(6 * point[0] * point[1])));  // no sum over coordinates
    }
    EXPECT_TRUE(plain.choose(history).parameters.warp.empty());
    EXPECT_EQ(plain.choose(history).scale, Scale::plain);
    EXPECT_EQ(any.choose(history).parameters.warp.size(), 4u);
}

TEST(ModelChooserTest, KeepsWhatItHasFoundWhileTrialsCrowdAroundTheBest) {
    const SearchSpace space = four_dimensions();
    ModelChooser chooser(space);
    History history;
    for (std::int64_t n = 1; n <= 150; ++n) {
        Point point;
        for (std::uint64_t d = 0; d < 4; ++d) {
            const double u = uniform(static_cast<std::uint64_t>(4 * n) + d);
            point.push_back(n <= 70 ? u : history.best()->site.point[d] + 0.01 * (u - 0.5));
        }
        history.tell(observed(n, point, waves(point)));
        if (n < 70 || n % 10 != 0) continue;
        const Hyperparameters found = chooser.choose(history).parameters;
        EXPECT_LT(found.noise, -3) << n;
        ASSERT_FALSE(found.additive_length.empty()) << n;
        for (const double length : found.additive_length) EXPECT_LT(length, -1) << n;
    }
}

/// Trials in a small box around (0.5, 0.5) of a function with a wide and a short wave in each coordinate.
Data waves_near_the_middle(double width, std::size_t count) {
    std::vector<Observation> trials;
    std::vector<std::size_t> all;
    for (std::uint64_t n = 0; n < count; ++n) {
        Point point;
        double sum = 0;
        for (std::uint64_t d = 0; d < 2; ++d) {
            point.push_back(0.5 + width * (uniform(2 * n + d) - 0.5));
            sum += std::sin(2 * point.back()) - 5 * std::cos(4 / width * (point.back() - 0.47));
        }
        trials.push_back(observed(static_cast<std::int64_t>(n), point, sum));
        all.push_back(n);
    }
    return data_of(square(), trials, all);
}

TEST(LocalModelTest, IsDrawnWithUniformNumbersAlone) {
    const Data data = waves_near_the_middle(0.2, 28);
    const Model whole{Scale::plain, prior_hyperparameters(data.inputs, Kernel::joint)};
    const auto drawn = [&](std::uint64_t first) {
        return local_model(square(), data, {0.5, 0.5}, whole, [&] { return uniform(first++); }).parameters.length;
    };
    const auto likeliest = local_model(square(), data, {0.5, 0.5}, whole).parameters.length;
    EXPECT_EQ(local_model(square(), data, {0.5, 0.5}, whole).parameters.length, likeliest);
    EXPECT_EQ(drawn(0), drawn(0));
    EXPECT_NE(drawn(0), drawn(500));
    EXPECT_NE(drawn(0), likeliest);
}

TEST(LocalModelTest, FollowsWavesThatAreShortBesideTheLengthScalesOfTheWholeSpace) {
    for (const double width : {0.2, 0.01, 0.0005}) {
        const Data data = waves_near_the_middle(width, 28);
        Model whole{Scale::plain, prior_hyperparameters(data.inputs, Kernel::joint)};
        whole.parameters.length = {0.8, 0.8};
        const Model local = local_model(square(), data, {0.5, 0.5}, whole);
        const GaussianProcess process = process_of(square(), data, local, {});
        const auto predicted = process.leave_one_out();
        double squares = 0;
        for (std::size_t i = 0; i < predicted.size(); ++i)
            squares += std::pow(predicted[i].mean - process.targets()[i], 2) / static_cast<double>(predicted.size());
        EXPECT_LT(squares, 0.1) << width;  // of a variance of 1
    }
}

TEST(LocalModelTest, HasAdditivePartsWhereThoseOfTheWholeSpaceExplainMore) {
    const Data data = waves_near_the_middle(0.9, 28);
    Model whole{Scale::plain, prior_hyperparameters(data.inputs, Kernel::additive)};
    EXPECT_FALSE(local_model(square(), data, {0.5, 0.5}, whole).parameters.additive_length.empty());
    whole.parameters.additive_length.clear();
    EXPECT_TRUE(local_model(square(), data, {0.5, 0.5}, whole).parameters.additive_length.empty());
}

TEST(LocalModelTest, TrialsAtOnePointAndSpacesOfCategoriesAreNoError) {
    std::vector<Observation> trials;
    for (std::int64_t n = 0; n < 5; ++n) trials.push_back(observed(n, {0.5, 0.5}, 1));
    const SearchSpace space = square();
    const Data data = data_of(space, trials, {0, 1, 2, 3, 4});
    const Model whole{Scale::plain, prior_hyperparameters(data.inputs, Kernel::joint)};
    const Model model = local_model(space, data, {0.5, 0.5}, whole);
    for (const double length : model.parameters.length) EXPECT_TRUE(std::isfinite(length));

    SearchSpace choices = square();
    choices.bins = {3, 3};
    choices.categorical = {true, true};
    const Model chosen = local_model(choices, data_of(choices, trials, {0, 1, 2, 3, 4}), {0.5, 0.5}, whole);
    EXPECT_EQ(chosen.parameters.length.size(), 2u);
}

TEST(HistoryTest, ATrialToldAgainReplacesWhatItToldBefore) {
    History history;
    EXPECT_TRUE(history.tell(observed(1, {0.1, 0.1}, 5)));
    EXPECT_TRUE(history.tell(observed(2, {0.2, 0.2}, std::nullopt)));
    EXPECT_FALSE(history.tell(observed(1, {0.1, 0.1}, 3)));
    EXPECT_EQ(history.trials().size(), 2u);
    EXPECT_EQ(history.trials()[0].loss, 3);
    EXPECT_EQ(history.as_of(2)[0].loss, 5);
    EXPECT_EQ(history.measured(), 1u);
    EXPECT_EQ(history.best_points(5), std::vector<Point>{(Point{0.1, 0.1})});
}

TEST(SelectTest, KeepsTheBetterHalfAndSpreadsTheRest) {
    std::vector<Observation> trials;
    for (std::int64_t n = 0; n < 100; ++n) trials.push_back(observed(n, {0, 0}, static_cast<double>(99 - n)));
    const auto kept = select(trials, 10);
    ASSERT_EQ(kept.size(), 10u);
    EXPECT_EQ(std::vector<std::size_t>(kept.end() - 5, kept.end()), (std::vector<std::size_t>{95, 96, 97, 98, 99}));
    EXPECT_LT(kept.front(), 20u);
    EXPECT_EQ(select(trials, 200).size(), 100u);
}

TEST(RescaleTest, EveryScaleHasMeanZeroAndVarianceOneAndKeepsTheOrder) {
    for (const Scale scale : {Scale::plain, Scale::logarithm, Scale::steep_logarithm}) {
        const std::vector<double> values = rescale({3, 1, 100, 2, 1}, {}, scale).values;
        double mean = 0, squares = 0;
        for (const double v : values) mean += v / 5;
        for (const double v : values) squares += v * v / 5;
        EXPECT_NEAR(mean, 0, 1e-12);
        EXPECT_NEAR(squares, 1, 1e-12);
        EXPECT_LT(values[3], values[0]);
        EXPECT_LT(values[1], values[3]);
        EXPECT_LT(values[0], values[2]);
    }
}

TEST(RescaleTest, ResultsThatAreAllTheSameAreFinite) {
    for (const Scale scale : {Scale::plain, Scale::logarithm, Scale::steep_logarithm})
        EXPECT_EQ(rescale({2, 2, 2}, {}, scale).values, (std::vector<double>{0, 0, 0}));
}

TEST(RescaleTest, VariancesFollowTheScaleSoThatTheyAreWiderWhereItSpreadsOut) {
    const Targets plain = rescale({0, 1, 2, 10}, {1, 1, 1, 1}, Scale::plain);
    const Targets steep = rescale({0, 1, 2, 10}, {1, 1, 1, 1}, Scale::steep_logarithm);
    EXPECT_EQ(plain.variances[0], plain.variances[3]);
    EXPECT_GT(steep.variances[0], 100 * steep.variances[3]);
    EXPECT_TRUE(rescale({0, 1}, {}, Scale::plain).variances.empty());
}

TEST(DataTest, APredictedEndCountsAsOneOfAllStepsAndWeighsLessTheLessSureItIs) {
    const auto believed = [](double deviation) {
        History history;
        for (std::int64_t n = 1; n <= 9; ++n) {
            Observation one = observed(n, {0.1 * static_cast<double>(n), 0.5}, 1);
            one.steps = 20;
            history.tell(one);
        }
        Observation paused = observed(10, {0.5, 0.5}, 0);  // another trial ended at 1
        paused.steps = 2;
        paused.deviation = deviation;
        history.tell(paused);
        const SearchSpace space = square();
        const Data data = data_of(space, history.trials(), select(history.trials(), 100));
        EXPECT_EQ(data.steps, 0) << "all ends are of 20 steps";
        EXPECT_EQ(data.variances.size(), 10u);
        Model model;
        model.parameters = prior_hyperparameters(data.inputs, Kernel::joint);
        return least_believed(process_of(space, data, model, {}), false);
    };
    EXPECT_LT(believed(0.01), believed(3) - 0.1);
}

TEST(DataTest, AStandardErrorIsTheKnownNoiseOfATrialThatHasItsOwnSteps) {
    History history;
    for (std::int64_t n = 1; n <= 4; ++n) {
        Observation one = observed(n, {0.2 * static_cast<double>(n), 0.5}, 1);
        one.steps = n == 4 ? 3 : 20;
        if (n > 2) one.noise = 0.1 * static_cast<double>(n);
        history.tell(one);
    }
    const Data data = data_of(square(), history.trials(), select(history.trials(), 100));
    EXPECT_EQ(data.steps, 20) << "a stopped trial is no prediction of its end";
    ASSERT_EQ(data.variances.size(), 4U);
    EXPECT_EQ(data.variances[0], 0);
    EXPECT_NEAR(data.variances[2], 0.09, 1e-12);
    EXPECT_NEAR(data.variances[3], 0.16, 1e-12);
}

TEST(HistoryTest, TheBestIsTheLeastThatIsToldNow) {
    History history;
    EXPECT_EQ(history.best(), nullptr);
    history.tell(observed(1, {0, 0}, 3));
    history.tell(observed(2, {0, 0}, 1));
    EXPECT_EQ(history.best()->trial, 2);
    history.tell(observed(2, {0, 0}, 4));
    EXPECT_EQ(history.best()->trial, 1);
}

TEST(TrustRegionTest, GrowsWithSuccessAndShrinksWithout) {
    TrustRegion region;
    const double first = region.length();
    region.count(true, TrustRegion::Outcome::better, 3);
    region.count(true, TrustRegion::Outcome::better, 3);
    EXPECT_GT(region.length(), first);
    const double grown = region.length();
    for (int i = 0; i < 4; ++i) region.count(true, TrustRegion::Outcome::worse, 3);
    EXPECT_EQ(region.length(), grown / 2);
    for (int i = 0; i < 100; ++i) region.count(true, TrustRegion::Outcome::worse, 3);
    EXPECT_GT(region.length(), 1.0 / 256) << "begins anew when it has become tiny";
}

TEST(TrustRegionTest, GrowsOutOfAPlateau) {
    TrustRegion region;
    for (int i = 0; i < 3; ++i) region.count(true, TrustRegion::Outcome::worse, 3);
    const double before = region.length();
    region.count(true, TrustRegion::Outcome::equal, 3);
    EXPECT_GT(region.length(), before);
    const double grown = region.length();
    region.count(true, TrustRegion::Outcome::worse, 3);
    EXPECT_EQ(region.length(), grown) << "the failures before the plateau no longer count";
}

TEST(TrustRegionTest, HoldsWholeValuesOfDiscreteDimensionsAndAlwaysTheNeighbours) {
    const auto middle = [](std::uint64_t index) { return (static_cast<double>(index) + 0.5) / 10; };
    const auto side = [&](double centre, double length) { return discrete_side(centre, length, 10, middle); };
    using Ends = std::pair<double, double>;
    EXPECT_EQ(side(0.45, 0.4), Ends(0.25, 0.65));
    EXPECT_EQ(side(0.45, 0.37), Ends(0.35, 0.55)) << "0.63 would be rounded to 0.65, outside the box";
    EXPECT_EQ(side(0.45, 0.01), Ends(0.35, 0.55));
    EXPECT_EQ(side(0.05, 0.01), Ends(0.05, 0.15));
    EXPECT_EQ(side(0.95, 0.4), Ends(0.75, 0.95));
    EXPECT_EQ(side(0.47, 0.01), Ends(0.45, 0.55)) << "a centre between two values, of a trial before the range changed";
    EXPECT_EQ(discrete_side(0.5, 0.4, 1, [](auto) { return 0.5; }), Ends(0.5, 0.5));
}

TEST(TrustRegionTest, IsAskedMoreOftenWhereItsTrialsImprove) {
    TrustRegion good, bad;
    for (int i = 0; i < 20; ++i) {
        good.count(true, TrustRegion::Outcome::better, 3);
        good.count(false, TrustRegion::Outcome::worse, 3);
        bad.count(true, TrustRegion::Outcome::worse, 3);
        bad.count(false, TrustRegion::Outcome::better, 3);
    }
    EXPECT_GT(good.share(), 0.7);
    EXPECT_LT(bad.share(), 0.25);
}

}  // namespace
}  // namespace hpo
