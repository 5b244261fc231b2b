#include "worker/data/parquet/file.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "hpo/printable.hpp"
#include "worker/data/parquet/cells.hpp"
#include "worker/data/parquet/pages.hpp"

namespace hpo::parquet {
namespace {

constexpr std::int64_t rows_at_once = 512;
constexpr std::int64_t most_file_rows = std::int64_t{1} << 40;

/// A column that is wanted, while a row group is read.
struct Reading {
    std::size_t column = 0;
    std::unique_ptr<ChunkReader> chunk;
    std::vector<bool> present{};
    Values values{};
    Cells cells{};
};

}  // namespace

Result<File> File::open(Input input) {
    constexpr std::int64_t least_bytes = 12;  // both marks, and the size of the footer
    if (input.size < least_bytes) return Error{"is no Parquet file: it has " + std::to_string(input.size) + " bytes"};
    std::array<std::byte, 8> end{};
    if (auto read = input.read(0, std::span(end).first(4)); !read) return read.error();
    const std::string beginning(text_of(std::span(end).first(4)));
    if (beginning == "PARE") return Error{"is encrypted: write the file without encryption"};
    if (beginning != "PAR1") return Error{"is no Parquet file: it does not begin with PAR1"};
    if (auto read = input.read(input.size - 8, end); !read) return read.error();
    if (text_of(std::span(end).last(4)) != "PAR1")
        return Error{"damaged or truncated: a Parquet file ends with PAR1, as it begins"};
    std::int64_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size |= static_cast<std::int64_t>(end[i]) << (8 * i);
    if (size > input.size - least_bytes)
        return Error{"damaged: its footer of " + std::to_string(size) + " bytes is longer than the file"};
    File file;
    file.input_ = std::move(input);
    file.pages_end_ = file.input_.size - 8 - size;
    std::vector<std::byte> footer(static_cast<std::size_t>(size));
    if (auto read = file.input_.read(file.pages_end_, footer); !read) return read.error();
    auto metadata = parse_metadata(footer);
    if (!metadata) return metadata.error();
    if (metadata->encrypted) return Error{"is encrypted: write the file without encryption"};
    auto columns = columns_of(metadata->schema);
    if (!columns) return columns.error();
    std::int64_t rows = 0;
    for (const RowGroup& group : metadata->groups) {
        if (group.rows < 0 || group.rows > most_file_rows || rows > most_file_rows)
            return Error{"damaged: a row group of " + std::to_string(group.rows) + " rows"};
        rows += group.rows;
    }
    if (rows != metadata->rows)
        return Error{"damaged: its footer claims " + std::to_string(metadata->rows) + " rows, and its row groups of " +
                     std::to_string(rows)};
    file.metadata_ = *std::move(metadata);
    file.columns_ = *std::move(columns);
    return file;
}

Result<void> File::each_row(std::span<const Wanted> wanted, const Row& visit) {
    std::int64_t first_row = 1;
    for (std::size_t group = 0; group < metadata_.groups.size(); ++group) {
        if (auto read = read_group(group, wanted, first_row, visit); !read) return read;
        first_row += metadata_.groups[group].rows;
    }
    return {};
}

Result<void> File::read_group(std::size_t group, std::span<const Wanted> wanted, std::int64_t first_row,
                              const Row& visit) {
    const RowGroup& its = metadata_.groups[group];
    const auto placed = [&](std::size_t column, const Error& error) {
        return Error{"row group " + std::to_string(group + 1) + ", column " + std::to_string(column + 1) + " (" +
                     printable(columns_[column].name.substr(0, 40)) + "): " + error.message};
    };
    std::vector<Reading> readings;
    for (std::size_t i = 0; i < columns_.size() && its.rows > 0; ++i) {
        if (wanted[i] == Wanted::nothing) continue;
        const Column& column = columns_[i];
        if (!column.unreadable.empty()) return placed(i, {column.unreadable});
        auto chunk = ChunkReader::open(input_, its.chunks[column.leaf], column, its.rows, pages_end_);
        if (!chunk) return placed(i, chunk.error());
        readings.push_back({i, *std::move(chunk)});
    }
    std::vector<Cell> row(columns_.size());
    for (std::int64_t done = 0; done < its.rows;) {
        std::int64_t count = std::min(its.rows - done, rows_at_once);
        std::int64_t bytes = 0;
        for (Reading& reading : readings) {
            const auto available = reading.chunk->available();
            if (!available) return placed(reading.column, available.error());
            count = std::min(count, *available);
            bytes += reading.chunk->bytes();
        }
        peak_bytes_ = std::max(peak_bytes_, bytes);
        for (Reading& reading : readings) {
            auto read = reading.chunk->read(count, reading.present, reading.values);
            if (read)
                read = reading.cells.assign(columns_[reading.column], wanted[reading.column], reading.present,
                                            reading.values);
            if (!read) return placed(reading.column, read.error());
        }
        for (std::int64_t i = 0; i < count; ++i) {
            for (const Reading& reading : readings)
                row[reading.column] = reading.cells.cells()[static_cast<std::size_t>(i)];
            if (auto visited = visit(first_row + done + i, row); !visited) return visited;
        }
        done += count;
    }
    return {};
}

}  // namespace hpo::parquet
