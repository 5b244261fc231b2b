// A GPU's batch normalisation.
#include "worker/backends/gpu/gpu_stream.hpp"

namespace hpo::gpu {

void GpuStream::batch_norm(const BatchNorm& arguments) {
    const Tensor& input = arguments.input;
    const std::int64_t ghost = arguments.ghost;
    assert(arguments.output.elements() == input.elements());
    const BatchNormArguments all{ref(input),
                                 ref(arguments.scale),
                                 ref(arguments.shift),
                                 ref(arguments.output),
                                 ref(arguments.mean),
                                 ref(arguments.rstd),
                                 ref(arguments.running_mean),
                                 ref(arguments.running_variance),
                                 ref(arguments.iteration),
                                 ref(arguments.parts),
                                 word(input.rows),
                                 word(input.columns),
                                 word(ghost),
                                 word(BatchNorm::part_rows),
                                 word(arguments.batch),
                                 arguments.write == Write::add,
                                 BatchNorm::momentum,
                                 arguments.epsilon};
    if (ghost > 0) {
        const std::int64_t columns = divide_up(input.columns, SUBGROUP_SIZE);
        const std::int64_t parts = batch_norm_parts(input.rows, ghost);
        assert(arguments.parts.elements() >= parts * 2 * input.columns);
        launch(Kernel::batch_norm_parts, parts * columns, all);
        launch(Kernel::batch_norm_statistics, ghost_batches(input.rows, ghost) * columns, all);
    }
    launch(Kernel::batch_norm_apply, groups_of_items(input.elements()), all);
}

void GpuStream::batch_norm_backward(const BatchNormBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    const std::int64_t ghost = arguments.ghost;
    const BatchNormBackwardArguments all{ref(gradient),
                                         ref(arguments.input),
                                         ref(arguments.mean),
                                         ref(arguments.rstd),
                                         ref(arguments.scale),
                                         ref(arguments.scale_gradient),
                                         ref(arguments.shift_gradient),
                                         ref(arguments.parts),
                                         word(gradient.rows),
                                         word(gradient.columns),
                                         word(ghost),
                                         word(BatchNorm::part_rows),
                                         arguments.write == Write::add,
                                         0};
    const std::int64_t columns = divide_up(gradient.columns, SUBGROUP_SIZE);
    const std::int64_t parts = batch_norm_parts(gradient.rows, ghost);
    assert(arguments.parts.elements() >= parts * 2 * gradient.columns);
    launch(Kernel::batch_norm_backward_parts, parts * columns, all);
    launch(Kernel::batch_norm_backward_sums, ghost_batches(gradient.rows, ghost) * columns, all);
    launch(Kernel::batch_norm_backward_input, groups_of_items(gradient.elements()), all);
}

}  // namespace hpo::gpu
