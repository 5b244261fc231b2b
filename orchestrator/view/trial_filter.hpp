// The filter of `hpo top`, as a user types it: "optimizer=adamw value<0.2 failed".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"
#include "orchestrator/view/trial_field.hpp"

namespace hpo::view {

enum class Comparison { equal, unequal, less, at_most, greater, at_least, contains };

/// Terms that all must hold. Empty: every trial matches.
struct TrialFilter {
    struct Term {
        TrialField field;
        Comparison comparison = Comparison::equal;
        FieldValue value;       ///< a number if the text is one
        std::string text = {};  ///< as typed, in lower case
        bool anywhere = false;  ///< true for a word alone, which the state, a parameter or the reason contains
    };
    std::vector<Term> terms;
};

/// Reads terms that are separated by blanks: NAME, a comparison (= != < <= > >= ~) and a value, or a word alone. A
/// value with blanks stands in double quotes. Sizes may end with K, M, G or T (of 1024). The Error names the term and,
/// for an unknown name, the most similar one.
Result<TrialFilter> parse_filter(std::string_view text, const Study& study, const StudyRecord& record);

/// Returns true if all terms hold. A term about a value that the trial does not have holds only for !=. Reals are equal
/// if their first three digits are, as tables show them. Letters match in either case.
bool matches(const TrialFilter& filter, const TrialRecord& trial);

}  // namespace hpo::view
