// Parses a YAML document into a tree with locations. No other file uses yaml-cpp.
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
    std::string text;            ///< text of a scalar
    bool plain = true;           ///< true if a scalar is written without quotes
    std::vector<Node> items;     ///< items of a list
    std::vector<Entry> entries;  ///< entries of a map in the order of the file; each key occurs once
};

struct Entry {
    std::string key;
    Location location;
    Node value;
};

/// The tags that a document may have: none, or those of YAML's core schema, such as !!float.
enum class Tags { none, core };

/// Parses the document in `text`, with locations in `source`. Reports an error and returns nothing if it is not a
/// single well-formed document within the limits. Anchors, aliases and tags are refused: a study does not need them,
/// and aliases can make a small file large. An empty document is a null node.
std::optional<Node> parse_yaml(std::string_view text, int source, Diagnostics& diagnostics, Tags tags = Tags::none);

/// Returns the error that makes `text` invalid YAML, with line and column. Returns an empty text if it is valid.
std::string problem_of_yaml(const std::string& text);

/// Returns the value of a key, or nullptr if there is no such key.
const Node* find(const Node& map, std::string_view key);

}  // namespace hpo::study
