// Tables in Parquet files.
#include <array>
#include <fstream>
#include <stdexcept>

#include "worker/data/csv_columns.hpp"
#include "worker/data/data_text.hpp"
#include "worker/data/mapped_file.hpp"
#include "worker/data/parquet/file.hpp"
#include "worker/data/table_source.hpp"

namespace hpo {
namespace {

class ParquetSource final : public TableSource {
   public:
    ParquetSource(std::filesystem::path path, parquet::File file, std::vector<SourceColumn> columns)
        : TableSource(std::move(columns)), path_(std::move(path)), file_(std::move(file)) {}

    [[nodiscard]] const char* unit() const override { return "row"; }
    [[nodiscard]] std::int64_t peak_bytes() const override { return file_.peak_bytes(); }

    Result<void> each_row(std::span<const Wanted> wanted, const TableRow& visit) override {
        std::vector<std::size_t> texts;  // columns
        for (std::size_t i = 0; i < wanted.size(); ++i)
            if (wanted[i] != Wanted::nothing && file_.columns()[i].meaning == parquet::Meaning::text)
                texts.push_back(i);
        std::vector<Cell> row(wanted.size());
        auto read = file_.each_row(wanted, [&](std::int64_t place, std::span<const Cell> cells) {
            if (texts.empty()) return visit(place, cells);
            std::copy(cells.begin(), cells.end(), row.begin());
            for (const std::size_t i : texts) {
                row[i].text = trimmed_field(row[i].text);
                row[i].missing = row[i].missing || is_missing(row[i].text);
            }
            return visit(place, row);
        });
        if (!read) return Error{path_.string() + ": " + read.error().message};
        return {};
    }

   private:
    std::filesystem::path path_;
    parquet::File file_;
};

SourceColumn source_column(const parquet::Column& column) {
    const std::string name(trimmed_field(column.name));
    SourceColumn its{name, name.starts_with("__index_level_")};
    const std::string cure = "leave the column out by data.ignore: " + shown_name(name);
    if (!column.unreadable.empty())
        its.unreadable = column.unreadable + ", of which a table has none: write what it holds as columns of numbers " +
                         "or texts, or " + cure;
    else if (column.meaning == parquet::Meaning::date || column.meaning == parquet::Meaning::time)
        its.dates = std::string("holds ") + (column.meaning == parquet::Meaning::date ? "dates" : "times") +
                    ": write them as numbers (a day's number, a month, a weekday); " + cure;
    return its;
}

Result<parquet::Input> input_of(const std::filesystem::path& path) {
    auto opened = PositionedFile::open(path);
    if (!opened) return opened.error();
    const auto file = std::make_shared<const PositionedFile>(*std::move(opened));
    return parquet::Input{file->size(), [file](std::int64_t offset, std::span<std::byte> to) -> Result<void> {
                              try {
                                  file->read(offset, to);
                              } catch (const std::runtime_error& error) {
                                  return Error{error.what()};
                              }
                              return {};
                          }};
}

}  // namespace

bool is_parquet(const std::filesystem::path& file) {
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(file, unknown)) return false;  // a pipe would block
    std::array<char, 4> beginning{};
    std::ifstream(file, std::ios::binary).read(beginning.data(), beginning.size());
    return std::string_view(beginning.data(), beginning.size()) == "PAR1";
}

Result<std::unique_ptr<TableSource>> open_parquet(const std::filesystem::path& file) {
    auto input = input_of(file);
    if (!input) return input.error();
    const auto broken = [&](const std::string& what) { return Error{file.string() + ": " + what}; };
    auto opened = parquet::File::open(*std::move(input));
    if (!opened) {
        const std::string& message = opened.error().message;
        return broken(message + (message.starts_with("is no Parquet file") ? "; CSV is data.format: csv" : ""));
    }
    std::vector<SourceColumn> columns;
    std::vector<std::string_view> names;
    for (const parquet::Column& column : opened->columns()) {
        columns.push_back(source_column(column));
        names.push_back(column.name);
    }
    if (columns.empty()) return broken("has no column");
    if (const auto checked = header_names(names); !checked) return broken(checked.error().message);
    return std::unique_ptr<TableSource>(std::make_unique<ParquetSource>(file, *std::move(opened), std::move(columns)));
}

}  // namespace hpo
