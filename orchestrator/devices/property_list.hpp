// Reads property lists of Apple in their XML form, as `ioreg -a` prints them. Pure.
//
// Document: propertylist(5) of macOS, and http://www.apple.com/DTDs/PropertyList-1.0.dtd.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace hpo {

/// Returns the value: dictionaries as objects, dates and data as their text. Nothing if the text is no property list.
std::optional<nlohmann::json> parse_property_list(std::string_view xml);

}  // namespace hpo
