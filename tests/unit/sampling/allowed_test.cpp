// Ranges that depend on other parameters, conditions between them, and the part of the cube that they allow.
#include "orchestrator/sampling/allowed.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "hpo/random.hpp"
#include "support.hpp"

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using ::testing::HasSubstr;

Dimension from_to(std::string name, double low, double high, Kind kind = Kind::real, bool log = false) {
    Dimension d;
    d.name = std::move(name);
    d.kind = kind;
    d.low = low;
    d.high = high;
    d.log = log;
    return d;
}

Dimension up_to(std::string name, double low, double high, std::string high_of, Kind kind = Kind::real,
                bool log = false) {
    Dimension d = from_to(std::move(name), low, high, kind, log);
    d.high_of = std::move(high_of);
    return d;
}

double value_in(const Params& params, const std::string& name) { return number_or(params.at(name), NAN); }

CubeMap map_of(const Space& space, const std::vector<std::string>& where = {}, const Params& fixed = {}) {
    auto map = CubeMap::make(space, Policy{256, false}, fixed, where);
    EXPECT_TRUE(map) << map.error().message;
    return *std::move(map);
}

std::shared_ptr<const Allowed> allowed_part(const Space& space, const std::vector<std::string>& where) {
    auto made = Allowed::make(std::make_shared<const CubeMap>(map_of(space, where)), where, 1);
    EXPECT_TRUE(made) << made.error().message;
    return *made;
}

std::function<double()> draws(std::uint64_t seed) {
    return [seed, element = std::uint64_t{0}]() mutable { return draw_unit(seed, Purpose::synthetic, 1, element++); };
}

Study study_with(Space space, std::vector<std::string> where, std::string sampler = "random") {
    Study study;
    study.space = std::move(space);
    study.where = std::move(where);
    study.sampler.type = std::move(sampler);
    return study;
}

std::string refusal_of_study(const Study& study) {
    const auto made = Proposer::make(study);
    return made ? "(accepted)" : made.error().message;
}

TEST(DependentRange, ACoordinateIsAShareOfWhatTheOthersLeave) {
    const CubeMap map =
        map_of({up_to("least", 1e-6, 1e-1, "lr", Kind::real, true), from_to("lr", 1e-4, 1e-1, Kind::real, true),
                up_to("heads", 1, 16, "width / 2", Kind::integer), from_to("width", 2, 32, Kind::integer)});
    EXPECT_FALSE(map.restricts()) << "none of the ranges can be empty";
    const Params low = map.params({0, 0, 0, 0}), high = map.params({1, 1, 1, 1}), mixed = map.params({1, 0, 1, 0.1});
    EXPECT_NEAR(value_in(low, "least"), 1e-6, 1e-18);
    EXPECT_NEAR(value_in(high, "least"), 0.1, 1e-12);
    EXPECT_NEAR(value_in(mixed, "least"), 1e-4, 1e-12);
    EXPECT_NEAR(value_in(map.params({0.5, 0, 0, 0}), "least"), 1e-5, 1e-12) << "the middle of the magnitudes";
    EXPECT_EQ(value_in(high, "heads"), 16);
    EXPECT_EQ(value_in(mixed, "width"), 5);
    EXPECT_EQ(value_in(mixed, "heads"), 2) << "whole numbers up to 2.5";
    EXPECT_FALSE(map.values(2)) << "their number depends on the width";
}

TEST(DependentRange, TheMapIsInvertible) {
    Dimension stepped = from_to("stepped", -8, 8);
    stepped.low_of = "-width / 4", stepped.step = 0.5;
    const CubeMap map = map_of({up_to("least", 1e-6, 1e-1, "lr * 0.9", Kind::real, true), stepped,
                                from_to("lr", 1e-4, 1e-1, Kind::real, true), from_to("width", 2, 32, Kind::integer),
                                up_to("heads", 1, 40, "max(width, 3) + 2", Kind::integer, true)});
    for (std::uint64_t i = 0; i < 500; ++i) {
        Point point(5);
        for (std::size_t d = 0; d < 5; ++d)
            point[d] = i < 32 ? static_cast<double>(i >> d & 1) : draw_unit(1, Purpose::synthetic, i, d);
        const Params params = map.params(point);
        const auto back = map.point(params);
        ASSERT_TRUE(back) << back.error().message;
        EXPECT_EQ(map.params(*back).at("heads"), params.at("heads"));
        EXPECT_NEAR(value_in(map.params(*back), "least") / value_in(params, "least"), 1, 1e-9);
        EXPECT_NEAR((*back)[0], point[0], 1e-9);
        EXPECT_EQ(map.canonical(point), map.canonical(map.canonical(point)));
        EXPECT_GE(value_in(params, "stepped"), -value_in(params, "width") / 4);
    }
}

