// A run's changes to a study's folder before the run is accepted, and links in the folder.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "orchestrator/store/holder_lock.hpp"
#include "orchestrator/store/study_folder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uid_t somebody_else = 4242;  // a user other than the owner of the test's links

std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Makes and locks a study's folder as a run does. The run keeps its files if it is `accepted`.
void begin_a_run(const StudyFolder& folder, bool accepted) {
    auto missing = missing_parts(folder);
    ASSERT_TRUE(make_study_folder(folder));
    const auto lock = HolderLock::take(folder);
    ASSERT_TRUE(lock);
    Takeback takeback(std::move(missing));
    if (!fs::exists(folder.database())) std::ofstream(folder.database()) << "new";
    if (accepted) takeback.forget();
}

TEST(Takeback, ARunThatWasRefusedLeavesNothingOfItsOwn) {
    testing::TemporaryFolder place;
    begin_a_run({place / "runs/deeper/s"}, false);
    EXPECT_TRUE(fs::is_empty(place.path()));
}

TEST(Takeback, EarlierFilesStay) {
    testing::TemporaryFolder place;
    const StudyFolder folder{place / "runs/s"};
    begin_a_run(folder, true);
    EXPECT_TRUE(fs::exists(folder.database()));
    std::ofstream(folder.path / "notes.txt") << "mine";
    begin_a_run(folder, false);
    EXPECT_EQ(text_of(folder.database()), "new");
    EXPECT_EQ(text_of(folder.path / "notes.txt"), "mine");
    EXPECT_TRUE(fs::exists(folder.path / "logs"));
}

TEST(Takeback, FilesOfReadersBesideAnExistingDatabaseAreNotPartOfIt) {
    testing::TemporaryFolder place;
    const StudyFolder folder{place / "s"};
    begin_a_run(folder, true);
    for (const fs::path& part : missing_parts(folder))
        EXPECT_THAT(part.filename().string(), Not(HasSubstr("study.db")));
}

TEST(Links, OfSomebodyElseAreNeverWrittenThrough) {
    testing::TemporaryFolder place;
    const StudyFolder folder{place / "s"};
    begin_a_run(folder, true);
    EXPECT_THAT(planted_link(folder, somebody_else).string(), IsEmpty());
    for (const fs::path& part : {folder.log(), folder.yaml(), folder.path / "study.db-wal"}) {
        fs::remove(part);
        fs::create_symlink(place / "somebodys", part);
        if (::geteuid() != 0) {  // links that belong to root are followed
            EXPECT_EQ(planted_link(folder, somebody_else), part);
        }
        EXPECT_THAT(planted_link(folder, ::geteuid()).string(), IsEmpty()) << "one's own are followed";
        fs::remove(part);
    }
}

TEST(Links, PlantedInASharedFolderRefuseTheRun) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give a link away";
    testing::TemporaryFolder place;
    const StudyFolder folder{place / "runs/s"};
    fs::create_directory(place / "elsewhere");
    fs::create_directory(place / "runs");
    fs::create_directory_symlink(place / "elsewhere", folder.path);
    EXPECT_TRUE(make_study_folder(folder)) << "a link of one's own to a larger disk";
    ASSERT_EQ(::lchown(folder.path.c_str(), somebody_else, somebody_else), 0);
    const auto made = make_study_folder(folder);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr("somebody"));
    EXPECT_EQ(planted_link(folder, somebody_else).string(), "") << "his own";
}

TEST(Links, ALogIsNeverWrittenThroughOne) {
    testing::TemporaryFolder place;
    const StudyFolder folder{place / "s"};
    ASSERT_TRUE(make_study_folder(folder));
    fs::create_symlink(place / "precious", folder.log());
    const auto made = make_study_folder(folder);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message,
              folder.log().string() + ": a symbolic link, through which no log is written: remove it");
}

TEST(NamedPipes, InTheFolderAreRefusedAndNotWaitedFor) {
    testing::TemporaryFolder place;
    const StudyFolder folder{place / "s"};
    ASSERT_TRUE(make_study_folder(folder));
    for (const fs::path& file : {folder.log(), folder.yaml(), folder.database(), folder.lock()}) {
        ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
        const auto made = make_study_folder(folder);
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().message, file.string() + ": is a named pipe, not a regular file: remove it");
        EXPECT_FALSE(holder_of(folder));
        fs::remove(file);
    }
    EXPECT_TRUE(make_study_folder(folder));
}

TEST(Links, ALockFileIsNeverOne) {
    testing::TemporaryFolder place;
    const StudyFolder folder{place / "s"};
    ASSERT_TRUE(make_study_folder(folder));
    std::ofstream(place / "precious") << "mine";
    fs::create_symlink(place / "precious", folder.lock());
    const auto lock = HolderLock::take(folder);
    ASSERT_FALSE(lock);
    EXPECT_THAT(lock.error().message, HasSubstr("symbolic link"));
    EXPECT_EQ(text_of(place / "precious"), "mine");
}

TEST(HolderLock, KnowsWhenItsFolderWasMovedOrRemoved) {
    testing::TemporaryFolder place;
    const StudyFolder folder{place / "s"};
    ASSERT_TRUE(make_study_folder(folder));
    const auto lock = HolderLock::take(folder);
    ASSERT_TRUE(lock);
    EXPECT_TRUE(lock->in_place());
    fs::rename(folder.path, place / "moved");
    EXPECT_FALSE(lock->in_place());
    ASSERT_TRUE(make_study_folder(folder));
    const auto second = HolderLock::take(folder);
    ASSERT_TRUE(second) << "in a folder of its own by now";
    EXPECT_FALSE(lock->in_place()) << "the other one's file is not ours";
    EXPECT_TRUE(second->in_place());
}

TEST(ReplaceFile, IsWholeOrAsItWasAndNeverThroughALink) {
    testing::TemporaryFolder place;
    const fs::path file = place / "study.yaml";
    ASSERT_TRUE(replace_file(file, "one"));
    const auto before = fs::last_write_time(file) - std::chrono::hours(1);
    fs::last_write_time(file, before);
    ASSERT_TRUE(replace_file(file, "one"));
    EXPECT_EQ(fs::last_write_time(file), before) << "nothing to say";
    {
        std::ifstream reader(file);  // opened before the replacement, so it reads the old text to the end
        ASSERT_TRUE(replace_file(file, "two"));
        std::string seen;
        reader >> seen;
        EXPECT_EQ(seen, "one");
    }
    EXPECT_EQ(text_of(file), "two");
    fs::rename(file, place / "precious");
    fs::create_symlink(place / "precious", file);
    ASSERT_TRUE(replace_file(file, "three"));
    EXPECT_EQ(text_of(file), "three");
    EXPECT_EQ(text_of(place / "precious"), "two");
    EXPECT_FALSE(replace_file(place / "nowhere/study.yaml", "x"));
    EXPECT_EQ(std::distance(fs::directory_iterator(place.path()), {}), 2) << "no drafts are left";
}

}  // namespace
}  // namespace hpo
