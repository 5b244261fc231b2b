// Trials of boosted trees, grown by XGBoost.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/contract/worker/fixture.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/backends/cpu/cpu_device.hpp"
#include "worker/prediction/predictor.hpp"
#include "worker/training/process_memory.hpp"
#include "worker/trees/tree_plan.hpp"
#include "worker/trees/tree_trials.hpp"

namespace hpo::test {
namespace {

using ::testing::HasSubstr;
using to_worker::Action;

Params tree_params(const Params& changes = {}) {
    return with({{"type", std::string("trees")},
                 {"format", std::string("synthetic")},
                 {"samples", std::int64_t{600}},
                 {"features", std::int64_t{6}},
                 {"classes", std::int64_t{3}},
                 {"noise", 1.5},
                 {"rounds", std::int64_t{4}}},
                changes);
}

struct GrownTrial {
    from_worker::Finished finished;
    FakeHost host;
};

/// Grows a trial in a worker of its own.
std::unique_ptr<GrownTrial> grow(const to_worker::Run& run, int cores = 0,
                                 const std::function<void(FakeHost&, WorkerContext&)>& prepare = {}) {
    auto grown = std::make_unique<GrownTrial>();
    WorkerFixture worker;
    for (int core = 0; core < cores; ++core) worker.context.cores.push_back(core);
    if (prepare) prepare(grown->host, worker.context);
    TreeTrials trials(worker.context, [&](const from_worker::Finished& how) { grown->finished = how; });
    trials.add(run, grown->host);
    while (!trials.empty()) trials.step();
    return grown;
}

std::vector<double> losses_of(const GrownTrial& grown) {
    std::vector<double> losses;
    for (const Report& report : grown.host.reports) losses.push_back(report.metrics.at("val_loss"));
    return losses;
}

TEST(Trees, LearnClassesAndReportEachStep) {
    auto run = small_run(tree_params({{"class_metrics", true}}), 5);
    run.test = true;
    const auto grown = grow(run);
    ASSERT_EQ(grown->finished.outcome, Outcome::complete) << grown->finished.message;
    ASSERT_EQ(grown->host.reports.size(), 5U);
    const Metrics& last = grown->host.reports.back().metrics;
    EXPECT_LT(last.at("val_loss"), 0.9 * grown->host.reports.front().metrics.at("val_loss"));
    EXPECT_LT(last.at("loss"), last.at("val_loss"));
    EXPECT_GT(last.at("val_accuracy"), 0.6);
    EXPECT_GT(last.at("val_auc"), 0.7);
    EXPECT_EQ(grown->host.reports.back().iteration, 20);
    EXPECT_GT(grown->finished.values.at("test_accuracy"), grown->finished.values.at("baseline_accuracy"));
    EXPECT_EQ(grown->host.from_step, 0);
    EXPECT_THAT(grown->host.logged, HasSubstr("eta=0.1"));
    EXPECT_THAT(grown->host.logged, Not(HasSubstr("optimizer")));  // a key of networks
}

TEST(Trees, AreTheSameWhetherInterruptedOrNotOnAnyNumberOfCores) {
    const hpo::testing::TemporaryFolder folder;
    for (const Params& changes : {Params{}, Params{{"subsample", 0.7}, {"colsample_bytree", 0.5}}}) {
        auto run = small_run(tree_params(changes), 4);
        const auto whole = losses_of(*grow(run));
        EXPECT_EQ(losses_of(*grow(run, 2)), whole);
        const auto moved = grow(run, 1, [](FakeHost& host, WorkerContext& context) {
            host.on_report = [&context](const Report& report) {
                context.cores = report.step == 2 ? std::vector{0, 1} : std::vector{0};
                return Action::go_on;
            };
        });
        EXPECT_EQ(losses_of(*moved), whole);
        run.folder = folder.path() / std::to_string(changes.size());
        const auto paused = grow(run, 0, [](FakeHost& host, WorkerContext&) {
            host.on_report = [](const Report& report) { return report.step == 2 ? Action::pause : Action::go_on; };
        });
        ASSERT_EQ(paused->finished.outcome, Outcome::paused);
        run.resume = true;
        const auto rest = grow(run, 2);
        EXPECT_EQ(rest->host.from_step, 2);
        EXPECT_EQ(losses_of(*rest), std::vector<double>(whole.begin() + 2, whole.end()));
    }
}

TEST(Trees, FollowTheirKeys) {
    // Also where samples are drawn, which makes the library forget its settings (Booster::draw_anew).
    const auto loss = [](const Params& changes) { return losses_of(*grow(small_run(tree_params(changes), 1))).back(); };
    const double usual = loss({{"subsample", 0.9}});
    EXPECT_GT(loss({{"subsample", 0.9}, {"eta", 0.01}}), usual);
    for (const Params& change :
         {Params{{"max_depth", std::int64_t{1}}}, Params{{"min_child_weight", 30.0}}, Params{{"colsample_bytree", 0.4}},
          Params{{"reg_lambda", 50.0}}, Params{{"reg_alpha", 20.0}}, Params{{"gamma", 20.0}},
          Params{{"max_bin", std::int64_t{4}}}, Params{{"seed", std::int64_t{3}}}})
        EXPECT_NE(loss(with({{"subsample", 0.9}}, change)), usual) << change.begin()->first;
}

TEST(Trees, OfADamagedCheckpointStartFromTheBeginning) {
    const hpo::testing::TemporaryFolder folder;
    auto run = small_run(tree_params(), 2);
    run.folder = folder.path();
    const auto whole = losses_of(*grow(run));
    const auto file = folder.path() / "last.ckpt";
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 100);
    run.resume = true;
    const auto again = grow(run);
    EXPECT_THAT(again->host.logged, HasSubstr("beginning"));
    EXPECT_EQ(losses_of(*again), whole);
}

TEST(Trees, ResumeFromNoCheckpointAheadOfTheStoredSteps) {
    const hpo::testing::TemporaryFolder folder;
    auto run = small_run(tree_params(), 3);
    const auto whole = losses_of(*grow(run));
    run.folder = folder.path();
    grow(run);
    run.resume = true;
    run.done = to_worker::Done{.step = 1};
    EXPECT_EQ(losses_of(*grow(run)), whole) << "from the checkpoint of step 2";
}

TEST(Trees, KilledBeforeTheReportOfTheLastStepIsStoredRepeatThatStep) {
    const hpo::testing::TemporaryFolder folder;
    auto run = small_run(tree_params(), 3);
    const auto whole = losses_of(*grow(run));
    run.folder = folder.path();
    const auto dies = [](FakeHost& host, WorkerContext&) {
        host.on_report = [](const Report& report) -> std::optional<Action> {
            return report.step < 3 ? Action::go_on : throw Killed{};
        };
    };
    EXPECT_THROW(grow(run, 0, dies), Killed);
    run.resume = true;
    run.done = to_worker::Done{.step = 2};
    const auto again = grow(run);
    EXPECT_EQ(again->host.from_step, 2);
    EXPECT_EQ(losses_of(*again), std::vector(1, whole.back()));
}

TEST(Trees, OfHpoTrainAreTestedAndSavedAfterAKillThatFollowedTheirLastStep) {
    const hpo::testing::TemporaryFolder folder;
    auto run = small_run(tree_params(), 3);
    run.folder = folder.path();
    run.resume = true;
    run.test = true;
    run.save = folder.path() / "model.safetensors";
    const auto bytes = [&] {
        std::ifstream file(run.save, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    const auto whole = grow(run);
    ASSERT_EQ(whole->finished.outcome, Outcome::complete) << whole->finished.message;
    const std::string model = bytes();
    const auto last = [&](const to_worker::Run& again) {
        std::filesystem::remove(run.save);
        auto grown = grow(again);
        EXPECT_EQ(grown->finished.outcome, Outcome::complete) << grown->finished.message;
        EXPECT_EQ(grown->finished.values, whole->finished.values);
        EXPECT_EQ(bytes(), model);
        return grown;
    };
    const auto again = last(run);
    EXPECT_EQ(again->host.from_step, 3);
    EXPECT_TRUE(again->host.reports.empty());
    run.steps = 2;  // an ensemble of more steps is another one
    std::filesystem::remove(run.save);
    EXPECT_EQ(grow(run)->host.from_step, 0);
}

TEST(Trees, PredictNumbersAndLabelsByAnEnsembleOfEach) {
    for (const char* task : {"regression", "multi-label"}) {
        auto run = small_run(tree_params({{"task", std::string(task)}, {"noise", 0.2}}), 8);
        run.objective = {"val_loss", Direction::minimize, Objective::At::best};
        const auto grown = grow(run);
        ASSERT_EQ(grown->finished.outcome, Outcome::complete) << grown->finished.message;
        const auto losses = losses_of(*grown);
        EXPECT_LT(losses.back(), 0.8 * losses.front()) << task;
    }
}

TEST(Trees, WeighARareClass) {
    // The rarest class of a table, by its share of the predictions.
    const hpo::testing::TemporaryFolder folder;
    const auto table = folder.path() / "rare.csv";
    {
        std::ofstream rows(table);
        rows << "x,y\n";
        for (int i = 0; i < 600; ++i) rows << i % 100 << ',' << (i % 100 > 70 && i % 5 == 0 ? "rare" : "usual") << '\n';
    }
    const auto f1 = [&](const char* weights) {
        auto run = small_run({{"type", std::string("trees")},
                              {"format", std::string("csv")},
                              {"path", table.string()},
                              {"target", std::string("y")},
                              {"max_depth", std::int64_t{1}},
                              {"class_metrics", true},
                              {"class_weights", std::string(weights)}},
                             2);
        run.objective = {"val_f1", Direction::maximize, Objective::At::best};
        return grow(run)->finished.values.at("val_f1");
    };
    EXPECT_GT(f1("balanced"), f1("none") + 0.05);
}

TEST(Trees, OfFoldsReportMeansAndAreNotSaved) {
    auto run = small_run(tree_params({{"folds", std::int64_t{3}}}), 2);
    const auto grown = grow(run);
    ASSERT_EQ(grown->finished.outcome, Outcome::complete) << grown->finished.message;
    EXPECT_GT(grown->host.reports.back().metrics.at("val_accuracy_se"), 0);
    run.save = "/nowhere/model.safetensors";
    EXPECT_THAT(grow(run)->finished.message, HasSubstr("folds"));
}

TEST(Trees, ThatWereSavedPredictAsTheyWereTested) {
    const hpo::testing::TemporaryFolder folder;
    for (const std::int64_t classes : {2, 3}) {
        auto run = small_run(tree_params({{"classes", classes}, {"eta", 0.9}, {"max_depth", std::int64_t{8}}}), 6);
        run.objective = {"val_loss", Direction::minimize, Objective::At::best};
        run.save = folder.path() / "model.safetensors";
        const auto grown = grow(run);
        ASSERT_EQ(grown->finished.outcome, Outcome::complete) << grown->finished.message;
        const auto losses = losses_of(*grown);
        const double least = *std::min_element(losses.begin(), losses.end());
        ASSERT_LT(least, losses.back());  // the best step is not the last one

        const auto saved = read_saved_model(run.save);
        ASSERT_TRUE(saved) << saved.error().message;
        WorkerFixture worker;
        auto configuration = value_or_throw(read_configuration(run.params));
        auto data = value_or_throw(load_to_device(*worker.device, tree_data_config(configuration.data), run.data_seed));
        Predictor predictor(*worker.device, *saved);
        const auto& rows = dynamic_cast<const HostBuffer&>(*data->train_buffer);
        const auto at = [&](const Tensor& tensor, std::int64_t element) {
            return rows.data() + tensor.offset + static_cast<std::size_t>(element) * 4;
        };
        double loss = 0;
        for (std::int64_t i = 0; i < data->validation.count; ++i) {
            std::int32_t row = 0, label = 0;
            std::memcpy(&row, at(data->validation.rows, i), 4);
            std::memcpy(&label, at(data->validation.targets, row), 4);
            std::vector<float> features(6);
            std::memcpy(features.data(), at(data->validation.features, row * 6), 24);
            const auto logits = predictor.outputs(features);
            double sum = 0;
            for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
            loss += std::log(sum) - static_cast<double>(logits[static_cast<std::size_t>(label)]);
        }
        EXPECT_NEAR(loss / static_cast<double>(data->validation.count), least, 1e-5);
    }
}

TEST(Trees, StopAndFailAsTheHostAndTheConfigurationWant) {
    const auto stopped = grow(small_run(tree_params(), 50), 0, [](FakeHost& host, WorkerContext&) {
        host.on_ask = [&host] { return host.reports.size() < 2; };
    });
    EXPECT_EQ(stopped->finished.outcome, Outcome::stopped);
    EXPECT_EQ(stopped->host.reports.size(), 2U);
    const auto message = [](const Params& changes, const char* metric = "val_loss") {
        auto run = small_run(tree_params(changes), 1);
        run.objective = {metric, Direction::minimize, Objective::At::best};
        const auto grown = grow(run);
        EXPECT_EQ(grown->finished.outcome, Outcome::failed);
        return grown->finished.message;
    };
    EXPECT_THAT(message({{"vocabulary", std::int64_t{8}}, {"steps", std::int64_t{4}}}), HasSubstr("transformer"));
    EXPECT_THAT(message({}, "val_mse"), Mentions("val_mse", "not"));
    EXPECT_THAT(message({{"class_weights", std::string("1,2")}}), HasSubstr("class_weights"));
    EXPECT_THAT(message({{"placement", std::string("files")}}), HasSubstr("placement"));
}

TEST(Trees, OutliveTheJobThatIsRunningWhenTheHostIsGone) {
    WorkerFixture worker;
    FakeHost host;
    // The host is asked before a job is waited for: the exception comes while the job computes.
    host.on_ask = [&host]() -> bool {
        if (host.reports.size() == 1 && host.phases.back() == "evaluating") throw Killed{};
        return true;
    };
    TreeTrials trials(worker.context, [](const from_worker::Finished&) {});
    trials.add(small_run(tree_params({{"samples", std::int64_t{20000}}}), 5), host);
    const auto grow_all = [&] {
        while (!trials.empty()) trials.step();
    };
    EXPECT_THROW(grow_all(), Killed);
    EXPECT_EQ(host.reports.size(), 1U);
}

TEST(Trees, TakeNoMoreMemoryThanPlanned) {
    WorkerFixture worker;
    for (const Params& changes :
         {Params{}, Params{{"features", std::int64_t{200}}, {"noise", 30.0}},
          Params{{"samples", std::int64_t{3000}}, {"max_depth", std::int64_t{12}}, {"noise", 30.0}}}) {
        const Params params = tree_params(changes);
        worker.context.process_bytes = resident_bytes().value_or(0);
        const auto answer = answer_tree_plan({1, params, 2, 5}, worker.context);
        ASSERT_EQ(answer.error, "");
        EXPECT_EQ(answer.iterations_per_step, 4);
        EXPECT_EQ(answer.fusion_key, "");  // trees share no worker
        FakeHost host;
        TreeTrials trials(worker.context, [](const from_worker::Finished&) {});
        trials.add(small_run(params, 2), host);
        while (!trials.empty()) trials.step();
        ASSERT_EQ(host.reports.size(), 2U);
        EXPECT_LT(host.reports.back().peak_bytes.value_or(0), answer.footprint.host_bytes);
    }
}

TEST(Trees, ArePlannedOrRefusedWithTheKey) {
    WorkerFixture worker;
    const auto error = [&](const Params& changes) {
        return answer_tree_plan({1, tree_params(changes), 2, 5}, worker.context).error;
    };
    EXPECT_THAT(error({{"vocabulary", std::int64_t{8}}, {"steps", std::int64_t{4}}}), HasSubstr("model.type"));
    EXPECT_THAT(error({{"max_depth", std::int64_t{17}}}), HasSubstr("max_depth"));
}

}  // namespace
}  // namespace hpo::test
