// A value of a table, as the readers of files give it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hpo {

struct Cell {
    std::optional<double> number;  ///< the value, if it is a number
    std::string_view text;         ///< without blanks around it; valid until the next row is read
    bool missing = false;          ///< `text` is then its mark: "", "NA", "null"
};

/// The parts of a column that are read. number: a finite number may have no text. A cell has no other parts than the
/// wanted ones.
enum class Wanted : std::uint8_t { nothing, number, text };

}  // namespace hpo
