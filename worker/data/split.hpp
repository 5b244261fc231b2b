// Chooses the samples that train and those that validate. The choice follows from the data's seed alone.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/dataset.hpp"

namespace hpo {

/// Returns how many of `rows` samples, at least 3, are held out for testing, by config.test. At least 2 are left for
/// the training part.
std::int64_t test_rows(const DataConfig& config, std::int64_t rows);

/// Returns the sizes of a split of `samples` training samples (the subset first, then the split): at least one on each
/// side, or an error. Folds have equal sizes; the remainder of less than config.folds samples always trains.
Result<SplitSizes> split_sizes(const DataConfig& config, std::int64_t samples);
/// Returns the sizes of a split of the training part of `shape`.
Result<SplitSizes> split_sizes(const DataConfig& config, const DataShape& shape);

/// Refuses folds of classes of which some have fewer samples than there are folds, once `config.test` of the samples
/// are cut off (where `cuts_test`). `counts`: the samples of each class, named by `name_of(class)`.
Result<void> check_class_folds(const DataConfig& config, bool cuts_test, std::span<const std::int64_t> counts,
                               const std::function<std::string(std::size_t)>& name_of);

/// Returns the numbers of samples that train and validate, for people: "90 rows train, 10 validate" or "5 folds of 20
/// rows: ...".
std::string split_sizes_text(const SplitSizes& sizes, const std::string& unit);

/// For people: "at random".
const char* split_text(SplitKind kind);

/// Returns the rows in an order whose beginning can be taken as a part. random: any order. stratified: each beginning
/// has the classes in about the same proportions as the whole. time: the last row first. `classes`: of each row, for
/// stratified. `purpose` numbers independent orders of one seed.
std::vector<std::int32_t> split_order(SplitKind kind, std::int64_t rows, std::uint64_t data_seed, std::uint64_t purpose,
                                      std::span<const std::int32_t> classes = {});

/// An order is cut into pieces of sizes.validation rows: piece `fold` validates, the rest trains. Fewer rows do if the
/// order is shorter than the sizes say, as where files have changed in between.
Split cut_split(const SplitSizes& sizes, const std::vector<std::int32_t>& order, std::int64_t fold = 0);

/// The parts of the rows: the test part is cut off first, then numbers count within the training part, of which a
/// subset leaves some unused.
enum class RowUse : std::uint8_t { unused, train, validation, test };
struct RowSplit {
    std::vector<RowUse> uses;  ///< of each row
    Split within;              ///< of the training part
};
/// `tests` of the rows test. `classes`: of each row, for stratified; else it may be empty.
RowSplit split_rows(SplitKind kind, std::int64_t rows, std::int64_t tests, std::span<const std::int32_t> classes,
                    const SplitSizes& sizes, std::uint64_t data_seed, std::int64_t fold = 0);

/// A random split of `samples`.
Split make_split(const SplitSizes& sizes, std::int64_t samples, std::uint64_t data_seed, std::int64_t fold = 0);

}  // namespace hpo
