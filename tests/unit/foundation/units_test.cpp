#include "hpo/text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "hpo/random.hpp"

namespace hpo {
namespace {

TEST(Text, DecimalsAreThoseOfPrintf) {
    char text[400];
    for (std::uint64_t i = 0; i < 20'000; ++i) {
        const double size = std::pow(10.0, 40 * draw_unit(1, Purpose::synthetic, 0, i) - 20);
        const double number = (i % 2 == 0 ? 1 : -1) * (i % 3 == 0 ? std::round(size * 8) / 8 : size);
        for (int decimals = 0; decimals < 7; ++decimals) {
            std::snprintf(text, sizeof text, "%.*f", decimals, number);
            ASSERT_EQ(with_decimals(number, decimals), text);
        }
        std::snprintf(text, sizeof text, "%.3e", number);
        ASSERT_EQ(with_decimals(number, 3, std::chars_format::scientific), text);
    }
    EXPECT_EQ(with_decimals(1.7976931348623157e308, 6).size(), 316U);
}

TEST(Units, NumbersHaveFourSignificantDigits) {
    EXPECT_EQ(short_number(0.89531), "0.8953");
    EXPECT_EQ(short_number(1), "1.000");
    EXPECT_EQ(short_number(12.344), "12.34");
    EXPECT_EQ(short_number(-123.44), "-123.4");
    EXPECT_EQ(short_number(4821.4), "4821");
    EXPECT_EQ(short_number(0.00031), "3.100e-4");
    EXPECT_EQ(short_number(1.23e-7), "1.230e-7");
    EXPECT_EQ(short_number(12345678), "1.235e7");
    EXPECT_EQ(short_number(0), "0");
    EXPECT_EQ(short_number(std::numeric_limits<double>::quiet_NaN()), "nan");
    EXPECT_EQ(short_number(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Units, RoundingUpDoesNotAddADigit) {
    EXPECT_EQ(short_number(9.9999), "10.00");
    EXPECT_EQ(short_number(99.999), "100.0");
    EXPECT_EQ(short_number(999.99), "1000");
    EXPECT_EQ(short_number(0.99999), "1.000");
}

TEST(Units, NumbersThatSomebodyChoseLoseTrailingZeros) {
    EXPECT_EQ(trimmed_number(0.35), "0.35");
    EXPECT_EQ(trimmed_number(0.001), "0.001");
    EXPECT_EQ(trimmed_number(1e-4), "1e-4");
    EXPECT_EQ(trimmed_number(1.5e-100), "1.5e-100");
    EXPECT_EQ(trimmed_number(2e10), "2e10");
    EXPECT_EQ(trimmed_number(256), "256");
    EXPECT_EQ(trimmed_number(1000), "1000");
    EXPECT_EQ(trimmed_number(-0.5), "-0.5");
    EXPECT_EQ(trimmed_number(0), "0");
    EXPECT_EQ(trimmed_number(std::numeric_limits<double>::infinity()), "inf");
}

TEST(Units, Bytes) {
    EXPECT_EQ(bytes_text(512), "512 B");
    EXPECT_EQ(bytes_text(3.25 * 1024 * 1024), "3.250 MiB");
    EXPECT_EQ(bytes_text(22.94 * 1024 * 1024 * 1024), "22.94 GiB");
    EXPECT_EQ(bytes_text(1023.9 * 1024), "1024 KiB");
    EXPECT_EQ(bytes_text(0), "0 B");
}

TEST(Units, Durations) {
    EXPECT_EQ(duration_text(0.85), "850 ms");
    EXPECT_EQ(duration_text(12.34), "12.3 s");
    EXPECT_EQ(duration_text(59.97), "1m 00s");
    EXPECT_EQ(duration_text(245), "4m 05s");
    EXPECT_EQ(duration_text(7620), "2h 07m");
    EXPECT_EQ(duration_text(273600), "3d 04h");
    EXPECT_EQ(duration_text(-1), "0 ms");
    EXPECT_EQ(duration_text(std::numeric_limits<double>::infinity()), "0 ms");
}

}  // namespace
}  // namespace hpo
