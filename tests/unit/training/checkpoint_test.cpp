#include "worker/training/checkpoint.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <array>
#include <fstream>
#include <numeric>

#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class CheckpointFile : public ::testing::Test {
   protected:
    CheckpointFile() { std::iota(numbers_.begin(), numbers_.end(), 1.5F); }

    [[nodiscard]] Result<void> write() const {
        const std::array parts{std::as_bytes(std::span(&word_, 1)), std::as_bytes(std::span(numbers_))};
        return write_checkpoint(file_, 77, 5, parts);
    }
    std::string read_error(std::uint64_t binding = 77, std::size_t size = 100) {
        back_.assign(size, 0);
        const std::array parts{std::as_writable_bytes(std::span(&word_back_, 1)),
                               std::as_writable_bytes(std::span(back_))};
        const auto step = read_checkpoint(file_, binding, parts);
        if (!step) return step.error().message;
        EXPECT_EQ(*step, 5);
        return "";
    }

    const hpo::testing::TemporaryFolder temporary_;
    const fs::path file_ = temporary_ / "last.ckpt";
    std::uint64_t word_ = 0x0123456789abcdef;
    std::uint64_t word_back_ = 0;
    std::vector<float> numbers_ = std::vector<float>(100);
    std::vector<float> back_;
};

TEST_F(CheckpointFile, ReadsBackWhatWasWritten) {
    ASSERT_TRUE(write());
    EXPECT_EQ(read_error(), "");
    EXPECT_EQ(word_back_, word_);
    EXPECT_EQ(back_, numbers_);
    EXPECT_FALSE(fs::exists(file_.string() + ".tmp"));
}

TEST_F(CheckpointFile, ANamedPipeIsNotWaitedFor) {
    ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
    EXPECT_THAT(read_error(), Mentions("last.ckpt:", "pipe"));
    ASSERT_EQ(::mkfifo((file_.string() + ".tmp").c_str(), 0600), 0);
    ASSERT_TRUE(write());
    EXPECT_EQ(read_error(), "");
}

TEST_F(CheckpointFile, AFlippedBitIsFoundWhereverItIs) {
    ASSERT_TRUE(write());
    const auto size = fs::file_size(file_);
    for (std::uintmax_t at = 0; at < size; at += 5) {
        std::fstream stream(file_, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekg(static_cast<std::streamoff>(at));
        const char old = static_cast<char>(stream.get());
        stream.seekp(static_cast<std::streamoff>(at));
        stream.put(static_cast<char>(old ^ 0x10));
        stream.close();
        ASSERT_NE(read_error(), "") << "byte " << at;
        ASSERT_TRUE(write());
    }
}

TEST_F(CheckpointFile, EveryTruncationIsFound) {
    ASSERT_TRUE(write());
    for (auto size = fs::file_size(file_); size > 0; size -= std::min<std::uintmax_t>(size, 7)) {
        fs::resize_file(file_, size - 1);
        ASSERT_NE(read_error(), "") << size;
    }
}

TEST_F(CheckpointFile, AnotherTrialsFileIsRefused) {
    ASSERT_TRUE(write());
    EXPECT_THAT(read_error(78), HasSubstr("configuration"));
    EXPECT_THAT(read_error(77, 99), HasSubstr("size"));
    fs::remove(file_);
    EXPECT_THAT(read_error(), HasSubstr("No such file"));
}

TEST_F(CheckpointFile, AFileOfWhatTrainedOtherwiseIsRefused) {
    ASSERT_TRUE(write());
    std::fstream(file_, std::ios::in | std::ios::out | std::ios::binary) << "HPOCKPT1";  // shuffled by the host
    EXPECT_THAT(read_error(), HasSubstr("version"));
}

TEST_F(CheckpointFile, ALongerFileIsDamaged) {
    ASSERT_TRUE(write());
    std::ofstream(file_, std::ios::app) << 'x';
    EXPECT_THAT(read_error(), HasSubstr("damaged"));
}

TEST(Checkpoint, WritingWhereNothingCanBeWrittenIsAnErrorThatSaysWhy) {
    const auto written = write_checkpoint("/no/such/folder/last.ckpt", 1, 1, {});
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message, HasSubstr("/no/such/folder/last.ckpt.tmp: No such file"));
    const auto full = write_checkpoint("/dev/full/x", 1, 1, {});
    EXPECT_FALSE(full);
}

TEST(Checkpoint, TheBindingDependsOnEveryWord) {
    EXPECT_EQ(checkpoint_binding("a"), 0xaf63dc4c8601ec8cU);  // FNV-1a's published value
    EXPECT_NE(checkpoint_binding("lr=0.1"), checkpoint_binding("lr=0.2"));
}

}  // namespace
}  // namespace hpo
