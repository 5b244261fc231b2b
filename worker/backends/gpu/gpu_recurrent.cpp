// A GPU's operations of recurrent models.
#include "worker/backends/gpu/gpu_stream.hpp"

namespace hpo::gpu {

void GpuStream::compute(const SwapRows& arguments) {
    const auto& [input, output, inner] = arguments;
    assert(input.rows % inner == 0 && output.rows == input.rows && output.columns == input.columns);
    launch(Kernel::swap_rows, groups_of_items(input.elements()),
           SwapRowsArguments{.input = ref(input),
                             .output = ref(output),
                             .count = input.elements(),
                             .inner = word(inner),
                             .outer = word(input.rows / inner),
                             .columns = word(input.columns),
                             .unused = 0});
}

void GpuStream::compute(const GruStep& arguments) {
    const Tensor& output = arguments.output;
    assert(arguments.gates.columns == 3 * output.columns && arguments.gates.rows == output.rows);
    launch(Kernel::gru_step, groups_of_items(output.elements()),
           GruStepArguments{.gates = ref(arguments.gates),
                            .recurrent = ref(arguments.recurrent),
                            .input_bias = ref(arguments.input_bias),
                            .recurrent_bias = ref(arguments.recurrent_bias),
                            .before = ref(arguments.before),
                            .candidate = ref(arguments.candidate),
                            .output = ref(output),
                            .count = output.elements(),
                            .width = word(output.columns),
                            .unused = 0});
}

void GpuStream::compute(const GruStepBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    assert(arguments.gates.columns == 3 * gradient.columns && arguments.gates.rows == gradient.rows);
    launch(Kernel::gru_step_backward, groups_of_items(gradient.elements()),
           GruStepBackwardArguments{.gradient = ref(gradient),
                                    .gates = ref(arguments.gates),
                                    .candidate = ref(arguments.candidate),
                                    .before = ref(arguments.before),
                                    .recurrent_gradient = ref(arguments.recurrent_gradient),
                                    .before_gradient = ref(arguments.before_gradient),
                                    .count = gradient.elements(),
                                    .width = word(gradient.columns),
                                    .unused = 0});
}

void GpuStream::compute(const LstmStep& arguments) {
    const Tensor& output = arguments.output;
    assert(arguments.gates.columns == 4 * output.columns && arguments.gates.rows == output.rows);
    launch(Kernel::lstm_step, groups_of_items(output.elements()),
           LstmStepArguments{.gates = ref(arguments.gates),
                             .recurrent = ref(arguments.recurrent),
                             .bias = ref(arguments.bias),
                             .cell_before = ref(arguments.cell_before),
                             .cell = ref(arguments.cell),
                             .output = ref(output),
                             .count = output.elements(),
                             .width = word(output.columns),
                             .unused = 0});
}

void GpuStream::compute(const LstmStepBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    assert(arguments.gates.columns == 4 * gradient.columns && arguments.gates.rows == gradient.rows);
    launch(Kernel::lstm_step_backward, groups_of_items(gradient.elements()),
           LstmStepBackwardArguments{.gradient = ref(gradient),
                                     .cell_gradient = ref(arguments.cell_gradient),
                                     .gates = ref(arguments.gates),
                                     .cell_before = ref(arguments.cell_before),
                                     .cell = ref(arguments.cell),
                                     .count = gradient.elements(),
                                     .width = word(gradient.columns),
                                     .unused = 0});
}

}  // namespace hpo::gpu
