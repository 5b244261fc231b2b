// Tells from the names of metrics in which direction they get better.
#pragma once

#include <cstdint>
#include <string_view>

namespace hpo::script {

enum class Better : std::uint8_t { unknown, higher, lower };

/// Returns the direction in which metrics of this name get better: higher for val_accuracy, lower for Test-RMSE. The
/// direction is unknown for names without a known word, with words of both directions (error_precision), and with a
/// word that turns or hides the direction (neg_mse, accuracy_gap).
Better better_of(std::string_view metric);

}  // namespace hpo::script
