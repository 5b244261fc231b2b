#include "worker/training/tuning.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <thread>

#include "tests/contract/worker/fixture.hpp"
#include "tests/contract/worker/fused_trials.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/training/group_plan.hpp"

namespace hpo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Times of a device on which the same model of time holds for batches and widths. Parts make no difference.
TuningTimes times_by(std::function<std::optional<double>(std::int64_t)> time) {
    return {[time](std::int64_t batch, std::int64_t width) { return time(width == 256 ? batch : width); },
            [](std::int64_t) { return std::optional<double>(); }, [](std::int64_t) { return 1.0; }};
}

TEST(Tuning, ADeviceThatIsLargerThanWasThoughtPadsFurther) {
    const BucketBounds found = find_tuning(times_by([](std::int64_t extent) {
                                   return extent <= 512 ? 1.0 : static_cast<double>(extent) / 512;
                               })).tuning.buckets;
    EXPECT_EQ(found.batches, (PaddingBounds{512, 512}));
    EXPECT_EQ(found.widths, (PaddingBounds{512, 512}));
}

TEST(Tuning, ADeviceThatIsSmallerThanWasThoughtPadsLess) {
    std::int64_t measured = 0;
    const TuningTimes times = times_by([&](std::int64_t extent) {
        ++measured;
        return static_cast<double>(extent);
    });
    const BucketBounds found = find_tuning(times).tuning.buckets;
    EXPECT_EQ(found.batches, (PaddingBounds{8, 8}));
    EXPECT_EQ(found.widths, (PaddingBounds{16, 16}));
    EXPECT_EQ(measured, 7) << "three of each, and one for updates in the backward pass: "
                           << "a device that is always busy is not measured further";
}

TEST(Tuning, BetweenTheTwoPowersOfTwoCostAtMostHalfAsMuchAgain) {
    const auto time = [](std::int64_t extent) { return 64.0 + static_cast<double>(extent); };
    const BucketBounds found = find_tuning(times_by(time)).tuning.buckets;
    EXPECT_EQ(found.batches, (PaddingBounds{16, 128}));
    EXPECT_LE(time(16), 1.15 * time(8));
    EXPECT_GT(time(32), 1.15 * time(8));
    EXPECT_LE(time(128), 1.5 * time(64));
    EXPECT_GT(time(256), 1.5 * time(128));
}

TEST(Tuning, OneMeasurementThatWasHeldUpDoesNotCount) {
    for (const std::int64_t held_up : {8, 64, 256}) {
        const auto time = [&](std::int64_t extent) {
            return (extent == held_up ? 3.0 : 1.0) * (extent <= 512 ? 1.0 : static_cast<double>(extent) / 512);
        };
        EXPECT_EQ(find_tuning(times_by(time)).tuning.buckets.batches, (PaddingBounds{512, 512})) << held_up;
    }
}

TEST(Tuning, WhatDoesNotFitStaysAsItWasChosen) {
    const auto up_to = [](std::int64_t most) {
        return find_tuning(
            times_by([most](std::int64_t extent) { return extent <= most ? std::optional(1.0) : std::nullopt; }));
    };
    EXPECT_EQ(up_to(0).tuning.buckets, BucketBounds{});
    EXPECT_EQ(up_to(128).tuning.buckets.batches, (PaddingBounds{128, 1024})) << "as far as it was measured";
    TuningTimes times = times_by([](std::int64_t) { return 0.0; });
    times.convolution = [](std::int64_t) { return std::optional<double>(); };
    EXPECT_EQ(find_tuning(times).tuning, Tuning{}) << "a clock that stands still measures nothing";
}

