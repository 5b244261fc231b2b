#include "orchestrator/view/output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <thread>

#include "hpo/descriptor.hpp"
#include "hpo/interrupted.hpp"

namespace hpo::view {
namespace {

TEST(Output, ALargeTextArrivesWhole) {
    Descriptor read_end, write_end;
    ASSERT_TRUE(make_pipe(read_end, write_end));
    const std::string text(1 << 20, 'x');
    std::size_t received = 0;
    std::thread reader([&] {
        char buffer[5000];
        for (ssize_t size; (size = ::read(read_end.get(), buffer, sizeof buffer)) > 0;)
            received += static_cast<std::size_t>(size);
    });
    EXPECT_TRUE(write_to(write_end.get(), text));
    write_end.reset();
    reader.join();
    EXPECT_EQ(received, text.size());
}

TEST(Output, AnInterruptedProgramDoesNotWaitForASlowReader) {
    Descriptor read_end, write_end;
    ASSERT_TRUE(make_pipe(read_end, write_end));
    interrupted_by = SIGINT;
    EXPECT_FALSE(write_to(write_end.get(), std::string(1 << 20, 'x')));
    EXPECT_EQ(errno, ETIMEDOUT);
    interrupted_by = 0;
}

}  // namespace
}  // namespace hpo::view
