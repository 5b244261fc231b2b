// Reads the larger sections of a study file: `space`, `start`, `worker`, `resources` and `keep`.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "hpo/worker_keys.hpp"
#include "orchestrator/study/fields.hpp"

namespace hpo::study {

struct ReadSpace {
    Space space;
    std::vector<Location> locations;  ///< location of each dimension's name
    std::vector<std::string>
        broken;  ///< names of dimensions that were left out with an error; references to them are not errors
};

struct ReadWorker {
    bool known = true;  ///< false if its kind cannot be determined; what depends on it is not read then
    bool native = true;
    std::vector<std::string> command;
    std::vector<Location> command_locations;  ///< location of each argument
    std::vector<std::pair<std::size_t, std::size_t>> optional_arguments;
    std::string home, cwd;
    Location home_location, cwd_location;
    std::map<std::string, TrialFile> files;
    std::map<std::string, Location> file_locations;  ///< of the names in `files`
    std::optional<MetricsSource> metrics;
    Location file_location;  ///< of `metrics.file`
    std::vector<std::string> preload;
    std::string shim;
    WorkerEnvironment environment;
    Params params;
    std::map<std::string, Location> locations;  ///< of the names in `params`
    Location location;                          ///< of the section
};

/// Reads the space. Dimensions with errors are reported and left out. With `native`, names and ranges are those of
/// worker_keys.hpp.
ReadSpace read_space(Diagnostics& diagnostics, const Node* node, bool native);

/// Reads the configurations to try first, each of which must lie within `space`.
std::vector<Params> read_start(Diagnostics& diagnostics, const Node* node, const ReadSpace& space);

/// Names or folders of studies to learn from: one, or a list. `name` is the study's own.
std::vector<std::string> read_warm_start(Diagnostics& diagnostics, const Node* node, const std::string& name);

ReadWorker read_worker(Diagnostics& diagnostics, const Node* node);

/// Reads resources. With `native` the worker computes its footprint itself, and keys for scripts are errors.
Resources read_resources(Diagnostics& diagnostics, const Node* node, bool native);

/// Reads what is kept of ended trials: `all`, `none` or `best N`.
Keep read_keep(Diagnostics& diagnostics, const Node* node, bool native);
/// Returns the text that read_keep() reads: "best 5".
std::string keep_text(const std::optional<std::int64_t>& most);

/// Checks what depends on several sections: names that are set twice, hidden together with width, batches that are too
/// small, placeholders without a parameter.
void check_together(Diagnostics& diagnostics, const ReadSpace& space, const ReadWorker& worker, const Policy& policy,
                    const Resources& resources);

/// Returns why `braced` is not a placeholder in a study with these parameters, with the cure; empty if it is one.
std::string problem_of_placeholder(std::string_view braced, const Space& space, const Params& fixed);

/// Returns the parameter that a placeholder refers to; empty for {params:NAME}.
std::string parameter_of(std::string_view braced);

/// Completes a script's study that was read from `file`, whose content is `text`. Sets `home`, the folder that relative
/// paths start from: the current folder if they are found there, otherwise the file's. Reads and checks the templates.
/// Writes both into `source`, so that the stored study does not depend on other files.
Result<void> resolve_folders(Study& study, std::string_view text, const std::filesystem::path& file);

/// Whether a script's parameter may have this name: [A-Za-z_][A-Za-z0-9_.-]{0,63}.
bool is_name(std::string_view name);
std::string not_a_name(std::string_view name);

/// Returns the role of a parameter with this name if it has no key `role`.
Role recognised_role(std::string_view name, Kind kind);

/// Converts a row of worker_keys.hpp to a row of an option table.
Option option_of(const WorkerKey& key);

}  // namespace hpo::study
