#include "orchestrator/script/terminal.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hpo::script {
namespace {

TEST(Terminal, GivesItsProgramAnInputThatIsAtItsEnd) {
    const auto terminal = open_terminal();
    ASSERT_TRUE(terminal) << terminal.error().message;
    char byte = 0;
    EXPECT_EQ(::isatty(terminal->program.get()), 1);
    EXPECT_EQ(::read(terminal->program.get(), &byte, 1), 0);
}

TEST(FirstLine, OfWindowsIsToldWithTheCure) {
    const auto file = std::filesystem::path(::testing::TempDir()) / ("first_line_" + std::to_string(::getpid()));
    const auto problem_of = [&](const std::string& text) {
        std::ofstream(file, std::ios::binary) << text;
        ::chmod(file.c_str(), 0755);
        return first_line_problem(file.string());
    };
    const std::string cure = "convert the file by sed -i 's/\\r$//' " + file.string();
    for (const char* text : {"#!/bin/sh\r\necho 1\r\n", "#!/usr/bin/env python3\r\n", "#!/usr/bin/perl -w\r\n"})
        EXPECT_TRUE(problem_of(text).ends_with(cure)) << text << problem_of(text);
    EXPECT_NE(problem_of("#!/bin/sh\r\n").find("its first line, #!/bin/sh, ends with a carriage return"),
              std::string::npos);
    for (const char* text : {"#!/bin/sh\necho 1\r\n", "echo 1\r\n", "", "#!", "#!/bin/sh", "\177ELF\r\n", "\n", "#!\n"})
        EXPECT_EQ(problem_of(text), "") << text;
    EXPECT_EQ(first_line_problem("/no/such/program"), "");
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace hpo::script
