// Trials of convolutional networks on a small data set of images, with all features of multilayer perceptrons.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "hpo/random.hpp"
#include "tests/contract/worker/threads.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/training/fusion.hpp"

namespace hpo::test {
namespace {

using ::testing::HasSubstr;
using to_worker::Action;
namespace fs = std::filesystem;

/// A folder with images of 9 x 8 noisy pixels with a vertical, horizontal or diagonal bar at a random position.
class ImageFolder {
   public:
    explicit ImageFolder(std::uint32_t training = 240) {
        write("train", training);
        write("t10k", training / 4);
    }
    [[nodiscard]] std::string path() const { return folder_.path(); }

   private:
    void write(const std::string& part, std::uint32_t count) const {
        std::ofstream images(fs::path(folder_.path()) / (part + "-images-idx3-ubyte"), std::ios::binary);
        std::ofstream labels(fs::path(folder_.path()) / (part + "-labels-idx1-ubyte"), std::ios::binary);
        head(images, {count, 9, 8});
        head(labels, {count});
        for (std::uint32_t i = 0; i < count; ++i) {
            const auto drawn = [&](std::uint64_t index) {
                return draw_unit(11, Purpose::synthetic, count, std::uint64_t{1000} * i + index);
            };
            const auto kind = static_cast<int>(i % 3);
            const int x = static_cast<int>(drawn(998) * 5), y = static_cast<int>(drawn(999) * 6);
            std::vector<char> pixels(72);
            for (std::size_t p = 0; p < 72; ++p) pixels[p] = static_cast<char>(drawn(p) * 90);
            for (int step = 0; step < 4; ++step)
                pixels[static_cast<std::size_t>((kind == 1 ? y : y + step * 3 / 4) * 8 + (kind == 0 ? x : x + step))] =
                    static_cast<char>(110);
            images.write(pixels.data(), 72);
            labels.put(static_cast<char>(kind));
        }
    }
    static void head(std::ofstream& file, const std::vector<std::uint32_t>& shape) {
        file.write("\0\0\10", 3).put(static_cast<char>(shape.size()));
        for (const std::uint32_t size : shape)
            for (const int shift : {24, 16, 8, 0}) file.put(static_cast<char>(size >> shift));
    }

    const hpo::testing::TemporaryFolder folder_;
};

class CnnTrialOnTheCpu : public ::testing::Test {
   protected:
    [[nodiscard]] Params params(const Params& changes = {}) const {
        return with({{"type", std::string("cnn")},
                     {"path", images_.path()},
                     {"channels", std::int64_t{8}},
                     {"stages", std::int64_t{2}},
                     {"groups", std::int64_t{4}},
                     {"dropout", 0.1},
                     {"batch_size", std::int64_t{32}},
                     {"lr", 0.01}},
                    changes);
    }

