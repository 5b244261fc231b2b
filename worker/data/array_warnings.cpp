#include <algorithm>
#include <cstring>

#include "worker/data/arrays.hpp"
#include "worker/data/correlation.hpp"
#include "worker/data/data_text.hpp"

namespace hpo {
namespace {

constexpr std::int64_t warnings_piece_bytes = std::int64_t{1} << 18;  // bytes that are read at once
constexpr std::size_t most_array_warnings = 20;
constexpr std::size_t most_pairs = std::size_t{1} << 22;  // pairs of a column and a target that are compared

/// The findings about one column.
struct ArrayColumn {
    double first = 0;
    bool varies = false;
    std::vector<std::uint32_t> equals;  ///< targets, in every sample so far
    Correlation with_target;            ///< with the target, if there is one
};

/// The targets with which columns are compared: the numbers or the class of each sample.
struct ArrayTargets {
    std::vector<double> classes;
    std::span<const double> numbers;  ///< row by row
    std::size_t columns = 1;
};

ArrayTargets targets_of(const ArrayData& data) {
    ArrayTargets targets;
    if (data.task != Task::classification) {
        targets.columns = static_cast<std::size_t>(data.outputs);
        targets.numbers = data.numbers;
        return targets;
    }
    for (std::int64_t row = 0; row < data.train.rows(); ++row) {
        const auto label = static_cast<std::size_t>(data.labels[static_cast<std::size_t>(row)]);
        targets.classes.push_back(static_cast<double>(data.classes[label]));
    }
    targets.numbers = targets.classes;
    return targets;
}

/// Adds a number of the sample `row`, whose targets are `targets`.
void add(ArrayColumn& column, std::int64_t row, double number, std::span<const double> targets) {
    if (row == 0) {
        column.first = number;
        for (std::uint32_t i = 0; i < targets.size(); ++i)
            if (number == targets[i]) column.equals.push_back(i);
    } else if (!column.equals.empty()) {
        std::erase_if(column.equals, [&](std::uint32_t i) { return number != targets[i]; });
    }
    column.varies = column.varies || number != column.first;
    if (targets.size() == 1) column.with_target.add(number, targets.front());
}

Result<std::vector<ArrayColumn>> read_columns(const ArrayPair& pair, const ArrayTargets& targets) {
    auto reader = NpyReader::open(pair.inputs);
    if (!reader) return reader.error();
    const NpyHeader& header = pair.inputs_header;
    if ((*reader)->header() != header) return Error{pair.inputs.text() + ": changed while it was read"};
    const std::int64_t size = bytes_of(header.type), row_bytes = header.row_bytes();
    std::vector<ArrayColumn> columns(static_cast<std::size_t>(header.row_numbers()));
    const std::size_t compared = columns.size() <= most_pairs / targets.columns ? targets.columns : 0;
    std::vector<std::byte> bytes;
    const std::int64_t at_once = std::max<std::int64_t>(1, warnings_piece_bytes / row_bytes);
    for (std::int64_t first = 0; first < pair.rows(); first += at_once) {
        const std::int64_t count = std::min(at_once, pair.rows() - first);
        bytes.resize(static_cast<std::size_t>(count * row_bytes));
        if (auto read = (*reader)->read(bytes); !read) return read.error();
        for (std::int64_t row = first; row < first + count; ++row)
            for (std::size_t i = 0; i < columns.size(); ++i) {
                const double number = npy_number(
                    header.type,
                    &bytes[static_cast<std::size_t>((row - first) * row_bytes) + i * static_cast<std::size_t>(size)]);
                add(columns[i], row, number,
                    targets.numbers.subspan(static_cast<std::size_t>(row) * targets.columns, compared));
            }
    }
    if (auto finished = (*reader)->finish(); !finished) return finished.error();
    return columns;
}

}  // namespace

std::vector<ClassCount> count_classes(const ArrayData& data) {
    std::vector<ClassCount> counts;
    for (const std::int64_t value : data.classes) counts.push_back({std::to_string(value), 0});
    for (std::int64_t row = 0; !counts.empty() && row < data.train.rows(); ++row)
        ++counts[static_cast<std::size_t>(data.labels[static_cast<std::size_t>(row)])].count;
    return counts;
}

Result<std::vector<std::string>> array_warnings(const ArrayData& data) {
    std::vector<std::string> warnings;
    if (std::holds_alternative<VectorShape>(data.sample)) {
        const ArrayTargets targets = targets_of(data);
        const auto columns = read_columns(data.train, targets);
        if (!columns) return columns.error();
        for (std::size_t i = 0; i < columns->size() && warnings.size() < most_array_warnings; ++i) {
            const ArrayColumn& column = (*columns)[i];
            const std::string name = "column " + std::to_string(i) + " of the features";
            if (!column.varies)
                warnings.push_back("warning: " + name + " has the same value in every sample");
            else if (!column.equals.empty())
                warnings.push_back("warning: " + name + " equals " +
                                   (targets.columns == 1 ? "the target" : "a target") + " in every sample: a leak?");
            else if (column.with_target.complete())
                warnings.push_back("warning: the target follows from " + name + " alone, in every sample: a leak?");
        }
    }
    if (const std::string rare = rare_classes_text(count_classes(data), "samples"); !data.test && !rare.empty())
        warnings.push_back(rare);
    return warnings;
}

}  // namespace hpo
