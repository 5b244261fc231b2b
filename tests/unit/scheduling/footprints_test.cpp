#include "orchestrator/scheduling/footprints.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "hpo/random.hpp"
#include "tests/support/bytes.hpp"

namespace hpo {
namespace {

using hpo::testing::GiB;
using hpo::testing::MiB;

Params config(std::int64_t batch, std::int64_t width, const std::string& optimizer = "adamw", double lr = 0.001) {
    return {{"batch_size", batch}, {"width", width}, {"optimizer", optimizer}, {"lr", lr}};
}
Footprint host(std::int64_t bytes) { return {0, bytes, 0}; }
Footprint device(std::int64_t device_bytes, std::int64_t host_bytes) { return {device_bytes, host_bytes, 0}; }

TEST(Footprints, OnlyTheFirstTrialOfAnUndeclaredKindRunsAlone) {
    FootprintModel model;
    EXPECT_TRUE(model.predict(config(256, 64)).alone);
    model.measured(config(256, 64), host(GiB));
    const Prediction next = model.predict(config(512, 128));
    EXPECT_FALSE(next.alone);
    EXPECT_EQ(next.why, "in proportion to 1 measured configuration");
}

TEST(Footprints, OnADeviceTheDevicesMemoryMustBeKnown) {
    FootprintModel model({.host_bytes = GiB}, true);
    EXPECT_TRUE(model.predict(config(256, 64)).alone);
    EXPECT_EQ(model.predict(config(256, 64)).footprint.host_bytes, GiB);
    model.measured(config(256, 64), device(2 * GiB, GiB / 2));
    EXPECT_FALSE(model.predict(config(256, 64)).alone);
    EXPECT_FALSE(FootprintModel({.device_bytes = GiB}, true).predict(config(256, 64)).alone);
    EXPECT_FALSE(FootprintModel({.host_bytes = GiB}).predict(config(256, 64)).alone);
}

TEST(Footprints, ADeclarationHoldsUntilAMeasurementExceedsIt) {
    FootprintModel model({.host_bytes = 2 * GiB, .cores = 1.5});
    EXPECT_EQ(model.predict(config(256, 64)).footprint.host_bytes, 2 * GiB);
    EXPECT_EQ(model.predict(config(256, 64)).footprint.cores, 1.5);
    model.measured(config(256, 64), host(GiB));
    EXPECT_EQ(model.predict(config(256, 64)).footprint.host_bytes, 2 * GiB);
    model.measured(config(4096, 64), host(3 * GiB));
    EXPECT_GE(model.predict(config(4096, 64)).footprint.host_bytes, 3 * GiB);
    EXPECT_LT(model.predict(config(256, 64)).footprint.host_bytes, 2 * GiB);
}

TEST(Footprints, AMeasuredConfigurationReservesItsLargestPeakAndTheMeasuringError) {
    FootprintModel model;
    model.measured(config(256, 64), host(10 * GiB));
    model.measured(config(256, 64), host(8 * GiB));
    EXPECT_EQ(model.predict(config(256, 64)).footprint.host_bytes, with_measurement_error(host(10 * GiB)).host_bytes);
    EXPECT_EQ(model.predict(config(256, 64)).why, "measured");
    EXPECT_EQ(with_measurement_error(host(100 * MiB)).host_bytes, 164 * MiB);
    EXPECT_EQ(with_measurement_error(host(10 * GiB)).host_bytes, 10 * GiB + GiB / 2);
    EXPECT_EQ(with_measurement_error(host(10 * GiB)).device_bytes, 0);
}

TEST(Footprints, AfterOneMeasurementLargerConfigurationsReserveProportionallyMore) {
    FootprintModel model;
    model.measured(config(256, 64), host(GiB));
    const auto reserved = [&](const Params& params) { return model.predict(params).footprint.host_bytes; };
    EXPECT_GE(reserved(config(512, 64)), 2 * GiB);
    EXPECT_GE(reserved(config(512, 128)), 4 * GiB);
    EXPECT_GE(reserved(config(256, 64, "sgd")), GiB + GiB / 4);
    EXPECT_GE(reserved(config(128, 32)), GiB);                    // the footprint may be constant
    EXPECT_LE(reserved(config(256, 64, "adamw", 0.1)), 2 * GiB);  // the value of a real parameter takes no memory
}

TEST(Footprints, TheFormulaOfALayerIsFoundAndExtrapolates) {
    const auto law = [](std::int64_t batch, std::int64_t width) {
        return 300 * MiB + 4 * batch * width * 256 + 16 * width * width * 64;
    };
    FootprintModel model;
    for (const std::int64_t batch : {256, 512, 1024, 2048})
        for (const std::int64_t width : {64, 128, 256}) model.measured(config(batch, width), host(law(batch, width)));
    EXPECT_EQ(model.predict(config(300, 100)).why, "a law fitted to 12 measured configurations");
    for (const auto& [batch, width] : {std::pair<int, int>{700, 200}, {256, 1024}, {8192, 256}, {8192, 1024}}) {
        const double share =
            double(model.predict(config(batch, width)).footprint.host_bytes) / double(law(batch, width));
        EXPECT_GE(share, 1) << batch << ' ' << width;
        EXPECT_LE(share, 1.3) << batch << ' ' << width;
    }
}

TEST(Footprints, ACategoricalParameterMayChangeAFactor) {
    const auto law = [](std::int64_t batch, std::int64_t width, bool adam) {
        return 300 * MiB + 4 * batch * width * 256 + (adam ? 16 : 4) * width * width * 256;
    };
    FootprintModel model;
    for (const std::int64_t batch : {256, 1024})
        for (const std::int64_t width : {64, 256, 512})
            for (const bool adam : {true, false})
                model.measured(config(batch, width, adam ? "adamw" : "sgd"), host(law(batch, width, adam)));
    for (const bool adam : {true, false}) {
        const auto reserved = model.predict(config(512, 400, adam ? "adamw" : "sgd")).footprint.host_bytes;
        EXPECT_GE(reserved, law(512, 400, adam));
        EXPECT_LE(double(reserved), 3 * double(law(512, 400, adam)));
    }
}

TEST(Footprints, ANewCategoryReservesMoreThanTheLargestPeak) {
    FootprintModel model;
    for (const std::int64_t batch : {256, 512, 1024, 2048, 4096, 8192})
        model.measured(config(batch, 64), host(GiB + batch * 4096));
    EXPECT_GE(model.predict(config(256, 64, "shampoo")).footprint.host_bytes, GiB + GiB / 2);
    EXPECT_LE(model.predict(config(256, 64)).footprint.host_bytes, GiB + GiB / 4);
}

TEST(Footprints, WidthsInAListAreUsed) {
    const auto params = [](std::int64_t a, std::int64_t b) {
        return Params{{"hidden", std::vector<std::int64_t>{a, b}}};
    };
    FootprintModel model;
    for (const std::int64_t a : {64, 256, 1024})
        for (const std::int64_t b : {64, 512, 2048}) model.measured(params(a, b), host(200 * MiB + 64 * a * b * 16));
    const auto reserved = model.predict(params(1024, 1024)).footprint.host_bytes;
    EXPECT_GE(reserved, 200 * MiB + 1024 * MiB);
    EXPECT_LE(reserved, 1600 * MiB);
}

TEST(Footprints, SurviveInvalidMeasurements) {
    FootprintModel model;
    const auto huge = std::numeric_limits<std::int64_t>::max();
    model.measured({}, host(GiB));
    model.measured({{"a", std::nan("")}, {"b", huge}}, host(huge));
    model.measured({{"a", std::string("x")}, {"b", -huge}}, host(1));
    model.measured({{"a", true}, {"c", std::vector<std::int64_t>{}}}, host(-5));
    for (int i = 0; i < 12; ++i) model.measured({{"b", std::int64_t{i}}, {"a", INFINITY}}, host(1 + i % 2));
    EXPECT_GT(model.predict({{"b", huge}, {"a", 1.0}}).footprint.host_bytes, 0);
    EXPECT_GT(model.predict({{"d", std::string("new")}}).footprint.host_bytes, 0);
    EXPECT_GT(model.predict({{"a", std::nan("")}}).footprint.host_bytes, 0);
}

// ---- Over random formulas.

/// A random formula for a footprint: a constant, activations, weights with the optimizer's state, a categorical
/// parameter that multiplies or adds, parameters without effect, and noise of up to 2 %.
class RandomFormula {
   public:
    explicit RandomFormula(std::uint64_t seed) : seed_(seed) {
        constant_ = 200.0 * double(MiB) * std::pow(15, unit());
        activation_ = 4 * std::pow(2, 8 * unit());
        weight_ = 16 * std::pow(2, 6 * unit());
        attention_ = unit() < 0.3 ? 4 * std::pow(2, 4 * unit()) : 0;
        jump_ = unit() < 0.5 ? double(GiB) * unit() : 0;
        state_ = unit() < 0.5 ? 0.25 + 0.5 * unit() : 1;
        noise_ = 0.02 * unit();
        idle_ = unit() < 0.5;
        accumulate_ = unit() < 0.3;
    }
    Params draw() {
        Params p{{"batch_size", whole(256, 4096)},
                 {"width", whole(64, 2048)},
                 {"lr", 3e-4 * std::pow(100, unit())},
                 {"dropout", unit() * 0.6},
                 {"activation", std::string(unit() < 0.5 ? "relu" : "gelu")},
                 {"optimizer", std::string(unit() < 0.5 ? "adamw" : "sgd")}};
        p["depth"] = std::int64_t(1 + std::floor(unit() * 8));
        if (idle_) p["seed"] = std::int64_t(unit() * 1e6), p["warmup"] = whole(10, 1000);
        if (accumulate_) p["accumulation"] = std::int64_t(1) << std::int64_t(unit() * 4);
        return p;
    }
    std::int64_t bytes(const Params& p) {
        const auto number = [&](const char* name) { return number_or(p.at(name), 0); };
        const double micro = number("batch_size") / (accumulate_ ? number("accumulation") : 1);
        const double width = number("width"), depth = number("depth");
        const bool gelu = std::get<std::string>(p.at("activation")) == "gelu";
        const bool sgd = std::get<std::string>(p.at("optimizer")) == "sgd";
        const double exact = constant_ + activation_ * micro * width * depth + attention_ * micro * width +
                             weight_ * width * width * depth * (sgd ? state_ : 1) + (gelu ? jump_ : 0);
        return static_cast<std::int64_t>(exact * (1 + noise_ * (2 * unit() - 1)));
    }

