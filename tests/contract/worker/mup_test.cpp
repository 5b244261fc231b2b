// muP (Yang et al., "Tensor Programs V", 2022): the factors of rates and scores, and their effect.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "hpo/random.hpp"
#include "tests/contract/worker/fused_trials.hpp"
#include "tests/contract/worker/group.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/models/transformer.hpp"

namespace hpo::test {
namespace {

using ::testing::HasSubstr;
using to_worker::Action;

Params mup(std::int64_t base_width, const Params& changes = {}) {
    return with(with(small_params(), {{"parametrization", std::string("mup")}, {"base_width", base_width}}), changes);
}

Params transformer(const Params& changes = {}) {
    return with({{"format", std::string("synthetic")},
                 {"samples", std::int64_t{64}},
                 {"steps", std::int64_t{6}},
                 {"vocabulary", std::int64_t{6}},
                 {"type", std::string("transformer")},
                 {"width", std::int64_t{16}},
                 {"depth", std::int64_t{1}},
                 {"mlp_ratio", 2.0},
                 {"norm", std::string("rms")},
                 {"batch_size", std::int64_t{16}},
                 {"lr", 0.01}},
                changes);
}

GroupPlan plan_of(const Params& params) {
    const auto configuration = *read_configuration(params);
    const DataShape shape = *describe_data(configuration.data);
    return *plan_group(configuration, shape, *split_sizes(configuration.data, shape), 1);
}

using Factors = std::map<std::string, double>;

Factors factors_of(const Params& params, OptimizerKind optimizer) {
    const GroupPlan plan = plan_of(params);
    Factors factors;
    for (const Parameter& parameter : plan.model->block().parameters)
        factors[parameter.name] = rate_factor(plan.model->block(), parameter, optimizer);
    return factors;
}

TEST(Mup, MultipliesLearningRatesAsThePapersTableSays) {
    const Params params = mup(8, {{"hidden", std::vector<std::int64_t>{16, 32}}, {"norm", std::string("layer")}});
    const Factors adam{{"layers.0.weight", 1},      {"layers.0.bias", 1},        {"layers.0.norm.weight", 1},
                       {"layers.0.norm.bias", 1},   {"layers.1.weight", 1. / 2}, {"layers.1.bias", 1},
                       {"layers.1.norm.weight", 1}, {"layers.1.norm.bias", 1},   {"layers.2.weight", 1. / 4},
                       {"layers.2.bias", 1}};
    EXPECT_EQ(factors_of(params, OptimizerKind::adamw), adam);
    EXPECT_EQ(factors_of(params, OptimizerKind::lion), adam);
    const Factors sgd{{"layers.0.weight", 2},      {"layers.0.bias", 2},      {"layers.0.norm.weight", 2},
                      {"layers.0.norm.bias", 2},   {"layers.1.weight", 1},    {"layers.1.bias", 4},
                      {"layers.1.norm.weight", 4}, {"layers.1.norm.bias", 4}, {"layers.2.weight", 1. / 4},
                      {"layers.2.bias", 1}};
    EXPECT_EQ(factors_of(params, OptimizerKind::sgd), sgd);
    const Factors by_name = factors_of(
        transformer({{"parametrization", std::string("mup")}, {"base_width", std::int64_t{4}}}), OptimizerKind::adamw);
    for (const auto& [name, factor] : by_name) {
        const bool matrix = name.find("blocks") == 0 && name.find("norm") == std::string::npos;
        EXPECT_EQ(factor, matrix || name == "head.weight" ? 0.25 : 1) << name;
    }
}

TEST(Mup, LetsTheLastLayerBeginSmallerAndAttentionsScoresShrinkWithTheWidth) {
    const auto bounds = [](const Params& params) {
        std::map<std::string, float> found;
        const GroupPlan plan = plan_of(params);
        for (const Parameter& parameter : plan.model->block().parameters) found[parameter.name] = parameter.bound;
        return found;
    };
    const auto standard = bounds(small_params()), scaled = bounds(mup(4));
    EXPECT_EQ(scaled.at("layers.0.weight"), standard.at("layers.0.weight"));
    EXPECT_EQ(scaled.at("layers.1.weight"), standard.at("layers.1.weight"));
    EXPECT_FLOAT_EQ(scaled.at("layers.2.weight"), standard.at("layers.2.weight") / 2);  // 16 wide: 4 times
    TransformerShape shape{.width = 64, .heads = 4};
    EXPECT_EQ(shape.score_scale(), 0);
    shape.base_width = 64;
    EXPECT_FLOAT_EQ(shape.score_scale(), 0.25F);
    shape.base_width = 16;
    EXPECT_FLOAT_EQ(shape.score_scale(), 0.125F);
}

TEST(Mup, AtTheBaseWidthIsTheStandardParametrization) {
    const auto state = [](const Params& params) {
        Group group({params});
        EXPECT_TRUE(group.trainer->train_step(always));
        return group.state(0);
    };
    const std::vector<std::int64_t> square{24, 24};
    for (const char* optimizer : {"adamw", "sgd", "lion"}) {
        const Params chosen{{"hidden", square}, {"optimizer", std::string(optimizer)}};
        EXPECT_EQ(state(mup(24, chosen)), state(with(small_params(), chosen))) << optimizer;
    }
    EXPECT_EQ(state(transformer({{"parametrization", std::string("mup")}, {"base_width", std::int64_t{16}}})),
              state(transformer()));
}

TEST(Mup, DecaysTheWeightsOfAnyWidthAlike) {
    for (const char* optimizer : {"adamw", "sgd", "lion"}) {
        Group group({mup(4, {{"optimizer", std::string(optimizer)},
                             {"hidden", std::vector<std::int64_t>{64, 64}},
                             {"lr", 1e-6},
                             {"warmup", 0.0},
                             {"schedule", std::string("constant")},
                             {"momentum", 0.0},
                             {"weight_decay", 1000.0},
                             {"eval_every", std::int64_t{100}}})},
                    1);
        const auto before = group.weights(0);
        ASSERT_TRUE(group.trainer->train_step(always));
        const auto after = group.weights(0);
        for (const Parameter& parameter : group.plans_alone[0].model->block().parameters) {
            double was = 0, is = 0;
            for (std::int64_t i = parameter.first; i < parameter.first + parameter.elements(); ++i) {
                was += std::abs(before[static_cast<std::size_t>(i)]);
                is += std::abs(after[static_cast<std::size_t>(i)]);
            }
            if (parameter.decayed) {
                EXPECT_NEAR(is / was, std::pow(0.999, 100), 0.01) << optimizer << parameter.name;
            }
        }
    }
}

/// Returns the mean distance by which a few updates move the outputs for given samples.
double change_of_outputs(const Params& params) {
    Group group({params}, 1);
    const GroupPlan& plan = group.plans_alone[0];
    const auto outputs = [&] {
        const auto arena = *group.worker.device->allocate(plan.arena.bytes);
        const auto stream = group.worker.device->stream(*arena, 1);
        const auto weights = group.weights(0);
        stream->write(plan.arena.weights, 0, std::span<const float>(weights));
        std::vector<float> input(static_cast<std::size_t>(plan.arena.input.elements()));
        for (std::size_t i = 0; i < input.size(); ++i)
            input[i] = static_cast<float>(draw_unit(9, Purpose::synthetic, 1, i) * 2 - 1);
        if (std::get<std::string>(params.at("format")) == "synthetic" && params.contains("vocabulary"))
            for (float& token : input) token = std::floor((token + 1) * 2.9F);
        stream->write(plan.arena.input, 0, std::span<const float>(input));
        const Tensor tensor = plan.model->forward(*stream, plan.arena.weights, plan.arena.input, nullptr);
        std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
        stream->read(tensor, 0, std::span(values));
        return values;
    };
    const auto before = outputs();
    EXPECT_TRUE(group.trainer->train_step(always));
    const auto after = outputs();
    double sum = 0;
    for (std::size_t i = 0; i < before.size(); ++i) sum += std::abs(after[i] - before[i]);
    return sum / static_cast<double>(before.size());
}

// The coordinate check of the paper's appendix D.1.
TEST(Mup, AFewUpdatesChangeTheOutputsOfAWideModelAsMuchAsThoseOfANarrowOne) {
    const auto growth = [](const std::function<Params(std::int64_t)>& of_width, std::int64_t narrow,
                           std::int64_t wide) {
        return change_of_outputs(of_width(wide)) / change_of_outputs(of_width(narrow));
    };
    const Params few{{"eval_every", std::int64_t{4}}, {"dropout", 0.0}, {"warmup", 0.0},
                     {"weight_decay", 0.0},           {"clip", 0.0},    {"schedule", std::string("constant")}};
    for (const auto& [optimizer, rate] : {std::pair("adamw", 0.003), std::pair("sgd", 0.03), std::pair("lion", 0.001)})
        for (const bool scaled : {false, true}) {
            const double grown = growth(
                [&](std::int64_t width) {
                    const Params wide = with(few, {{"hidden", std::vector<std::int64_t>{width, width}},
                                                   {"optimizer", std::string(optimizer)},
                                                   {"lr", rate}});
                    return scaled ? mup(32, wide) : with(small_params(), wide);
                },
                32, 512);
            EXPECT_GT(grown, scaled ? 0.4 : 2.5) << optimizer;
            EXPECT_LT(grown, scaled ? 1.6 : 100) << optimizer;
            RecordProperty(std::string(optimizer) + (scaled ? " mup" : " standard"), std::to_string(grown));
        }
    for (const bool scaled : {false, true}) {
        const double grown = growth(
            [&](std::int64_t width) {
                const Params wide = with(few, {{"width", width}, {"lr", 0.003}});
                return transformer(
                    scaled ? with(wide, {{"parametrization", std::string("mup")}, {"base_width", std::int64_t{16}}})
                           : wide);
            },
            16, 128);
        EXPECT_GT(grown, scaled ? 0.4 : 2.5);
        EXPECT_LT(grown, scaled ? 1.6 : 100);
        RecordProperty(std::string("transformer") + (scaled ? " mup" : " standard"), std::to_string(grown));
    }
}

class MupTrialOn : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, MupTrialOn, ::testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(MupTrialOn, TrialsOfOtherWidthsAndOptimizersInCompanyTrainAsEachWouldAlone) {
    const auto params_of = [](std::int64_t number) {
        const char* optimizers[] = {"lion", "sgd", "adamw"};
        return mup(8, {{"optimizer", std::string(optimizers[number - 1])},
                       {"hidden", std::vector<std::int64_t>{20 + number, 12 + number}},
                       {"lr", 0.002}});
    };
    expect_the_curves_that_each_has_alone(GetParam(), 3, params_of, 1);
}

TEST_P(MupTrialOn, TrainsAsTheCpuDoesAndGoesOnToTheSameBits) {
    const hpo::testing::TemporaryFolder folder;
    const auto in = [&](const char* name, bool resume) {
        auto run =
            small_run(transformer({{"parametrization", std::string("mup")}, {"base_width", std::int64_t{4}}}), 3);
        run.folder = std::filesystem::path(folder.path()) / name;
        run.resume = resume;
        return run;
    };
    WorkerFixture worker(GetParam()), later(GetParam()), cpu;
    FakeHost whole, first, second, reference;
    ASSERT_EQ(run_trial(in("whole", false), worker.context, whole).outcome, Outcome::complete) << whole.logged;
    first.on_report = [](const Report& report) { return report.step == 2 ? Action::pause : Action::go_on; };
    ASSERT_EQ(run_trial(in("paused", false), worker.context, first).outcome, Outcome::paused);
    ASSERT_EQ(run_trial(in("paused", true), later.context, second).outcome, Outcome::complete);
    EXPECT_EQ(second.from_step, 2);
    EXPECT_EQ(second.reports.back().metrics, whole.reports.back().metrics);
    run_trial(in("cpu", false), cpu.context, reference);
    EXPECT_NEAR(whole.reports.back().metrics.at("val_loss"), reference.reports.back().metrics.at("val_loss"), 1e-4);
}

TEST(Mup, ErrorsSayWhatIsMissing) {
    const auto error_of = [](const Params& params) {
        WorkerFixture worker;
        return answer_plan({1, params, 1, 5}, worker.context).error;
    };
    EXPECT_THAT(error_of(with(small_params(), {{"parametrization", std::string("mup")}})),
                HasSubstr("model.base_width: parametrization: mup"));
    EXPECT_THAT(
        error_of(transformer(
            {{"parametrization", std::string("mup")}, {"base_width", std::int64_t{4}}, {"tied_embeddings", true}})),
        HasSubstr("model.tied_embeddings: parametrization: mup"));
}

}  // namespace
}  // namespace hpo::test
