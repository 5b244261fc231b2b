#include "hpo/from_chars.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace {

template <class Real>
void expect_same(const std::string& text) {
    SCOPED_TRACE('"' + text + '"');
    Real expected = 42, actual = 42;
    const char *const begin = text.data(), *const end = begin + text.size();
    const auto by_library = std::from_chars(begin, end, expected);
    const auto by_c = hpo::number_text::from_chars_by_c(begin, end, actual);
    EXPECT_EQ(by_c.ec, by_library.ec);
    EXPECT_EQ(by_c.ptr - begin, by_library.ptr - begin);
    if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(actual) && std::signbit(actual) == std::signbit(expected));
    else
        EXPECT_TRUE(actual == expected && std::signbit(actual) == std::signbit(expected)) << actual << ' ' << expected;
}

TEST(FromChars, ByTheCLibraryReadsTheFormsThatTheStandardLibraryReads) {
    for (const std::string text : {"",
                                   "-",
                                   "+1",
                                   " 1",
                                   "1 ",
                                   "0",
                                   "-0",
                                   "1",
                                   "-1.5",
                                   ".5",
                                   "5.",
                                   ".",
                                   "-.",
                                   "1.e3",
                                   ".e3",
                                   "1e",
                                   "1e+",
                                   "1e-",
                                   "1e5x",
                                   "1E5",
                                   "1e+05",
                                   "1e-5",
                                   "0x10",
                                   "0x1p3",
                                   "1_000",
                                   "1,5",
                                   "1.2.3",
                                   "--1",
                                   "1-2",
                                   "inf",
                                   "-inf",
                                   "INF",
                                   "Infinit",
                                   "infinity",
                                   "-INFINITYx",
                                   "nan",
                                   "-nan",
                                   "NaN",
                                   "nan(",
                                   "nan()",
                                   "nan(a1)",
                                   "nan(a-)",
                                   "nanx",
                                   "1e308",
                                   "1e309",
                                   "-1e309",
                                   "1e-308",
                                   "1e-320",
                                   "4.9e-324",
                                   "2e-324",
                                   "1e-400",
                                   "-1e-400",
                                   "0e999",
                                   "0e-999",
                                   "0.0e99999",
                                   "1e99999",
                                   "in",
                                   "na",
                                   "i",
                                   "n",
                                   "3.4e38",
                                   "3.5e38",
                                   "1e-45",
                                   "1e-46",
                                   "16777217",
                                   "1e23",
                                   "9007199254740993",
                                   "0.1",
                                   "2.2250738585072011e-308",
                                   "179769313486231580793e289",
                                   "0000000000000000000000000000000000001",
                                   "1\0002"}) {
        expect_same<double>(text);
        expect_same<float>(text);
    }
    expect_same<double>(std::string(800, '9'));
    expect_same<double>("0." + std::string(400, '0') + "1");
    expect_same<double>("1" + std::string(400, '0') + "e-400");
    expect_same<double>(std::string("1\0", 2) + "5");
}

TEST(FromChars, ByTheCLibraryReadsPrintedNumbersOfAllSizesAlike) {
    std::mt19937_64 random(7);
    for (int i = 0; i < 20'000; ++i) {
        const double number = std::bit_cast<double>(random());
        char text[64];
        for (const char* form : {"%.17g", "%.9g", "%g", "%.3f"}) {
            if (std::abs(number) > 1e40 && form[2] == '3') continue;
            std::snprintf(text, sizeof text, form, number);
            expect_same<double>(text);
            expect_same<float>(text);
            if (HasFailure()) return;
        }
    }
}

TEST(FromChars, ByTheCLibraryReadsAnyCharactersAlike) {
    std::mt19937_64 random(11);
    const std::string characters = "0123456789019..--+eEexinfatyINF() ,_";
    for (int i = 0; i < 200'000; ++i) {
        std::string text(random() % 12, ' ');
        for (char& c : text) c = characters[random() % characters.size()];
        expect_same<double>(text);
        if (HasFailure()) FAIL() << text;
    }
}

TEST(FromChars, ReadsWholeNumbersToo) {
    const std::string text = "12x";
    int number = 0;
    const auto [end, status] = hpo::from_chars(text.data(), text.data() + text.size(), number);
    EXPECT_EQ(number, 12);
    EXPECT_EQ(*end, 'x');
    EXPECT_EQ(status, std::errc());
}

}  // namespace