   private:
    double unit() { return draw_unit(seed_, Purpose::synthetic, 2, draws_++); }
    std::int64_t whole(double low, double high) { return std::int64_t(low * std::pow(high / low, unit())); }

    std::uint64_t seed_, draws_ = 0;
    double constant_, activation_, weight_, attention_, jump_, state_, noise_;
    bool idle_, accumulate_;
};

struct Coverage {
    int predictions = 0, held = 0;
    double overreserved = 0;  ///< sum of reserved / taken
    [[nodiscard]] double mean() const { return overreserved / predictions; }
};

TEST(Footprints, OverRandomFormulasTheBoundHoldsFromEightMeasurementsOn) {
    Coverage few, many;  // 8 to 15, 16 to 31 measurements
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        RandomFormula law(seed);
        FootprintModel model;
        model.measured(law.draw(), host(GiB));
        model = FootprintModel();
        for (int n = 0; n < 32; ++n) {
            const Params params = law.draw();
            const std::int64_t bytes = law.bytes(params);
            if (n >= 8) {
                Coverage& coverage = n < 16 ? few : many;
                const double reserved = double(model.predict(params).footprint.host_bytes);
                ++coverage.predictions;
                coverage.held += reserved >= double(bytes);
                coverage.overreserved += reserved / double(bytes);
            }
            model.measured(params, host(bytes));
        }
    }
    EXPECT_GE((double(few.held) + many.held) / (few.predictions + many.predictions), 0.99);
    EXPECT_LE(few.mean(), 2);
    EXPECT_LE(many.mean(), 1.4);
}

}  // namespace
}  // namespace hpo
