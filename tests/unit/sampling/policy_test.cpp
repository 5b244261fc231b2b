#include "orchestrator/sampling/policy.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "hpo/random.hpp"

namespace hpo {
namespace {

Dimension real(std::string name, double low, double high, bool log = false, Role role = Role::none) {
    Dimension d;
    d.name = std::move(name);
    d.low = low;
    d.high = high;
    d.log = log;
    d.role = role;
    return d;
}

Dimension integer(std::string name, double low, double high, bool log = false, Role role = Role::none) {
    Dimension d = real(std::move(name), low, high, log, role);
    d.kind = Kind::integer;
    return d;
}

Dimension choice(std::string name, std::vector<Value> choices) {
    Dimension d;
    d.name = std::move(name);
    d.kind = Kind::categorical;
    d.choices = std::move(choices);
    return d;
}

Value word(const char* text) { return std::string(text); }

Space rich_space() {
    Dimension smoothing = real("label_smoothing", 0, 0.3, false, Role::regularizer);
    smoothing.step = 0.1;
    Dimension width = integer("width", 64, 640);
    width.step = 64;
    Dimension momentum = real("momentum", 0.8, 0.99);
    momentum.when = {{"optimizer", {word("sgd")}}};
    Dimension nesterov = choice("nesterov", {true, false});
    nesterov.when = {{"momentum_kind", {word("fast")}}};
    Dimension kind = choice("momentum_kind", {word("fast"), word("slow")});
    kind.when = {{"optimizer", {word("sgd")}}};
    // The parameter of a condition may come after the parameters that depend on it.
    return {nesterov,
            real("lr", 3e-4, 3e-2, true, Role::learning_rate),
            real("weight_decay", 1e-3, 3e-1, true, Role::regularizer),
            real("dropout", 0.1, 0.6, false, Role::regularizer),
            smoothing,
            integer("batch_size", 256, 4096, true, Role::batch_size),
            width,
            integer("depth", 1, 6, true),
            choice("optimizer", {word("adamw"), word("sgd")}),
            kind,
            momentum,
            real("constant", 2, 2)};
}

CubeMap made(const Space& space, bool scaled = true, const Params& fixed = {}) {
    auto map = CubeMap::make(space, Policy{256, scaled}, fixed);
    EXPECT_TRUE(map) << map.error().message;
    return *std::move(map);
}

Point drawn(std::size_t dimensions, std::uint64_t number) {
    Point point(dimensions);
    for (std::size_t d = 0; d < dimensions; ++d) point[d] = draw_unit(7, Purpose::sampler, number, d);
    return point;
}

double number(const Params& params, const std::string& name) { return number_or(params.at(name), std::nan("")); }

TEST(Policy, EveryPointOfTheCubeGivesParametersInsideTheDeclaredBounds) {
    const Space space = rich_space();
    const CubeMap map = made(space);
    for (std::uint64_t i = 0; i < 2000; ++i) {
        Point point = drawn(space.size(), i);
        for (std::size_t d = 0; d < point.size(); ++d)  // includes corners and faces
            if (draw_bits(8, Purpose::sampler, i, d) % 4 == 0) point[d] = std::round(point[d]);
        const Params params = map.params(point);
        for (const Dimension& d : space) {
            if (!params.contains(d.name) || d.kind == Kind::categorical) continue;
            EXPECT_GE(number(params, d.name), d.low) << d.name;
            EXPECT_LE(number(params, d.name), d.high) << d.name;
        }
    }
}

TEST(Policy, TheMapLeadsBackFromParametersToTheirPoint) {
    const Space space = rich_space();
    for (const bool scaled : {true, false}) {
        const CubeMap map = made(space, scaled);
        for (std::uint64_t i = 0; i < 2000; ++i) {
            const Point point = map.canonical(drawn(space.size(), i));
            const Params params = map.params(point);
            const auto back = map.point(params);
            ASSERT_TRUE(back) << back.error().message;
            const auto active = map.active(params);
            for (std::size_t d = 0; d < point.size(); ++d)
                if (active[d] && space[d].name != "constant") {
                    EXPECT_NEAR((*back)[d], point[d], 1e-12) << space[d].name;
                }
            const Params again = map.params(*back);
            ASSERT_EQ(again.size(), params.size());
            for (const auto& [name, value] : params) {
                if (std::holds_alternative<double>(value)) {
                    EXPECT_NEAR(number(again, name), number(params, name), 1e-12 * std::abs(number(params, name)));
                } else {
                    EXPECT_EQ(again.at(name), value) << name;
                }
            }
        }
    }
}

TEST(Policy, ValuesRiseWithTheirCoordinateAtEveryBatchSize) {
    const Space space = rich_space();
    const CubeMap map = made(space);
    for (std::size_t d = 1; d < 8; ++d)
        for (const double batch : {0.0, 0.2, 0.5, 0.9, 1.0})
            for (const double optimizer : {0.2, 0.7}) {
                double last = -1;
                for (int i = 0; i <= 100; ++i) {
                    Point point(space.size(), 0.5);
                    point[5] = batch;
                    point[8] = optimizer;
                    point[d] = i / 100.0;
                    const double value = number(map.params(point), space[d].name);
                    EXPECT_GE(value, last) << space[d].name;
                    last = value;
                }
                EXPECT_NEAR(last, space[d].high, 1e-12 * space[d].high) << "the upper end is reached";
            }
}

TEST(Policy, ParametersAreThereExactlyWhileTheirConditionsHold) {
    const Space space = rich_space();
    const CubeMap map = made(space);
    std::set<std::size_t> sizes;
    for (std::uint64_t i = 0; i < 200; ++i) {
        const Point point = drawn(space.size(), i);
        const Params params = map.params(point);
        const bool sgd = params.at("optimizer") == word("sgd");
        EXPECT_EQ(params.contains("momentum"), sgd);
        EXPECT_EQ(params.contains("momentum_kind"), sgd);
        EXPECT_EQ(params.contains("nesterov"), sgd && params.at("momentum_kind") == word("fast"));
        EXPECT_EQ(map.active(point), map.active(params));
        sizes.insert(params.size());
    }
    EXPECT_THAT(sizes, ::testing::ElementsAre(9, 11, 12));
}

Params at_batch(const CubeMap& map, double batch, const char* optimizer) {
    Point point(map.space().size(), 0.5);
    for (std::size_t d = 0; d < point.size(); ++d) {
        if (map.space()[d].name == "batch_size")
            point[d] = batch == 256 ? 0.0 : batch == 4096 ? 1.0 : 0.5;  // the middle is 1024
        if (map.space()[d].name == "optimizer") point[d] = optimizer == std::string("adamw") ? 0.25 : 0.75;
    }
    return map.params(point);
}

TEST(Policy, TheMedianLearningRateGrowsWithTheRootOfTheBatchForAdamW) {
    const CubeMap map = made(rich_space());
    EXPECT_NEAR(number(at_batch(map, 256, "adamw"), "lr"), 3e-3 / 2, 1e-8);
    EXPECT_NEAR(number(at_batch(map, 1024, "adamw"), "lr"), 3e-3, 2e-6);
    EXPECT_NEAR(number(at_batch(map, 4096, "adamw"), "lr"), 3e-3 * 2, 1e-8);
}

TEST(Policy, TheMedianLearningRateGrowsLinearlyWithTheBatchForSgd) {
    const CubeMap map = made(rich_space());
    EXPECT_NEAR(number(at_batch(map, 256, "sgd"), "lr"), 3e-3 / 4, 1e-8);
    EXPECT_NEAR(number(at_batch(map, 1024, "sgd"), "lr"), 3e-3, 4e-6);
    EXPECT_NEAR(number(at_batch(map, 4096, "sgd"), "lr"), 3e-3 * 4, 1e-8);
}

TEST(Policy, AFixedOptimizerIsLookedUpOutsideTheSpace) {
    const Space space{real("lr", 1e-4, 1, true, Role::learning_rate),
                      integer("batch_size", 256, 4096, true, Role::batch_size)};
    const auto ratio = [&](const Params& fixed) {
        const CubeMap map = made(space, true, fixed);
        return number(map.params({0.5, 1}), "lr") / number(map.params({0.5, 0}), "lr");
    };
    EXPECT_NEAR(ratio({}), 4, 1e-9);
    EXPECT_NEAR(ratio({{"optimizer", word("adamw")}}), 4, 1e-9);
    EXPECT_NEAR(ratio({{"optimizer", word("sgd")}}), 16, 1e-9);
}

TEST(Policy, TheMedianLearningRateStaysInsideNarrowBounds) {
    const CubeMap map = made(
        {real("lr", 1e-3, 2e-3, true, Role::learning_rate), integer("batch_size", 256, 65536, true, Role::batch_size)},
        true, {{"optimizer", word("sgd")}});
    const double range = std::log(2.0);
    EXPECT_NEAR(std::log(number(map.params({0.5, 1}), "lr") / 1e-3) / range, 0.9, 1e-9);
    EXPECT_NEAR(std::log(number(map.params({0.5, 0}), "lr") / 1e-3) / range, 0.1, 1e-9);
}

TEST(Policy, RegularizersLeanTowardsStrongerValuesAsTheBatchGrows) {
    const CubeMap map = made(rich_space());
    const Params small = at_batch(map, 256, "adamw"), large = at_batch(map, 4096, "adamw");
    EXPECT_NEAR(number(small, "dropout"), 0.35, 1e-9) << "the declared prior at 256";
    EXPECT_NEAR(number(large, "dropout"), 0.1 + 0.5 * 2 / 3, 1e-9) << "odds of two to one at 4096";
    EXPECT_NEAR(std::log(number(large, "weight_decay") / 1e-3) / std::log(300.0), 2.0 / 3, 1e-9);
}

TEST(Policy, AFixedLargeBatchLeansRegularizersButNotTheLearningRate) {
    const CubeMap map =
        made({real("lr", 1e-4, 1e-2, true, Role::learning_rate), real("dropout", 0, 0.6, false, Role::regularizer)},
             true, {{"batch_size", std::int64_t{4096}}});
    const Params params = map.params({0.5, 0.5});
    EXPECT_NEAR(number(params, "lr"), 1e-3, 1e-12);
    EXPECT_NEAR(number(params, "dropout"), 0.4, 1e-12);
}

TEST(Policy, BatchesBelow256DoNotWeakenRegularizers) {
    const CubeMap map =
        made({real("dropout", 0, 0.6, false, Role::regularizer)}, true, {{"batch_size", std::int64_t{32}}});
    EXPECT_NEAR(number(map.params({0.5}), "dropout"), 0.3, 1e-12);
}

TEST(Policy, SwitchedOffNothingDependsOnTheBatch) {
    const CubeMap map = made(rich_space(), false);
    for (const double batch : {256.0, 4096.0}) {
        const Params params = at_batch(map, batch, "sgd");
        EXPECT_NEAR(number(params, "lr"), 3e-3, 1e-12);
        EXPECT_NEAR(number(params, "dropout"), 0.35, 1e-12);
    }
}

TEST(Policy, ABatchSizeOfChoicesBendsToo) {
    Dimension batch = choice("batch_size", {std::int64_t{256}, std::int64_t{1024}, std::int64_t{4096}});
    batch.role = Role::batch_size;
    const CubeMap map = made({batch, real("lr", 3e-4, 3e-2, true, Role::learning_rate)});
    EXPECT_NEAR(number(map.params({0.1, 0.5}), "lr"), 1.5e-3, 1e-9);
    EXPECT_NEAR(number(map.params({0.5, 0.5}), "lr"), 3e-3, 1e-9);
    EXPECT_NEAR(number(map.params({0.9, 0.5}), "lr"), 6e-3, 1e-9);
}

TEST(Policy, IntegersAreEquallyLikelyAndOnTheLogarithmTheirOctavesAre) {
    const CubeMap map = made({integer("depth", 1, 5), integer("width", 16, 1024, true)});
    std::vector<int> depths(6), octaves(7);
    for (int i = 0; i < 6000; ++i) {
        const double u = (i + 0.5) / 6000;
        const Params params = map.params({u, u});
        ++depths[static_cast<std::size_t>(number(params, "depth"))];
        ++octaves[static_cast<std::size_t>(std::log2(number(params, "width") / 16))];
    }
    for (int depth = 1; depth <= 5; ++depth) EXPECT_EQ(depths[static_cast<std::size_t>(depth)], 1200);
    for (int octave = 0; octave < 6; ++octave) EXPECT_NEAR(octaves[static_cast<std::size_t>(octave)], 1000, 35);
}

TEST(Policy, SteppedRealsAreWrittenWithoutBinaryDust) {
    Dimension d = real("smoothing", 0, 0.3);
    d.step = 0.1;
    EXPECT_EQ(std::get<double>(made({d}).params({0.99}).at("smoothing")), 0.3);
}

TEST(Policy, ParametersOutsideTheSpaceHaveNoPoint) {
    const CubeMap map = made({integer("depth", 1, 5), choice("optimizer", {word("sgd")})});
    const auto error = [&](const Params& params) {
        const auto point = map.point(params);
        return point ? std::string() : point.error().message;
    };
    EXPECT_THAT(error({{"depth", std::int64_t{6}}, {"optimizer", word("sgd")}}), ::testing::HasSubstr("depth: 6"));
    EXPECT_THAT(error({{"depth", std::int64_t{5}}, {"optimizer", word("lion")}}), ::testing::HasSubstr("lion"));
    EXPECT_THAT(error({{"depth", std::int64_t{5}}}), ::testing::HasSubstr("optimizer"));
    EXPECT_EQ(error({{"depth", std::int64_t{5}}, {"optimizer", word("sgd")}}), "");
}

TEST(Policy, ParametersThatDependOnEachOtherInACircleAreRefusedByName) {
    Dimension a = choice("a", {word("x"), word("y")}), b = choice("b", {word("x"), word("y")});
    a.when = {{"b", {word("x")}}};
    b.when = {{"a", {word("x")}}};
    const auto map = CubeMap::make({a, b}, {}, {});
    ASSERT_FALSE(map);
    EXPECT_THAT(map.error().message, ::testing::HasSubstr("circle: a, b"));
}

TEST(Policy, AnEmptySpaceHasOnePoint) {
    const CubeMap map = made({});
    EXPECT_TRUE(map.params({}).empty());
    EXPECT_TRUE((*map.point({})).empty());
}

}  // namespace
}  // namespace hpo
