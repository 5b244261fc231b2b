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
    /// Whether trials that train side by side (fused) may have different values.
    bool per_replica = false;
    /// Whether the result of the training depends on it; checkpoints are bound to such keys alone.
    bool changes_result = true;
    /// Whether the time of an update depends on it. What is measured of one trial's speed holds for all trials that
    /// differ in other keys alone.
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

/// Whether `value` is an item of such a list.
constexpr bool has_choice(std::string_view choices, std::string_view value) {
    bool found = false;
    each_choice(choices, [&](std::string_view choice) { found = found || choice == value; });
    return found;
}

/// "relu, gelu, silu": such a list for people.
inline std::string choices_text(std::string_view choices, std::string_view between = ", ") {
    std::string text;
    each_choice(choices, [&](std::string_view choice) {
        text += text.empty() ? "" : std::string(between);
        text += choice;
    });
    return text;
}

/// Whether `key` has an effect where the key `name` has `value`, as far as that one decides.
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
}  // namespace worker_key_detail

// clang-format off
inline constexpr std::array worker_keys = [] {
    using worker_key_detail::none, worker_key_detail::shared, worker_key_detail::per_replica;
    using worker_key_detail::same_result, worker_key_detail::any_result;
    using worker_key_detail::same_speed, worker_key_detail::any_speed, worker_key_detail::required;
    using worker_key_detail::optional, worker_key_detail::listed;
    using worker_key_detail::T;
    return std::array{
        WorkerKey{"", "task", T::text, 0, 0, "auto|classification|regression|multi-label|image-classification", "auto", "what is trained: a class, numbers, or labels of which a sample may have any number are predicted; auto: by the data's targets"},
        WorkerKey{"data", "format", T::text, 0, 0, "idx|csv|parquet|series|npy|images|text|tokens|synthetic", "idx", "idx: IDX files; csv: a table with a header; series: a CSV or Parquet file whose rows are in the order of time; all plain or gzip. parquet: a table in a Parquet file; npy: arrays of NumPy; images: a folder of PNG and JPEG files by class; text: a text, byte by byte; tokens: a file of numbers of 16 bits. synthetic: Gaussian clusters, or for regression sums of sines, made from the seed; or sequences of tokens"},
        WorkerKey{"data", "path", T::text, 0, 0, "", "", "idx: a folder, or the name of one below /usr/share/datasets; csv, parquet, series and text: a file; npy: an NPZ or NPY file, or a folder of NPY files; images: a folder; tokens: a file, or a folder with train.bin and val.bin, of which the latter tests", "format=idx|csv|parquet|series|npy|images|text|tokens", "", shared, any_result, any_speed, required},
        WorkerKey{"data", "target", T::text, 0, 0, "", "", "tables and series: the column to predict, or a list of several; tables: several of numbers, or of 0 and 1 (labels)", "format=csv|parquet|series", "", shared, any_result, any_speed, required, listed},
        WorkerKey{"data", "ignore", T::text, 0, 0, "", "", "tables and series: list of columns to leave out", "format=csv|parquet|series", "", shared, any_result, any_speed, optional, listed},
        WorkerKey{"data", "categorical", T::text, 0, 0, "", "", "tables: list of columns whose numbers are names, such as codes; columns with other texts than numbers are categorical anyway", "format=csv|parquet", "", shared, any_result, any_speed, optional, listed},
        WorkerKey{"data", "inputs", T::text, 0, 0, "", "", "npy: the array with the features; default x_train, x and other usual names", "format=npy"},
        WorkerKey{"data", "labels", T::text, 0, 0, "", "", "npy: the array with the targets, or where path is a single array an NPY file; default y_train, y and other usual names", "format=npy"},
        WorkerKey{"data", "split", T::text, 0, 0, "random|stratified|time", "", "tables, npy and images: which rows validate and test: any, in equal proportions of the classes, or the last ones; default stratified for classes, otherwise random", "format=csv|parquet|npy|images", "", shared, any_result, same_speed},
        WorkerKey{"data", "test", T::real, 0.001, 0.9, "", "", "fraction of the samples kept for testing, unless the data has a part for that; default 0.1", "format=csv|parquet|series|npy|images|text|tokens", "", shared, any_result, same_speed},
        WorkerKey{"data", "window", T::integer, 1, 65536, "", "", "series: rows of a sample, which a prediction is made from; text and tokens: bytes or tokens of a sample", "format=series|text|tokens", "", shared, any_result, any_speed, required},
        WorkerKey{"data", "horizon", T::integer, 0, 65536, "", "1", "series: rows after a window, in which the target is predicted; of classes, the class in the last of them, with 0 in the last row of the window", "format=series"},
        WorkerKey{"data", "stride", T::integer, 1, 1e6, "", "", "rows, bytes or tokens from the beginning of a window to the beginning of the next one; default for series 1, otherwise window", "format=series|text|tokens", "", shared, any_result, same_speed},
        WorkerKey{"data", "validation", T::real, 0.001, 0.9, "", "0.1", "fraction of the training samples kept for validation; {fraction: 0.2, group: COLUMN} is the same with a further key, {folds: 5} validates in folds", "", "", shared, any_result, same_speed},
        WorkerKey{"data.validation", "folds", T::integer, 2, 20, "", "", "k-fold cross-validation: a trial trains so many models, each on all samples but one fold, which validates it; its metrics are the means, and NAME_se their standard errors", "format=idx|csv|parquet|npy|images|synthetic", "validation"},
        WorkerKey{"data.validation", "group", T::text, 0, 0, "", "", "tables: column whose values are groups; all rows of a group train, validate or test together, and the column is no feature", "format=csv|parquet", "split|subset", shared, any_result, same_speed},
        WorkerKey{"data", "subset", T::integer, 1, 1e9, "", "", "use only so many training samples (before the split); default all", "", "", shared, any_result, same_speed},
        WorkerKey{"data", "placement", T::text, 0, 0, "auto|device|staged|files", "auto", "where samples lie: in the device's memory; staged: in the host's, from where each batch is copied; files: in their files, from where each batch is read (not of tables). auto: staged where they are more than half of the device's memory, files where they are more than half of the host's", "", "", shared, same_result},
        WorkerKey{"data", "loader_threads", T::text, 0, 0, "", "auto", "staged, files: threads that load batches ahead of use, as num_workers of PyTorch's DataLoader; 0: none; auto: as many as measured times of loading and training ask for", "", "", shared, same_result},
        WorkerKey{"data", "prefetch", T::text, 0, 0, "", "auto", "staged, files: batches that loader threads load ahead, all together; auto: two for each thread", "", "", shared, same_result},
        WorkerKey{"data", "samples", T::integer, 16, 1e8, "", "4096", "synthetic: training samples (a quarter as many for testing)", "format=synthetic", "", shared, any_result, same_speed},
        WorkerKey{"data", "features", T::integer, 1, 65536, "", "32", "synthetic: features of a sample, or of a step of it", "format=synthetic"},
        WorkerKey{"data", "steps", T::integer, 1, 65536, "", "", "synthetic: steps of a sequence, each with such features and a target of its own; default: a sample is one vector with one target", "format=synthetic"},
        WorkerKey{"data", "vocabulary", T::integer, 2, 65536, "", "", "synthetic: samples are sequences of so many different tokens, and each step's target is the next token; default: there are numbers in each step; tokens: how many there are, default the largest one of the file and 1", "format=synthetic|tokens"},
        WorkerKey{"data", "classes", T::integer, 2, 4096, "", "4", "synthetic: classes, or labels", "format=synthetic"},
        WorkerKey{"data", "noise", T::real, 0, 100, "", "1.0", "synthetic: standard deviation of each cluster (centres have deviation 1), or of the noise in the target (which varies by 1)", "format=synthetic", "", shared, any_result, same_speed},
        WorkerKey{"model", "type", T::text, 0, 0, "mlp|cnn|transformer|gru|lstm", "mlp", "the model family: a multilayer perceptron; for images a residual convolution network; for sequences of tokens or numbers a transformer, or recurrent layers"},
        WorkerKey{"model", "hidden", T::list, 1, 65536, "", "", "widths of the hidden layers, one by one; or use width and depth", "type=mlp", "width|depth"},
        WorkerKey{"model", "width", T::integer, 1, 65536, "", "256", "mlp: width of each hidden layer, unless hidden is given; transformer: numbers of a step, a multiple of heads; gru, lstm: numbers of a layer's state", "type=mlp|transformer|gru|lstm"},
        WorkerKey{"model", "depth", T::integer, 0, 64, "", "2", "mlp: number of hidden layers, unless hidden is given; transformer: number of blocks; gru, lstm: number of layers, at least 1", "type=mlp|transformer|gru|lstm"},
        WorkerKey{"model", "activation", T::text, 0, 0, "relu|gelu|silu|swiglu", "", "after each hidden layer, or each norm; transformer: in each block's perceptron, swiglu there alone; default relu, of a transformer gelu", "type=mlp|cnn|transformer"},
        WorkerKey{"model", "norm", T::text, 0, 0, "none|layer|rms|group|batch", "", "mlp: none, layer or batch, before each activation, default none; cnn: group or batch, behind each convolution, default group; transformer: layer or rms, before attention and perceptron, default layer", "type=mlp|cnn|transformer"},
        WorkerKey{"model", "ghost_batch", T::integer, 2, 1e6, "", "128", "norm: batch: samples of a batch, about, whose mean and variance are taken together (ghost batches); a micro-batch has a multiple of them", "norm=batch"},
        WorkerKey{"model", "embedding_width", T::integer, 0, 1024, "", "0", "tables: numbers that a categorical column becomes by a learned embedding, at most; a column with so many levels, other included, gets half as many; 0: its levels are inputs, each 1 or 0", "type=mlp"},
        WorkerKey{"model", "heads", T::integer, 1, 256, "", "4", "heads of attention, of width / heads numbers, at most 128", "type=transformer"},
        WorkerKey{"model", "kv_heads", T::integer, 1, 256, "", "", "heads of keys and values, which heads / kv_heads neighbours share (grouped-query attention); default heads", "type=transformer"},
        WorkerKey{"model", "mlp_ratio", T::real, 0.1, 64, "", "4.0", "hidden numbers of a block's perceptron, as a multiple of width", "type=transformer"},
        WorkerKey{"model", "positions", T::text, 0, 0, "learned|rotary|none", "learned", "how a transformer knows the order of steps: a learned vector for each, or queries and keys turned by the step", "type=transformer"},
        WorkerKey{"model", "causal", T::flag, 0, 0, "", "", "whether a step attends only to itself and those before it; default: true where each step has a target, otherwise false", "type=transformer"},
        WorkerKey{"model", "tied_embeddings", T::flag, 0, 0, "", "false", "next tokens: the last layer's weights are the table of tokens", "type=transformer"},
        WorkerKey{"model", "parametrization", T::text, 0, 0, "standard|mup", "standard", "how initial weights and learning rates follow the width; mup: so that a learning rate that was found on a small width suits a larger one", "type=mlp|transformer"},
        WorkerKey{"model", "base_width", T::integer, 1, 65536, "", "", "mup: the width at which it is the standard parametrization, that of the search on small models", "parametrization=mup", "", shared, any_result, same_speed, required},
        WorkerKey{"model", "channels", T::integer, 1, 1024, "", "32", "channels of the first stage, a multiple of groups; each further stage has twice as many, at half the height and width", "type=cnn"},
        WorkerKey{"model", "stages", T::integer, 1, 6, "", "3", "number of stages", "type=cnn"},
        WorkerKey{"model", "blocks", T::integer, 1, 16, "", "1", "residual blocks of each stage, of two 3 x 3 convolutions", "type=cnn"},
        WorkerKey{"model", "groups", T::integer, 1, 256, "", "8", "norm: group: groups of channels that are normalised together", "type=cnn"},
        WorkerKey{"model", "downsampling", T::text, 0, 0, "stride|max", "stride", "how each further stage halves height and width: its first convolution moves by 2 pixels, or the maxima of 2 x 2 pixels are taken before it", "type=cnn"},
        WorkerKey{"model", "dropout", T::real, 0, 0.95, "", "0.0", "probability that a hidden unit is dropped in training; cnn: that a channel is, before the last layer; transformer: that a number is, behind the positions, attention and perceptron; gru, lstm: that a number is, before the last layer", "", "", per_replica},
        WorkerKey{"training", "batch_size", T::integer, 1, 1e6, "", "", "samples of one optimizer update (all micro-batches together); default: as policy.min_batch_size: auto, at most all training samples"},
        WorkerKey{"training", "accumulation", T::integer, 1, 1e6, "", "1", "micro-batches of one update, equal but for the last", "", "", shared, same_result},
        WorkerKey{"training", "memory_target", T::real, 0, 1, "", "0.95", "memory in use by all programs, as a fraction, above which micro-batches shrink until it falls again; 0: they never do", "", "", shared, same_result, same_speed},
        WorkerKey{"training", "optimizer", T::text, 0, 0, "adamw|sgd|lion|muon", "adamw", "AdamW; SGD with momentum; Lion, whose updates have the size of the learning rate, which should be 3 to 10 times smaller than AdamW's; or Muon, which makes the momentum of hidden matrices orthogonal and leaves the others to AdamW"},
        WorkerKey{"training", "lr", T::real, 0, 1e3, "", "0.001", "peak learning rate", "", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "weight_decay", T::real, 0, 1e3, "", "0.01", "decoupled (AdamW, Lion, Muon) or added to the gradient (SGD); weights only", "", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "momentum", T::real, 0, 0.9999, "", "", "SGD, default 0.9; Muon, default 0.95", "optimizer=sgd|muon", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "nesterov", T::flag, 0, 0, "", "false", "SGD", "optimizer=sgd", "", shared, any_result, same_speed},
        WorkerKey{"training", "beta1", T::real, 0, 0.9999, "", "0.9", "AdamW, Lion; of Muon, for what it leaves to AdamW, as beta2 and epsilon", "optimizer=adamw|lion|muon", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "beta2", T::real, 0, 0.999999, "", "", "AdamW, default 0.999; Lion, default 0.99", "optimizer=adamw|lion|muon", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "epsilon", T::real, 1e-16, 1, "", "1.0e-8", "AdamW", "optimizer=adamw|muon", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "schedule", T::text, 0, 0, "constant|cosine|one-cycle|step|wsd|plateau", "cosine", "of the learning rate, over all epochs of the budget; step: it is multiplied by lr_decay every lr_decay_every epochs; wsd: warm-up, constant, and a fall at the end; plateau: it is multiplied by lr_decay when val_loss has stopped to fall", "", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "lr_decay", T::real, 1e-6, 0.999999, "", "0.1", "step, plateau: what the learning rate is multiplied by", "schedule=step|plateau", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "lr_decay_every", T::real, 0.001, 1e6, "", "", "step: epochs; default a third of the budget", "schedule=step", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "lr_patience", T::integer, 0, 1e6, "", "5", "plateau: steps without a lower val_loss that are waited for", "schedule=plateau", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "cooldown", T::real, 0.001, 1, "", "0.2", "wsd: the last part of the budget, as a fraction, in which the learning rate falls to 0", "schedule=wsd", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "ema", T::real, 0, 0.999999, "", "0.0", "decay of an exponential moving average of the weights, such as 0.999, which is evaluated and saved in their place; 0: none"},
        WorkerKey{"training", "warmup", T::real, 0, 1e6, "", "0.0", "epochs of linear warm-up (one-cycle: 30 % of the budget if 0)", "", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "label_smoothing", T::real, 0, 0.99, "", "0.0", "probability mass spread evenly over all classes; of labels, over 0 and 1", "", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "class_weights", T::text, 0, 0, "", "none", "what classes count in the training loss: balanced, so that all count alike however rare; or a list of numbers, one for each class; of labels, what 1 counts as against 0", "", "", shared, any_result, same_speed, optional, listed},
        WorkerKey{"training", "clip", T::real, 0, none, "", "0.0", "largest norm of the gradient; 0: not clipped", "", "", per_replica, any_result, same_speed},
        WorkerKey{"training", "precision", T::text, 0, 0, "float32|tf32|bfloat16|float16|auto", "float32", "of matrix products; sums and weights are float32 always. auto: the fastest of this device at an equal loss, as measured"},
        WorkerKey{"training", "checkpointing", T::text, 0, 0, "none|alternate|every|auto", "none", "transformer: blocks whose activations are not kept, and are computed again in the backward pass: less memory, more time, the same bits; auto: where memory is short, if that costs less than smaller micro-batches", "type=transformer", "", shared, same_result},
        WorkerKey{"training", "augment_shift", T::integer, 0, 1000, "", "0", "images: shifted by up to so many pixels in each direction, anew each time they are seen; 0: not"},
        WorkerKey{"training", "augment_flip", T::flag, 0, 0, "", "false", "images: half of them mirrored, left to right, anew each time they are seen"},
        WorkerKey{"training", "class_metrics", T::flag, 0, 0, "", "false", "classes: report macro F1, top-5 accuracy (of labels exact match) and the area under the ROC curve as well, val_f1, val_top5 (val_exact_match) and val_auc, which may then be the objective", "", "", shared, same_result},
        WorkerKey{"training", "eval_every", T::integer, 0, 1e9, "", "0", "iterations of one step; 0: one epoch", "", "", shared, any_result, same_speed},
        WorkerKey{"training", "seed", T::integer, 0, 9007199254740991.0, "", "", "of the trial; default: drawn from the study's seed and the trial's number", "", "", per_replica, any_result, same_speed},
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
