#include "worker/data/field_kinds.hpp"

#include <gtest/gtest.h>

namespace hpo {
namespace {

TEST(FieldKinds, DatesAndTimesInManyNotationsAreTold) {
    for (const char* text : {"2024-01-31", "31.1.2024", "1/31/24 10:00", "2024-01-31T12:30:00Z", "2024-01", "2024/1",
                             "31 Jan 2024", "31-Jan-24", "January 31, 2024", "Jan 2024", "Sept. 3, 1999",
                             "Wed, 31 Jan 2024 10:00:00 GMT", "9:30", "10:30:12.25"})
        EXPECT_TRUE(is_date(text)) << text;
    for (const char* text : {"", "2024", "Jan", "May", "march hare 3", "2024-13", "1999-00", "0012-10", "16:9",
                             "10:30:", "a 10:30", "12-34", "Mar-1A", "1.2", "Jan Feb 3", "10:3a"})
        EXPECT_FALSE(is_date(text)) << text;
}

TEST(FieldKinds, NumbersForPeopleAreTold) {
    for (const char* text : {"1,234", "1,234,567.89", "-1,234.5", "1.234,56", "1 234", "1'234.5", "0,5", "12,25", "$5",
                             "$1,234.50", "-$5", "$-5", "5 \u20AC", "\u00A33.20", "12.5%", "12,5 %"})
        EXPECT_TRUE(is_formatted_number(text)) << text;
    for (const char* text :
         {"", "-", "$", "%", "1,2,3", "12,34,567", "1,234,", "a1,234", "$a", "192.168.1.1", "1 2", "a%", ",5", "x"})
        EXPECT_FALSE(is_formatted_number(text)) << text;
}

}  // namespace
}  // namespace hpo
