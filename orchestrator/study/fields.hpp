// Reads the keys of a map and scalars of each type. Errors name the expected form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/options.hpp"
#include "orchestrator/study/document.hpp"

namespace hpo::study {

/// The largest magnitude of an integer. JSON readers may round larger ones.
inline constexpr double max_whole = 9007199254740992.0;

/// The longest duration that a key may have: ten years.
inline constexpr double max_seconds = 3650.0 * 86400.0;

/// Reads the keys of one map. A key is known once take() or require() has asked for it; finish() reports the others.
class Fields {
   public:
    /// `path` is the dotted path of the map, empty for the file itself, and `example` an example of its content. Both
    /// are used in messages. A node that is not a map is reported once and then treated like nullptr, as an empty map.
    Fields(Diagnostics& diagnostics, const Node* node, std::string path, std::string_view example = "key: value");

    /// Returns the value of a key, or nullptr if it is missing.
    const Node* take(std::string_view key);
    /// Like take(), but reports a missing key as "'path.key' is missing: `expectation`".
    const Node* require(std::string_view key, std::string_view expectation);
    /// Reports a key that take() has not found as require() does, unless finish() has found it misspelt.
    void missing(std::string_view key, std::string_view expectation, const Location* where = nullptr);
    [[nodiscard]] bool knows(std::string_view key) const;
    /// Reports the keys that are not known.
    void finish();

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string path_of(std::string_view key) const;
    [[nodiscard]] const Node* node() const { return node_; }

   private:
    [[nodiscard]] std::string cure(const Entry& entry) const;

    Diagnostics& diagnostics_;
    const Node* node_;
    std::string path_;
    std::vector<std::string_view> known_;
    std::vector<std::string_view> misspelt_;  ///< known keys that unknown ones were taken for
};

/// Reads a value whose type follows from its form by YAML's core schema: true, 256, 1.0e-3, relu, null, or a list of
/// these. Reports maps, and numbers that are not finite or too large.
std::optional<Value> natural_value(Diagnostics& diagnostics, const Node& node, std::string_view name);

/// Reads a value of the option's type, within its range or among its choices.
std::optional<Value> option_value(Diagnostics& diagnostics, const Node& node, const Option& option);

std::optional<std::int64_t> whole(Diagnostics& diagnostics, const Node& node, std::string_view name, double low,
                                  double high);
std::optional<double> real(Diagnostics& diagnostics, const Node& node, std::string_view name, double low, double high);
std::optional<std::string> text(Diagnostics& diagnostics, const Node& node, std::string_view name);
std::optional<bool> flag(Diagnostics& diagnostics, const Node& node, std::string_view name);
/// Reads one of `choices` and returns its index.
std::optional<std::size_t> word(Diagnostics& diagnostics, const Node& node, std::string_view name,
                                const std::vector<std::string_view>& choices);
/// Returns the seconds of a duration, such as 30m, 1h30m, 90s, 0.5s or 2d; nothing if `text` is none.
std::optional<double> duration_of(std::string_view text);

/// Reads a duration, such as 30m, 1h30m, 90s, 0.5s or 2d, in seconds.
std::optional<double> duration(Diagnostics& diagnostics, const Node& node, std::string_view name, double low,
                               double high);
/// Reads a size, such as 512MiB, 4GiB, 4GB or 1024B, in bytes.
std::optional<std::int64_t> size(Diagnostics& diagnostics, const Node& node, std::string_view name);
/// Reads a fraction, such as 10% or 0.1.
std::optional<double> fraction(Diagnostics& diagnostics, const Node& node, std::string_view name, double low,
                               double high);

/// Splits "relu|gelu" at the bars; an empty text has no choices.
std::vector<std::string_view> split_choices(std::string_view choices);
/// Returns "from 1 to 64" or "of at least 0".
std::string range_text(double low, double high);
/// Returns true if YAML reads the unquoted text as another type than a text.
bool looks_like_other(std::string_view text);

}  // namespace hpo::study
