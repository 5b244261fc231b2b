// A trained model with everything that its file tells of the data (safetensors.hpp): enough to predict without the
// study and without the training data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/dataset.hpp"
#include "worker/models/model.hpp"
#include "worker/trees/tree_ensemble.hpp"

namespace hpo {

/// The map from a column of a table or a series to features.
struct SavedColumn {
    std::string name;  ///< empty: a column of an array
    double mean = 0, deviation = 1;
    std::optional<double> median;  ///< stands in for a missing value, which a second feature tells
    bool is_category = false;
    std::vector<std::optional<std::string>> levels;  ///< of a category; none: a feature that is always 0
};

/// A column that is predicted.
struct SavedTarget {
    std::string name;                  ///< empty: the data had none
    double mean = 0, deviation = 1;    ///< by which an output is scaled back
    std::vector<std::string> classes;  ///< in the order of the outputs
};

struct SavedModel {
    std::optional<TreeEnsemble> trees;  ///< none: a network
    std::unique_ptr<Model> model;       ///< of a network
    std::vector<float> weights;         ///< in the layout of Model::block()
    DataShape shape;                    ///< sample, categories, target_per_step, task and outputs
    std::string format;                 ///< of the data that it was trained on: csv, images, ...
    float mean = 0, deviation = 1;      ///< of all features alike
    std::vector<SavedColumn> columns;
    std::vector<SavedTarget> targets;      ///< at least one
    std::int64_t window = 0, horizon = 1;  ///< of a series; of texts and tokens the window alone
    std::vector<std::uint8_t> bytes;       ///< of a text, by token
};

/// Reads the file of a model. Errors name the file and the flaw: no model of hpo, a model from before the shape of its
/// input was stored (train it again), weights that do not match the configuration.
Result<SavedModel> read_saved_model(const std::filesystem::path& file);
/// Reads the bytes of a model's file. Errors do not name the file.
Result<SavedModel> parse_saved_model(std::string_view bytes);

}  // namespace hpo
