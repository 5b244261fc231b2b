// A trial on one thread of the CPU, on several, and on a number that changes between its updates.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/contract/worker/fused_trials.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo::test {

inline std::vector<int> cores(int count) {
    std::vector<int> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

/// Expects the same reports and the same weights, to the bit. The trial should be large enough to be cut into parts.
inline void expect_the_same_on_any_number_of_threads(const Params& params) {
    const testing::TemporaryFolder folder;
    const auto train = [&](const std::vector<int>& numbers) {
        WorkerFixture worker;
        FakeHost host;
        std::size_t asked = 0;
        host.on_ask = [&] {
            worker.device->use_cores(cores(numbers[asked++ % numbers.size()]));
            return true;
        };
        auto run = small_run(params, 2);
        run.save = folder / "model.safetensors";
        const auto finished = run_trial(run, worker.context, host);
        EXPECT_EQ(finished.outcome, Outcome::complete) << finished.message;
        std::ifstream file(run.save, std::ios::binary);
        return std::pair{curve_of(host), std::string(std::istreambuf_iterator<char>(file), {})};
    };
    const auto alone = train({1});
    ASSERT_EQ(alone.first.size(), 2u);
    ASSERT_FALSE(alone.second.empty());
    for (const auto& numbers : {std::vector<int>{2}, std::vector<int>{5}, std::vector<int>{1, 3, 2}}) {
        const auto shared = train(numbers);
        EXPECT_EQ(shared.first, alone.first) << numbers.front() << " threads";
        EXPECT_TRUE(shared.second == alone.second) << "the weights, with " << numbers.front() << " threads";
    }
}

}  // namespace hpo::test
