// Muon (Jordan et al. 2024): the orthogonal updates of hidden matrices, and trials that train with them.
#include "worker/training/muon.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "hpo/random.hpp"
#include "tests/contract/worker/fused_trials.hpp"
#include "tests/contract/worker/group.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/models/registry.hpp"

namespace hpo::test {
namespace {

using to_worker::Action;

class MuonOn : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, MuonOn, ::testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

/// Columns that are orthogonal and of length 1, by Gram and Schmidt.
std::vector<std::vector<double>> orthonormal(std::size_t length, std::size_t count, std::uint64_t number) {
    std::vector<std::vector<double>> columns;
    for (std::size_t k = 0; k < count; ++k) {
        std::vector<double> column(length);
        for (std::size_t i = 0; i < length; ++i)
            column[i] = draw_unit(11, Purpose::synthetic, number * 100 + k, i) * 2 - 1;
        for (const auto& other : columns) {
            double dot = 0;
            for (std::size_t i = 0; i < length; ++i) dot += other[i] * column[i];
            for (std::size_t i = 0; i < length; ++i) column[i] -= dot * other[i];
        }
        double norm = 0;
        for (const double x : column) norm += x * x;
        for (double& x : column) x /= std::sqrt(norm);
        columns.push_back(column);
    }
    return columns;
}

TEST_P(MuonOn, SingularVectorsStayAndSingularValuesBecomeAboutOne) {
    WorkerFixture worker(GetParam());
    for (const auto& [rows, columns] : {std::pair(6, 6), std::pair(5, 17), std::pair(12, 7)}) {
        const auto side = static_cast<std::size_t>(std::min(rows, columns));
        const auto left = orthonormal(static_cast<std::size_t>(rows), side, 1);
        const auto right = orthonormal(static_cast<std::size_t>(columns), side, 2);
        std::vector<double> singular(side);
        double squares = 0;
        for (std::size_t k = 0; k < side; ++k) {
            singular[k] = 30 * std::pow(0.6, static_cast<double>(k));
            squares += singular[k] * singular[k];
        }
        // The iterations' result for each singular value.
        std::vector<double> wanted(side);
        for (std::size_t k = 0; k < side; ++k) {
            double x = singular[k] / std::sqrt(squares);
            for (int i = 0; i < 5; ++i) x = 3.4445 * x - 4.7750 * std::pow(x, 3) + 2.0315 * std::pow(x, 5);
            EXPECT_GT(x, 0.65);
            EXPECT_LT(x, 1.25);
            wanted[k] = x;
        }
        const auto matrix_of = [&](const std::vector<double>& values, std::size_t i, std::size_t j) {
            double sum = 0;
            for (std::size_t k = 0; k < side; ++k) sum += left[k][i] * values[k] * right[k][j];
            return static_cast<float>(sum);
        };
        const std::int64_t elements = rows * columns;
        Layout layout(1);
        const Tensor matrix = layout.add(Type::f32, rows, columns);
        const NewtonSchulz work{layout.add(Type::f32, 1, elements),
                                layout.add(Type::f32, 1, static_cast<std::int64_t>(side * side)),
                                layout.add(Type::f32, 1, static_cast<std::int64_t>(side * side)),
                                layout.add(Type::f32, 1, 1),
                                layout.add(Type::f32, 1, 1),
                                layout.add_per_replica(Type::f32)};
        const auto arena = std::move(*worker.device->allocate(layout.bytes()));
        const auto stream = worker.device->stream(*arena, 1);
        std::vector<float> values(static_cast<std::size_t>(elements));
        for (std::size_t at = 0; at < values.size(); ++at)
            values[at] =
                matrix_of(singular, at / static_cast<std::size_t>(columns), at % static_cast<std::size_t>(columns));
        stream->write(matrix, 0, std::span<const float>(values));
        make_orthogonal(*stream, matrix, work);
        stream->read(matrix, 0, std::span<float>(values));
        for (std::size_t at = 0; at < values.size(); ++at)
            ASSERT_NEAR(
                values[at],
                matrix_of(wanted, at / static_cast<std::size_t>(columns), at % static_cast<std::size_t>(columns)), 2e-3)
                << rows << " x " << columns << ", " << at;
        stream->enqueue(Fill{matrix, 0});
        make_orthogonal(*stream, matrix, work);
        stream->read(matrix, 0, std::span<float>(values));
        EXPECT_THAT(values, ::testing::Each(0.0F));
    }
}

Params muon(const Params& changes = {}) {
    return with(with(small_params(), {{"optimizer", std::string("muon")}, {"lr", 0.01}}), changes);
}

Params small_transformer(const Params& changes = {}) {
    return with({{"format", std::string("synthetic")},
                 {"samples", std::int64_t{64}},
                 {"steps", std::int64_t{6}},
                 {"vocabulary", std::int64_t{6}},
                 {"type", std::string("transformer")},
                 {"width", std::int64_t{12}},
                 {"kv_heads", std::int64_t{2}},
                 {"depth", std::int64_t{1}},
                 {"mlp_ratio", 2.0},
                 {"activation", std::string("swiglu")},
                 {"batch_size", std::int64_t{16}},
                 {"optimizer", std::string("muon")},
                 {"lr", 0.01}},
                changes);
}

TEST_P(MuonOn, TrialsOfOtherWidthsInCompanyTrainAsEachWouldAlone) {
    const auto params_of = [](std::int64_t number) {
        return muon({{"hidden", std::vector<std::int64_t>{20 + number, 12 + number}},
                     {"lr", 0.005 * static_cast<double>(number)},
                     {"batch_size", 40 + number}});
    };
    expect_the_curves_that_each_has_alone(GetParam(), 3, params_of, 1);
}

TEST_P(MuonOn, TrainsAsTheCpuDoesAndGoesOnToTheSameBits) {
    const hpo::testing::TemporaryFolder folder;
    const auto in = [&](const char* name, bool resume) {
        auto run = small_run(small_transformer(), 3);
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
    EXPECT_NEAR(whole.reports.back().metrics.at("val_loss"), reference.reports.back().metrics.at("val_loss"), 1e-3);
    const auto planned = answer_plan({1, small_transformer(), 1, 5}, worker.context);
    EXPECT_EQ(planned.arena_bytes, static_cast<std::int64_t>(worker.context.arena->bytes()));
}

TEST(Muon, MovesHiddenMatricesByOrthogonalStepsAndAllOthersAsAdamWDoes) {
    const auto moved = [](const char* optimizer) {
        Group group({muon({{"optimizer", std::string(optimizer)},
                           {"hidden", std::vector<std::int64_t>{24, 16}},
                           {"weight_decay", 0.0},
                           {"warmup", 0.0},
                           {"schedule", std::string("constant")},
                           {"eval_every", std::int64_t{1}}})},
                    1);
        auto change = group.weights(0);
        EXPECT_TRUE(group.trainer->train_step(always));
        const auto after = group.weights(0);
        for (std::size_t i = 0; i < change.size(); ++i) change[i] = after[i] - change[i];
        return std::pair(change, group.plans_alone[0].model->block());
    };
    const auto [by_muon, block] = moved("muon");
    const auto by_adamw = moved("adamw").first;
    for (const Parameter& parameter : block.parameters) {
        double squares = 0;
        bool equal = true;
        for (std::int64_t i = parameter.first; i < parameter.first + parameter.elements(); ++i) {
            const auto at = static_cast<std::size_t>(i);
            squares += by_muon[at] * by_muon[at];
            equal = equal && by_muon[at] == by_adamw[at];
        }
        EXPECT_EQ(equal, parameter.name != "layers.1.weight") << parameter.name;
        if (equal) continue;
        // 16 singular values of about 1, times 0.2 * sqrt(24) * lr.
        EXPECT_NEAR(std::sqrt(squares), 0.01 * 0.2 * std::sqrt(24.0) * std::sqrt(16.0), 0.25 * 0.0392);
    }
}

TEST(Muon, MatricesThatLieInOneParameterAreMadeOrthogonalOneByOne) {
    const auto model = *make_model(small_transformer(), *describe_data(read_configuration(small_transformer())->data));
    std::vector<std::size_t> counts;
    for (const Parameter& parameter : model->block().parameters)
        if (parameter.place == Place::hidden) counts.push_back(matrices_of(parameter).size());
    EXPECT_THAT(counts, ::testing::ElementsAre(3, 1, 2, 1));  // queries, keys, values; mixing; gate and up; down
}

/// The training loss of the last of 60 updates, the least over learning rates.
double best_loss(const char* optimizer) {
    double best = 1e9;
    for (const double rate : {0.003, 0.01, 0.03, 0.1}) {
        Group group({small_transformer({{"samples", std::int64_t{512}},
                                        {"steps", std::int64_t{12}},
                                        {"width", std::int64_t{32}},
                                        {"depth", std::int64_t{2}},
                                        {"batch_size", std::int64_t{32}},
                                        {"optimizer", std::string(optimizer)},
                                        {"eval_every", std::int64_t{20}},
                                        {"lr", rate}})},
                    2);
        for (int step = 0; step < 2; ++step) EXPECT_TRUE(group.trainer->train_step(always));
        best = std::min(best, group.trainer->step_of(0).loss);
    }
    return best;
}

TEST(Muon, LearnsMoreFromAsManyUpdatesThanAdamWAtItsBestLearningRate) {
    const double muon = best_loss("muon"), adamw = best_loss("adamw");
    EXPECT_LT(muon, adamw);
    RecordProperty("muon", std::to_string(muon));
    RecordProperty("adamw", std::to_string(adamw));
}

}  // namespace
}  // namespace hpo::test
