// Man pages, made from the same command line as --help.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace hpo {

/// Called by the build: hpo __man FOLDER.
inline constexpr const char* man_command = "__man";

/// Returns the page hpo(1), or with `command` that of the command, hpo-run(1), in roff.
std::string man_page(const CLI::App& program, const CLI::App* command = nullptr);

/// Writes all pages to the existing folder that is the only one of `arguments`: hpo.1, hpo-run.1 and so on.
int write_man_pages(const std::vector<std::string>& arguments);

}  // namespace hpo
