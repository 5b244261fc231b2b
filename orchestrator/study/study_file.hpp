// Study files: YAML to a checked study and back, and what of a study may change between runs. The only part that knows
// YAML.
//
// Every error text holds all problems that were found (20 at most), each as
//
//     studies/mine.yaml:7:5: unknown key 'weigth_decay' in 'space'; did you mean 'weight_decay'?
//         7 |     weigth_decay: {type: float, low: 1.0e-3, high: 0.3}
//           |     ^~~~~~~~~~~~
//
// Whatever the bytes, parsing ends in bounded time and memory: at most 256 KiB, 16 levels, 4096 values; UTF-8 without
// control characters; no anchors, aliases or tags.
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

/// Reads and checks a study. `set` holds `key=value` overrides (`budget.trials=8`, `space.lr.high=0.1`; the value is
/// YAML), applied in order before the check; their errors begin with `--set key=value`. Names and options of samplers
/// and stopping rules are checked against `vocabulary` where it has any. `source` of the study is `text`, or what
/// write_study() makes of it when there are overrides.
Result<Study> parse_study(std::string_view text, const std::string& file_name, std::span<const std::string> set = {},
                          const Vocabulary& vocabulary = {});

/// The same from a file; an error names the file and the system's reason when it cannot be read. Here a script's
/// relative paths get their folder (`Study::home`), and its templates are read.
Result<Study> read_study(const std::filesystem::path& file, std::span<const std::string> set = {},
                         const Vocabulary& vocabulary = {});

/// False: nobody trains the study's trials but who asks for them (hpo ask-tell). The native worker always has some key:
/// it must be told its data.
inline bool has_worker(const Study& study) { return !study.command.empty() || !study.worker.empty(); }

/// `message`, found out after the file was read, at the value of a dotted key of it (`space.lr.high`), or of its
/// nearest parent there; shown as the errors of parse_study.
std::string error_at(std::string_view text, const std::string& file_name, std::string_view key,
                     const std::string& message);

/// YAML with stable keys, in the order of the documentation and without comments, that reads back as the same study.
std::string write_study(const Study& study);

/// The study that trains one configuration of `study` alone: `params` (the active parameters of one trial) are fixed in
/// its worker, the space is empty, it has one trial and no stopping rule. What `hpo best` writes.
Study fix_parameters(const Study& study, const Params& params);

/// A key in which two studies differ, as the files would write both; a side that has no such key is empty.
struct Difference {
    std::string key;  ///< dotted: budget.trials, space.lr.high
    std::string before;
    std::string after;
    std::string refusal;  ///< why a stored study cannot go on with it; empty: it can
};

/// How `after` differs from `before`, a study that has run already. Welcome: resources, what to keep, and another
/// budget of trials, time and patience. Refused is what would make trials before and after incomparable: name, seed,
/// objective, space, worker, policy, sampler, stopping rules (stored decisions could not be replayed), fewer epochs.
/// More epochs are welcome for scripts and for a fixed `schedule: constant`; other schedules of the learning rate span
/// the epochs.
std::vector<Difference> compare(const Study& before, const Study& after);

/// The refused differences as readable text, one key a line (each ended) with before and after; empty if there are
/// none.
std::string refusal(const std::vector<Difference>& differences);

/// "24 configurations", or "7 parameters: 4 float, 1 int, 2 categorical; 1 conditional". An empty space: "nothing
/// varies".
std::string describe(const Space& space);

/// One line: "float 0.0003 to 0.03, log", "one of relu, gelu", "int 1 to 4, only with optimizer = sgd".
std::string describe(const Dimension& dimension);

}  // namespace hpo
