#include "worker/data/groups.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "worker/data/data_text.hpp"

namespace hpo {
namespace {

/// Takes groups from `left` for a part of about `wanted` rows: at least one group, and `rest` groups stay. Returns the
/// part's rows.
std::int64_t take(std::vector<std::size_t>& left, std::span<const std::int64_t> rows, std::int64_t wanted,
                  std::size_t rest, std::int32_t part, GroupDivision& division) {
    std::int64_t sum = 0;
    const auto assign = [&](std::size_t at) {
        sum += rows[left[at]];
        division.parts[left[at]] = part;
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
    };
    for (std::size_t at = 0; at < left.size() && left.size() > rest && sum < wanted;)
        if (std::abs(sum + rows[left[at]] - wanted) < wanted - sum)
            assign(at);
        else
            ++at;
    if (sum == 0)  // all groups are larger than twice the part: the smallest one is nearest
        assign(static_cast<std::size_t>(
            std::min_element(left.begin(), left.end(), [&](auto a, auto b) { return rows[a] < rows[b]; }) -
            left.begin()));
    return sum;
}

}  // namespace

Result<GroupDivision> divide_groups(const DataConfig& config, std::span<const std::int64_t> rows) {
    const auto count = static_cast<std::int64_t>(rows.size());
    if (config.folds > 0 && count < config.folds + 1)
        return Error{"data.validation.folds: " + std::to_string(config.folds) + " folds of whole groups take " +
                     std::to_string(config.folds + 1) + " groups, one of them to test, and the column " +
                     quoted_name(config.group) + " has " + std::to_string(count) + ": use fewer folds"};
    if (count < 3)
        return Error{"data.validation.group: the column " + quoted_name(config.group) + " has " +
                     std::to_string(count) + (count == 1 ? " value" : " different values") +
                     ": at least 3 groups are needed, to train, to validate and to test"};
    GroupDivision division;
    division.parts.assign(rows.size(), GroupDivision::trains);
    const std::vector<std::int32_t> order = split_order(SplitKind::random, count, 0, 0);
    std::vector<std::size_t> left(order.begin(), order.end());
    const std::int64_t all = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
    const auto part_of = [](double share, std::int64_t of) {
        return std::max<std::int64_t>(1, std::llround(share * static_cast<double>(of)));
    };
    const std::size_t rest = config.folds > 0 ? static_cast<std::size_t>(config.folds) : 2;
    division.test = take(left, rows, part_of(config.test, all), rest, GroupDivision::tests, division);
    const std::int64_t used = all - division.test;
    if (config.folds == 0) {
        const std::int64_t validation = take(left, rows, part_of(config.validation, used), 1, 0, division);
        division.sizes = {used - validation, validation};
        return division;
    }
    std::stable_sort(left.begin(), left.end(), [&](auto a, auto b) { return rows[a] > rows[b]; });
    std::vector<std::int64_t> folds(static_cast<std::size_t>(config.folds), 0);
    for (const std::size_t group : left) {
        const auto smallest = std::min_element(folds.begin(), folds.end());
        division.parts[group] = static_cast<std::int32_t>(smallest - folds.begin());
        *smallest += rows[group];
    }
    const auto [least, most] = std::minmax_element(folds.begin(), folds.end());
    division.sizes = {used - *least, *most, static_cast<int>(config.folds)};
    if (*least != *most) {
        division.sizes.least_train = used - *most;
        division.sizes.mean_train = used - used / config.folds;
    }
    return division;
}

RowSplit split_by_group(const GroupDivision& division, std::span<const std::int32_t> groups, std::int64_t fold) {
    RowSplit split;
    std::int32_t within = 0;
    for (const std::int32_t group : groups) {
        const std::int32_t part = division.parts[static_cast<std::size_t>(group)];
        if (part == GroupDivision::tests) {
            split.uses.push_back(RowUse::test);
            continue;
        }
        const bool validates = part == fold;
        split.uses.push_back(validates ? RowUse::validation : RowUse::train);
        (validates ? split.within.validation : split.within.train).push_back(within++);
    }
    return split;
}

}  // namespace hpo
