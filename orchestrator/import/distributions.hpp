// Converts distributions of other tools to dimensions. A study draws numbers evenly between two bounds, or evenly in
// their logarithm, and categories with equal probability; other distributions become ranges with a remark.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/import/study_builder.hpp"

namespace hpo::importing {

/// Numbers from `low` to `high`, both finite, low <= high.
struct Range {
    double low = 0;
    double high = 1;
    bool log = false;
    std::optional<double> quantum;  ///< if present, only multiples of it
    bool whole = false;             ///< whole numbers; with a quantum, its multiples are written as such
};

/// Adds a dimension, and remarks under "space.NAME" about what is lost. Returns an empty text, or why it is not
/// possible: "min is above max", "a logarithm needs a range above 0", ...
std::string add_range(StudyBuilder& builder, const std::string& name, Range range, const study::Location& location);

/// Adds the middle 95 % of a normal distribution, drawn evenly, or of a lognormal one (`log`), drawn evenly in the
/// logarithm. Returns as add_range() does.
std::string add_normal(StudyBuilder& builder, const std::string& name, double mu, double sigma, bool log,
                       std::optional<double> quantum, bool whole, const study::Location& location);

/// Rounds to six digits.
double rounded(double number);

/// How values other than numbers and texts are passed to the script.
enum class LiteralStyle {
    json,    ///< true, null: in a file of parameters
    python,  ///< True, None: as str() writes them on a command line
};

/// Adds a dimension with these choices. Lists and maps become texts; duplicates are dropped.
std::string add_choices(StudyBuilder& builder, const std::string& name, const std::vector<const study::Node*>& choices,
                        LiteralStyle style);

/// Returns a node's value: true, 256, 0.1, "adam"; a list or map becomes a text.
Value value_of(const study::Node& node, LiteralStyle style);

/// Returns a finite number; nothing for any other node.
std::optional<double> number_of(const study::Node& node);
/// Whether it is written without a point or an exponent.
bool is_whole(const study::Node& node);
/// Returns true or false as YAML 1.1 reads it (True, False, yes, no, on, off); nothing for any other node.
std::optional<bool> flag_of(const study::Node& node);
/// Returns a scalar's text; empty for any other node.
std::string text_of(const study::Node* node);

/// Returns the whole node as Python or JSON writes it: [64, 'a'], {"x": 1}.
std::string literal(const study::Node& node, LiteralStyle style);

}  // namespace hpo::importing