TEST(Tuning, ThePartsOfConvolutionsAreTheSmallestThatAreAboutAsFastAsAny) {
    const auto found = [](std::function<double(double)> by_megabytes) {
        TuningTimes times = times_by([](std::int64_t) { return 1.0; });
        times.convolution = [&](std::int64_t bytes) { return by_megabytes(static_cast<double>(bytes >> 20)); };
        return find_tuning(times).tuning.part_bytes >> 20;
    };
    EXPECT_EQ(found([](double megabytes) { return 1 + 1 / megabytes; }), 32) << "1.0313; the best is 1.0078";
    EXPECT_EQ(found([](double megabytes) { return 1 + megabytes / 10; }), 2) << "what stays in the cache is faster";
}

TEST(Tuning, WeightsAreUpdatedInTheBackwardPassAsFarAsThatIsFaster) {
    const auto found = [](std::function<double(std::int64_t)> within) {
        TuningTimes times = times_by([](std::int64_t extent) { return 100.0 + static_cast<double>(extent); });
        times.update_in_backward = std::move(within);
        return find_tuning(times).tuning.backward_updates;
    };
    EXPECT_EQ(found([](std::int64_t batch) { return 80.0 + 1.3 * static_cast<double>(batch); }), 64);
    EXPECT_EQ(found([](std::int64_t) { return 200.0; }), 0);
    EXPECT_EQ(found([](std::int64_t) { return 1.0; }), 1024);
}

TEST(Tuning, ProductsHaveHalfOfTheirSpeedWithTheRowsThatWereMeasured) {
    const auto found = [](std::function<std::optional<double>(double)> by_rows) {
        TuningTimes times = times_by([](std::int64_t) { return 1.0; });
        times.product = [&](std::int64_t rows) { return by_rows(static_cast<double>(rows)); };
        return find_tuning(times).tuning.rows_at_half_speed;
    };
    // With 1,024 rows nothing is idle, with 512 half of the device is.
    EXPECT_EQ(found([](double rows) { return std::max(1.0, rows / 1024); }), 512);
    EXPECT_EQ(found([](double rows) { return rows; }), 16) << "a device that is always busy";
    EXPECT_EQ(found([](double) { return 1.0; }), 4096) << "half of the greatest that is measured";
    const std::int64_t smooth = found([](double rows) { return 300 + rows; });
    EXPECT_GT(smooth, 200);
    EXPECT_LE(smooth, 300);
    EXPECT_EQ(found([](double rows) { return rows <= 32 ? std::optional(1.0) : std::nullopt; }), 0) << "too few times";
}

TEST(Tuning, TellsWhatWasMeasuredBeforeTheTimeWasOver) {
    int left = 5;
    TuningTimes times = times_by([&](std::int64_t) { return left-- > 0 ? std::optional(1.0) : std::nullopt; });
    times.convolution = [](std::int64_t) { return std::optional<double>(); };
    times.cut_off = [&] { return left < 0; };
    const FoundTuning found = find_tuning(times);
    EXPECT_FALSE(found.complete);
    EXPECT_EQ(found.measured, 5);
    EXPECT_TRUE(find_tuning(times_by([](std::int64_t) { return 1.0; })).complete);
}

class KeptTuning : public ::testing::Test {
   protected:
    const FoundTuning larger{{{{128, 256}, {256, 512}}, std::int64_t{1} << 24, 64, 300}, true, 30};
    const FoundTuning smaller{{{{16, 64}, {32, 64}}, std::int64_t{1} << 22, 0}, true, 20};
    const hpo::testing::TemporaryFolder folder;

    int searches = 0;
    FoundTuning kept_for(const std::string& session, const FoundTuning& found) {
        return kept_tuning(folder.path(), "gpu", session, [&] { return ++searches, found; });
    }
    static FoundTuning cut_off(FoundTuning found, std::int64_t measured) {
        found.complete = false;
        found.measured = measured;
        return found;
    }
};

