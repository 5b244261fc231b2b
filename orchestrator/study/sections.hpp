// The sections of a study file that have a file of their own: `space` and `worker`, which need each other, `resources`
// and `keep`.
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
    std::vector<Location> locations;  ///< of the names, one a dimension
    std::vector<std::string> broken;  ///< names that are reported and left out: what speaks of them is not to blame
};

struct ReadWorker {
    bool known = true;  ///< false: what it is cannot be told, and what depends on that is not read
    bool native = true;
    std::vector<std::string> command;
    std::vector<Location> command_locations;  ///< one an argument
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

/// Dimensions that are broken are reported and left out. With `native`, names and ranges are those of worker_keys.hpp.
ReadSpace read_space(Diagnostics& diagnostics, const Node* node, bool native);

/// Configurations to try first, each within `space`.
std::vector<Params> read_start(Diagnostics& diagnostics, const Node* node, const ReadSpace& space);

ReadWorker read_worker(Diagnostics& diagnostics, const Node* node);

/// `native`: the worker computes on the CPU and says its footprint itself; keys that are for scripts are errors.
Resources read_resources(Diagnostics& diagnostics, const Node* node, bool native);

/// What stays of ended trials: `all`, `none` or `best N`.
Keep read_keep(Diagnostics& diagnostics, const Node* node, bool native);
/// As read_keep() reads it: "best 5".
std::string keep_text(const std::optional<std::int64_t>& most);

/// What only both together, and the policy, can break: names set twice, hidden beside width, too small batches,
/// placeholders without a parameter.
void check_together(Diagnostics& diagnostics, const ReadSpace& space, const ReadWorker& worker, const Policy& policy,
                    const Resources& resources);

/// Why `braced` is no placeholder in a study of these parameters, with the cure; empty: it is one.
std::string problem_of_placeholder(std::string_view braced, const Space& space, const Params& fixed);

/// The parameter that a placeholder is about; {params:NAME}: none.
std::string parameter_of(std::string_view braced);

/// Of a script's study that was read from `file`, with this text: decides what its relative paths mean (`home`: where
/// they are found, the current folder first, then the file's), reads its templates and checks them. What is found is
/// written into `source`, so that the stored study stands alone.
Result<void> resolve_folders(Study& study, std::string_view text, const std::filesystem::path& file);

/// [A-Za-z_][A-Za-z0-9_.-]{0,63}: what a script's parameter may be called.
bool is_name(std::string_view name);
std::string not_a_name(std::string_view name);

/// The role that a parameter of this name has unless `role` says otherwise.
Role recognised_role(std::string_view name, Kind kind);

/// The row of worker_keys.hpp as an option table's row.
Option option_of(const WorkerKey& key);

}  // namespace hpo::study
