// The platform on which a study's workers run.
#include "orchestrator/engine/platforms.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace hpo {
namespace {

TEST(Platform, IsThisMachineAndSaysHowEverythingIsMade) {
    const Platform& platform = platform_of(Study{});
    EXPECT_EQ(platform.name, "local");
    EXPECT_TRUE(platform.make_executor && platform.sweep && platform.check_devices && platform.open_machine);
}

TEST(Platform, MakesAnExecutorWhoseFolderGoesWithIt) {
    boost::asio::io_context loop;
    std::filesystem::path folder;
    {
        auto executor = local_platform.make_executor(loop, {.tag = "hpo-test-platform", .program = "/bin/false"},
                                                     [](WorkerIndex, const execution::Event&) {});
        ASSERT_TRUE(executor);
        folder = (*executor)->folder();
        EXPECT_TRUE(std::filesystem::is_directory(folder));
        EXPECT_TRUE((*executor)->keep_folder());
        EXPECT_TRUE((*executor)->end(std::chrono::milliseconds(10)).empty()) << "nothing was started";
    }
    EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(Platform, SweepsWhereNothingWasLeft) { EXPECT_TRUE(local_platform.sweep("hpo-test-nobody-has-this-tag")); }

}  // namespace
}  // namespace hpo
