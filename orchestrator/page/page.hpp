// The page of `hpo report`: an HTML file that holds all that it shows, and asks no network for anything.
#pragma once

#include <string>
#include <string_view>

#include "orchestrator/page/packed.hpp"

namespace hpo::page {

/// The page without a study (dist/page.html). It has the mark `place` once.
extern const std::string_view text;
inline constexpr std::string_view place = "@STUDY@";

/// The page of `hpo serve`, with its script and style (dist/live.*).
extern const std::string_view live_text, live_script, live_style;

/// Returns the JSON as the content of a <script> element. Nothing in it ends the element or begins a comment, so that
/// names and logs with markup stay text; bytes that are not UTF-8 are replaced.
std::string as_script(const Json& json);

/// Returns the page of a study.
std::string with_study(const Json& study);

}  // namespace hpo::page
