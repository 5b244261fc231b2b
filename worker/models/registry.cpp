// The models by name. A new one: its file, its row here, and its name among the choices of `type` in worker_keys.hpp.
#include "worker/models/mlp.hpp"
#include "worker/models/settings.hpp"

namespace hpo {
namespace {

struct Row {
    const char* name;
    Result<std::unique_ptr<Model>> (*make)(const Params&, std::int64_t features, std::int64_t classes);
};

constexpr Row models[] = {
    {"mlp", make_mlp},
};

}  // namespace

Result<std::unique_ptr<Model>> make_model(const Params& params, std::int64_t features, std::int64_t classes) {
    const auto type = text_setting(params, "type");
    if (!type) return type.error();
    for (const auto& row : models)
        if (*type == row.name) return row.make(params, features, classes);
    return Error{"type: no model is called " + *type};
}

}  // namespace hpo
