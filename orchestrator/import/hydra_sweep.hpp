// Parses the values of Hydra's overrides: choice(a, b), range(1, 9), tag(log, interval(1e-5, 0.1)), and plain values
// (hydra.cc/docs/advanced/override_grammar).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hpo/value.hpp"

namespace hpo::importing {

struct HydraSweep {
    enum class Kind { value, choice, range, interval };
    Kind kind = Kind::value;
    std::vector<Value> choices;  ///< of a choice; of a value the value alone
    double low = 0, high = 0;    ///< of a range (both ends included, as Optuna has them) and of an interval
    double step = 1;             ///< of a range
    bool whole = false, log = false;
    std::string problem;  ///< why the text is none that is known; empty if it is one
};

/// Parses the value of an override. Texts among the values are written as Hydra reads them in an argument: with quotes
/// where they need them.
HydraSweep parse_hydra_sweep(std::string_view text);

/// Returns a value as an element of an override, such as a text of a YAML list: with quotes if Hydra needs them.
Value hydra_element(std::string_view text, bool quoted);

}  // namespace hpo::importing