    const ImageFolder images_;
    const ImageFolder few_{24};  ///< for tests that take long on OpenCL
};

class CnnTrialOn : public CnnTrialOnTheCpu, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, CnnTrialOn, ::testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

TEST_F(CnnTrialOnTheCpu, HasTheSameBitsOnAnyNumberOfThreads) {
    for (const char* norm : {"group", "batch"}) {
        SCOPED_TRACE(norm);
        expect_the_same_on_any_number_of_threads(
            params({{"norm", std::string(norm)}, {"channels", std::int64_t{40}}, {"batch_size", std::int64_t{100}}}));
    }
}

TEST_F(CnnTrialOnTheCpu, LearnsShapesWhereverTheyAre) {
    WorkerFixture worker;
    FakeHost host;
    auto run = small_run(params({{"batch_size", std::int64_t{16}}}), 12);
    run.test = true;
    const auto finished = run_trial(run, worker.context, host);
    ASSERT_EQ(finished.outcome, Outcome::complete) << finished.message;
    EXPECT_GT(host.reports.back().metrics.at("val_accuracy"), 0.7);  // of three classes
    EXPECT_GT(finished.values.at("test_accuracy"), 0.7);             // of three classes
    EXPECT_THAT(host.logged, HasSubstr(" channels=8"));
    EXPECT_THAT(host.logged, ::testing::Not(HasSubstr(" hidden=")));
}

/// Two steps of fifteen updates, since PoCL is slow.
TEST_F(CnnTrialOnTheCpu, LearnsTheSameOnOpenCl) {
    auto run = small_run(params({{"batch_size", std::int64_t{16}}}), 2);
    run.test = true;
    WorkerFixture cpu, opencl("opencl");
    FakeHost there, here;
    const auto expected = run_trial(run, cpu.context, there), finished = run_trial(run, opencl.context, here);
    ASSERT_EQ(finished.outcome, Outcome::complete) << finished.message;
    ASSERT_EQ(here.reports.size(), 2U);
    for (std::size_t step = 0; step < 2; ++step)
        for (const auto& [name, bound] :
             {std::pair("loss", 1e-4), std::pair("val_loss", 1e-4), std::pair("val_accuracy", 0.02)})
            EXPECT_NEAR(here.reports[step].metrics.at(name), there.reports.at(step).metrics.at(name), bound)
                << name << ' ' << step;
    EXPECT_LT(here.reports[1].metrics.at("loss"), here.reports[0].metrics.at("loss"));
    EXPECT_NEAR(finished.values.at("test_accuracy"), expected.values.at("test_accuracy"), 0.02);
}

TEST_P(CnnTrialOn, TrialsInCompanyTrainAsEachWouldAloneStagedOrNot) {
    for (const auto& [placement, downsampling] :
         {std::pair("device", "stride"), std::pair("staged", "stride"), std::pair("device", "max")})
        expect_the_curves_that_each_has_alone(GetParam(), 2, [&](std::int64_t number) {
            // Whole epochs of two updates once, since they take long on PoCL; otherwise one and two updates a step.
            const std::int64_t updates = std::string_view(placement) == "staged" ? 0 : number;
            return params({{"path", few_.path()},
                           {"lr", 0.002 * static_cast<double>(number)},
                           {"batch_size", 12 + number},
                           {"eval_every", updates},
                           {"activation", std::string(number % 2 == 0 ? "relu" : "silu")},
                           {"optimizer", std::string(number == 2 ? "sgd" : "adamw")},
                           {"augment_shift", std::int64_t{1}},
                           {"placement", std::string(placement)},
                           {"downsampling", std::string(downsampling)}});
        });
}

TEST_P(CnnTrialOn, ThePlanIsWhatIsAllocatedToTheByte) {
    for (const auto& [slots, activation] : {std::pair(1, "relu"), std::pair(1, "gelu"), std::pair(4, "relu")}) {
        const Params all = params({{"activation", std::string(activation)}, {"eval_every", std::int64_t{2}}});
        WorkerFixture worker(GetParam());
        worker.context.slots = slots;
        const auto answer = answer_plan({1, all, 1, 5}, worker.context);
        ASSERT_EQ(answer.error, "");
        FakeHost host;
        ASSERT_EQ(run_trial(small_run(all, 1), worker.context, host).outcome, Outcome::complete) << host.logged;
        EXPECT_EQ(answer.arena_bytes, static_cast<std::int64_t>(worker.context.arena->bytes()));
        EXPECT_GT(answer.parameters, 0);
        EXPECT_GT(answer.flops_per_step, 0);
    }
}

TEST_F(CnnTrialOnTheCpu, MicroBatchesTrainAsTheWholeBatchWould) {
    const auto losses = [&](std::int64_t parts) {
        WorkerFixture worker;
        FakeHost host;
        run_trial(small_run(params({{"accumulation", parts}}), 1), worker.context, host);
        return host.reports.at(0).metrics.at("loss");
    };
    EXPECT_NEAR(losses(1), losses(4), 1e-3);
}

TEST_F(CnnTrialOnTheCpu, APausedTrialGoesOnToTheSameBits) {
    const hpo::testing::TemporaryFolder folder;
    const auto in = [&](const char* name, bool resume) {
        auto run = small_run(params(), 4);
        run.folder = fs::path(folder.path()) / name;
        run.resume = resume;
        return run;
    };
    WorkerFixture worker, later;
    FakeHost whole, first, second;
    ASSERT_EQ(run_trial(in("whole", false), worker.context, whole).outcome, Outcome::complete);
    first.on_report = [](const Report& report) { return report.step == 2 ? Action::pause : Action::go_on; };
    ASSERT_EQ(run_trial(in("paused", false), worker.context, first).outcome, Outcome::paused);
    ASSERT_EQ(run_trial(in("paused", true), later.context, second).outcome, Outcome::complete);
    EXPECT_EQ(second.from_step, 2);
    EXPECT_EQ(second.reports.back().metrics, whole.reports.back().metrics);
}

TEST_P(CnnTrialOn, ANarrowPrecisionFollowsFloat32) {
    const auto curve = [&](const char* precision) {
        WorkerFixture worker(GetParam());
        FakeHost host;
        const auto finished = run_trial(small_run(params({{"path", few_.path()},
                                                          {"batch_size", std::int64_t{16}},
                                                          {"precision", std::string(precision)}}),
                                                  3),
                                        worker.context, host);
        return std::pair(finished, curve_of(host));
    };
    const auto [finished, narrow] = curve("bfloat16");
    if (!WorkerFixture(GetParam()).device->computes_in(Precision::bfloat16)) {
        EXPECT_THAT(finished.message, HasSubstr("training.precision"));
        return;
    }
    ASSERT_EQ(finished.outcome, Outcome::complete) << finished.message;
    const auto wide = curve("float32").second;
    for (std::size_t step = 0; step < 3; ++step) EXPECT_NEAR(narrow.at(step).at("loss"), wide.at(step).at("loss"), 0.1);
    EXPECT_NE(narrow, wide);
}

TEST(CnnBuckets, ChannelsAreOfTheKeyAndActivationsAreNot) {
    const auto key = [](const Params& changes) {
        const auto configuration =
            read_configuration(with({{"type", std::string("cnn")}, {"batch_size", std::int64_t{256}}}, changes));
        return fusion_key(bucket_of(*configuration), 1);
    };
    EXPECT_EQ(key({{"activation", std::string("gelu")}}), key({{"batch_size", std::int64_t{200}}}));
    EXPECT_NE(key({{"channels", std::int64_t{16}}}), key({}));
    EXPECT_NE(key({{"blocks", std::int64_t{2}}}), key({}));
}

TEST(CnnConfiguration, KeysOfTheOtherModelAreLeftOut) {
    const auto cnn = read_configuration({{"type", std::string("cnn")}, {"width", std::int64_t{64}}});
    ASSERT_TRUE(cnn) << cnn.error().message;
    EXPECT_FALSE(cnn->all.contains("hidden"));
    EXPECT_FALSE(cnn->all.contains("width"));
    EXPECT_TRUE(cnn->all.contains("channels"));
    const auto mlp = read_configuration({});
    EXPECT_FALSE(mlp->all.contains("channels"));
}

}  // namespace
}  // namespace hpo::test
