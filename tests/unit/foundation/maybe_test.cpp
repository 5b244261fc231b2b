#include "hpo/maybe.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace hpo {
namespace {

TEST(Maybe, IsAnOptionalOfTheSizeOfItsNumber) {
    static_assert(sizeof(Maybe<double>) == sizeof(double));
    Maybe<double> number;
    EXPECT_FALSE(number);
    EXPECT_EQ(number.value_or(3), 3);
    EXPECT_THROW((void)number.value(), std::bad_optional_access);
    EXPECT_EQ(std::optional<double>(number), std::nullopt);
    number = 2.5;
    EXPECT_EQ(number, 2.5);
    EXPECT_EQ(std::optional<double>(number), 2.5);
    number = std::optional<double>();
    EXPECT_FALSE(number.has_value());
    EXPECT_EQ(number.emplace(), 0);
    EXPECT_TRUE(number);
    number.reset();
    EXPECT_EQ(number, std::nullopt);
    EXPECT_EQ(number, std::optional<double>());
    EXPECT_EQ(std::optional<double>(), number);
    EXPECT_NE(std::optional<double>(1), number);
}

TEST(Maybe, HoldsNumbersThatAreNotFinite) {
    EXPECT_TRUE(Maybe<double>(std::nan("")));
    EXPECT_TRUE(Maybe<double>(-std::nan("")));
    EXPECT_TRUE(Maybe<double>(INFINITY));
    EXPECT_FALSE(Maybe<double>(std::nan("")) == Maybe<double>(std::nan("")));
}

TEST(Maybe, OfAnIntegerHoldsZero) {
    EXPECT_TRUE(Maybe<std::int64_t>(0));
    EXPECT_FALSE(Maybe<std::int64_t>());
    EXPECT_EQ(*Maybe<std::int64_t>(std::int64_t{-1}), -1);
}

}  // namespace
}  // namespace hpo