TEST_F(KeptTuning, IsFoundOnceForADevice) {
    int times = 0;
    const auto find = [&](const FoundTuning& tuning) { return [&] { return ++times, tuning; }; };
    EXPECT_EQ(kept_tuning(folder.path(), "gpu 1", "first", find(larger)), larger);
    EXPECT_EQ(kept_tuning(folder.path(), "gpu 1", "second", find(smaller)), larger);
    EXPECT_EQ(times, 1);
    EXPECT_EQ(kept_tuning(folder.path(), "gpu 2", "second", find(smaller)), smaller);
    EXPECT_EQ(times, 2);
}

TEST_F(KeptTuning, ThatWasCutOffIsForItsSessionAloneAndTheNextMeasuresAgain) {
    const FoundTuning first = kept_for("first", cut_off(smaller, 5));
    EXPECT_EQ(first.tuning, smaller.tuning);
    EXPECT_TRUE(first.again);
    EXPECT_THAT(to_text(first), Mentions("next", "measures"));
    EXPECT_EQ(kept_for("first", larger).tuning, smaller.tuning) << "the workers of a session must agree";
    EXPECT_EQ(searches, 1);
    EXPECT_EQ(kept_for("second", larger), larger);
    EXPECT_THAT(to_text(larger), Not(HasSubstr("session")));
    EXPECT_EQ(kept_for("third", smaller), larger) << "it is complete";
    EXPECT_EQ(kept_for("first", larger).tuning, smaller.tuning) << "that session still runs";
    EXPECT_EQ(searches, 2);
}

TEST_F(KeptTuning, ThatIsCutOffEachTimeIsTheOneThatMeasuredMost) {
    EXPECT_TRUE(kept_for("first", cut_off(smaller, 5)).again);
    EXPECT_TRUE(kept_for("second", cut_off(larger, 7)).again);
    EXPECT_FALSE(kept_for("third", cut_off(smaller, 6)).again);
    const FoundTuning fourth = kept_for("fourth", cut_off(smaller, 100));
    EXPECT_EQ(fourth.tuning, larger.tuning);
    EXPECT_THAT(to_text(fourth), HasSubstr("slow"));
    EXPECT_EQ(searches, 3);
}

TEST_F(KeptTuning, OfAProcessWithoutASessionIsMeasuredAgainToo) {
    EXPECT_EQ(kept_for("", cut_off(smaller, 5)).tuning, smaller.tuning);
    EXPECT_EQ(kept_for("", larger), larger);
}

TEST_F(KeptTuning, OfADamagedFileIsFoundAgain) {
    for (const char* text : {"", "complete 1 times 9 batches 128",
                             "complete 1 times 9 batches 100 256 widths 32 64 parts 0 updates 0 rows 0\n",
                             "complete 1 times 9 batches 256 128 widths 32 64 parts 0 updates 0 rows 0\n",
                             "complete 1 times 9 batches 1 2 widths 32 64 parts -4 updates 0 rows 0\n",
                             "complete 1 times 9 batches 1 2 widths 32 64 parts 4 updates 0 rows -1\n",
                             "complete 1 times 9 batches 1 2 widths 32 64 parts 4 updates 0\n",
                             "half 1 times 9 batches 1 2 widths 32 64 parts 4 updates 0 rows 0\n"}) {
        kept_for("first", larger);
        for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
            std::ofstream(entry.path()) << text;
        EXPECT_EQ(kept_for("first", smaller), smaller) << text;
        EXPECT_EQ(kept_for("first", larger), smaller) << text;
        std::filesystem::remove_all(folder.path());
    }
}

TEST_F(KeptTuning, IsTheSameForAllWhoAskAtOnce) {
    std::vector<std::thread> threads;
    std::vector<FoundTuning> found(8);
    for (std::size_t i = 0; i < found.size(); ++i)
        threads.emplace_back([&, i] {
            found[i] = kept_tuning(folder.path(), "gpu", "session", [&] {
                FoundTuning own = larger;
                own.tuning.part_bytes = std::int64_t{1} << (20 + i);
                return own;
            });
        });
    for (std::thread& thread : threads) thread.join();
    for (const FoundTuning& one : found) EXPECT_EQ(one, found[0]);
}

