// Reading a checked tree: the keys of a map, and scalars of each type, with errors that say what was expected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/options.hpp"
#include "orchestrator/study/document.hpp"

namespace hpo::study {

/// Whole numbers and floats beyond this magnitude do not survive JSON: they are refused.
inline constexpr double max_whole = 9007199254740992.0;

/// The longest time that a key may give: ten years.
inline constexpr double max_seconds = 3650.0 * 86400.0;

/// The keys of one map. Each key that is asked for is known; finish() reports the others.
class Fields {
   public:
    /// `path` of the map, dotted, and an `example` of it, for messages; empty for the file itself. A node that is no
    /// map is an error (once) and reads as an empty one; nullptr reads as an empty one.
    Fields(Diagnostics& diagnostics, const Node* node, std::string path, std::string_view example = "key: value");

    /// nullptr: the key is not there.
    const Node* take(std::string_view key);
    /// An error if the key is not there; `what` completes "'path.key' is missing: ".
    const Node* require(std::string_view key, std::string_view what);
    [[nodiscard]] bool knows(std::string_view key) const;
    /// Reports keys that nobody asked for.
    void finish() const;

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string path_of(std::string_view key) const;
    [[nodiscard]] const Node* node() const { return node_; }

   private:
    [[nodiscard]] std::string cure(const Entry& entry) const;

    Diagnostics& diagnostics_;
    const Node* node_;
    std::string path_;
    std::vector<std::string_view> known_;
};

/// By its looks (YAML's core schema): true, 256, 1.0e-3, relu, null, or a list of such. Numbers that are not finite or
/// too large are errors, and so are maps.
std::optional<Value> natural_value(Diagnostics& diagnostics, const Node& node, std::string_view name);

/// A value of the option's type, within its range and among its words.
std::optional<Value> option_value(Diagnostics& diagnostics, const Node& node, const Option& option);

std::optional<std::int64_t> whole(Diagnostics& diagnostics, const Node& node, std::string_view name, double low,
                                  double high);
std::optional<double> real(Diagnostics& diagnostics, const Node& node, std::string_view name, double low, double high);
std::optional<std::string> text(Diagnostics& diagnostics, const Node& node, std::string_view name);
std::optional<bool> flag(Diagnostics& diagnostics, const Node& node, std::string_view name);
/// One of the words; its index.
std::optional<std::size_t> word(Diagnostics& diagnostics, const Node& node, std::string_view name,
                                const std::vector<std::string_view>& words);
/// 30m, 1h30m, 90s, 0.5s, 2d: seconds.
std::optional<double> duration(Diagnostics& diagnostics, const Node& node, std::string_view name, double low,
                               double high);
/// 512MiB, 4GiB, 4GB, 1024B: bytes.
std::optional<std::int64_t> size(Diagnostics& diagnostics, const Node& node, std::string_view name);
/// 10% or 0.1.
std::optional<double> fraction(Diagnostics& diagnostics, const Node& node, std::string_view name, double low,
                               double high);

/// "relu|gelu" cut at the bars; nothing for nothing.
std::vector<std::string_view> words_of(std::string_view choices);
/// "from 1 to 64", "of at least 0".
std::string range_text(double low, double high);
/// For people: 256, 0.0003, 1e-16; shortest digits that read back the same.
std::string short_number(double number);
/// Whether a text of YAML that stands without quotes reads as something else than text.
bool looks_like_other(std::string_view text);

}  // namespace hpo::study
