#include "orchestrator/script/syntax/last_output.hpp"

#include <gtest/gtest.h>

namespace hpo::script {
namespace {

TEST(LastOutput, KeepsAnExceptionOfSeveralLinesWithItsTypeAndPlace) {
    EXPECT_EQ(last_output("epoch 1\n"
                          "Traceback (most recent call last):\n"
                          "  File \"train.py\", line 9, in <module>\n"
                          "    main()\n"
                          "  File \"train.py\", line 5, in main\n"
                          "    net.load_state_dict(state)\n"
                          "RuntimeError: Error(s) in loading state_dict for Net:\n"
                          "\tMissing key(s) in state_dict: \"a.weight\".\n"
                          "\tsize mismatch for b.weight.\n\n"),
              "RuntimeError: Error(s) in loading state_dict for Net:\n"
              "\tMissing key(s) in state_dict: \"a.weight\".\n"
              "\tsize mismatch for b.weight.\n"
              "  File \"train.py\", line 9, in <module>\n"
              "    main()\n"
              "  File \"train.py\", line 5, in main\n"
              "    net.load_state_dict(state)");
}

TEST(LastOutput, KeepsTheLastOfChainedExceptionsAndTheEndsOfALongOne) {
    std::string output =
        "Traceback (most recent call last):\n  File \"a\", line 1, in f\nKeyError: 1\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n";
    for (int i = 0; i < 9; ++i) output += "  File \"deep.py\", line " + std::to_string(i) + ", in g\n    g()\n";
    output += "ValueError: first\n";
    for (int i = 0; i < 100; ++i) output += "line " + std::to_string(i) + "\n";
    const std::string text = last_output(output);
    EXPECT_TRUE(text.starts_with("ValueError: first\nline 0\n")) << text;
    EXPECT_NE(text.find("\n...\nline 99\n  File \"deep.py\", line 6, in g\n"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("line 8, in g\n    g()")) << text;
}

TEST(LastOutput, WithoutATracebackIsTheLastLineThatIsNotEmpty) {
    EXPECT_EQ(last_output("a\n 10 %\r 20 %\r\nerror: no such file\r\n \n"), "error: no such file");
    EXPECT_EQ(last_output("a\r 10 %\rkilled"), "killed");
    EXPECT_EQ(last_output("\n\n"), "");
    EXPECT_EQ(last_output(""), "");
    // A traceback that is cut off before its exception.
    EXPECT_EQ(last_output("Traceback (most recent call last):\n  File \"a\", line 1, in f"),
              "  File \"a\", line 1, in f");
    EXPECT_LE(last_output("Traceback (most recent call last):\n" + std::string(100'000, 'x')).size(), 4000u);
}

}  // namespace
}  // namespace hpo::script
