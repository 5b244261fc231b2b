// A new kind of model: its file, its row here, and its name among the choices of `type` in worker_keys.hpp.
#include "worker/models/registry.hpp"

#include <array>

#include "worker/models/cnn.hpp"
#include "worker/models/mlp.hpp"
#include "worker/models/recurrent.hpp"
#include "worker/models/settings.hpp"
#include "worker/models/transformer.hpp"

namespace hpo {
namespace {

Result<std::unique_ptr<Model>> no_network(const Params&, const DataShape&) {
    return Error{"model.type: trees are no network"};
}

constexpr std::array kinds{
    ModelKind{"mlp", normalise_mlp, pad_mlp, make_mlp},
    ModelKind{"cnn", normalise_cnn, pad_cnn, make_cnn},
    ModelKind{"gru", normalise_recurrent, pad_recurrent, make_gru},
    ModelKind{"lstm", normalise_recurrent, pad_recurrent, make_lstm},
    ModelKind{"transformer", normalise_transformer, pad_transformer, make_transformer},
    ModelKind{"trees", [](const Params&, Params&) {}, [](Params&, const PaddingBounds&) {}, no_network},
};

}  // namespace

const ModelKind& model_kind_of(const Params& params) {
    const auto type = text_setting(params, "type");
    for (const ModelKind& kind : kinds)
        if (type && *type == kind.name) return kind;
    throw Fatal("a type of model without a row in the registry");
}

Result<std::unique_ptr<Model>> make_model(const Params& params, const DataShape& shape) {
    const auto type = text_setting(params, "type");
    if (!type) return type.error();
    return model_kind_of(params).make(params, shape);
}

}  // namespace hpo
