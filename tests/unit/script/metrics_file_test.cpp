// A file of metrics on the disk: appended to, replaced, rewritten in place, and not readable.
#include "orchestrator/script/metrics_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace hpo::script {
namespace {

using std::string;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FollowedFile : public ::testing::Test {
   protected:
    void write(const string& text, std::ios::openmode mode = std::ios::trunc) {
        std::ofstream(path, std::ios::binary | mode) << text;
    }
    void replace(const string& text) {
        std::ofstream(path + ".new", std::ios::binary) << text;
        std::filesystem::rename(path + ".new", path);
    }
    std::vector<double> values() {
        file.read([] { return false; }, record);
        return found;
    }

    const hpo::testing::TemporaryFolder folder;
    const string path = (folder.path() / "metrics.csv").string();
    MetricsFile file{path, "val_loss"};
    std::vector<double> found;
    const FileMetrics::Record record = [this](const Metrics& metrics, std::string_view) {
        if (metrics.contains("val_loss")) found.push_back(metrics.at("val_loss"));
    };
};

TEST_F(FollowedFile, LinesThatAreAppendedInPiecesAreRead) {
    EXPECT_THAT(values(), IsEmpty());
    EXPECT_EQ(file.problem(), "there is no such file");
    write("epoch,val_loss\n0,0.");
    EXPECT_THAT(values(), IsEmpty());
    write("5\n1,0.25\n", std::ios::app);
    EXPECT_THAT(values(), ElementsAre(0.5, 0.25));
    EXPECT_EQ(file.problem(), "");
}

TEST_F(FollowedFile, IsFollowedThroughRenamesAndRewritesOfAnySize) {
    write("epoch,val_loss\n0,0.5\n");
    EXPECT_THAT(values(), ElementsAre(0.5));
    replace("epoch,loss,val_loss\n0,,0.5\n1,9,0.25\n");
    EXPECT_THAT(values(), ElementsAre(0.5, 0.25));
    write("loss,epoch,val_loss\n,0,0.5\n9,1,0.25\n");  // as long as before
    EXPECT_THAT(values(), ElementsAre(0.5, 0.25));
    write("");
    EXPECT_THAT(values(), ElementsAre(0.5, 0.25));
    write("epoch,val_loss\n0,0.5\n1,0.25\n2,0.125\n");
    EXPECT_THAT(values(), ElementsAre(0.5, 0.25, 0.125));
}

TEST_F(FollowedFile, WhatItHadBeforeTheTrialIsNotReportedButNamesTheColumns) {
    write("epoch,loss,val_loss\n0,9,0.5\n");
    MetricsFile other(path, "val_loss");
    const auto more = [] { return false; };
    other.read(more, record);
    EXPECT_THAT(found, IsEmpty());
    write("1,8,0.25\n", std::ios::app);
    other.read(more, record);
    EXPECT_THAT(found, ElementsAre(0.25));
}

TEST_F(FollowedFile, ReadingStopsWhenThereIsEnough) {
    string text = "epoch,val_loss\n";
    for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + ",0.5\n";
    write(text);
    EXPECT_TRUE(file.read([&] { return found.size() > 10; }, record));
    EXPECT_LT(found.size(), 50'000u);
    EXPECT_EQ(values().size(), 100'000u);
}

TEST_F(FollowedFile, WhyItCannotBeReadIsSaidAndNothingBlocks) {
    std::filesystem::create_directory(path);
    EXPECT_THAT(values(), IsEmpty());
    EXPECT_EQ(file.problem(), "it is a directory");
    std::filesystem::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_THAT(values(), IsEmpty());
    EXPECT_EQ(file.problem(), "it is a pipe, and hpo reads files only");
    std::filesystem::remove(path);
    std::filesystem::create_symlink(path, path);
    EXPECT_THAT(values(), IsEmpty());
    EXPECT_THAT(file.problem(), HasSubstr("read: Too many"));
    std::filesystem::remove(path);
    write("");
    EXPECT_THAT(values(), IsEmpty());
    file.finish(record);
    EXPECT_EQ(file.problem(), "it is empty");
}

}  // namespace
}  // namespace hpo::script
