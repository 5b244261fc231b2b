// Batches that threads load ahead, and samples that stay in their files: the numbers of a trial are the same.
#include <gmock/gmock.h>

#include <cstring>
#include <fstream>

#include "tests/contract/worker/fused_trials.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/no_threads.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/training/batch_loader.hpp"

namespace hpo::test {
namespace {

using ::testing::HasSubstr;

std::int64_t loaded_number(BatchLoader& loader) {
    std::int64_t number = -1;
    loader.next(std::as_writable_bytes(std::span(&number, 1)));
    return number;
}

void put_number(std::int64_t number, std::span<std::byte> to) { std::memcpy(to.data(), &number, sizeof number); }

TEST(BatchLoader, GivesBatchesInTheirOrderWhateverThreadsThereAre) {
    for (const int threads : {1, 3, 8})
        for (const std::int64_t ahead : {1, 2, 7}) {
            BatchLoader loader(threads, ahead, 8);
            for (int sequence = 0; sequence < 3; ++sequence) {  // each is left when it is half done
                loader.begin(
                    [&](std::int64_t number, std::span<std::byte> to) { put_number(100 * sequence + number, to); }, 60);
                for (std::int64_t i = 0; i < 30; ++i) ASSERT_EQ(loaded_number(loader), 100 * sequence + i);
            }
        }
}

TEST(BatchLoader, LoadsInItsCallerIfTheSystemHasNoThreadLeft) {
    const testing::NoThreads none;
    BatchLoader loader(2, 4, 8);
    for (int sequence = 0; sequence < 2; ++sequence) {
        loader.begin(put_number, 6);
        for (std::int64_t i = 0; i < 3; ++i) ASSERT_EQ(loaded_number(loader), i);
    }
    loader.begin([](std::int64_t, std::span<std::byte>) { throw std::runtime_error("cat.png: gone"); }, 1);
    EXPECT_THROW(loaded_number(loader), std::runtime_error);
}

TEST(BatchLoader, ThrowsWhatLoadingThrewWhereThatBatchIsAskedFor) {
    BatchLoader loader(2, 4, 8);
    loader.begin(
        [](std::int64_t number, std::span<std::byte> to) {
            if (number == 3) throw std::runtime_error("cat.png: gone");
            put_number(number, to);
        },
        8);
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(loaded_number(loader), i);
    EXPECT_THROW(loaded_number(loader), std::runtime_error);
    loader.begin(put_number, 2);
    EXPECT_EQ(loaded_number(loader), 0);
}

TEST(LoadingChoice, GivesTheCpuAThreadOnlyForWaiting) {
    const LoadingWish cpu{-1, -1, 16, true};
    // Decoding takes half of the time, all of it on a core.
    EXPECT_EQ(choose_loading(cpu, {10, 2.0, 1.0, 0.01}).threads, 0);
    const auto waits = choose_loading(cpu, {10, 2.0, 1.0, 0.9});
    EXPECT_EQ(waits.threads, 1);
    EXPECT_EQ(waits.ahead, 2);
    EXPECT_THAT(waits.text,
                Mentions("auto: 1 thread", "up to 2 batches", "took 100 ms", "update's 200 ms", "disk 90 ms"));
    EXPECT_EQ(choose_loading(cpu, {10, 1.0, 0.75, 0.7}).threads, 3);
    EXPECT_EQ(choose_loading(cpu, {10, 1.0, 0.999, 0.99}).threads, 8);
    EXPECT_EQ(choose_loading(cpu, {}).threads, 0);
}

TEST(LoadingChoice, GivesADeviceThreadsWhereLoadingTakesMostOfAnUpdate) {
    const LoadingWish gpu{-1, -1, 16, false};
    EXPECT_EQ(choose_loading(gpu, {10, 2.0, 0.9, 0.0}).threads, 0);
    EXPECT_EQ(choose_loading(gpu, {10, 2.0, 1.5, 0.0}).threads, 3);
    LoadingWish little = gpu;
    little.most_ahead = 4;
    EXPECT_EQ(choose_loading(little, {10, 2.0, 1.5, 0.0}).ahead, 4);
}

TEST(LoadingChoice, DoesWhatIsConfigured) {
    EXPECT_EQ(choose_loading({3, -1, 6, true}).ahead, 6);
    EXPECT_EQ(choose_loading({3, 5, 5, true}).ahead, 5);
    EXPECT_EQ(choose_loading({3, 0, 0, true}).threads, 0);
    EXPECT_EQ(choose_loading({0, 5, 0, true}).threads, 0);
    for (const char* key : {"loader_threads", "prefetch"})
        EXPECT_THAT(read_configuration(with(small_params(), {{key, std::string("many")}})).error().message,
                    Mentions("data." + std::string(key) + ": ", "auto", "number"));
}

/// An NPY file.
template <class T>
void write_array(const std::filesystem::path& file, const std::string& type, const std::string& shape,
                 const std::vector<T>& numbers) {
    const std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
    std::ofstream to(file, std::ios::binary);
    to << "\x93NUMPY\x01" << '\0' << static_cast<char>(header.size()) << '\0' << header;
    to.write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(numbers.size() * sizeof(T)));
}

/// Images of 2 x 3 pixels and their labels, in IDX files.
void write_images(const std::filesystem::path& folder, const std::string& part, std::uint8_t count, std::uint8_t last) {
    const auto write = [&](const std::string& name, std::string header, const std::string& items) {
        header[3] = static_cast<char>(header.size() / 4 - 1);
        header[7] = static_cast<char>(count);
        std::ofstream(folder / (part + name), std::ios::binary) << header << items;
    };
    using namespace std::string_literals;
    write("-images-idx3-ubyte", "\0\0\x08.\0\0\0.\0\0\0\x02\0\0\0\x03"s, std::string(count * 6U, '\x07'));
    std::string labels(count, '\1');
    labels.front() = '\0';
    labels.back() = static_cast<char>(last);
    write("-labels-idx1-ubyte", "\0\0\x08.\0\0\0."s, labels);
}

TEST(Loading, RefusesFilesThatChangeAfterTheyWereDescribed) {
    const testing::TemporaryFolder folder;
    const WorkerFixture worker;
    DataConfig data = read_configuration(small_params())->data;
    data.format = "idx";
    data.path = folder.path().string();
    struct Change {
        std::uint8_t images, last;
    };
    for (const Change& change : {Change{40, 1}, Change{5, 1}, Change{20, 9}}) {
        write_images(folder.path(), "train", 60, 1);
        write_images(folder.path(), "t10k", 20, 1);
        ASSERT_TRUE(load_to_device(*worker.device, data, 5)) << load_to_device(*worker.device, data, 5).error().message;
        const auto loaded = load_to_device(*worker.device, data, 5, [&] {
            write_images(folder.path(), "t10k", change.images, change.last);  // once the first images are read
        });
        ASSERT_FALSE(loaded) << int{change.images};
        EXPECT_THAT(loaded.error().message, HasSubstr("changed"));
    }
}

TEST(Loading, RefusesFilesThatAreReplacedBetweenTheirCheckAndTheirUse) {
    const testing::TemporaryFolder folder, other;
    const WorkerFixture worker;
    DataConfig data = read_configuration(small_params())->data;
    data.format = "idx";
    data.path = folder.path().string();
    data.placement = Placement::files;
    write_images(folder.path(), "train", 60, 1);
    write_images(folder.path(), "t10k", 20, 1);
    ASSERT_TRUE(load_to_device(*worker.device, data, 5)) << load_to_device(*worker.device, data, 5).error().message;
    write_images(other.path(), "train", 40, 1);
    const auto loaded = load_to_device(*worker.device, data, 5, [&] {
        for (const auto& file : std::filesystem::directory_iterator(other.path()))
            std::filesystem::rename(file, folder / file.path().filename());  // once they are read
    });
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().message, HasSubstr("changed"));
}

