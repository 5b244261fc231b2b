#include "worker/data/groups.hpp"

#include <gmock/gmock.h>

#include <numeric>

#include "hpo/random.hpp"

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

DataConfig grouped_by(std::int64_t folds = 0) {
    DataConfig config;
    config.group = "who";
    config.validation = 0.2;
    config.folds = folds;
    return config;
}

/// Rows of the groups with this part.
std::int64_t rows_of(const GroupDivision& division, std::span<const std::int64_t> rows, std::int32_t part) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) sum += division.parts[i] == part ? rows[i] : 0;
    return sum;
}

TEST(Groups, PartsAreAboutAsLargeAsAskedFor) {
    std::vector<std::int64_t> rows(50);
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i] = 1 + static_cast<std::int64_t>(40 * draw_unit(3, Purpose::synthetic, 0, i));
    const std::int64_t all = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
    const auto division = divide_groups(grouped_by(), rows);
    ASSERT_TRUE(division);
    EXPECT_NEAR(static_cast<double>(division->test), 0.1 * static_cast<double>(all), 21);
    EXPECT_NEAR(static_cast<double>(division->sizes.validation), 0.2 * 0.9 * static_cast<double>(all), 21);
    EXPECT_EQ(division->test, rows_of(*division, rows, GroupDivision::tests));
    EXPECT_EQ(division->sizes.validation, rows_of(*division, rows, 0));
    EXPECT_EQ(division->sizes.train, rows_of(*division, rows, GroupDivision::trains));
}

TEST(Groups, FoldsHoldAllGroupsButThoseThatTest) {
    const std::vector<std::int64_t> rows{7, 50, 3, 9, 12, 4, 11, 8, 6, 10};
    const auto division = divide_groups(grouped_by(4), rows);
    ASSERT_TRUE(division);
    std::int64_t largest = 0, smallest = 1000, sum = division->test;
    for (std::int32_t fold = 0; fold < 4; ++fold) {
        const std::int64_t its = rows_of(*division, rows, fold);
        largest = std::max(largest, its);
        smallest = std::min(smallest, its);
        sum += its;
    }
    EXPECT_EQ(sum, 120);
    const SplitSizes& sizes = division->sizes;
    EXPECT_EQ(sizes.folds, 4);
    EXPECT_EQ(sizes.validation, largest);
    EXPECT_EQ(sizes.train, 120 - division->test - smallest);
    EXPECT_EQ(sizes.least(), 120 - division->test - largest);
    EXPECT_EQ(sizes.epoch(), 120 - division->test - (120 - division->test) / 4);
}

TEST(Groups, EachRowFollowsItsGroup) {
    const std::vector<std::int64_t> rows{2, 2, 2, 2};
    const std::vector<std::int32_t> groups{0, 1, 2, 3, 3, 2, 1, 0};
    const auto division = divide_groups(grouped_by(3), rows);
    ASSERT_TRUE(division);
    std::vector<int> validated(8, 0);
    for (std::int64_t fold = 0; fold < 3; ++fold) {
        const RowSplit split = split_by_group(*division, groups, fold);
        EXPECT_EQ(split.within.train.size(), 4U);
        EXPECT_EQ(split.within.validation.size(), 2U);
        for (std::size_t row = 0; row < 8; ++row) {
            EXPECT_EQ(split.uses[row], split.uses[7 - row]);
            validated[row] += split.uses[row] == RowUse::validation ? 1 : 0;
            EXPECT_EQ(split.uses[row] == RowUse::test, division->parts[static_cast<std::size_t>(groups[row])] == -1);
        }
    }
    EXPECT_EQ(std::accumulate(validated.begin(), validated.end(), 0), 6);
    EXPECT_EQ(*std::max_element(validated.begin(), validated.end()), 1);
}

TEST(Groups, ALargeGroupLeavesSomethingForEachPart) {
    for (const std::vector<std::int64_t>& rows :
         {std::vector<std::int64_t>{1000, 1, 1}, {1, 1, 1}, {500, 500, 500}, {1, 1000, 1000}}) {
        const auto division = divide_groups(grouped_by(), rows);
        ASSERT_TRUE(division);
        EXPECT_GE(division->test, 1);
        EXPECT_GE(division->sizes.validation, 1);
        EXPECT_GE(division->sizes.train, 1);
    }
}

TEST(Groups, TooFewAreRefusedWithTheNumberThatIsNeeded) {
    EXPECT_THAT(divide_groups(grouped_by(), std::vector<std::int64_t>{5, 5}).error().message,
                Mentions("data.validation.group", "\"who\" has 2", "3"));
    EXPECT_THAT(divide_groups(grouped_by(5), std::vector<std::int64_t>{5, 5, 5, 5, 5}).error().message,
                Mentions("5 folds", "6 groups"));
}

}  // namespace
}  // namespace hpo
