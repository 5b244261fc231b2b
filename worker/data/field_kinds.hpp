// Kinds of texts in a table that are no numbers: a date, or a number in a form for people.
#pragma once

#include <string_view>

namespace hpo {

/// A date, a month of a year or a time of day: 2024-01-31, 31.1.2024, 1/31/24 10:00, 2024-01, 31 Jan 2024, Jan-24,
/// "Wed, 31 Jan 2024 10:00:00 GMT", 10:30, 10:30:12.5. Months and weekdays are English.
bool is_date(std::string_view text);

/// A number with separators of thousands (1,234.50, 1.234,50, 1 234), a decimal comma (0,5), a sign of a currency, or a
/// per cent sign.
bool is_formatted_number(std::string_view text);

}  // namespace hpo
