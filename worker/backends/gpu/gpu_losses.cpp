// A GPU's losses and their gradients.
#include "worker/backends/gpu/gpu_stream.hpp"

namespace hpo::gpu {

void GpuStream::each_cross_entropy(const CrossEntropy& arguments, Kernel first, u32 parts) {
    const Tensor& logits = arguments.logits;
    assert(arguments.labels.rows == logits.rows);
    const CrossEntropyArguments both{.logits = ref(logits),
                                     .labels = ref(arguments.labels),
                                     .smoothing = ref(arguments.smoothing),
                                     .loss = ref(arguments.loss),
                                     .correct = ref(arguments.correct),
                                     .gradient = ref(arguments.gradient),
                                     .scale = ref(arguments.scale),
                                     .weights = ref(arguments.weights),
                                     .class_weights = ref(arguments.class_weights),
                                     .extent = ref(arguments.extent),
                                     .rows = word(logits.rows),
                                     .columns = word(logits.columns),
                                     .parts = parts,
                                     .add = arguments.write == Write::add,
                                     .weight = arguments.weight};
    launch(first, parts, both);
    launch(Kernel::cross_entropy_total, 1, both);
}

void GpuStream::compute(const CrossEntropy& arguments) {
    assert(arguments.labels.columns == 1);
    each_cross_entropy(arguments, Kernel::cross_entropy_rows, parts_of(divide_up(arguments.logits.rows, SUBGROUPS)));
}

void GpuStream::compute(const BinaryCrossEntropy& arguments) {
    assert(arguments.labels.columns == arguments.logits.columns);
    each_cross_entropy(arguments, Kernel::binary_cross_entropy_parts,
                       parts_of(divide_up(arguments.logits.elements(), UPDATE_ELEMENTS)));
}

void GpuStream::compute(const SquaredError& arguments) {
    const Tensor& predictions = arguments.predictions;
    assert(arguments.targets.elements() == predictions.elements());
    const u32 parts = parts_of(divide_up(predictions.elements(), UPDATE_ELEMENTS));
    const SquaredErrorArguments both{.predictions = ref(predictions),
                                     .targets = ref(arguments.targets),
                                     .loss = ref(arguments.loss),
                                     .absolute = ref(arguments.absolute),
                                     .gradient = ref(arguments.gradient),
                                     .scale = ref(arguments.scale),
                                     .weights = ref(arguments.weights),
                                     .extent = ref(arguments.extent),
                                     .rows = word(predictions.rows),
                                     .columns = word(predictions.columns),
                                     .parts = parts,
                                     .add = arguments.write == Write::add,
                                     .weight = arguments.weight};
    launch(Kernel::squared_error_parts, parts, both);
    launch(Kernel::squared_error_total, 1, both);
}

}  // namespace hpo::gpu
