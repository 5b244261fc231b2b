// Converts distributions of other tools to dimensions. A study samples numbers uniformly between two bounds, or
// uniformly in their logarithm, and categories with equal probability. Other distributions become ranges with a remark.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/import/study_builder.hpp"

namespace hpo::importing {

/// The numbers from `low` to `high`, both included.
struct Range {
    double low = 0;
    double high = 1;
    bool log = false;               ///< sampled uniformly in the logarithm
    std::optional<double> quantum;  ///< restricts the range to multiples of this number
    bool whole = false;             ///< restricts the range to integers, or writes multiples of `quantum` as integers
};

/// Adds a dimension, with remarks under "space.NAME" about lost properties. Returns an empty text on success, or why
/// the range is not possible.
std::string add_range(StudyBuilder& builder, const std::string& name, Range range, const study::Location& location);

/// Adds a range whose values are its low and those whole steps above it. Returns the same as add_range().
std::string add_stepped(StudyBuilder& builder, const std::string& name, const Range& range, double step,
                        const study::Location& location);

/// Adds the middle 95 % of a normal distribution as a uniform range, or of a lognormal one (`log`) as a logarithmic
/// range. Returns the same as add_range().
std::string add_normal(StudyBuilder& builder, const std::string& name, double mu, double sigma, bool log,
                       std::optional<double> quantum, bool whole, const study::Location& location);

/// Rounds to six significant digits.
double rounded(double number);

/// The form in which values other than numbers and texts are passed to the script.
enum class LiteralStyle {
    json,    ///< true, null, as in a file of parameters
    python,  ///< True, None, as str() writes them on a command line
};

/// Adds a dimension with these choices. Lists and maps become texts, and duplicates are dropped. Returns the same as
/// add_range().
std::string add_choices(StudyBuilder& builder, const std::string& name, const std::vector<const study::Node*>& choices,
                        LiteralStyle style);

/// Returns a node's value, such as true, 256, 0.1 or "adam". A list or map becomes a text.
Value value_of(const study::Node& node, LiteralStyle style);

/// Returns the number if the node is a finite one, else nothing.
std::optional<double> number_of(const study::Node& node);
/// Returns true if the node is a number without a point and an exponent.
bool is_whole(const study::Node& node);
/// Returns the flag if the node is one in YAML 1.1 (True, False, yes, no, on, off), else nothing.
std::optional<bool> flag_of(const study::Node& node);
/// Returns a scalar's text, or an empty text for any other node and for nullptr.
std::string text_of(const study::Node* node);

/// Returns the node as Python or JSON writes it: [64, 'a'], {"x": 1}.
std::string literal(const study::Node& node, LiteralStyle style);

}  // namespace hpo::importing
