// Reads study files (YAML) as checked studies, writes them, and compares studies to decide whether one may be resumed.
// No other folder knows YAML.
//
// An error text contains all problems that were found (at most 20), each as
//
//     studies/mine.yaml:7:5: unknown key 'weigth_decay' in 'space'; did you mean 'weight_decay'?
//         7 |     weigth_decay: {type: float, low: 1.0e-3, high: 0.3}
//           |     ^~~~~~~~~~~~
//
// Parsing any bytes takes bounded time and memory: at most 256 KiB, 16 levels, 4096 values; UTF-8 without control
// characters; no anchors, aliases or tags.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/options.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"

namespace hpo {

/// Parses and checks a study. `set` holds `key=value` overrides, such as `budget.trials=8` or `space.lr.high=0.1`,
/// whose values are YAML. They are applied in order before the check, and their errors begin with `--set key=value`.
/// The names and options of samplers and stopping rules are checked against `vocabulary` unless it is empty. The
/// study's `source` is `text`, or the result of write_study() if there are overrides.
Result<Study> parse_study(std::string_view text, const std::string& file_name, std::span<const std::string> set = {},
                          const Vocabulary& vocabulary = {});

/// Parses the text of a study that has run, and accepts the forms of earlier versions: commands with texts such as
/// {lr:.4f}, and parameters that share a variable.
Result<Study> parse_stored_study(std::string_view text, const std::string& file_name,
                                 const Vocabulary& vocabulary = {});

/// Reads and checks a study file. Fails with the file's name and the system's reason if it cannot be read. Also
/// determines the folder of a script's relative paths (`Study::home`) and reads its templates.
Result<Study> read_study(const std::filesystem::path& file, std::span<const std::string> set = {},
                         const Vocabulary& vocabulary = {});

/// Returns warnings about values of a script's study that are texts but look like something else, such as yes or
/// 1_000, each with its location and cure in the form of an error. Returns an empty text if there are none, or if
/// `text` is no study.
std::string value_warnings(std::string_view text, const std::string& file_name, std::span<const std::string> set = {});

/// The same of a file; nothing if it cannot be read.
std::string value_warnings(const std::filesystem::path& file, std::span<const std::string> set = {});

/// Formats `message` like an error of parse_study(), for a problem that is found after the file was read. It is located
/// at the value of the dotted `key` (`space.lr.high`), or at the key's nearest parent that the file has.
std::string error_at(std::string_view text, const std::string& file_name, std::string_view key,
                     const std::string& message);

/// Returns the study as YAML, with keys in the order of the documentation and without comments. parse_study() reads it
/// back as the same study.
std::string write_study(const Study& study);

/// Returns the study that trains a single configuration of `study`, as `hpo best` writes it. Its worker fixes `params`,
/// the active parameters of a trial. It has an empty space, one trial and no stopping rules.
Study fix_parameters(const Study& study, const Params& params);

/// A key in which two studies differ, with both values as YAML; the value is empty in a study without the key.
struct Difference {
    std::string key;  ///< dotted: budget.trials, space.lr.high
    std::string before;
    std::string after;
    std::string refusal;  ///< why a stored study cannot be resumed with this difference; empty if it can
};

/// Returns how `after` differs from `before`, a study that has run. Resources, `keep`, the budget of trials, time and
/// patience, the sampler and the stopping rules may change, and ranges and choices may become larger. Changes that
/// would make earlier and later trials incomparable are refused: name, seed, objective, the rest of the space, worker,
/// policy and fewer epochs. Objective and worker may change if no trial has a value (`valued` is false). More epochs
/// are allowed for scripts and for `schedule: constant`, since other learning-rate schedules depend on the number of
/// epochs.
std::vector<Difference> compare(const Study& before, const Study& after, bool valued = true);

/// Returns the refused differences, one line per key with both values. Returns an empty text if there are none.
std::string refusal(const std::vector<Difference>& differences);

/// Returns "24 configurations", or "7 parameters: 4 float, 1 int, 2 categorical; 1 conditional", or "nothing varies".
std::string describe(const Space& space);

/// Returns one line: "float 0.0003 to 0.03, log", "one of relu, gelu", "int 1 to 4, only with optimizer = sgd".
std::string describe(const Dimension& dimension);

}  // namespace hpo
