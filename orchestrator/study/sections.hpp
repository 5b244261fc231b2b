// Reads the larger sections of a study file: `space`, `start`, `worker`, `objective`, `resources` and `keep`.
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
    std::vector<Location> locations;  ///< of each dimension's name
    /// Names of dimensions that were left out because of an error. References to them are not reported again.
    std::vector<std::string> broken;
};

struct ReadWorker {
    bool known = true;  ///< false if its kind cannot be determined, so that keys which depend on it are not read
    StudyWorker worker;
    Params params;                                          ///< as Study::fixed
    std::map<std::string, Location> locations;              ///< of the names in `params`
    Location location;                                      ///< of the section
    std::vector<Location> command_locations;                ///< of a script: of each argument
    Location home_location, cwd_location;                   ///< of a script
    std::map<std::string, Location> file_locations;         ///< of a script: of the names in `files`
    Location file_location;                                 ///< of a script: of `metrics.file`
    std::map<std::string, Location> environment_locations;  ///< of a script: of the values in `environment.own`

    [[nodiscard]] const ScriptWorker* script() const { return std::get_if<ScriptWorker>(&worker); }
    [[nodiscard]] ScriptWorker* script() { return std::get_if<ScriptWorker>(&worker); }
    [[nodiscard]] bool native() const { return std::holds_alternative<NativeWorker>(worker); }
};

/// Reads the space. Dimensions with errors are reported and left out. With `native`, names and ranges are those of
/// worker_keys.hpp. Expressions may also name the parameters in `fixed`.
ReadSpace read_space(Diagnostics& diagnostics, const Node* node, bool native, const Params& fixed);

/// The end of a range that is written as an expression of other parameters.
struct DependentEnd {
    std::size_t dimension = 0;
    bool upper = false;
    const Node* node = nullptr;  ///< the text, such as "width / 2"
};

/// Returns the text of the expression if an end of a range is one, and nullptr if it is meant as a number.
const Node* expression_of_end(const Node& node);

/// Reads expressions into the space, and gives each of its dimensions the range that they can leave at most. Reports
/// cycles of ranges and conditions, and ranges that are always empty.
void resolve_ranges(Diagnostics& diagnostics, ReadSpace& space, const std::vector<DependentEnd>& ends, bool native,
                    const Params& fixed);

/// Reads `where`, one condition on parameters or a list of them.
std::vector<std::string> read_where(Diagnostics& diagnostics, const Node* node, const ReadSpace& space,
                                    const Params& fixed);

/// Reads the configurations to try first, each of which must lie within `space` and break no condition of `where`.
std::vector<Params> read_start(Diagnostics& diagnostics, const Node* node, const ReadSpace& space,
                               const std::vector<std::string>& where, const Params& fixed);

/// Reads the names or folders of the studies to learn from, one or a list. `name` is the study's own, which must not be
/// among them.
std::vector<std::string> read_warm_start(Diagnostics& diagnostics, const Node* node, const std::string& name);

/// Reads the section `worker`, of a script if it has a `command` and else of the native worker.
ReadWorker read_worker(Diagnostics& diagnostics, const Node* node);

/// Reads the sections `objective`, a map or a list of maps, and `constraints`.
Objective read_objective(Diagnostics& diagnostics, const Node* objectives, const Node* constraints,
                         const ReadWorker& worker);

/// Reads the section `resources`. With `native` the worker computes the footprints of its trials, and declaring one is
/// an error.
Resources read_resources(Diagnostics& diagnostics, const Node* node, bool native);

/// Reads `resources.slurm`.
SlurmJob read_slurm(Diagnostics& diagnostics, const Node& node);

/// Reads the section `keep`, whose values are `all`, `none` or `best N`. By default a script's checkpoints are all
/// kept.
Keep read_keep(Diagnostics& diagnostics, const Node* node, bool native);
/// Returns the text for read_keep(), such as "best 5". An absent limit is "all".
std::string keep_text(const std::optional<std::int64_t>& limit);

/// Reports errors that involve several sections: names that are set twice, hidden together with width, batches that are
/// too small, placeholders without a parameter. `written_resources`: the section of `resources`; null: it is missing.
void check_together(Diagnostics& diagnostics, const ReadSpace& space, const ReadWorker& worker, const Policy& policy,
                    const Resources& resources, const Node* written_resources);

/// Reports placeholders of a script that have no value, and texts that resemble placeholders, wherever its study may
/// have placeholders.
void check_placeholders(Diagnostics& diagnostics, const ReadSpace& space, const ReadWorker& worker,
                        const Resources& resources);

/// Returns true if the space has a parameter of this name.
bool has(const ReadSpace& space, std::string_view name);
/// Returns the location of a parameter in the space or among the worker's, or else of the worker.
Location location_of(const ReadSpace& space, const ReadWorker& worker, std::string_view name);

/// Reports parameters that are too large together for the message that starts a trial (docs/protocol.md).
void check_message_size(Diagnostics& diagnostics, const ReadSpace& space, const ReadWorker& worker);

/// Returns why `braced`, the text between braces, is not a placeholder in a study with these parameters, with the cure.
/// Returns an empty text if it is one.
std::string problem_of_placeholder(std::string_view braced, const Space& space, const Params& fixed);

/// Returns the parameter that a placeholder refers to, or an empty text for {params:NAME}.
std::string parameter_of(std::string_view braced);

/// Returns true if a script is told the number of its steps: if {steps} is in its command, a file or a path.
bool plans_steps(const ScriptWorker& script);

/// Completes the study of a native worker that was read from `file`: data with a relative path are those below the
/// current folder, or else those beside the file, whose absolute path is then also written into `source`.
void resolve_data(Study& study, const std::filesystem::path& file);

/// Completes a script's study that was read from `file`, whose content is `text`. Sets `home`, the folder that relative
/// paths start from: the current folder if any of them exists there, otherwise the file's folder. Reads and checks the
/// templates. Writes both into `source`, so that the stored study does not depend on other files.
Result<void> resolve_folders(Study& study, std::string_view text, const std::filesystem::path& file);

/// Returns true if a script's parameter may have this name: at most 64 letters of any script, digits, '_', '.' and '-',
/// the first a letter or '_'.
bool is_name(std::string_view name);
/// Returns the error message for a name that is_name() rejects.
std::string not_a_name(std::string_view name);

/// Returns the role of a parameter with this name if it has no key `role`.
Role recognised_role(std::string_view name, Kind kind);

/// Converts a row of worker_keys.hpp to a row of an option table.
Option option_of(const WorkerKey& key);

}  // namespace hpo::study
