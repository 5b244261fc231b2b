#include "worker/data/table_source.hpp"

namespace hpo {

std::vector<std::string> TableSource::names() const {
    std::vector<std::string> names;
    for (const SourceColumn& column : columns_) names.push_back(column.name);
    return names;
}

Result<std::unique_ptr<TableSource>> open_table(const std::filesystem::path& file, std::string_view format) {
    return format == "parquet" ? open_parquet(file) : open_csv(file);
}

}  // namespace hpo
