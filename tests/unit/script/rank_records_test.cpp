#include "orchestrator/script/rank_records.hpp"

#include <gmock/gmock.h>

#include <csignal>

namespace hpo::script {
namespace {

using ::testing::SizeIs;

TEST(RankRecords, AreReadFromBytesThatAreCutAnywhere) {
    const std::string output("no\0 end\n", 8);
    const std::string stream = lines_record("[rank1]: a\n[rank2]: b\n") +
                               end_record({2, 256, SIGTERM, 123456, output}) + lines_record("[rank1]: c\n") +
                               end_record({0, SIGKILL, 0, 7, ""});
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
        RankRecords records;
        std::string lines = records.feed(stream.substr(0, cut));
        lines += records.feed(stream.substr(cut));
        EXPECT_EQ(lines, "[rank1]: a\n[rank2]: b\n[rank1]: c\n") << cut;
        ASSERT_THAT(records.ends(), SizeIs(2)) << cut;
        const RankEnd& first = records.ends().front();
        EXPECT_EQ(first.rank, 2U);
        EXPECT_EQ(first.status, 256);
        EXPECT_EQ(first.sent, SIGTERM);
        EXPECT_EQ(first.peak_bytes, 123456);
        EXPECT_EQ(first.output, output);
        EXPECT_EQ(records.ends().back().status, SIGKILL);
        EXPECT_EQ(peak_of(records.ends()), 123463);
    }
    RankRecords bytes;
    std::string lines;
    for (const char c : stream) lines += bytes.feed({&c, 1});
    EXPECT_EQ(lines, "[rank1]: a\n[rank2]: b\n[rank1]: c\n");
    EXPECT_THAT(bytes.ends(), SizeIs(2));
}

TEST(RankRecords, WhatTheLauncherCannotHaveWrittenIsNotRead) {
    RankRecords records;
    EXPECT_EQ(records.feed(std::string(100, '\xff')), "");
    EXPECT_EQ(records.feed(lines_record("late\n")), "");
    EXPECT_THAT(records.ends(), SizeIs(0));
}

}  // namespace
}  // namespace hpo::script
