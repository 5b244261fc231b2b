// A YAML document as a tree with places. The only part of the study part that knows yaml-cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/study/diagnostics.hpp"

namespace hpo::study {

inline constexpr std::size_t max_bytes = 256 * 1024;
inline constexpr std::size_t max_depth = 16;
inline constexpr std::size_t max_nodes = 4096;

struct Entry;

struct Node {
    enum class Kind { null, scalar, list, map };
    Kind kind = Kind::null;
    Location location;
    std::string text;            ///< of a scalar
    bool plain = true;           ///< a scalar without quotes
    std::vector<Node> items;     ///< of a list
    std::vector<Entry> entries;  ///< of a map, in the order of the file, each key once
};

struct Entry {
    std::string key;
    Location location;
    Node value;
};

/// Which tags a document may have: none, or YAML's own, such as !!float.
enum class Tags { none, core };

/// The one document of `text`, whose places are of `source`; nothing, and an error, if it is not one well-formed
/// document within the limits. Anchors, aliases and tags are refused: a study needs none, and aliases are how small
/// files become large. An empty document is a null node.
std::optional<Node> parse_yaml(std::string_view text, int source, Diagnostics& diagnostics, Tags tags = Tags::none);

/// Why any text is no YAML, with line and column; empty: it is.
std::string problem_of_yaml(const std::string& text);

/// nullptr: no such key.
const Node* find(const Node& map, std::string_view key);

}  // namespace hpo::study
