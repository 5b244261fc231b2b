// Words that occur beside metrics in the output of scripts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace hpo::script {

/// Returns the words that name a metric: without log levels and the words before them, articles and the like at the
/// beginning, and "is" at the end.
std::vector<std::string_view> essence(const std::vector<std::string_view>& words);
/// Returns true if the words name a phase and nothing else, as in "Validation set".
bool is_label(const std::vector<std::string_view>& words);

/// Returns true for INFO, WARNING and the like.
bool is_log_level(std::string_view word);
bool is_preposition(std::string_view word);
/// Returns true for things over which a metric is taken: images, episodes.
bool is_sample(std::string_view word);
bool is_unit(std::string_view word);
/// Returns true for the name of a column that grows from row to row of one training: counters, times, samples.
bool is_progress(std::string_view name);
/// Returns true if the name ends with a word such as loss or error.
bool has_metric_word(std::string_view name);
/// Returns true for the name of an average, such as mean_acc or avg_loss.
bool is_average(std::string_view name);
/// Returns true if the last part of a name is a metric that is a part of a total, such as accuracy.
bool is_share(std::string_view name);
/// Returns true if such a word is anywhere in the name, as in mAP50.
bool contains_metric_word(std::string_view name);
/// Returns true for functions whose first argument is the number that they stand for, such as tensor and np.float64.
bool wraps_a_number(std::string_view function);
/// Returns true for those that the libraries of Python print by themselves, in any module.
bool is_number_type(std::string_view function);

/// Returns 3 and 10 for "3/10".
std::optional<std::pair<std::int64_t, std::int64_t>> ratio_of(std::string_view text);
inline bool is_ratio(std::string_view text) { return ratio_of(text).has_value(); }

}  // namespace hpo::script