TEST(DependentRange, ValuesOutsideWhatTheOthersLeaveHaveNoPoint) {
    const CubeMap map = map_of({from_to("a", 0, 1), up_to("b", 0, 1, "a")});
    EXPECT_TRUE(map.point({{"a", 0.5}, {"b", 0.5}}));
    const auto refused = map.point({{"a", 0.5}, {"b", 0.6}});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, Mentions("0.6"));
}

TEST(DependentRange, IsAsWideAsItCanBeWithoutTheParameterThatBoundsIt) {
    Dimension optimizer = from_to("optimizer", 0, 1);
    optimizer.kind = Kind::categorical, optimizer.choices = {std::string("adam"), std::string("sgd")};
    Dimension momentum = from_to("momentum", 0.1, 0.9);
    momentum.when = {{"optimizer", {std::string("sgd")}}};
    const CubeMap map = map_of({optimizer, momentum, up_to("damping", 0, 0.9, "momentum")});
    EXPECT_NEAR(value_in(map.params({0.1, 0.5, 1}), "damping"), 0.9, 1e-12);
    EXPECT_NEAR(value_in(map.params({0.9, 0.5, 1}), "damping"), 0.5, 1e-12);
    EXPECT_TRUE(map.point(map.params({0.9, 0.5, 1})));
}

TEST(DependentRange, ThatMayBeEmptyAllowsAPart) {
    Dimension b = up_to("b", 4, 8, "2 * a", Kind::integer);
    const CubeMap map = map_of({from_to("a", 1, 4, Kind::integer), b});
    EXPECT_TRUE(map.restricts());
    EXPECT_FALSE(map.allows(map.params({0, 0.5})));
    EXPECT_TRUE(map.allows(map.params({0.5, 0.5})));
    const auto part = allowed_part(map.space(), {});
    EXPECT_EQ(part->about(), "9 of 10 configurations are allowed");  // of a = 1 none, of 2 to 4 one, three and five
}

TEST(DependentRange, DependsOnTheBatchSizeInNoCircle) {
    Dimension lr = from_to("lr", 1e-4, 1e-1, Kind::real, true);
    lr.role = Role::learning_rate;
    Dimension batch = up_to("batch_size", 256, 4096, "256 + 1000 * lr", Kind::integer);
    batch.role = Role::batch_size;
    const auto made = CubeMap::make({lr, batch}, Policy{256, true}, {});
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr("circle: lr, batch_size"));
    EXPECT_TRUE(CubeMap::make({lr, batch}, Policy{256, false}, {}));
}

TEST(AllowedPart, IsNothingToKnowOfWhereAllIsAllowed) {
    EXPECT_EQ(allowed_part({from_to("a", 0, 1), up_to("b", 0, 1, "a")}, {}), nullptr);
}

TEST(AllowedPart, DrawsUniformly) {
    // A triangle by rejection, and a band of 1 % by walks.
    const Space space{from_to("x", 0, 1), from_to("y", 0, 1)};
    const auto triangle = allowed_part(space, {"y <= x"});
    const auto band = allowed_part(space, {"abs(x - y) < 0.005"});
    EXPECT_NEAR(triangle->share(), 0.5, 0.05);
    EXPECT_NEAR(band->share(), 0.01, 0.002);
    EXPECT_THAT(band->about(), Mentions("%", "allowed (of"));
    const auto uniform = draws(3);
    int left = 0, of_triangle = 0;
    for (int i = 0; i < 2000; ++i) {
        const Point in_band = band->draw(uniform), in_triangle = triangle->draw(uniform);
        ASSERT_TRUE(band->contains(in_band));
        ASSERT_TRUE(triangle->contains(in_triangle));
        left += in_band[0] < 0.5;
        of_triangle += in_triangle[0] < 0.5;
    }
    EXPECT_NEAR(left / 2000.0, 0.5, 0.08);
    EXPECT_NEAR(of_triangle / 2000.0, 0.25, 0.04);
}

TEST(AllowedPart, MovesWishesToWhereTheyAreAllowed) {
    const auto part = allowed_part({from_to("x", 0, 1), from_to("y", 0, 1)}, {"x + y <= 0.5"});
    const Point inside{0.1, 0.1}, outside{0.9, 0.1};
    EXPECT_EQ(part->towards(inside, {0.2, 0.2}), (Point{0.2, 0.2}));
    const Point border = part->towards(inside, outside);
    EXPECT_TRUE(part->contains(border));
    EXPECT_NEAR(border[0], 0.4, 0.001);
    EXPECT_EQ(part->near(inside), inside);
    EXPECT_TRUE(part->contains(part->near({1, 1})));
}

