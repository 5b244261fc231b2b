#include "orchestrator/script/rank_launcher.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>

namespace hpo {
namespace {

TEST(RankLauncherDeathTest, WithoutDescriptorsForSignalsItComplainsAndEnds) {
    const auto run = [] {
        rlimit none{};
        ::getrlimit(RLIMIT_NOFILE, &none);
        none.rlim_cur = 0;
        ::setrlimit(RLIMIT_NOFILE, &none);
        std::array<std::string, 5> words{"hpo", ranks_command_name, "2", "1000", "true"};
        std::array<char*, 5> arguments{};
        for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
        ::_exit(run_ranks(arguments.size(), arguments.data()));
    };
    EXPECT_EXIT(run(), ::testing::ExitedWithCode(127), "^cannot receive signals: Too many open files\n$");
}

}  // namespace
}  // namespace hpo
