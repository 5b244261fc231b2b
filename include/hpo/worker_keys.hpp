// The native worker's configuration: every leaf key, once, with everything that other code needs to know about it. The
// orchestrator checks studies against this table, and the worker reads its configuration by it. A new key is a row here
// and its use in the worker.
#pragma once

#include <array>
#include <limits>
#include <string>
#include <string_view>

#include "hpo/options.hpp"

namespace hpo {

struct WorkerKey {
    using Type = OptionType;
    std::string_view section;  ///< "", data, data.validation, model or training
    std::string_view name;     ///< unique over all sections
    Type type;
    double low;                 ///< numeric: least value allowed
    double high;                ///< numeric: greatest value allowed
    std::string_view choices;   ///< text: allowed values, separated by '|'; empty: any
    std::string_view fallback;  ///< default as written in YAML; empty: none, see `meaning`
    std::string_view meaning;   ///< one line for --help, errors and the documentation
    /// "key=value", or "key=a|b": the key has an effect only where that key has (one of) these values; empty: always.
    std::string_view applies_when = {};
    std::string_view excludes = {};  ///< keys that cannot be given together with this one, separated by '|'
    /// True if trials that train side by side (fused) may have different values.
    bool per_replica = false;
    /// True if the result of the training depends on the key. Checkpoints are bound to these keys alone.
    bool changes_result = true;
    /// True if the time of an update depends on the key. Measured speeds of a trial hold for all trials that differ in
    /// other keys alone.
    bool changes_speed = true;
    bool required = false;  ///< it must be given wherever it applies
    bool listed = false;    ///< text: items with commas between them, which a study may also give as a list
};

/// Calls visit(item) for each item of a list such as "relu|gelu|silu".
template <class F>
constexpr void each_choice(std::string_view choices, F&& visit) {
    while (!choices.empty()) {
        const auto bar = choices.find('|');
        visit(choices.substr(0, bar));
        choices = bar == std::string_view::npos ? std::string_view{} : choices.substr(bar + 1);
    }
}

/// Returns true if `value` is an item of a list of choices.
constexpr bool has_choice(std::string_view choices, std::string_view value) {
    bool found = false;
    each_choice(choices, [&](std::string_view choice) { found = found || choice == value; });
    return found;
}

/// Returns a list of choices for people: "relu, gelu, silu".
inline std::string choices_text(std::string_view choices, std::string_view between = ", ") {
    std::string text;
    each_choice(choices, [&](std::string_view choice) {
        text += text.empty() ? "" : std::string(between);
        text += choice;
    });
    return text;
}

/// Returns true if `key` has an effect while the key `name` has `value`, as far as that one decides.
constexpr bool applies_with(const WorkerKey& key, std::string_view name, std::string_view value) {
    const auto equals = key.applies_when.find('=');
    if (equals == std::string_view::npos || key.applies_when.substr(0, equals) != name) return true;
    return has_choice(key.applies_when.substr(equals + 1), value);
}

/// The key on whose value it depends whether `key` has an effect; empty: it always has.
constexpr std::string_view condition_of(const WorkerKey& key) {
    return key.applies_when.substr(0, key.applies_when.find('='));
}

namespace worker_key_detail {
inline constexpr double none = std::numeric_limits<double>::infinity();
using T = WorkerKey::Type;
inline constexpr bool shared = false, per_replica = true, same_result = false, any_result = true;
inline constexpr bool same_speed = false, any_speed = true, required = true, optional = false, listed = true;
inline constexpr std::string_view networks = "type=mlp|cnn|transformer|gru|lstm";
}  // namespace worker_key_detail

// clang-format off
inline constexpr std::array worker_keys = [] {
    using worker_key_detail::none, worker_key_detail::shared, worker_key_detail::per_replica;
    using worker_key_detail::same_result, worker_key_detail::any_result;
    using worker_key_detail::same_speed, worker_key_detail::any_speed, worker_key_detail::required;
    using worker_key_detail::optional, worker_key_detail::listed, worker_key_detail::networks;
    using worker_key_detail::T;
    return std::array{
        WorkerKey{"", "task", T::text, 0, 0, "auto|classification|regression|multi-label", "auto", "prediction: one class, numbers, or any number of labels per sample; auto: by the data's targets"},
        WorkerKey{"data", "format", T::text, 0, 0, "idx|csv|parquet|series|npy|images|text|tokens|synthetic", "idx", "kind of data: IDX files, a table, a series in time, NumPy's arrays, images, text, tokens, or made-up samples"},
        WorkerKey{"data", "path", T::text, 0, 0, "", "", "file or folder of the data; idx: or a name below /usr/share/datasets; tokens: or train.bin and val.bin", "format=idx|csv|parquet|series|npy|images|text|tokens", "", shared, any_result, any_speed, required},
        WorkerKey{"data", "target", T::text, 0, 0, "", "", "column to predict, or a list; several: of numbers, or for tables of 0 and 1 (labels)", "format=csv|parquet|series", "", shared, any_result, any_speed, required, listed},
        WorkerKey{"data", "ignore", T::text, 0, 0, "", "", "tables and series: columns to leave out", "format=csv|parquet|series", "", shared, any_result, any_speed, optional, listed},
        WorkerKey{"data", "categorical", T::text, 0, 0, "", "", "tables: columns whose numbers are categories, such as codes; columns of texts always are", "format=csv|parquet", "", shared, any_result, any_speed, optional, listed},
        WorkerKey{"data", "inputs", T::text, 0, 0, "", "", "npy: array of features; default: x_train, x or another usual name", "format=npy"},
        WorkerKey{"data", "labels", T::text, 0, 0, "", "", "npy: array of targets, or an NPY file where path is one; default: y_train, y or another usual name", "format=npy"},
        WorkerKey{"data", "split", T::text, 0, 0, "random|stratified|time", "", "choice of validation and test rows; time: the last ones; default: stratified for classes, else random", "format=csv|parquet|npy|images", "", shared, any_result, same_speed},
        WorkerKey{"data", "test", T::real, 0.001, 0.9, "", "", "fraction of the samples for testing, unless the data has a test part; default 0.1", "format=csv|parquet|series|npy|images|text|tokens", "", shared, any_result, same_speed},
        WorkerKey{"data", "window", T::integer, 1, 65536, "", "", "series: rows per sample; text and tokens: bytes or tokens per sample", "format=series|text|tokens", "", shared, any_result, any_speed, required},
        WorkerKey{"data", "horizon", T::integer, 0, 65536, "", "1", "series: rows to predict after the window; classes: the row after the window to classify, 0 for its last", "format=series"},
        WorkerKey{"data", "stride", T::integer, 1, 1e6, "", "", "rows, bytes or tokens between the starts of two windows; default: 1 for series, otherwise window", "format=series|text|tokens", "", shared, any_result, same_speed},
        WorkerKey{"data", "validation", T::real, 0.001, 0.9, "", "0.1", "fraction of the training samples for validation; also {fraction: 0.2, group: COLUMN} or {folds: 5}", "", "", shared, any_result, same_speed},
        WorkerKey{"data.validation", "folds", T::integer, 2, 20, "", "", "k-fold cross-validation: one model per fold; metrics are means, NAME_se their standard errors", "format=idx|csv|parquet|npy|images|synthetic", "validation"},
        WorkerKey{"data.validation", "group", T::text, 0, 0, "", "", "tables: column that groups rows; a group stays in one part, and the column is no feature", "format=csv|parquet", "split|subset", shared, any_result, same_speed},
        WorkerKey{"data", "subset", T::integer, 1, 1e9, "", "", "training samples to use (before the split); default: all", "", "", shared, any_result, same_speed},
        WorkerKey{"data", "placement", T::text, 0, 0, "auto|device|staged|files", "auto", "samples in device memory, in host memory (staged), or read from files; auto: by their size", "", "", shared, same_result},
        WorkerKey{"data", "loader_threads", T::text, 0, 0, "", "auto", "staged, files: threads that load batches ahead (num_workers of PyTorch); auto: as measured; 0: none", "", "", shared, same_result},
        WorkerKey{"data", "prefetch", T::text, 0, 0, "", "auto", "staged, files: batches loaded ahead by all loader threads together; auto: two per thread", "", "", shared, same_result},
        WorkerKey{"data", "samples", T::integer, 16, 1e8, "", "4096", "synthetic: training samples; a quarter as many for testing", "format=synthetic", "", shared, any_result, same_speed},
        WorkerKey{"data", "features", T::integer, 1, 65536, "", "32", "synthetic: features of a sample, or of each step", "format=synthetic"},
        WorkerKey{"data", "steps", T::integer, 1, 65536, "", "", "synthetic: steps per sequence, each with features and a target; default: one vector, one target", "format=synthetic"},
        WorkerKey{"data", "vocabulary", T::integer, 2, 65536, "", "", "number of different tokens; synthetic: makes sequences of tokens; tokens: default 1 + the largest token", "format=synthetic|tokens"},
        WorkerKey{"data", "classes", T::integer, 2, 4096, "", "4", "synthetic: classes, or labels", "format=synthetic"},
        WorkerKey{"data", "noise", T::real, 0, 100, "", "1.0", "synthetic: deviation of a cluster (centres: 1), or of the noise in the target (target: 1)", "format=synthetic", "", shared, any_result, same_speed},
        WorkerKey{"model", "type", T::text, 0, 0, "mlp|cnn|transformer|gru|lstm|trees", "mlp", "model family: perceptron, convolution network, transformer, recurrent layers (gru, lstm), or boosted trees"},
        WorkerKey{"model", "hidden", T::list, 1, 65536, "", "", "widths of the hidden layers; or use width and depth", "type=mlp", "width|depth"},
        WorkerKey{"model", "width", T::integer, 1, 65536, "", "256", "mlp: width of each hidden layer; transformer: model dimension, a multiple of heads; gru, lstm: state size", "type=mlp|transformer|gru|lstm"},
        WorkerKey{"model", "depth", T::integer, 0, 64, "", "2", "mlp: hidden layers; transformer: blocks; gru, lstm: layers, at least 1", "type=mlp|transformer|gru|lstm"},
        WorkerKey{"model", "activation", T::text, 0, 0, "relu|gelu|silu|swiglu", "", "activation of hidden layers; swiglu: transformer only; default: relu, transformer gelu", "type=mlp|cnn|transformer"},
        WorkerKey{"model", "norm", T::text, 0, 0, "none|layer|rms|group|batch", "", "mlp: none (default), layer, batch; cnn: group (default), batch; transformer: layer (default), rms", "type=mlp|cnn|transformer"},
        WorkerKey{"model", "ghost_batch", T::integer, 2, 1e6, "", "128", "norm: batch: samples normalised together, approximately; micro-batches hold whole ghost batches", "norm=batch"},
        WorkerKey{"model", "embedding_width", T::integer, 0, 1024, "", "0", "tables: largest embedding of a categorical column, (levels + 1) / 2 if smaller; 0: one-hot features", "type=mlp"},
        WorkerKey{"model", "heads", T::integer, 1, 256, "", "4", "attention heads, of width / heads numbers each, at most 128", "type=transformer"},
        WorkerKey{"model", "kv_heads", T::integer, 1, 256, "", "", "key and value heads, each shared by heads / kv_heads query heads (grouped-query attention); default: heads", "type=transformer"},
        WorkerKey{"model", "mlp_ratio", T::real, 0.1, 64, "", "4.0", "hidden width of a block's perceptron, as a multiple of width", "type=transformer"},
        WorkerKey{"model", "positions", T::text, 0, 0, "learned|rotary|none", "learned", "encoding of positions: a learned vector for each step, or rotary queries and keys", "type=transformer"},
        WorkerKey{"model", "causal", T::flag, 0, 0, "", "", "each step attends only to itself and earlier ones; default: true where each step has a target", "type=transformer"},
        WorkerKey{"model", "tied_embeddings", T::flag, 0, 0, "", "false", "next tokens: use the token embedding as the last layer's weights", "type=transformer"},
        WorkerKey{"model", "parametrization", T::text, 0, 0, "standard|mup", "standard", "scaling of initial weights and learning rates with the width; mup: a rate found on a narrow model fits", "type=mlp|transformer"},
        WorkerKey{"model", "base_width", T::integer, 1, 65536, "", "", "mup: width of the narrow model, at which mup equals the standard parametrization", "parametrization=mup", "", shared, any_result, same_speed, required},
        WorkerKey{"model", "channels", T::integer, 1, 1024, "", "32", "channels of the first stage, a multiple of groups; each further stage doubles them and halves the image", "type=cnn"},
        WorkerKey{"model", "stages", T::integer, 1, 6, "", "3", "stages of residual blocks", "type=cnn"},
        WorkerKey{"model", "blocks", T::integer, 1, 16, "", "1", "residual blocks per stage, of two 3 x 3 convolutions", "type=cnn"},
        WorkerKey{"model", "groups", T::integer, 1, 256, "", "8", "norm: group: groups of channels that are normalised together", "type=cnn"},
        WorkerKey{"model", "downsampling", T::text, 0, 0, "stride|max", "stride", "halving of the image between stages: stride 2 in the first convolution, or 2 x 2 max pooling", "type=cnn"},
        WorkerKey{"model", "rounds", T::integer, 1, 10000, "", "10", "trees: boosting rounds per step; each adds a tree, or one for each class", "type=trees"},
        WorkerKey{"model", "eta", T::real, 1e-4, 1, "", "0.1", "trees: learning rate, the factor of each tree", "type=trees", "", shared, any_result, same_speed},
        WorkerKey{"model", "max_depth", T::integer, 1, 16, "", "6", "trees: largest depth of a tree", "type=trees"},
        WorkerKey{"model", "min_child_weight", T::real, 0, 1e6, "", "1.0", "trees: smallest sum of sample weights (second derivatives of the loss) in a leaf", "type=trees"},
        WorkerKey{"model", "subsample", T::real, 0.05, 1, "", "1.0", "trees: fraction of the samples that a tree is grown on", "type=trees"},
        WorkerKey{"model", "colsample_bytree", T::real, 0.01, 1, "", "1.0", "trees: fraction of the features that a tree is grown on", "type=trees"},
        WorkerKey{"model", "reg_lambda", T::real, 0, 1e6, "", "1.0", "trees: L2 regularization of leaves", "type=trees", "", shared, any_result, same_speed},
        WorkerKey{"model", "reg_alpha", T::real, 0, 1e6, "", "0.0", "trees: L1 regularization of leaves", "type=trees", "", shared, any_result, same_speed},
        WorkerKey{"model", "gamma", T::real, 0, 1e6, "", "0.0", "trees: smallest reduction of the loss for a split", "type=trees"},
        WorkerKey{"model", "max_bin", T::integer, 2, 65535, "", "256", "trees: bins of a feature, between which splits lie", "type=trees"},
        WorkerKey{"model", "dropout", T::real, 0, 0.95, "", "0.0", "probability of dropping a hidden unit, or of cnn a channel; cnn, gru, lstm: before the last layer alone", networks, "", per_replica},
        WorkerKey{"training", "batch_size", T::integer, 1, 1e6, "", "", "samples per update, all micro-batches together; default: policy.min_batch_size: auto", networks},
        WorkerKey{"training", "accumulation", T::integer, 1, 1e6, "", "1", "micro-batches per update, equal but for the last", networks, "", shared, same_result},
        WorkerKey{"training", "memory_target", T::real, 0, 1, "", "0.95", "share of memory in use by all programs above which micro-batches shrink; 0: never", networks, "", shared, same_result, same_speed},
        WorkerKey{"training", "optimizer", T::text, 0, 0, "adamw|sgd|lion|muon", "adamw", "lion: learning rates 3 to 10 times smaller than adamw's; muon: hidden matrices, adamw for the others", networks},
        WorkerKey{"training", "lr", T::real, 0, 1e3, "", "0.001", "peak learning rate", networks, "", per_replica, any_result, same_speed},
        WorkerKey{"training", "weight_decay", T::real, 0, 1e3, "", "0.01", "weight decay of weights, not biases: decoupled; sgd: added to the gradient", networks, "", per_replica, any_result, same_speed},
        WorkerKey{"training", "momentum", T::real, 0, 0.9999, "", "", "momentum; default: sgd 0.9, muon 0.95", "optimizer=sgd|muon", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "nesterov", T::flag, 0, 0, "", "false", "Nesterov momentum", "optimizer=sgd", "", shared, any_result, same_speed},
        WorkerKey{"training", "beta1", T::real, 0, 0.9999, "", "0.9", "decay of the first moment; muon: of its adamw part", "optimizer=adamw|lion|muon", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "beta2", T::real, 0, 0.999999, "", "", "decay of the second moment, adamw default 0.999; lion: decay of its only moment, default 0.99", "optimizer=adamw|lion|muon", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "epsilon", T::real, 1e-16, 1, "", "1.0e-8", "added to the root of the second moment", "optimizer=adamw|muon", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "schedule", T::text, 0, 0, "constant|cosine|one-cycle|step|wsd|plateau", "cosine", "course of the learning rate over the budget; wsd: warm-up, constant, decay; plateau: falls with val_loss", networks, "", per_replica, any_result, same_speed},
        WorkerKey{"training", "lr_decay", T::real, 1e-6, 0.999999, "", "0.1", "step, plateau: factor of the learning rate at each decay", "schedule=step|plateau", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "lr_decay_every", T::real, 0.001, 1e6, "", "", "step: epochs between decays; default: a third of the budget", "schedule=step", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "lr_patience", T::integer, 0, 1e6, "", "5", "plateau: steps without a lower val_loss before a decay", "schedule=plateau", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "cooldown", T::real, 0.001, 1, "", "0.2", "wsd: last fraction of the budget, in which the learning rate falls to 0", "schedule=wsd", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "ema", T::real, 0, 0.999999, "", "0.0", "decay of the averaged weights (EMA), such as 0.999, which are evaluated and saved; 0: none", networks},
        WorkerKey{"training", "warmup", T::real, 0, 1e6, "", "0.0", "epochs of linear warm-up; one-cycle: 0 means 30 % of the budget", networks, "", per_replica, any_result, same_speed},
        WorkerKey{"training", "label_smoothing", T::real, 0, 0.99, "", "0.0", "probability mass spread evenly over all classes; labels: over 0 and 1", networks, "", per_replica, any_result, same_speed},
        WorkerKey{"training", "class_weights", T::text, 0, 0, "", "none", "weight of each class in the training loss: balanced (rare ones count more), or a list of numbers", "", "", shared, any_result, same_speed, optional, listed},
        WorkerKey{"training", "clip", T::real, 0, none, "", "0.0", "largest norm of the gradient; 0: no clipping", networks, "", per_replica, any_result, same_speed},
        WorkerKey{"training", "precision", T::text, 0, 0, "float32|tf32|bfloat16|float16|auto", "float32", "precision of matrix products; sums and weights stay float32; auto: the fastest at an equal loss", networks},
        WorkerKey{"training", "checkpointing", T::text, 0, 0, "none|alternate|every|auto", "none", "transformer: blocks that recompute their activations in the backward pass; auto: where memory is short", "type=transformer", "", shared, same_result},
        WorkerKey{"training", "augment_shift", T::integer, 0, 1000, "", "0", "images: largest random shift in each direction, in pixels; 0: none", networks},
        WorkerKey{"training", "augment_flip", T::flag, 0, 0, "", "false", "images: mirror half of them, left to right, at random", networks},
        WorkerKey{"training", "class_metrics", T::flag, 0, 0, "", "false", "report val_f1, val_auc and val_top5 (labels: val_exact_match) as well; each may be the objective", "", "", shared, same_result},
        WorkerKey{"training", "eval_every", T::integer, 0, 1e9, "", "0", "updates per step; 0: one epoch", networks, "", shared, any_result, same_speed},
        WorkerKey{"training", "seed", T::integer, 0, 9007199254740991.0, "", "", "seed of the trial; default: from the study's seed and the trial's number", "", "", per_replica, any_result, same_speed},
    };
}();
// clang-format on

/// The row of a leaf name; nullptr if there is none.
constexpr const WorkerKey* find_worker_key(std::string_view name) {
    for (const auto& key : worker_keys)
        if (key.name == name) return &key;
    return nullptr;
}

}  // namespace hpo
