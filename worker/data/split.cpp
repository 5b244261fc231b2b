#include "worker/data/split.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "hpo/random.hpp"
#include "worker/data/data_text.hpp"

namespace hpo {
namespace {

/// Fisher and Yates.
void shuffle(std::uint64_t seed, std::uint64_t purpose, std::vector<std::int32_t>& items) {
    PhiloxBlock block{};
    for (std::size_t left = items.size(), element = 0; left > 1; --left, ++element) {
        if (element % 4 == 0) block = draw_block(seed, Purpose::split, purpose, element / 4);
        // A 32-bit draw scaled to [0, left): its bias is below left / 2^32.
        const std::size_t pick = (std::uint64_t{block[element % 4]} * left) >> 32;
        std::swap(items[left - 1], items[pick]);
    }
}

/// Spreads the rows of each class evenly over the order.
void stratify(std::span<const std::int32_t> classes, std::vector<std::int32_t>& rows) {
    std::vector<std::int64_t> count, seen;
    for (const std::int32_t one : classes) {
        if (static_cast<std::size_t>(one) >= count.size()) count.resize(static_cast<std::size_t>(one) + 1);
        ++count[static_cast<std::size_t>(one)];
    }
    seen.resize(count.size());
    std::vector<float> position(classes.size());  // within its class, in (0, 1)
    for (const std::int32_t row : rows) {
        const auto at = static_cast<std::size_t>(row), its = static_cast<std::size_t>(classes[at]);
        position[at] = static_cast<float>((static_cast<double>(seen[its]++) + 0.5) / static_cast<double>(count[its]));
    }
    std::stable_sort(rows.begin(), rows.end(), [&](std::int32_t a, std::int32_t b) {
        return position[static_cast<std::size_t>(a)] < position[static_cast<std::size_t>(b)];
    });
}

}  // namespace

std::int64_t test_rows(const DataConfig& config, std::int64_t rows) {
    return std::clamp<std::int64_t>(std::llround(config.test * static_cast<double>(rows)), 1, rows - 2);
}

Result<SplitSizes> split_sizes(const DataConfig& config, std::int64_t samples) {
    if (config.subset > samples)
        return Error{"data.subset: " + std::to_string(config.subset) + " is more than the " + std::to_string(samples) +
                     " training samples there are"};
    const std::int64_t used = config.subset > 0 ? config.subset : samples;
    if (config.folds > 0) {
        if (config.split == SplitKind::time)
            return Error{
                "data.validation.folds: with data.split: time, folds would be trained on what comes after "
                "them; use data.validation: 0.2 instead"};
        const std::int64_t fold = used / config.folds;
        if (fold == 0)
            return Error{"data.validation.folds: " + std::to_string(config.folds) + " folds of " +
                         grouped(used, "sample") + ": each needs at least one; use fewer folds"};
        return SplitSizes{used - fold, fold, static_cast<int>(config.folds)};
    }
    const auto validation = std::max<std::int64_t>(1, std::llround(config.validation * static_cast<double>(used)));
    if (used - validation < 1)
        return Error{"data.validation: of " + grouped(used, "sample") + " none is left to train on"};
    return SplitSizes{used - validation, validation};
}

Result<SplitSizes> split_sizes(const DataConfig& config, const DataShape& shape) {
    if (shape.grouped) return *shape.grouped;
    return split_sizes(config, shape.train);
}

Result<void> check_class_folds(const DataConfig& config, bool cuts_test, std::span<const std::int64_t> counts,
                               const std::function<std::string(std::size_t)>& name_of) {
    for (std::size_t i = 0; config.folds > 0 && i < counts.size(); ++i) {
        const auto tested = cuts_test ? std::ceil(config.test * static_cast<double>(counts[i])) : 0.0;
        const std::int64_t left = counts[i] - static_cast<std::int64_t>(tested);
        if (left >= config.folds || counts[i] == 0) continue;
        return Error{
            "data.validation.folds: class " + name_of(i) + " has " + grouped(counts[i], "sample") +
            (cuts_test
                 ? ", of which " + std::to_string(left) + (left == 1 ? " is" : " are") + " left beside those that test"
                 : "") +
            ", fewer than the " + std::to_string(config.folds) + " folds: use fewer folds, or data.split: random"};
    }
    return {};
}

std::string split_sizes_text(const SplitSizes& sizes, const std::string& unit) {
    if (sizes.folds == 1)
        return grouped(sizes.train) + " " + unit + " train, " + grouped(sizes.validation) + " validate";
    const bool even = sizes.least_train == 0;
    return std::to_string(sizes.folds) + " folds: " + (even ? "" : "up to ") + grouped(sizes.validation) + " " + unit +
           " validate while " + (even ? "" : "up to ") + grouped(sizes.train) + " train";
}

const char* split_text(SplitKind kind) {
    return kind == SplitKind::random       ? "at random"
           : kind == SplitKind::stratified ? "at random, with equal proportions of classes"
                                           : "by order, the first ones to train";
}

std::vector<std::int32_t> split_order(SplitKind kind, std::int64_t rows, std::uint64_t data_seed, std::uint64_t purpose,
                                      std::span<const std::int32_t> classes) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), 0);
    if (kind == SplitKind::time) {
        std::reverse(order.begin(), order.end());
        return order;
    }
    shuffle(data_seed, purpose, order);
    if (kind == SplitKind::stratified) stratify(classes, order);
    return order;
}

Split make_split(const SplitSizes& sizes, std::int64_t samples, std::uint64_t data_seed, std::int64_t fold) {
    return cut_split(sizes, split_order(SplitKind::random, samples, data_seed, 0), fold);
}

Split cut_split(const SplitSizes& sizes, const std::vector<std::int32_t>& order, std::int64_t fold) {
    const auto at = [&](std::int64_t row) { return order.begin() + std::min<std::int64_t>(row, std::ssize(order)); };
    const auto begin = at(fold * sizes.validation), end = at((fold + 1) * sizes.validation);
    Split split{{order.begin(), begin}, {begin, end}};
    if (const auto last = at(sizes.validation + sizes.train); end < last)
        split.train.insert(split.train.end(), end, last);
    return split;
}

RowSplit split_rows(SplitKind kind, std::int64_t rows, std::int64_t tests, std::span<const std::int32_t> classes,
                    const SplitSizes& sizes, std::uint64_t data_seed, std::int64_t fold) {
    RowSplit split;
    split.uses.assign(static_cast<std::size_t>(rows), RowUse::unused);
    if (tests > 0) {
        const auto order = split_order(kind, rows, data_seed, 1, classes);
        for (std::int64_t i = 0; i < tests; ++i)
            split.uses[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = RowUse::test;
    }
    std::vector<std::int32_t> remaining, labels;  // of the training part
    for (std::size_t row = 0; row < split.uses.size(); ++row) {
        if (split.uses[row] == RowUse::test) continue;
        remaining.push_back(static_cast<std::int32_t>(row));
        if (!classes.empty()) labels.push_back(classes[row]);
    }
    split.within = cut_split(sizes, split_order(kind, rows - tests, data_seed, 0, labels), fold);
    for (const auto& [part, use] :
         {std::pair(&split.within.train, RowUse::train), std::pair(&split.within.validation, RowUse::validation)})
        for (const std::int32_t row : *part)
            split.uses[static_cast<std::size_t>(remaining[static_cast<std::size_t>(row)])] = use;
    return split;
}

}  // namespace hpo
