#include "orchestrator/cli/man.hpp"

#include <gmock/gmock.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>

#include "orchestrator/cli/app.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Man, APageHasTheOptionsAndExamplesOfHelp) {
    CLI::App app;
    const DeclaredCommands declared = declare_commands(app);
    EXPECT_THAT(man_page(app, find_command(app, "best")),
                AllOf(HasSubstr(".TH \"HPO\\-BEST\" 1"), HasSubstr("hpo\\-best \\-"), HasSubstr("\\fB\\-\\-format\\fR"),
                      HasSubstr(".SH EXAMPLES"), HasSubstr("[\\fISTUDY\\fR]")));
    for (const auto& [command, action] : declared)
        for (const CLI::Option* option : command->get_options())
            for (const std::string& name : option->get_lnames()) {
                std::string roff = "--" + name;
                for (std::size_t at = 0; (at = roff.find('-', at)) != std::string::npos; at += 2) roff.insert(at, "\\");
                EXPECT_THAT(man_page(app, command), HasSubstr(roff));
            }
}

TEST(Man, ThePageOfTheProgramNamesEachCommand) {
    CLI::App app;
    const DeclaredCommands declared = declare_commands(app);
    for (const Command& command : command_table())
        EXPECT_THAT(man_page(app), HasSubstr(std::string(command.summary.substr(0, command.summary.find('-')))));
}

TEST(Man, LinesThatRoffWouldReadAsRequestsAreText) {
    CLI::App app;
    app.name("hpo");
    CLI::App* odd = app.add_subcommand("odd", "Odd\n.so /etc/passwd\n'a back\\slash");
    const std::string page = man_page(app, odd);
    EXPECT_THAT(page, AllOf(HasSubstr("\n\\&.so /etc"), HasSubstr("\n\\&'a back\\eslash")));
}

TEST(Man, ThereIsAPageForEachCommand) {
    testing::TemporaryFolder folder;
    EXPECT_EQ(write_man_pages({folder.path().string()}), 0);
    EXPECT_TRUE(std::filesystem::exists(folder / "hpo.1"));
    for (const Command& command : command_table())
        EXPECT_TRUE(std::filesystem::exists(folder / ("hpo-" + std::string(command.name) + ".1"))) << command.name;
    EXPECT_ANY_THROW(write_man_pages({(folder / "missing").string()}));
}

}  // namespace
}  // namespace hpo
