// The kinds of models. A row holds everything that the rest of the worker needs to know about a kind; its keys are the
// rows of worker_keys.hpp with `applies_when` "type=NAME".
#pragma once

#include <memory>
#include <string_view>

#include "worker/data/dataset.hpp"
#include "worker/models/model.hpp"
#include "worker/models/padding.hpp"

namespace hpo {

struct ModelKind {
    std::string_view name;  ///< the value of `type`
    /// Replaces different spellings of the same setting in `all` (which has all defaults) by one of them, so that equal
    /// models have equal parameters: checkpoints and fusion keys are made from these. `given` has the given keys alone.
    void (*normalise)(const Params& given, Params& all);
    /// Rounds normalised parameters up to those of their bucket: a model that all models in the bucket can be padded
    /// to.
    void (*pad)(Params& all, const PaddingBounds& widths);
    /// The model for samples of this shape. The error names the key.
    Result<std::unique_ptr<Model>> (*make)(const Params& params, const DataShape& shape);
};

/// The kind that `type` names, which must have been checked; the default where it is absent.
const ModelKind& model_kind_of(const Params& params);

/// The model that `params` describe for samples of this shape; absent keys have their defaults. The error names the
/// key.
Result<std::unique_ptr<Model>> make_model(const Params& params, const DataShape& shape);

}  // namespace hpo