TEST(Loading, RefusesASplitOfFilesThatChangeAfterTheirSamplesAreCounted) {
    const testing::TemporaryFolder folder;
    DataConfig images = read_configuration(small_params())->data, arrays = images;
    images.format = "idx";
    arrays.format = "npy";
    images.path = arrays.path = folder.path().string();
    arrays.folds = 3;
    const auto write = [&](std::uint8_t rows) {
        write_images(folder.path(), "train", rows, 1);
        write_images(folder.path(), "t10k", 20, 1);
        const auto shape = [&](const char* columns) { return "(" + std::to_string(rows) + columns; };
        write_array(folder.path() / "x.npy", "<f4", shape(", 5)"), std::vector<float>(rows * 5U, 0.5F));
        std::vector<double> targets(rows);
        for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = 0.25 * double(i);
        write_array(folder.path() / "y.npy", "<f8", shape(",)"), targets);
    };
    for (const DataConfig& data : {images, arrays}) {
        for (const std::uint8_t rows : {90, 6}) {
            SCOPED_TRACE(data.format + " " + std::to_string(rows));
            write(60);
            const auto shape = describe_data(data);
            ASSERT_TRUE(shape) << shape.error().message;
            const auto sizes = split_sizes(data, *shape);
            ASSERT_TRUE(sizes && split_data(data, *shape, *sizes, 5));
            write(rows);
            const auto split = split_data(data, *shape, *sizes, 5);
            if (split) {  // no more than there is memory for: the samples are compared once they are read
                EXPECT_LE(std::ssize(split->train), sizes->train);
                EXPECT_LE(std::ssize(split->validation), sizes->validation);
                EXPECT_LT(std::ranges::max(split->train), rows);
            } else {
                EXPECT_THAT(split.error().message, HasSubstr("changed"));
            }
        }
    }
}

