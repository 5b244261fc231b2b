// The CPU's batch normalisation.
#include <algorithm>

#include "worker/backends/cpu/cpu_stream.hpp"

namespace hpo {

/// Adds the means and variances of the ghost batches of one replica to the running ones.
void CpuStream::follow_statistics(const BatchNorm& arguments, int replica) const {
    const std::int64_t columns = arguments.input.columns;
    const float momentum = std::max(
        BatchNorm::momentum, 1.0F / (static_cast<float>(value<std::uint32_t>(arguments.iteration, replica)) + 1.0F));
    const float* mean = at(arguments.mean, replica);
    const float* rstd = at(arguments.rstd, replica);
    float* running_mean = at(arguments.running_mean, replica);
    float* running_variance = at(arguments.running_variance, replica);
    if (arguments.write == Write::set)
        for (std::int64_t i = 0; i < columns; ++i) {
            running_mean[i] *= 1.0F - momentum;
            running_variance[i] *= 1.0F - momentum;
        }
    for (std::int64_t row = 0; row < arguments.input.rows; row += arguments.ghost, mean += columns, rstd += columns) {
        const std::int64_t rows = std::min(arguments.ghost, arguments.input.rows - row);
        const float share = momentum * static_cast<float>(rows) / static_cast<float>(arguments.batch);
        const float unbiased = rows > 1 ? static_cast<float>(rows) / static_cast<float>(rows - 1) : 1.0F;
        for (std::int64_t i = 0; i < columns; ++i) {
            const float variance = std::max(0.0F, 1.0F / (rstd[i] * rstd[i]) - arguments.epsilon);
            running_mean[i] += share * mean[i];
            running_variance[i] += share * unbiased * variance;
        }
    }
}

void CpuStream::compute(const BatchNorm& arguments) {
    const Tensor& input = arguments.input;
    assert(arguments.output.elements() == input.elements());
    for (int replica = first_; replica < end_; ++replica) {
        if (arguments.ghost == 0) {
            kernels_.batch_norm_by_running(input.rows, input.columns, at(input, replica), at(arguments.scale, replica),
                                           at(arguments.shift, replica), at(arguments.running_mean, replica),
                                           at(arguments.running_variance, replica), at(arguments.output, replica),
                                           arguments.epsilon);
            continue;
        }
        assert(arguments.mean.rows == ghost_batches(input.rows, arguments.ghost));
        kernels_.batch_norm(input.rows, input.columns, arguments.ghost, at(input, replica),
                            at(arguments.scale, replica), at(arguments.shift, replica), at(arguments.output, replica),
                            at(arguments.mean, replica), at(arguments.rstd, replica), arguments.epsilon);
        follow_statistics(arguments, replica);
    }
}

void CpuStream::compute(const BatchNormBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    for (int replica = first_; replica < end_; ++replica) {
        for (const Tensor* target : {&arguments.scale_gradient, &arguments.shift_gradient}) {
            assert(target->elements() == gradient.columns);
            prepare(*target, replica, arguments.write);
        }
        kernels_.batch_norm_backward(gradient.rows, gradient.columns, arguments.ghost, at(gradient, replica),
                                     at(arguments.input, replica), at(arguments.mean, replica),
                                     at(arguments.rstd, replica), at(arguments.scale, replica),
                                     at(arguments.scale_gradient, replica), at(arguments.shift_gradient, replica));
    }
}

}  // namespace hpo