TEST(AllowedPart, ThatIsEmptyIsAnErrorWithTheNumbers) {
    EXPECT_THAT(refusal_of_study(study_with({from_to("x", 0, 1), from_to("y", 0, 1)}, {"x < 0.5", "y > 2"})),
                ::testing::AllOf(::testing::ContainsRegex("\"x < 0.5\" .*[45][0-9] %, \"y > 2\" .* 0 % "),
                                 Mentions("250,000", "'where'")));
    EXPECT_THAT(refusal_of_study(
                    study_with({from_to("a", 1, 4, Kind::integer), from_to("b", 1, 4, Kind::integer)}, {"a * b == 7"})),
                Mentions("16", "\"a * b == 7\"", "0 %"));
    EXPECT_THAT(refusal_of_study(study_with({from_to("a", 1, 4)}, {"true", "log(-a) < 0"})),
                Mentions("\"log(-a) < 0\"", "0 %"))
        << "what has no value is not allowed";
}

TEST(AllowedPart, OfASmallSpaceIsTriedToItsEnd) {
    const Study study =
        study_with({from_to("a", 1, 6, Kind::integer), from_to("b", 1, 6, Kind::integer)}, {"a * b == 6"});
    Proposer proposer = make_proposer(study);
    EXPECT_EQ(proposer.about_allowed(), "4 of 36 configurations are allowed");
    EXPECT_EQ(played(study, 10, [](const TrialRecord&) { return 1; }).size(), 4u);
    EXPECT_EQ(proposer.exhausted(), "every configuration that is allowed was tried");
}

TEST(AllowedPart, AConfigurationOfTheStartThatCannotBeCompletedIsAnError) {
    Study study = study_with({from_to("x", 0, 1), from_to("y", 0, 1)}, {"x + y < 0.5"});
    study.start = {{{"x", 0.25}}, {{"x", 0.75}}};
    EXPECT_THAT(refusal_of_study(study), HasSubstr("configuration 2 of 'start'"));
    study.start.pop_back();
    EXPECT_EQ(played(study, 1, [](const TrialRecord&) { return 1; })[0].params.at("x"), Value(0.25));
}

TEST(AllowedPart, TrialsOfOtherStudiesThatAreNotAllowedAreNotRepeated) {
    Study study = study_with({from_to("x", 0, 1), up_to("y", 0, 1, "x")}, {"x < 0.5"}, "tpe");
    study.warm_start = {"old"};
    study.objective.direction = Direction::minimize;
    Study old = study_with({from_to("x", 0, 1), from_to("y", 0, 1)}, {});
    old.objective.direction = Direction::minimize;
    StudyRecord record;
    for (const auto& [x, y] : std::vector<std::pair<double, double>>{{0.9, 0.1}, {0.2, 0.4}, {0.4, 0.3}, {0.3, 0.1}}) {
        TrialRecord trial;
        trial.number = static_cast<std::int64_t>(record.trials.size()) + 1;
        trial.params = {{"x", x}, {"y", y}};
        trial.state = TrialState::complete;
        trial.value = -x;
        record.trials.push_back(trial);
    }
    const PriorStudy prior = prior_study(study, old, record);
    EXPECT_EQ(prior.outside, 1) << "y is above x";
    EXPECT_EQ(prior.trials.size(), 3u);
    const auto proposer = Proposer::make(study, {prior});
    ASSERT_TRUE(proposer);
    EXPECT_EQ(proposer->about().find("3 of "), std::string("tpe; learns from ended trials of other studies: ").size());
    auto first = Proposer::make(study, {prior});
    EXPECT_EQ(first->propose(1)->params.at("x"), Value(0.4)) << "0.9 was better, and is not allowed";
}

TEST(GridOfAPart, DropsCellsAndSaysHowMany) {
    Study study = study_with({from_to("layers", 1, 4, Kind::integer), from_to("width", 1, 4, Kind::integer)},
                             {"layers * width <= 4"}, "grid");
    EXPECT_EQ(make_proposer(study).about(), "grid of 8 points (8 of 16 are not allowed)");
    EXPECT_EQ(played(study, 100, [](const TrialRecord&) { return 1; }).size(), 8u);
    study.where = {"layers * width == 15"};
    study.space[0].kind = study.space[1].kind = Kind::real;
    study.space[0].high = study.space[1].high = 5;
    study.sampler.options = {{"points", std::int64_t{2}}};
    EXPECT_THAT(refusal_of_study(study), HasSubstr("is allowed"));
    study.where = {"layers > 2 and layers < 4"};
    EXPECT_THAT(refusal_of_study(study), Mentions("sampler", "grid: none", "4 points"));
}

TEST(GridOfAPart, TakesEveryValueThatOtherParametersLeave) {
    const Study study =
        study_with({from_to("a", 1, 8, Kind::integer), up_to("b", 1, 8, "a", Kind::integer)}, {}, "grid");
    std::set<Params> different;
    for (const TrialRecord& trial : played(study, 1000, [](const TrialRecord&) { return 1; }))
        different.insert(trial.params);
    EXPECT_EQ(different.size(), 36u);
    EXPECT_EQ(make_proposer(study).about(), "grid of 36 points");
}

}  // namespace
}  // namespace hpo