class LoadingOn : public ::testing::TestWithParam<const char*> {
   protected:
    LoadingOn() {
        std::vector<float> features;
        std::vector<std::int64_t> labels;
        std::vector<double> numbers;
        for (int i = 0; i < 300; ++i) {
            for (int j = 0; j < 5; ++j) features.push_back(static_cast<float>((i * (j + 3) + i / 7) % 23));
            labels.push_back(i * 3 / 2 % 3);
            numbers.push_back(0.25 * (i % 23) - 1);
        }
        for (const char* name : {"classes", "numbers"}) {
            std::filesystem::create_directories(root() / name);
            write_array(root() / name / "x.npy", "<f4", "(300, 5)", features);
        }
        write_array(root() / "classes" / "y.npy", "<i8", "(300,)", labels);
        write_array(root() / "numbers" / "y.npy", "<f8", "(300,)", numbers);
    }
    [[nodiscard]] std::filesystem::path root() const { return folder_.path(); }
    [[nodiscard]] Params arrays(const std::string& name, const Params& changes) const {
        return with({{"format", std::string("npy")},
                     {"path", (root() / name).string()},
                     {"hidden", std::vector<std::int64_t>{8}},
                     {"batch_size", std::int64_t{32}},
                     {"lr", 0.01}},
                    changes);
    }
    [[nodiscard]] static to_worker::Run run_of(const Params& params) {
        auto run = small_run(params, 3);
        if (to_text(params.at("path")).ends_with("numbers")) run.objective.metric = "val_r2";
        return run;
    }
    [[nodiscard]] std::vector<Metrics> curve(const Params& params) const {
        WorkerFixture worker(GetParam());
        FakeHost host;
        const auto finished = run_trial(run_of(params), worker.context, host);
        EXPECT_EQ(finished.outcome, Outcome::complete) << finished.message;
        std::vector<Metrics> metrics;
        for (const Report& report : host.reports) metrics.push_back(report.metrics);
        return metrics;
    }

