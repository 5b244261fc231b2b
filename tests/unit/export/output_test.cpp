// Outputs appear whole or not at all, and replace nothing unless they are forced to.
#include "orchestrator/output/output_path.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "orchestrator/export/optuna.hpp"
#include "support.hpp"

#include "tests/support/mentions.hpp"

namespace hpo::exporting {
namespace {

using hpo::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string refusal(const std::filesystem::path& path, OutputPath::Kind kind = OutputPath::Kind::file,
                    bool force = false) {
    const auto output = OutputPath::at(path, kind, force);
    return output ? "(accepted)" : output.error().message;
}

TEST(Output, AFileGetsItsNameOnlyWhenItIsFinished) {
    const TemporaryFolder folder;
    {
        auto output = OutputPath::at(folder / "out.csv", OutputPath::Kind::file, false);
        ASSERT_TRUE(output);
        put(output->temporary(), "half");
        EXPECT_FALSE(std::filesystem::exists(folder / "out.csv"));
    }
    EXPECT_THAT(names_in(folder), IsEmpty());
    auto output = OutputPath::at(folder / "out.csv", OutputPath::Kind::file, false);
    put(output->temporary(), "whole");
    EXPECT_EQ(*output->finish(), "");
    EXPECT_THAT(names_in(folder), ElementsAre("out.csv"));
    EXPECT_EQ(text_of(folder / "out.csv"), "whole");
}

TEST(Output, AnExistingFileIsRefusedOrSetAsideWithForce) {
    const TemporaryFolder folder;
    put(folder / "out.csv", "old");
    EXPECT_THAT(refusal(folder / "out.csv"), Mentions("out.csv", "--force"));
    auto output = OutputPath::at(folder / "out.csv", OutputPath::Kind::file, true);
    ASSERT_TRUE(output);
    put(output->temporary(), "new");
    const auto aside = output->finish();
    EXPECT_EQ(text_of(folder / "out.csv"), "new");
    EXPECT_EQ(text_of(*aside), "old");
    EXPECT_EQ(names_in(folder).size(), 2);
}

TEST(Output, ForcedSeveralTimesInASecondKeepsAllOlderFiles) {
    const TemporaryFolder folder;
    put(folder / "out", "0");
    for (const char* text : {"1", "2", "3"}) {
        auto output = OutputPath::at(folder / "out", OutputPath::Kind::file, true);
        put(output->temporary(), text);
        ASSERT_TRUE(output->finish());
    }
    EXPECT_EQ(names_in(folder).size(), 4);
    EXPECT_EQ(text_of(folder / "out"), "3");
}

TEST(Output, AFileThatAppearedMeanwhileIsLeftAlone) {
    const TemporaryFolder folder;
    auto output = OutputPath::at(folder / "out", OutputPath::Kind::file, false);
    put(output->temporary(), "mine");
    put(folder / "out", "theirs");
    EXPECT_THAT(output->finish().error().message, HasSubstr("meanwhile"));
    EXPECT_EQ(text_of(folder / "out"), "theirs");
}

TEST(Output, FollowsALink) {
    const TemporaryFolder folder;
    put(folder / "target", "old");
    std::filesystem::create_symlink("target", folder / "link");
    auto output = OutputPath::at(folder / "link", OutputPath::Kind::file, true);
    put(output->temporary(), "new");
    ASSERT_TRUE(output->finish());
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
    EXPECT_EQ(text_of(folder / "target"), "new");
}

TEST(Output, AnEmptyFolderIsUsedAndAFullOneRefused) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "logs");
    auto output = OutputPath::at(folder / "logs/", OutputPath::Kind::folder, false);
    ASSERT_TRUE(output);
    put(output->temporary() / "a", "");
    EXPECT_EQ(*output->finish(), "");
    EXPECT_TRUE(std::filesystem::exists(folder / "logs/a"));
    EXPECT_THAT(refusal(folder / "logs", OutputPath::Kind::folder), HasSubstr("exists"));
}

TEST(Output, AnUnusablePathIsRefusedWithTheReason) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "folder");
    put(folder / "file", "");
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    EXPECT_THAT(refusal(folder / "folder", OutputPath::Kind::file, true),
                HasSubstr("folder: is a folder; name a file"));
    EXPECT_THAT(refusal(folder / "file", OutputPath::Kind::folder, true), HasSubstr("file: is a file; name a folder"));
    EXPECT_THAT(refusal(folder / "pipe", OutputPath::Kind::file, true), HasSubstr("neither"));
    EXPECT_THAT(refusal(folder / "no/such"), HasSubstr("no: No such file or directory"));
    EXPECT_THAT(refusal(folder / "no/such", OutputPath::Kind::folder), HasSubstr("no: No such file or directory"));
    EXPECT_THAT(refusal(folder / "file/below"), HasSubstr("Not a directory"));
    EXPECT_THAT(refusal(".."), HasSubstr("'..'"));
}

TEST(Output, APathNextToAForeignJournalIsRefused) {
    const TemporaryFolder folder;
    EXPECT_TRUE(no_journal_beside(folder / "out.db"));
    put(folder / "out.db-journal", "");
    EXPECT_THAT(no_journal_beside(folder / "out.db").error().message, HasSubstr("out.db-journal:"));
}

TEST(FileWriter, NamesTheFileInItsErrors) {
    EXPECT_EQ(write_error("out.csv", ENOSPC).message,
              "out.csv: the disk is full; nothing was left behind: free some space, then run again");
    EXPECT_EQ(write_error("out.csv", EACCES).message, "out.csv: Permission denied");
}

}  // namespace
}  // namespace hpo::exporting
