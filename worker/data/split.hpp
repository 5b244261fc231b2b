// Which samples train and which validate. It follows from the data's seed alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/dataset.hpp"

namespace hpo {

/// By config.test: of `rows` samples, at least 3, those that test. At least 2 are left for the training part.
std::int64_t test_rows(const DataConfig& config, std::int64_t rows);

/// Of `samples` training samples (the subset first, then the split). At least one on each side, or an error.
Result<SplitSizes> split_sizes(const DataConfig& config, std::int64_t samples);

/// For people: "at random".
const char* split_text(SplitKind kind);

/// Rows in an order whose beginning can be taken as a part of them. random: any order. stratified: each beginning has
/// the classes in about the same proportions as the whole. time: the last row first. `classes`: of each row, for
/// stratified. `purpose` numbers independent orders of one seed.
std::vector<std::int32_t> split_order(SplitKind kind, std::int64_t rows, std::uint64_t data_seed, std::uint64_t purpose,
                                      std::span<const std::int32_t> classes = {});

/// The first of an order validate, those after them train.
Split cut_split(const SplitSizes& sizes, const std::vector<std::int32_t>& order);

/// The parts of the rows: the test part is cut off first, then numbers count within the training part, of which a
/// subset leaves some unused.
enum class RowUse : std::uint8_t { unused, train, validation, test };
struct RowSplit {
    std::vector<RowUse> uses;  ///< of each row
    Split within;              ///< of the training part
};
/// `tests` of the rows test. `classes`: of each row, for stratified; else it may be empty.
RowSplit split_rows(SplitKind kind, std::int64_t rows, std::int64_t tests, std::span<const std::int32_t> classes,
                    const SplitSizes& sizes, std::uint64_t data_seed);

/// A random split of `samples`.
Split make_split(const SplitSizes& sizes, std::int64_t samples, std::uint64_t data_seed);

}  // namespace hpo
