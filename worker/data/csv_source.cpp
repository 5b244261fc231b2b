// Tables in CSV files.
#include "worker/data/csv.hpp"
#include "worker/data/csv_columns.hpp"
#include "worker/data/data_text.hpp"
#include "worker/data/table_source.hpp"

namespace hpo {
namespace {

class CsvSource final : public TableSource {
   public:
    CsvSource(std::filesystem::path file, std::vector<SourceColumn> columns)
        : TableSource(std::move(columns)), file_(std::move(file)) {}

    [[nodiscard]] const char* unit() const override { return "line"; }

    Result<void> each_row(std::span<const Wanted> wanted, const TableRow& visit) override {
        bool header = true;
        std::vector<Cell> cells(columns_.size());
        return read_csv(file_, [&](std::int64_t line, std::span<const std::string_view> fields) -> Result<void> {
            if (fields.size() != cells.size())
                return Error{"line " + std::to_string(line) + ": " +
                             grouped(static_cast<std::int64_t>(fields.size()), "column") + ", where the header has " +
                             std::to_string(cells.size())};
            if (std::exchange(header, false)) return {};
            for (std::size_t i = 0; i < cells.size(); ++i) {
                if (wanted[i] == Wanted::nothing) continue;
                const std::string_view text = trimmed_field(fields[i]);
                const bool missing = is_missing(text);
                cells[i] = {missing ? std::nullopt : number_of(text), text, missing};
            }
            return visit(line, cells);
        });
    }

   private:
    std::filesystem::path file_;
};

}  // namespace

Result<std::unique_ptr<TableSource>> open_csv(const std::filesystem::path& file) {
    Result<std::vector<std::string>> names{std::vector<std::string>()};
    auto read = read_csv(file, [&](std::int64_t, std::span<const std::string_view> fields) -> Result<void> {
        names = header_names(fields);
        if (!names) names = Error{"line 1, " + names.error().message};
        if (names && names->size() == 1 && names->front().find_first_of(";\t|") != std::string::npos)
            names = Error{"line 1: one column alone, " + quoted_name(names->front()) +
                          ": columns must be separated by commas"};
        return Error{"the header is read"};  // and no row
    });
    const auto broken = [&](const std::string& what) { return Error{file.string() + ": " + what}; };
    if (!names) return broken(names.error().message);
    if (names->empty())
        return read ? broken("is empty: a header with the names of the columns is needed") : read.error();
    std::vector<SourceColumn> columns;
    for (std::string& name : *names) columns.push_back({std::move(name)});
    return std::unique_ptr<TableSource>(std::make_unique<CsvSource>(file, std::move(columns)));
}

}  // namespace hpo
