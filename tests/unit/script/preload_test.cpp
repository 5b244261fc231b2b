// The commands whose interpreter can be preloaded, and the command that preloads it.
#include "orchestrator/script/preload.hpp"

#include <gtest/gtest.h>

#include "orchestrator/script/syntax/interpreter.hpp"

namespace hpo::script {
namespace {

using Command = std::vector<std::string>;

TEST(InterpreterArguments, AreTheArgumentsBeforeTheScript) {
    EXPECT_EQ(interpreter_arguments({"python3", "train.py", "--lr={lr}"}), 1U);
    EXPECT_EQ(interpreter_arguments({"/opt/venv/bin/python3.11", "-u", "-W", "ignore", "-Xdev", "-OO", "train.py"}),
              6U);
    EXPECT_EQ(interpreter_arguments({"python", "-m", "package.train", "-v"}), 1U);
    EXPECT_EQ(interpreter_arguments({"python3", "-bB", "-c", "print(1)"}), 2U);
}

TEST(InterpreterArguments, AreAbsentInOtherCommands) {
    for (const Command& command : {Command{},
                                   {"bash", "train.sh"},
                                   {"./train.py"},
                                   {"nice", "python3", "train.py"},
                                   {"python3"},
                                   {"python3", "-"},
                                   {"python3", "-m"},
                                   {"python3", "-i", "train.py"},
                                   {"python3", "-um", "train"},
                                   {"python3", "--version", "x"},
                                   {"python3", "{folder}/train.py"},
                                   {"python3", "-W", "ignore"}})
        EXPECT_FALSE(interpreter_arguments(command)) << ::testing::PrintToString(command);
}

TEST(PreloadCommand, IsTheStudysInterpreterWithItsOptions) {
    Study study;
    study.worker = ScriptWorker{.command = {"python3", "-u", "train.py", "\"é"}};
    EXPECT_EQ(preload_command(*study.script(), "/share"), Command{});
    study.script()->preload = {"torch", "my.data"};
    EXPECT_EQ(
        preload_command(*study.script(), "/share"),
        (Command{
            "python3", "-u", "/share/hpo/preload.py",
            R"({"adapter":false,"command":["train.py","\"\u00e9"],"interpreter":2,"modules":["torch","my.data"]})"}));
    study.script()->metrics.emplace();
    EXPECT_NE(preload_command(*study.script(), "/share").back().find(R"("adapter":true)"), std::string::npos);
}

}  // namespace
}  // namespace hpo::script
