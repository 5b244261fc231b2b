#include "worker/prediction/samples.hpp"

#include <algorithm>
#include <array>

namespace hpo {
namespace {

struct SourceKind {
    std::string_view format;  ///< of the data that the model was trained on
    OpenedSource (*open)(const SavedModel& model, const std::filesystem::path& data);
};

constexpr std::array source_kinds{
    SourceKind{"csv", open_table_source},     SourceKind{"parquet", open_table_source},
    SourceKind{"series", open_series_source}, SourceKind{"npy", open_array_source},
    SourceKind{"images", open_image_source},  SourceKind{"idx", open_idx_source},
    SourceKind{"text", open_token_source},    SourceKind{"tokens", open_token_source},
};

}  // namespace

OpenedSource open_prediction_source(const SavedModel& model, const std::filesystem::path& data) {
    std::error_code problem;
    if (!std::filesystem::exists(data, problem)) return Error{"no file and no folder " + data.string()};
    const auto kind = std::ranges::find(source_kinds, model.format, &SourceKind::format);
    if (kind == source_kinds.end())
        return Error{"the model was trained on data of format " + model.format + ", which files do not have"};
    return kind->open(model, data);
}

}  // namespace hpo
