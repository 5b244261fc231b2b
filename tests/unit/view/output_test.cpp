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
#include "tests/support/refused_writes.hpp"

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

TEST(Output, WaitsOutAShortageOfTheKernel) {
    for (const int error : {EINTR, EAGAIN, ENOMEM, ENOBUFS}) {
        Descriptor read_end, write_end;
        ASSERT_TRUE(make_pipe(read_end, write_end));
        const testing::RefusedWrites refused(error, 2, 2);
        EXPECT_TRUE(write_to(write_end.get(), "text"));
        EXPECT_EQ(testing::RefusedWrites::left(), 0);
        char got[8] = {};
        EXPECT_EQ(::read(read_end.get(), got, sizeof got), 4);
    }
}

TEST(Output, TellsThatItCannotBeWritten) {
    Descriptor read_end, write_end;
    ASSERT_TRUE(make_pipe(read_end, write_end));
    const testing::RefusedWrites refused(EIO, 0, 1);
    EXPECT_FALSE(write_to(write_end.get(), "text"));
    EXPECT_EQ(errno, EIO);
}

}  // namespace
}  // namespace hpo::view
