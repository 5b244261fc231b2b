#include "hpo/named.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "hpo/random.hpp"

namespace hpo {
namespace {

using Numbers = Named<double>;

std::map<std::string, double> as_map(const Numbers& numbers) {
    std::map<std::string, double> map;
    for (const auto& [name, value] : numbers) map[name] = value;
    return map;
}

TEST(Named, HoldsWhatAMapWouldHold) {
    Numbers numbers;
    std::map<std::string, double> map;
    std::vector<std::shared_ptr<Names>> names;
    for (std::uint64_t i = 0; i < 3000; ++i) {
        const std::string name(1, static_cast<char>('a' + static_cast<int>(26 * draw_unit(1, Purpose::start, i, 0))));
        const double value = draw_unit(1, Purpose::start, i, 1);
        const double what = draw_unit(1, Purpose::start, i, 2);
        if (what < 0.3) {
            EXPECT_EQ(numbers.emplace(name, value).second, map.emplace(name, value).second);
        } else if (what < 0.5) {
            numbers[name] = value, map[name] = value;
        } else if (what < 0.6) {
            numbers.insert_or_assign(name, value), map.insert_or_assign(name, value);
        } else if (what < 0.9) {
            EXPECT_EQ(numbers.erase(name), map.erase(name));
        } else if (what < 0.95) {
            const Numbers copy = numbers;
            numbers = copy;
        } else {
            numbers.share_names(names);
        }
        ASSERT_EQ(as_map(numbers), map);
        ASSERT_EQ(numbers.size(), map.size());
        ASSERT_EQ(numbers.contains(name), map.contains(name));
        const auto found = numbers.find(name);
        ASSERT_EQ(found != numbers.end(), map.contains(name));
        if (found != numbers.end()) {
            ASSERT_EQ(found->second, map.at(name));
        }
    }
}

TEST(Named, ComparesAsAMap) {
    EXPECT_EQ((Numbers{{"b", 2}, {"a", 1}}), (Numbers{{"a", 1}, {"b", 2}}));
    EXPECT_NE((Numbers{{"a", 1}}), (Numbers{{"a", 2}}));
    EXPECT_NE((Numbers{{"a", 1}}), (Numbers{{"b", 1}}));
    EXPECT_EQ(Numbers(), Numbers());
    EXPECT_LT((Numbers{{"a", 1}}), (Numbers{{"a", 1}, {"b", 2}}));
    EXPECT_LT((Numbers{{"a", 2}}), (Numbers{{"b", 1}}));
    EXPECT_THROW((void)Numbers().at("a"), std::out_of_range);
    EXPECT_THAT((Numbers{{"b", 2}, {"a", 1}}),
                ::testing::ElementsAre(::testing::Pair("a", 1), ::testing::Pair("b", 2)));
}

TEST(Named, SharesNamesAndNoValues) {
    std::vector<std::shared_ptr<Names>> names;
    Numbers one{{"a", 1}, {"b", 2}}, other{{"b", 4}, {"a", 3}};
    one.share_names(names);
    other.share_names(names);
    EXPECT_EQ(names.size(), 1U);
    EXPECT_EQ(&one.begin()->first, &other.begin()->first);
    Numbers copy = one;
    EXPECT_EQ(&one.begin()->first, &copy.begin()->first);
    copy["c"] = 5;
    one["a"] = 6;
    other.erase("b");
    EXPECT_EQ(copy, (Numbers{{"a", 1}, {"b", 2}, {"c", 5}}));
    EXPECT_EQ(one, (Numbers{{"a", 6}, {"b", 2}}));
    EXPECT_EQ(other, (Numbers{{"a", 3}}));
    const Numbers moved = std::move(one);
    EXPECT_TRUE(one.empty());  // NOLINT: a moved map is empty
    EXPECT_FALSE(one.contains("a"));
    EXPECT_EQ(moved.size(), 2U);
}

TEST(Named, IsFilledWithExpectedNamesWithoutCopies) {
    std::vector<std::shared_ptr<Names>> names;
    Numbers first{{"a", 1}, {"b", 2}, {"d", 3}};
    first.share_names(names);
    const auto filled = [&](const std::vector<std::string>& with) {
        Numbers numbers;
        numbers.expect(first.shared_names());
        EXPECT_TRUE(numbers.empty());
        EXPECT_FALSE(numbers.contains("a"));
        int value = 0;
        for (const std::string& name : with) numbers.emplace(name, ++value);
        return numbers;
    };
    EXPECT_EQ(&filled({"a", "b", "d"}).begin()->first, &first.begin()->first);
    EXPECT_EQ(filled({"a", "b", "d"}), first);
    EXPECT_EQ(filled({"a", "b"}), (Numbers{{"a", 1}, {"b", 2}}));
    EXPECT_EQ((Numbers{{"a", 1}, {"b", 2}}), filled({"a", "b"}));
    EXPECT_NE(filled({"a", "b"}), (Numbers{{"a", 1}, {"c", 2}}));
    EXPECT_FALSE(filled({"a", "b"}).contains("d"));
    EXPECT_EQ(filled({"a", "c", "d"}), (Numbers{{"a", 1}, {"c", 2}, {"d", 3}}));
    EXPECT_EQ(filled({"b", "a"}), (Numbers{{"a", 2}, {"b", 1}})) << "in any order";
    EXPECT_EQ(filled({"a", "a", "b"}), (Numbers{{"a", 1}, {"b", 3}})) << "a name counts once";
    EXPECT_EQ(filled({}), Numbers());
    EXPECT_EQ(filled({"a", "b", "d", "e"}).size(), 4U);
    EXPECT_EQ(first, (Numbers{{"a", 1}, {"b", 2}, {"d", 3}})) << "whatever others became";
    Numbers some = filled({"a", "b"});
    some.share_names(names);
    EXPECT_EQ(some, (Numbers{{"a", 1}, {"b", 2}}));
    EXPECT_EQ(some.shared_names()->list.size(), 2U);
    some.erase("a");
    EXPECT_EQ(some, (Numbers{{"b", 2}}));
}

TEST(Named, KeepsFewListsOfNames) {
    std::vector<std::shared_ptr<Names>> names;
    for (int i = 0; i < 100; ++i) {
        Numbers numbers{{std::to_string(i), 1}};
        numbers.share_names(names);
    }
    EXPECT_LE(names.size(), 16U);
}

}  // namespace
}  // namespace hpo
