// Names of metrics: which are valid, which words name the data of the measurement, and which names mean the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::script {

inline constexpr std::size_t max_name_bytes = 64;

/// Returns the text with its ASCII letters in lower case.
std::string lower_case(std::string_view text);

/// The data on which a metric was measured.
enum class Phase { none, validation, evaluation, test, other, training };

/// Returns the phase that a word such as "val", "Validation" or "train" names.
Phase phase_of(std::string_view word);
/// Returns the first phase that one of the words of a name names, as in "loss/val".
Phase phase_in(std::string_view name);

/// Returns true for keys whose value says which data a record is of: phase, split, mode and their kin.
bool is_split_key(std::string_view word);
/// Returns true for the keys of a process of a distributed run: rank, local_rank, global_rank.
bool is_rank_key(std::string_view word);
/// Returns the label of a process of a distributed run: rank1_.
std::string rank_label(std::int64_t rank);
/// Returns true if the name begins with such a label.
bool has_rank_label(std::string_view name);

/// Returns true for counts of progress: epoch, step, iteration, batch and their kin.
bool is_counter(std::string_view word);
/// Returns true for epoch, epochs and ep.
bool is_epoch(std::string_view word);
/// Returns true for counters, times and learning rates. They belong to no phase.
bool is_general(std::string_view name);

/// Returns `text` as a metric's name: its blanks become '_'. Returns an empty text if it cannot be one: a name begins
/// with a letter (of any script) or '_', and has neither control characters nor quotes.
std::string name_of(std::string_view text);

/// Returns true for a valid name of a metric: one that name_of() leaves as it is, without signs that separate numbers.
bool is_metric_name(std::string_view name);

/// The match between a printed name and the name that a study gives. Lower is better.
enum class Fit {
    exact,
    spelling,  ///< but for case, punctuation and the place of the phase: "Val Loss", "loss/val" for val_loss
    synonym,   ///< but for validation and val, accuracy and acc, "F1 score" and "F1"
    none
};
Fit fit(std::string_view printed, std::string_view wanted);
/// Like fit(), without the phase that `printed` names first.
Fit fit_but_for_phase(std::string_view printed, std::string_view wanted);

}  // namespace hpo::script
