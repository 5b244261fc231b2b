// Distributions of other tools as dimensions of a space. A study's numbers lie evenly between two bounds, or evenly in
// their logarithms, and its categories are equally likely; what is shaped otherwise gets bounds and a remark.
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
    std::optional<double> quantum;  ///< multiples of it alone
    bool whole = false;  ///< without a quantum: whole numbers alone; with one: its multiples are written whole
};

/// A dimension of the range, and remarks under "space.NAME" about what is lost. An empty text: done; else why it cannot
/// be: "min is above max", "a logarithm needs a range above 0", ...
std::string add_range(StudyBuilder& builder, const std::string& name, Range range, const study::Location& location);

/// The middle 95 % of a normal distribution, evenly; of a lognormal one (`log`) evenly in the logarithm.
std::string add_normal(StudyBuilder& builder, const std::string& name, double mu, double sigma, bool log,
                       std::optional<double> quantum, bool whole, const study::Location& location);

/// To six digits, as a person would write it.
double rounded(double number);

/// How values of other kinds than numbers and texts reach the script.
enum class LiteralStyle {
    json,    ///< true, null: for a file of parameters
    python,  ///< True, None: as str() writes them on a command line
};

/// A dimension of these choices: nodes of any kind. Lists and maps become texts, duplicates go.
std::string add_choices(StudyBuilder& builder, const std::string& name, const std::vector<const study::Node*>& choices,
                        LiteralStyle style);

/// One value: true, 256, 0.1, "adam"; what is no single value as a text.
Value value_of(const study::Node& node, LiteralStyle style);

/// A finite number; nullopt: something else.
std::optional<double> number_of(const study::Node& node);
/// Whether it is written without a point or an exponent.
bool is_whole(const study::Node& node);
/// True, False, yes, no, on and off, as YAML 1.1 reads them; nullopt: something else.
std::optional<bool> flag_of(const study::Node& node);
/// Its text; empty for everything but a scalar.
std::string text_of(const study::Node* node);

/// The whole node as Python's or JSON's text of it: [64, 'a'], {"x": 1}.
std::string literal(const study::Node& node, LiteralStyle style);

}  // namespace hpo::importing
