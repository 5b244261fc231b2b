// The transformer's keys.
#include <algorithm>
#include <cmath>

#include "worker/models/settings.hpp"
#include "worker/models/transformer.hpp"

namespace hpo {

void normalise_transformer(const Params&, Params& all) {
    all.try_emplace("activation", std::string("gelu"));
    all.try_emplace("norm", std::string("layer"));
    all.try_emplace("kv_heads", all.at("heads"));
}

void pad_transformer(Params&, const PaddingBounds&) {}

namespace {

/// Properties of the samples: steps, vocabulary or features.
Result<TransformerShape> shape_for(const DataShape& data) {
    TransformerShape shape;
    if (const auto* tokens = std::get_if<TokenShape>(&data.sample)) {
        shape.steps = tokens->steps;
        shape.vocabulary = tokens->vocabulary;
    } else if (const auto* sequence = std::get_if<SequenceShape>(&data.sample)) {
        shape.steps = sequence->steps;
        shape.features = sequence->features;
    } else {
        return Error{"model.type: transformer is for sequences" + wrong_samples(data.sample)};
    }
    return shape;
}

Result<void> read_sizes(const Params& params, TransformerShape& shape) {
    for (const auto& [name, number] :
         {std::pair("depth", &shape.depth), std::pair("width", &shape.width), std::pair("heads", &shape.heads)}) {
        const auto value = integer_setting(params, name);
        if (!value) return value.error();
        *number = *value;
    }
    shape.kv_heads = shape.heads;
    if (params.contains("kv_heads")) {
        const auto value = integer_setting(params, "kv_heads");
        if (!value) return value.error();
        shape.kv_heads = *value;
    }
    const auto ratio = real_setting(params, "mlp_ratio");
    if (!ratio) return ratio.error();
    shape.hidden = std::max<std::int64_t>(1, std::llround(*ratio * static_cast<double>(shape.width)));
    const auto base_width = base_width_setting(params);
    if (!base_width) return base_width.error();
    shape.base_width = *base_width;
    const std::string heads = std::to_string(shape.heads);
    if (shape.width % shape.heads != 0)
        return Error{"model.width: " + std::to_string(shape.width) + " is not a multiple of model.heads (" + heads +
                     ")"};
    if (shape.heads % shape.kv_heads != 0)
        return Error{"model.heads: " + heads + " is not a multiple of model.kv_heads (" +
                     std::to_string(shape.kv_heads) + ")"};
    if (shape.head_width() > Attention::widest_head)
        return Error{"model.heads: each of " + heads + " heads has " + std::to_string(shape.head_width()) +
                     " numbers of model.width, and at most " + std::to_string(Attention::widest_head) +
                     " are possible: use more heads"};
    return {};
}

Result<void> read_kinds(const Params& params, TransformerShape& shape) {
    const auto activation = text_setting(params, "activation");
    if (!activation) return activation.error();
    shape.gated = *activation == "swiglu";
    if (!shape.gated && !activation->empty()) shape.activation = activation_of(*activation);
    const auto norm = text_setting(params, "norm");
    if (!norm) return norm.error();
    if (*norm == "none") return Error{"model.norm: a transformer does not train without a norm: use layer or rms"};
    if (*norm == "batch" || *norm == "group")
        return Error{"model.norm: " + *norm + " is not for type: transformer: use layer or rms"};
    shape.rms = *norm == "rms";
    const auto positions = text_setting(params, "positions");
    if (!positions) return positions.error();
    using Positions = TransformerShape::Positions;
    shape.positions = *positions == "learned"  ? Positions::learned
                      : *positions == "rotary" ? Positions::rotary
                                               : Positions::none;
    if (shape.positions == Positions::rotary && shape.head_width() % 2 != 0)
        return Error{"model.positions: rotary turns pairs of numbers, and a head has " +
                     std::to_string(shape.head_width()) + " (model.width / model.heads): use an even number"};
    return {};
}

Result<void> read_flags(const Params& params, const DataShape& data, TransformerShape& shape) {
    const bool next_tokens = shape.vocabulary > 0 && data.target_per_step;
    shape.causal = data.target_per_step;
    if (params.contains("causal")) {
        const auto causal = flag_setting(params, "causal");
        if (!causal) return causal.error();
        shape.causal = *causal;
    }
    if (next_tokens && !shape.causal)
        return Error{"model.causal: each target is the next token, which a step would see: leave out causal: false"};
    const auto tied = flag_setting(params, "tied_embeddings");
    if (!tied) return tied.error();
    shape.tied = *tied;
    if (shape.tied && (shape.vocabulary == 0 || data.outputs != shape.vocabulary))
        return Error{"model.tied_embeddings: is for models that predict tokens: leave it out"};
    if (shape.tied && shape.base_width > 0)
        return Error{
            "model.tied_embeddings: parametrization: mup changes the table of tokens and the head by different "
            "learning rates, so they cannot be one: leave out one of the two"};
    return {};
}

}  // namespace

Result<std::unique_ptr<Model>> make_transformer(const Params& params, const DataShape& data) {
    auto shape = shape_for(data);
    if (!shape) return shape.error();
    if (const auto read = read_sizes(params, *shape); !read) return read.error();
    if (const auto read = read_kinds(params, *shape); !read) return read.error();
    if (const auto read = read_flags(params, data, *shape); !read) return read.error();
    return std::unique_ptr<Model>(std::make_unique<Transformer>(*shape, data.outputs, data.targets()));
}

}  // namespace hpo
