// Evaluates margins on the host, by the measures that the devices compute for networks. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "worker/data/dataset.hpp"
#include "worker/training/replica.hpp"

namespace hpo {

/// `outputs` [rows, shape.outputs]: logits, or standardised predictions. `targets` [rows, 1] classes, or [rows,
/// outputs] labels or numbers. `class_metrics` also fills Evaluation::of_classes, for classes and labels. rows >= 1.
Evaluation evaluate_margins(std::span<const float> outputs, std::span<const float> targets, const DataShape& shape,
                            bool class_metrics);

}  // namespace hpo
