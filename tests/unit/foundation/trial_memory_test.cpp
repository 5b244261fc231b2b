// The memory that a study takes for each ended trial.
#include <gtest/gtest.h>
#include <malloc.h>

#include <string>

#include "hpo/event.hpp"

namespace hpo {
namespace {

std::size_t held() {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;  // of the heap, and of large blocks
}

void end_trials(StudyRecord& record, std::int64_t trials, const Objective& objective) {
    const auto happens = [&](Event event) {
        apply(record, {record.sequence + 1, 1e9 + static_cast<double>(record.sequence), std::move(event)}, objective);
    };
    for (std::int64_t number = 1; number <= trials; ++number) {
        const double x = static_cast<double>(number) / 1e4;
        happens(
            event::Proposed{number,
                            {x, x, x, 0},
                            {{"learning_rate", x}, {"width", number}, {"weight_decay", x}, {"activation", "relu"}}});
        happens(event::Launched{number, 1, "cpu 0", {.environment = "CUDA_VISIBLE_DEVICES=\nOMP_NUM_THREADS=1"}});
        for (std::int64_t step = 1; step <= 4; ++step)
            happens(event::Reported{
                number,
                1,
                {step, {{"loss", x}, {"val_loss", x}, {"val_accuracy", static_cast<double>(step)}}, step, x}});
        happens(event::Finished{number, 1, TrialState::complete, "", ""});
    }
}

TEST(Memory, OfAnEndedTrialIsAboutAKilobyte) {
    const Objective objective{"val_accuracy", Direction::maximize};
    StudyRecord record;
    record.thins = true;
    const std::size_t before = held();
    end_trials(record, 1000, objective);
    EXPECT_LT(held() - before, 1000 * 1200);
    EXPECT_EQ(record.trial(7).params.at("width"), Value(std::int64_t{7}));
    EXPECT_EQ(record.trial(7).curve.back().metrics.at("val_accuracy"), 4);
    EXPECT_EQ(record.trial(7).allocation->environment, "CUDA_VISIBLE_DEVICES=\nOMP_NUM_THREADS=1");
    EXPECT_EQ(&record.trial(7).params.begin()->first, &record.trial(8).params.begin()->first);
}

}  // namespace
}  // namespace hpo
