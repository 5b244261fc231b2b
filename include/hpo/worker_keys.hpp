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
    std::string_view section = {};  ///< "", data, data.validation, model or training
    std::string_view name;          ///< unique over all sections
    Type type;
    double low = 0;                  ///< numeric: least value allowed
    double high = 0;                 ///< numeric: greatest value allowed
    std::string_view choices = {};   ///< text: allowed values, separated by '|'; empty: any
    std::string_view fallback = {};  ///< default as written in YAML; empty: none, see `meaning`
    std::string_view meaning = {};   ///< one line for --help, errors and the documentation
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
inline constexpr std::string_view networks = "type=mlp|cnn|transformer|gru|lstm";
}  // namespace worker_key_detail

// clang-format off
inline constexpr std::array worker_keys = [] {
    using worker_key_detail::networks, worker_key_detail::none, worker_key_detail::T;
    return std::to_array<WorkerKey>({
        {.name = "task", .type = T::text, .choices = "auto|classification|regression|multi-label", .fallback = "auto",
         .meaning = "prediction: one class, numbers, or any number of labels per sample; auto: by the data's targets"},
        {.section = "data", .name = "format", .type = T::text,
         .choices = "idx|csv|parquet|series|npy|images|text|tokens|synthetic", .fallback = "idx",
         .meaning = "kind of data: IDX files, a table, a series in time, NumPy's arrays, images, text, tokens, or "
                    "made-up samples"},
        {.section = "data", .name = "path", .type = T::text,
         .meaning = "file or folder of the data; idx: or a name below /usr/share/datasets; tokens: or train.bin and "
                    "val.bin",
         .applies_when = "format=idx|csv|parquet|series|npy|images|text|tokens", .required = true},
        {.section = "data", .name = "target", .type = T::text,
         .meaning = "column to predict, or a list; several: of numbers, or for tables of 0 and 1 (labels)",
         .applies_when = "format=csv|parquet|series", .required = true, .listed = true},
        {.section = "data", .name = "ignore", .type = T::text,
         .meaning = "tables and series: columns to leave out",
         .applies_when = "format=csv|parquet|series", .listed = true},
        {.section = "data", .name = "categorical", .type = T::text,
         .meaning = "tables: columns whose numbers are categories, such as codes; columns of texts always are",
         .applies_when = "format=csv|parquet", .listed = true},
        {.section = "data", .name = "inputs", .type = T::text,
         .meaning = "npy: array of features; default: x_train, x or another usual name",
         .applies_when = "format=npy"},
        {.section = "data", .name = "labels", .type = T::text,
         .meaning = "npy: array of targets, or an NPY file where path is one; default: y_train, y or another usual "
                    "name",
         .applies_when = "format=npy"},
        {.section = "data", .name = "split", .type = T::text, .choices = "random|stratified|time",
         .meaning = "choice of validation and test rows; time: the last ones; default: stratified for classes, else "
                    "random",
         .applies_when = "format=csv|parquet|npy|images", .changes_speed = false},
        {.section = "data", .name = "test", .type = T::real, .low = 0.001, .high = 0.9,
         .meaning = "fraction of the samples for testing, unless the data has a test part; default 0.1",
         .applies_when = "format=csv|parquet|series|npy|images|text|tokens", .changes_speed = false},
        {.section = "data", .name = "window", .type = T::integer, .low = 1, .high = 65536,
         .meaning = "series: rows per sample; text and tokens: bytes or tokens per sample",
         .applies_when = "format=series|text|tokens", .required = true},
        {.section = "data", .name = "horizon", .type = T::integer, .high = 65536, .fallback = "1",
         .meaning = "series: rows to predict after the window; classes: the row after the window to classify, 0 for "
                    "its last",
         .applies_when = "format=series"},
        {.section = "data", .name = "stride", .type = T::integer, .low = 1, .high = 1e6,
         .meaning = "rows, bytes or tokens between the starts of two windows; default: 1 for series, otherwise window",
         .applies_when = "format=series|text|tokens", .changes_speed = false},
        {.section = "data", .name = "validation", .type = T::real, .low = 0.001, .high = 0.9, .fallback = "0.1",
         .meaning = "fraction of the training samples for validation; also {fraction: 0.2, group: COLUMN} or {folds: "
                    "5}",
         .changes_speed = false},
        {.section = "data.validation", .name = "folds", .type = T::integer, .low = 2, .high = 20,
         .meaning = "k-fold cross-validation: one model per fold; metrics are means, NAME_se their standard errors",
         .applies_when = "format=idx|csv|parquet|npy|images|synthetic", .excludes = "validation"},
        {.section = "data.validation", .name = "group", .type = T::text,
         .meaning = "tables: column that groups rows; a group stays in one part, and the column is no feature",
         .applies_when = "format=csv|parquet", .excludes = "split|subset", .changes_speed = false},
        {.section = "data", .name = "subset", .type = T::integer, .low = 1, .high = 1e9,
         .meaning = "training samples to use (before the split); default: all",
         .changes_speed = false},
        {.section = "data", .name = "placement", .type = T::text, .choices = "auto|device|staged|files",
         .fallback = "auto",
         .meaning = "samples in device memory, in host memory (staged), or read from files; auto: by their size",
         .changes_result = false},
        {.section = "data", .name = "loader_threads", .type = T::text, .fallback = "auto",
         .meaning = "staged, files: threads that load batches ahead (num_workers of PyTorch); auto: as measured; 0: "
                    "none",
         .changes_result = false},
        {.section = "data", .name = "prefetch", .type = T::text, .fallback = "auto",
         .meaning = "staged, files: batches loaded ahead by all loader threads together; auto: two per thread",
         .changes_result = false},
        {.section = "data", .name = "samples", .type = T::integer, .low = 16, .high = 1e8, .fallback = "4096",
         .meaning = "synthetic: training samples; a quarter as many for testing",
         .applies_when = "format=synthetic", .changes_speed = false},
        {.section = "data", .name = "features", .type = T::integer, .low = 1, .high = 65536, .fallback = "32",
         .meaning = "synthetic: features of a sample, or of each step",
         .applies_when = "format=synthetic"},
        {.section = "data", .name = "steps", .type = T::integer, .low = 1, .high = 65536,
         .meaning = "synthetic: steps per sequence, each with features and a target; default: one vector, one target",
         .applies_when = "format=synthetic"},
        {.section = "data", .name = "vocabulary", .type = T::integer, .low = 2, .high = 65536,
         .meaning = "number of different tokens; synthetic: makes sequences of tokens; tokens: default 1 + the "
                    "largest token",
         .applies_when = "format=synthetic|tokens"},
        {.section = "data", .name = "classes", .type = T::integer, .low = 2, .high = 4096, .fallback = "4",
         .meaning = "synthetic: classes, or labels",
         .applies_when = "format=synthetic"},
        {.section = "data", .name = "noise", .type = T::real, .high = 100, .fallback = "1.0",
         .meaning = "synthetic: deviation of a cluster (centres: 1), or of the noise in the target (target: 1)",
         .applies_when = "format=synthetic", .changes_speed = false},
        {.section = "model", .name = "type", .type = T::text, .choices = "mlp|cnn|transformer|gru|lstm|trees",
         .fallback = "mlp",
         .meaning = "model family: perceptron, convolution network, transformer, recurrent layers (gru, lstm), or "
                    "boosted trees"},
        {.section = "model", .name = "hidden", .type = T::list, .low = 1, .high = 65536,
         .meaning = "widths of the hidden layers; or use width and depth",
         .applies_when = "type=mlp", .excludes = "width|depth"},
        {.section = "model", .name = "width", .type = T::integer, .low = 1, .high = 65536, .fallback = "256",
         .meaning = "mlp: width of each hidden layer; transformer: model dimension, a multiple of heads; gru, lstm: "
                    "state size",
         .applies_when = "type=mlp|transformer|gru|lstm"},
        {.section = "model", .name = "depth", .type = T::integer, .high = 64, .fallback = "2",
         .meaning = "mlp: hidden layers; transformer: blocks; gru, lstm: layers, at least 1",
         .applies_when = "type=mlp|transformer|gru|lstm"},
        {.section = "model", .name = "activation", .type = T::text, .choices = "relu|gelu|silu|swiglu",
         .meaning = "activation of hidden layers; swiglu: transformer only; default: relu, transformer gelu",
         .applies_when = "type=mlp|cnn|transformer"},
        {.section = "model", .name = "norm", .type = T::text, .choices = "none|layer|rms|group|batch",
         .meaning = "mlp: none (default), layer, batch; cnn: group (default), batch; transformer: layer (default), "
                    "rms",
         .applies_when = "type=mlp|cnn|transformer"},
        {.section = "model", .name = "ghost_batch", .type = T::integer, .low = 2, .high = 1e6, .fallback = "128",
         .meaning = "norm: batch: samples normalised together, approximately; micro-batches hold whole ghost batches",
         .applies_when = "norm=batch"},
        {.section = "model", .name = "embedding_width", .type = T::integer, .high = 1024, .fallback = "0",
         .meaning = "tables: largest embedding of a categorical column, (levels + 1) / 2 if smaller; 0: one-hot "
                    "features",
         .applies_when = "type=mlp"},
        {.section = "model", .name = "heads", .type = T::integer, .low = 1, .high = 256, .fallback = "4",
         .meaning = "attention heads, of width / heads numbers each, at most 128",
         .applies_when = "type=transformer"},
        {.section = "model", .name = "kv_heads", .type = T::integer, .low = 1, .high = 256,
         .meaning = "key and value heads, each shared by heads / kv_heads query heads (grouped-query attention); "
                    "default: heads",
         .applies_when = "type=transformer"},
        {.section = "model", .name = "mlp_ratio", .type = T::real, .low = 0.1, .high = 64, .fallback = "4.0",
         .meaning = "hidden width of a block's perceptron, as a multiple of width",
         .applies_when = "type=transformer"},
        {.section = "model", .name = "positions", .type = T::text, .choices = "learned|rotary|none",
         .fallback = "learned",
         .meaning = "encoding of positions: a learned vector for each step, or rotary queries and keys",
         .applies_when = "type=transformer"},
        {.section = "model", .name = "causal", .type = T::flag,
         .meaning = "each step attends only to itself and earlier ones; default: true where each step has a target",
         .applies_when = "type=transformer"},
        {.section = "model", .name = "tied_embeddings", .type = T::flag, .fallback = "false",
         .meaning = "next tokens: use the token embedding as the last layer's weights",
         .applies_when = "type=transformer"},
        {.section = "model", .name = "parametrization", .type = T::text, .choices = "standard|mup",
         .fallback = "standard",
         .meaning = "scaling of initial weights and learning rates with the width; mup: a rate found on a narrow "
                    "model fits",
         .applies_when = "type=mlp|transformer"},
        {.section = "model", .name = "base_width", .type = T::integer, .low = 1, .high = 65536,
         .meaning = "mup: width of the narrow model, at which mup equals the standard parametrization",
         .applies_when = "parametrization=mup", .changes_speed = false, .required = true},
        {.section = "model", .name = "channels", .type = T::integer, .low = 1, .high = 1024, .fallback = "32",
         .meaning = "channels of the first stage, a multiple of groups; each further stage doubles them and halves "
                    "the image",
         .applies_when = "type=cnn"},
        {.section = "model", .name = "stages", .type = T::integer, .low = 1, .high = 6, .fallback = "3",
         .meaning = "stages of residual blocks",
         .applies_when = "type=cnn"},
        {.section = "model", .name = "blocks", .type = T::integer, .low = 1, .high = 16, .fallback = "1",
         .meaning = "residual blocks per stage, of two 3 x 3 convolutions",
         .applies_when = "type=cnn"},
        {.section = "model", .name = "groups", .type = T::integer, .low = 1, .high = 256, .fallback = "8",
         .meaning = "norm: group: groups of channels that are normalised together",
         .applies_when = "type=cnn"},
        {.section = "model", .name = "downsampling", .type = T::text, .choices = "stride|max", .fallback = "stride",
         .meaning = "halving of the image between stages: stride 2 in the first convolution, or 2 x 2 max pooling",
         .applies_when = "type=cnn"},
        {.section = "model", .name = "rounds", .type = T::integer, .low = 1, .high = 10000, .fallback = "10",
         .meaning = "trees: boosting rounds per step; each adds a tree, or one for each class",
         .applies_when = "type=trees"},
        {.section = "model", .name = "eta", .type = T::real, .low = 1e-4, .high = 1, .fallback = "0.1",
         .meaning = "trees: learning rate, the factor of each tree",
         .applies_when = "type=trees", .changes_speed = false},
        {.section = "model", .name = "max_depth", .type = T::integer, .low = 1, .high = 16, .fallback = "6",
         .meaning = "trees: largest depth of a tree",
         .applies_when = "type=trees"},
        {.section = "model", .name = "min_child_weight", .type = T::real, .high = 1e6, .fallback = "1.0",
         .meaning = "trees: smallest sum of sample weights (second derivatives of the loss) in a leaf",
         .applies_when = "type=trees"},
        {.section = "model", .name = "subsample", .type = T::real, .low = 0.05, .high = 1, .fallback = "1.0",
         .meaning = "trees: fraction of the samples that a tree is grown on",
         .applies_when = "type=trees"},
        {.section = "model", .name = "colsample_bytree", .type = T::real, .low = 0.01, .high = 1, .fallback = "1.0",
         .meaning = "trees: fraction of the features that a tree is grown on",
         .applies_when = "type=trees"},
        {.section = "model", .name = "reg_lambda", .type = T::real, .high = 1e6, .fallback = "1.0",
         .meaning = "trees: L2 regularization of leaves",
         .applies_when = "type=trees", .changes_speed = false},
        {.section = "model", .name = "reg_alpha", .type = T::real, .high = 1e6, .fallback = "0.0",
         .meaning = "trees: L1 regularization of leaves",
         .applies_when = "type=trees", .changes_speed = false},
        {.section = "model", .name = "gamma", .type = T::real, .high = 1e6, .fallback = "0.0",
         .meaning = "trees: smallest reduction of the loss for a split",
         .applies_when = "type=trees"},
        {.section = "model", .name = "max_bin", .type = T::integer, .low = 2, .high = 65535, .fallback = "256",
         .meaning = "trees: bins of a feature, between which splits lie",
         .applies_when = "type=trees"},
        {.section = "model", .name = "dropout", .type = T::real, .high = 0.95, .fallback = "0.0",
         .meaning = "probability of dropping a hidden unit, or of cnn a channel; cnn, gru, lstm: before the last "
                    "layer alone",
         .applies_when = networks, .per_replica = true},
        {.section = "training", .name = "batch_size", .type = T::integer, .low = 1, .high = 1e6,
         .meaning = "samples per update, all micro-batches together; default: policy.min_batch_size: auto",
         .applies_when = networks},
        {.section = "training", .name = "accumulation", .type = T::integer, .low = 1, .high = 1e6, .fallback = "1",
         .meaning = "micro-batches per update, equal but for the last",
         .applies_when = networks, .changes_result = false},
        {.section = "training", .name = "memory_target", .type = T::real, .high = 1, .fallback = "0.95",
         .meaning = "share of memory in use by all programs above which micro-batches shrink; 0: never",
         .applies_when = networks, .changes_result = false, .changes_speed = false},
        {.section = "training", .name = "optimizer", .type = T::text, .choices = "adamw|sgd|lion|muon",
         .fallback = "adamw",
         .meaning = "lion: learning rates 3 to 10 times smaller than adamw's; muon: hidden matrices, adamw for the "
                    "others",
         .applies_when = networks},
        {.section = "training", .name = "lr", .type = T::real, .high = 1e3, .fallback = "0.001",
         .meaning = "peak learning rate",
         .applies_when = networks, .per_replica = true, .changes_speed = false},
        {.section = "training", .name = "weight_decay", .type = T::real, .high = 1e3, .fallback = "0.01",
         .meaning = "weight decay of weights, not biases: decoupled; sgd: added to the gradient",
         .applies_when = networks, .per_replica = true, .changes_speed = false},
        {.section = "training", .name = "momentum", .type = T::real, .high = 0.9999,
         .meaning = "momentum; default: sgd 0.9, muon 0.95",
         .applies_when = "optimizer=sgd|muon", .per_replica = true, .changes_speed = false},
        {.section = "training", .name = "nesterov", .type = T::flag, .fallback = "false",
         .meaning = "Nesterov momentum",
         .applies_when = "optimizer=sgd", .changes_speed = false},
        {.section = "training", .name = "beta1", .type = T::real, .high = 0.9999, .fallback = "0.9",
         .meaning = "decay of the first moment; muon: of its adamw part",
         .applies_when = "optimizer=adamw|lion|muon", .per_replica = true, .changes_speed = false},
        {.section = "training", .name = "beta2", .type = T::real, .high = 0.999999,
         .meaning = "decay of the second moment, adamw default 0.999; lion: decay of its only moment, default 0.99",
         .applies_when = "optimizer=adamw|lion|muon", .per_replica = true, .changes_speed = false},
        {.section = "training", .name = "epsilon", .type = T::real, .low = 1e-16, .high = 1, .fallback = "1.0e-8",
         .meaning = "added to the root of the second moment",
         .applies_when = "optimizer=adamw|muon", .per_replica = true, .changes_speed = false},
        {.section = "training", .name = "schedule", .type = T::text,
         .choices = "constant|cosine|one-cycle|step|wsd|plateau", .fallback = "cosine",
         .meaning = "course of the learning rate over the budget; wsd: warm-up, constant, decay; plateau: falls with "
                    "val_loss",
         .applies_when = networks, .per_replica = true, .changes_speed = false},
        {.section = "training", .name = "lr_decay", .type = T::real, .low = 1e-6, .high = 0.999999, .fallback = "0.1",
         .meaning = "step, plateau: factor of the learning rate at each decay",
         .applies_when = "schedule=step|plateau", .per_replica = true, .changes_speed = false},
        {.section = "training", .name = "lr_decay_every", .type = T::real, .low = 0.001, .high = 1e6,
         .meaning = "step: epochs between decays; default: a third of the budget",
         .applies_when = "schedule=step", .per_replica = true, .changes_speed = false},
        {.section = "training", .name = "lr_patience", .type = T::integer, .high = 1e6, .fallback = "5",
         .meaning = "plateau: steps without a lower val_loss before a decay",
         .applies_when = "schedule=plateau", .per_replica = true, .changes_speed = false},
        {.section = "training", .name = "cooldown", .type = T::real, .low = 0.001, .high = 1, .fallback = "0.2",
         .meaning = "wsd: last fraction of the budget, in which the learning rate falls to 0",
         .applies_when = "schedule=wsd", .per_replica = true, .changes_speed = false},
        {.section = "training", .name = "ema", .type = T::real, .high = 0.999999, .fallback = "0.0",
         .meaning = "decay of the averaged weights (EMA), such as 0.999, which are evaluated and saved; 0: none",
         .applies_when = networks},
        {.section = "training", .name = "warmup", .type = T::real, .high = 1e6, .fallback = "0.0",
         .meaning = "epochs of linear warm-up; one-cycle: 0 means 30 % of the budget",
         .applies_when = networks, .per_replica = true, .changes_speed = false},
        {.section = "training", .name = "label_smoothing", .type = T::real, .high = 0.99, .fallback = "0.0",
         .meaning = "probability mass spread evenly over all classes; labels: over 0 and 1",
         .applies_when = networks, .per_replica = true, .changes_speed = false},
        {.section = "training", .name = "class_weights", .type = T::text, .fallback = "none",
         .meaning = "weight of each class in the training loss: balanced (rare ones count more), or a list of numbers",
         .changes_speed = false, .listed = true},
        {.section = "training", .name = "clip", .type = T::real, .high = none, .fallback = "0.0",
         .meaning = "largest norm of the gradient; 0: no clipping",
         .applies_when = networks, .per_replica = true, .changes_speed = false},
        {.section = "training", .name = "precision", .type = T::text, .choices = "float32|tf32|bfloat16|float16|auto",
         .fallback = "float32",
         .meaning = "precision of matrix products; sums and weights stay float32; auto: the fastest at an equal loss",
         .applies_when = networks},
        {.section = "training", .name = "checkpointing", .type = T::text, .choices = "none|alternate|every|auto",
         .fallback = "none",
         .meaning = "transformer: blocks that recompute their activations in the backward pass; auto: where memory "
                    "is short",
         .applies_when = "type=transformer", .changes_result = false},
        {.section = "training", .name = "augment_shift", .type = T::integer, .high = 1000, .fallback = "0",
         .meaning = "images: largest random shift in each direction, in pixels; 0: none",
         .applies_when = networks},
        {.section = "training", .name = "augment_flip", .type = T::flag, .fallback = "false",
         .meaning = "images: mirror half of them, left to right, at random",
         .applies_when = networks},
        {.section = "training", .name = "class_metrics", .type = T::flag, .fallback = "false",
         .meaning = "report val_f1, val_auc and val_top5 (labels: val_exact_match) as well; each may be the objective",
         .changes_result = false},
        {.section = "training", .name = "eval_every", .type = T::integer, .high = 1e9, .fallback = "0",
         .meaning = "updates per step; 0: one epoch",
         .applies_when = networks, .changes_speed = false},
        {.section = "training", .name = "seed", .type = T::integer, .high = 9007199254740991.0,
         .meaning = "seed of the trial; default: from the study's seed and the trial's number",
         .per_replica = true, .changes_speed = false},
    });
}();
// clang-format on

/// The row of a leaf name; nullptr if there is none.
constexpr const WorkerKey* find_worker_key(std::string_view name) {
    for (const auto& key : worker_keys)
        if (key.name == name) return &key;
    return nullptr;
}

}  // namespace hpo