   private:
    const testing::TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(Backends, LoadingOn, ::testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

TEST(Placement, IsTheDevicesMemoryWhereNothingHasDecided) {
    const WorkerFixture worker;
    const Configuration configuration = *read_configuration(small_params());
    ASSERT_EQ(configuration.data.placement, Placement::automatic);
    const auto data = *load_to_device(*worker.device, configuration.data, 5);
    EXPECT_FALSE(data->staged());
    EXPECT_FALSE(plan_group(configuration, data->shape, data->sizes, 1)->arena.staged[0].bytes);
}

TEST_P(LoadingOn, ThreadsAndPlacesChangeNoBit) {
    for (const char* name : {"classes", "numbers"})
        for (const std::int64_t folds : {0, 3}) {
            Params params = arrays(name, {{"accumulation", std::int64_t{2}}});
            if (folds > 0) params["folds"] = folds;
            const auto on_device = curve(with(params, {{"placement", std::string("device")}}));
            ASSERT_EQ(on_device.size(), 3U);
            for (const char* placement : {"staged", "files"})
                for (const char* threads : {"0", "3", "auto", "1"})
                    EXPECT_EQ(curve(with(params, {{"placement", std::string(placement)},
                                                  {"loader_threads", std::string(threads)}})),
                              on_device)
                        << name << " " << folds << " " << placement << " " << threads;
        }
}

TEST_P(LoadingOn, TrialsThatShareAWorkerLoadTheirOwnBatches) {
    const auto numbered = [&](std::int64_t number) {
        auto trial = run_of(arrays("classes", {{"placement", std::string("files")},
                                               {"loader_threads", std::string("2")},
                                               {"lr", 0.002 * static_cast<double>(number)},
                                               {"batch_size", 20 + number}}));
        trial.id = {number, 1};
        trial.seed = 100 + static_cast<std::uint64_t>(number);
        return trial;
    };
    FusedTrials fused(GetParam());
    for (const std::int64_t trial : {1, 2}) fused.add(numbered(trial));
    fused.finish();
    for (const std::int64_t trial : {1, 2}) {
        ASSERT_EQ(fused.hosts[trial].reports.size(), 3U) << fused.ended.at(trial).message;
        EXPECT_EQ(curve_of(fused.hosts[trial]), fused.alone(numbered(trial))) << trial;
    }
}

TEST_P(LoadingOn, ThePlanCountsTheFilesAsNoMemory) {
    const Params params = arrays("classes", {{"placement", std::string("files")}});
    WorkerFixture worker(GetParam());
    const auto answer = answer_plan({1, params, 1, 5, true}, worker.context);
    ASSERT_EQ(answer.error, "");
    EXPECT_THAT(answer.data, ::testing::Contains(Mentions("stay", "files")));
    FakeHost host;
    ASSERT_EQ(run_trial(run_of(params), worker.context, host).outcome, Outcome::complete) << host.logged;
    EXPECT_EQ(answer.arena_bytes, static_cast<std::int64_t>(worker.context.arena->bytes()));
    EXPECT_EQ(answer.data_bytes, worker.context.data->bytes());
    EXPECT_LT(answer.data_bytes, 300 * 5 * 4);  // the features are not there
    const auto refused =
        answer_plan({1, with(small_params(), {{"placement", std::string("files")}}), 1, 5}, worker.context);
    EXPECT_THAT(refused.error, Mentions("data.placement: files:", "synthetic"));
}

TEST_P(LoadingOn, AFileThatIsTruncatedWhileItIsInUseFailsTheTrial) {
    const auto file = root() / "classes" / "x.npy", copy = root() / "x.npy";
    std::filesystem::copy_file(file, copy);
    for (const char* threads : {"0", "2"}) {
        std::filesystem::copy_file(copy, file, std::filesystem::copy_options::overwrite_existing);
        WorkerFixture worker(GetParam());
        FakeHost host;
        host.on_report = [&](const Report&) {
            std::filesystem::resize_file(file, 2000);
            return to_worker::Action::go_on;
        };
        const auto finished = run_trial(
            run_of(arrays("classes", {{"placement", std::string("files")}, {"loader_threads", std::string(threads)}})),
            worker.context, host);
        EXPECT_EQ(finished.outcome, Outcome::failed);
        EXPECT_THAT(finished.message, HasSubstr("x.npy: changed"));
        EXPECT_EQ(host.reports.size(), 1u);
    }
}

TEST_P(LoadingOn, TheLogTellsHowBatchesAreLoaded) {
    const auto logged = [&](const std::string& threads) {
        WorkerFixture worker(GetParam());
        FakeHost host;
        run_trial(run_of(arrays("classes", {{"placement", std::string("files")}, {"loader_threads", threads}})),
                  worker.context, host);
        return host.logged;
    };
    EXPECT_THAT(logged("2"), Mentions("loading: 2 threads", "4 batches", "configured"));
    EXPECT_THAT(logged("auto"), Mentions("loading: auto: no", "threads", "took"));
}

}  // namespace
}  // namespace hpo::test