TEST_F(KeptTuning, IsTheDefaultWhereItCannotBeKept) {
    EXPECT_EQ(kept_tuning({}, "gpu", "session", [&] { return larger; }), FoundTuning{});
    std::ofstream(folder.path() / "file") << "not a folder";
    EXPECT_EQ(kept_tuning(folder.path() / "file", "gpu", "session", [&] { return larger; }), FoundTuning{});
}

/// A clock by which each look at it takes as long.
class CountingClock final : public Clock {
   public:
    [[nodiscard]] Seconds now() const override { return Seconds(1e-6 * static_cast<double>(++looks_)); }

   private:
    mutable std::int64_t looks_ = 0;
};

TEST(Tuning, ADeviceIsTimedByTrainingAndConvolving) {
    for (const char* backend : {"cpu", "opencl"}) {
        const auto device = test::device_of(backend);
        const CountingClock clock;
        const TuningTimes times = times_on(*device, clock);
        const auto update = times.update(8, 16);
        ASSERT_TRUE(update) << backend;
        EXPECT_GT(*update, 0) << backend;
        EXPECT_TRUE(times.update_in_backward(8)) << backend;
        EXPECT_FALSE(times.update(16, 65536)) << "more than is taken for a moment, on " << backend;
        EXPECT_FALSE(times.cut_off()) << "what does not fit now will not fit later";
    }
    const auto device = test::device_of("cpu");
    const CountingClock clock;
    const TuningTimes late = times_on(*device, clock);
    for (int i = 0; i < 4'000'000; ++i) (void)clock.now();
    EXPECT_FALSE(late.cut_off());
    EXPECT_FALSE(late.update(8, 16)) << "the time is over";
    EXPECT_TRUE(late.cut_off());
    EXPECT_FALSE(late.convolution(1 << 22));
    EXPECT_FALSE(late.product(16));
    const auto product = times_on(*device, clock).product(16);
    ASSERT_TRUE(product);
    EXPECT_GT(*product, 0);
    const auto convolution = times_on(*device, clock).convolution(1 << 22);
    ASSERT_TRUE(convolution);
    EXPECT_GT(*convolution, 0);
}

TEST(Tuning, TrialsAreLaidOutByTheBoundsOfTheirDevice) {
    const Tuning tuned{{{16, 64}, {32, 64}}, 0, 0};
    const auto run = test::small_run(test::with(test::small_params(), {{"batch_size", std::int64_t{12}}}), 2);
    test::FusedTrials by_guess, by_measurement;
    by_measurement.worker.context.tuning = tuned;
    const auto arena_of = [&](test::FusedTrials& trials) {
        return answer_plan({1, run.params, 1, 5}, trials.worker.context).arena_bytes;
    };
    EXPECT_LT(arena_of(by_measurement), arena_of(by_guess) / 3);
    const auto curve_of = [&](test::FusedTrials& trials) {
        const test::FakeHost& host = trials.add(run);
        trials.finish();
        EXPECT_EQ(trials.ended.at(1).outcome, Outcome::complete);
        return test::curve_of(host);
    };
    const auto guessed = curve_of(by_guess), measured = curve_of(by_measurement);
    ASSERT_EQ(guessed.size(), 2U);
    ASSERT_EQ(measured.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_NEAR(guessed[i].at("val_loss"), measured[i].at("val_loss"), 1e-3) << "the order of sums";
}

TEST(Tuning, AWindowGrowsWhileReadingItsLossesCostsMuchOfIt) {
    EXPECT_EQ(next_window(32, Seconds(0.002), 128), 64);
    EXPECT_EQ(next_window(100, Seconds(0.002), 128), 128);
    EXPECT_EQ(next_window(32, Seconds(0.05), 128), 32);
    EXPECT_EQ(next_window(32, Seconds(0.5), 128), 16);
    EXPECT_EQ(next_window(1, Seconds(5), 128), 1);
}

}  // namespace
}  // namespace hpo
