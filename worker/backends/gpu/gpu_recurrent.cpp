// A GPU's operations of recurrent models.
#include "worker/backends/gpu/gpu_stream.hpp"

namespace hpo::gpu {

void GpuStream::swap_rows(const SwapRows& arguments) {
    const auto& [input, output, inner] = arguments;
    assert(input.rows % inner == 0 && output.rows == input.rows && output.columns == input.columns);
    launch(Kernel::swap_rows, groups_of_items(input.elements()),
           SwapRowsArguments{ref(input), ref(output), input.elements(), word(inner), word(input.rows / inner),
                             word(input.columns), 0});
}

void GpuStream::gru_step(const GruStep& arguments) {
    const Tensor& output = arguments.output;
    assert(arguments.gates.columns == 3 * output.columns && arguments.gates.rows == output.rows);
    launch(Kernel::gru_step, groups_of_items(output.elements()),
           GruStepArguments{ref(arguments.gates), ref(arguments.recurrent), ref(arguments.input_bias),
                            ref(arguments.recurrent_bias), ref(arguments.before), ref(arguments.candidate), ref(output),
                            output.elements(), word(output.columns), 0});
}

void GpuStream::gru_step_backward(const GruStepBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    assert(arguments.gates.columns == 3 * gradient.columns && arguments.gates.rows == gradient.rows);
    launch(Kernel::gru_step_backward, groups_of_items(gradient.elements()),
           GruStepBackwardArguments{ref(gradient), ref(arguments.gates), ref(arguments.candidate),
                                    ref(arguments.before), ref(arguments.recurrent_gradient),
                                    ref(arguments.before_gradient), gradient.elements(), word(gradient.columns), 0});
}

void GpuStream::lstm_step(const LstmStep& arguments) {
    const Tensor& output = arguments.output;
    assert(arguments.gates.columns == 4 * output.columns && arguments.gates.rows == output.rows);
    launch(Kernel::lstm_step, groups_of_items(output.elements()),
           LstmStepArguments{ref(arguments.gates), ref(arguments.recurrent), ref(arguments.bias),
                             ref(arguments.cell_before), ref(arguments.cell), ref(output), output.elements(),
                             word(output.columns), 0});
}

void GpuStream::lstm_step_backward(const LstmStepBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    assert(arguments.gates.columns == 4 * gradient.columns && arguments.gates.rows == gradient.rows);
    launch(Kernel::lstm_step_backward, groups_of_items(gradient.elements()),
           LstmStepBackwardArguments{ref(gradient), ref(arguments.cell_gradient), ref(arguments.gates),
                                     ref(arguments.cell_before), ref(arguments.cell), gradient.elements(),
                                     word(gradient.columns), 0});
}

}  // namespace hpo::gpu
