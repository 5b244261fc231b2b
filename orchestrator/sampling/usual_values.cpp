// The defaults are those of the documentation of scikit-learn 1.5, XGBoost 2.1, LightGBM 4.5, PyTorch 2.4 and Keras 3.
#include "orchestrator/sampling/usual_values.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hpo/text.hpp"

namespace hpo {

namespace {

constexpr double most = std::numeric_limits<double>::infinity();

constexpr std::array<std::string_view, 5> learning_rates{"lr", "learning_rate", "learning_rate_init", "eta", "eta0"};
constexpr std::array<std::string_view, 4> sizes_of_trees{"n_estimators", "num_boost_round", "num_leaves", "max_depth"};

struct UsualNumber {
    std::string_view name;
    double value;  ///< beyond the range: its nearest end
};

constexpr std::array usual_numbers{
    UsualNumber{"alpha", 1e-4},         UsualNumber{"bagging_fraction", 1},
    UsualNumber{"beta1", 0.9},          UsualNumber{"beta2", 0.999},
    UsualNumber{"ccp_alpha", 0},        UsualNumber{"coef0", 0},
    UsualNumber{"colsample_bytree", 1}, UsualNumber{"degree", 3},
    UsualNumber{"dropout", 0.1},        UsualNumber{"epsilon", 0.1},
    UsualNumber{"eta0", 0.01},          UsualNumber{"feature_fraction", 1},
    UsualNumber{"label_smoothing", 0},  UsualNumber{"lambda_l1", 0},
    UsualNumber{"lambda_l2", 0},        UsualNumber{"max_leaf_nodes", most},
    UsualNumber{"max_samples", most},   UsualNumber{"min_child_samples", 20},
    UsualNumber{"min_child_weight", 1}, UsualNumber{"min_data_in_leaf", 20},
    UsualNumber{"min_samples_leaf", 1}, UsualNumber{"min_samples_split", 2},
    UsualNumber{"momentum", 0.9},       UsualNumber{"n_estimators", 100},
    UsualNumber{"n_neighbors", 5},      UsualNumber{"num_boost_round", 100},
    UsualNumber{"num_leaves", 31},      UsualNumber{"power_t", 0.5},
    UsualNumber{"reg_alpha", 0},        UsualNumber{"reg_lambda", 1},
    UsualNumber{"subsample", 1},        UsualNumber{"tol", 1e-4},
    UsualNumber{"weight_decay", 0.01},
};

struct UsualChoice {
    std::string_view name, text;
};

constexpr std::array usual_choices{
    UsualChoice{"activation", "relu"}, UsualChoice{"bootstrap", "true"}, UsualChoice{"criterion", "gini"},
    UsualChoice{"kernel", "rbf"},      UsualChoice{"penalty", "l2"},     UsualChoice{"splitter", "best"},
    UsualChoice{"weights", "uniform"},
};

std::string plain_name(std::string_view name) {
    if (const auto dot = name.rfind('.'); dot != name.npos) name.remove_prefix(dot + 1);
    if (const auto mark = name.rfind("__"); mark != name.npos) name.remove_prefix(mark + 2);
    std::string plain;
    for (const char c : name) plain += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (plain == "beta_1" || plain == "beta_2") plain.erase(4, 1);
    return plain;
}

bool any_of(const Space& space, std::span<const std::string_view> names) {
    return std::any_of(space.begin(), space.end(), [&](const Dimension& dimension) {
        return dimension.kind != Kind::categorical &&
               std::find(names.begin(), names.end(), plain_name(dimension.name)) != names.end();
    });
}

/// Returns the default of a number with this name, or nothing if the name is not known. `trees`: of an ensemble of
/// trees. `steps`: the study has a learning rate.
std::optional<double> usual_number(const Dimension& dimension, bool trees, bool steps) {
    const std::string name = plain_name(dimension.name);
    // A single letter must be written as the library does.
    if (name == "c") return dimension.name.back() == 'C' ? std::optional(1.0) : std::nullopt;
    for (const std::string_view rate : learning_rates)
        if (name == rate && name != "eta0") return trees ? 0.1 : 1e-3;
    if (name == "max_depth") return steps ? 6 : most;  // boosting; the trees of a forest grow to their end
    if (name == "alpha" && !steps) return 1;           // of linear models that are solved
    for (const UsualNumber& row : usual_numbers)
        if (row.name == name) return row.value;
    return std::nullopt;
}

Value within(const Dimension& dimension, double value) {
    value = std::clamp(value, dimension.low, dimension.high);
    if (dimension.step) {
        value = dimension.low + std::round((value - dimension.low) / *dimension.step) * *dimension.step;
        if (value > dimension.high) value -= *dimension.step;
    }
    if (dimension.kind == Kind::integer) return static_cast<std::int64_t>(std::llround(value));
    return value;
}

}  // namespace

Params usual_values(const Space& space) {
    Params values;
    const bool trees = any_of(space, sizes_of_trees);
    const bool steps = any_of(space, learning_rates);
    for (const Dimension& dimension : space) {
        if (dimension.prior || dimension.dependent()) continue;
        if (dimension.kind != Kind::categorical) {
            if (const auto number = usual_number(dimension, trees, steps))
                values[dimension.name] = within(dimension, *number);
            continue;
        }
        const std::string name = plain_name(dimension.name);
        for (const UsualChoice& row : usual_choices)
            for (const Value& choice : dimension.choices)
                if (row.name == name && to_text(choice) == row.text) values[dimension.name] = choice;
    }
    return values;
}

}  // namespace hpo
