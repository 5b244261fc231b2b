// A GPU's batch normalisation.
#include "worker/backends/gpu/gpu_stream.hpp"

namespace hpo::gpu {

void GpuStream::compute(const BatchNorm& arguments) {
    const Tensor& input = arguments.input;
    const std::int64_t ghost = arguments.ghost;
    assert(arguments.output.elements() == input.elements());
    const BatchNormArguments all{.input = ref(input),
                                 .scale = ref(arguments.scale),
                                 .shift = ref(arguments.shift),
                                 .output = ref(arguments.output),
                                 .mean = ref(arguments.mean),
                                 .rstd = ref(arguments.rstd),
                                 .running_mean = ref(arguments.running_mean),
                                 .running_variance = ref(arguments.running_variance),
                                 .iteration = ref(arguments.iteration),
                                 .parts = ref(arguments.parts),
                                 .rows = word(input.rows),
                                 .columns = word(input.columns),
                                 .ghost = word(ghost),
                                 .part_rows = word(BatchNorm::part_rows),
                                 .batch = word(arguments.batch),
                                 .add = arguments.write == Write::add,
                                 .momentum = BatchNorm::momentum,
                                 .epsilon = arguments.epsilon};
    if (ghost > 0) {
        const std::int64_t columns = divide_up(input.columns, SUBGROUP_SIZE);
        const std::int64_t parts = batch_norm_parts(input.rows, ghost);
        assert(arguments.parts.elements() >= parts * 2 * input.columns);
        launch(Kernel::batch_norm_parts, parts * columns, all);
        launch(Kernel::batch_norm_statistics, ghost_batches(input.rows, ghost) * columns, all);
    }
    launch(Kernel::batch_norm_apply, groups_of_items(input.elements()), all);
}

void GpuStream::compute(const BatchNormBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    const std::int64_t ghost = arguments.ghost;
    const BatchNormBackwardArguments all{.gradient = ref(gradient),
                                         .input = ref(arguments.input),
                                         .mean = ref(arguments.mean),
                                         .rstd = ref(arguments.rstd),
                                         .scale = ref(arguments.scale),
                                         .scale_gradient = ref(arguments.scale_gradient),
                                         .shift_gradient = ref(arguments.shift_gradient),
                                         .parts = ref(arguments.parts),
                                         .rows = word(gradient.rows),
                                         .columns = word(gradient.columns),
                                         .ghost = word(ghost),
                                         .part_rows = word(BatchNorm::part_rows),
                                         .add = arguments.write == Write::add,
                                         .unused = 0};
    const std::int64_t columns = divide_up(gradient.columns, SUBGROUP_SIZE);
    const std::int64_t parts = batch_norm_parts(gradient.rows, ghost);
    assert(arguments.parts.elements() >= parts * 2 * gradient.columns);
    launch(Kernel::batch_norm_backward_parts, parts * columns, all);
    launch(Kernel::batch_norm_backward_sums, ghost_batches(gradient.rows, ghost) * columns, all);
    launch(Kernel::batch_norm_backward_input, groups_of_items(gradient.elements()), all);
}

}  // namespace hpo::gpu
