// The CPU's operations of recurrent models.
#include "worker/backends/cpu/cpu_stream.hpp"

namespace hpo {

void CpuStream::compute(const SwapRows& arguments) {
    const auto& [input, output, inner] = arguments;
    assert(input.rows % inner == 0 && output.rows == input.rows && output.columns == input.columns);
    for (int replica = first_; replica < end_; ++replica)
        kernels_.swap_rows(input.rows / inner, inner, input.columns, at(input, replica), at(output, replica));
}

void CpuStream::compute(const GruStep& arguments) {
    const Tensor& output = arguments.output;
    assert(arguments.gates.columns == 3 * output.columns && arguments.gates.rows == output.rows);
    for (int replica = first_; replica < end_; ++replica)
        kernels_.gru_step(output.rows, output.columns, at(arguments.gates, replica), at(arguments.recurrent, replica),
                          at(arguments.input_bias, replica), at(arguments.recurrent_bias, replica),
                          at(arguments.before, replica), at(arguments.candidate, replica), at(output, replica));
}

void CpuStream::compute(const GruStepBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    assert(arguments.gates.columns == 3 * gradient.columns && arguments.gates.rows == gradient.rows);
    for (int replica = first_; replica < end_; ++replica)
        kernels_.gru_step_backward(gradient.rows, gradient.columns, at(gradient, replica), at(arguments.gates, replica),
                                   at(arguments.candidate, replica), at(arguments.before, replica),
                                   at(arguments.recurrent_gradient, replica), at(arguments.before_gradient, replica));
}

void CpuStream::compute(const LstmStep& arguments) {
    const Tensor& output = arguments.output;
    assert(arguments.gates.columns == 4 * output.columns && arguments.gates.rows == output.rows);
    for (int replica = first_; replica < end_; ++replica)
        kernels_.lstm_step(output.rows, output.columns, at(arguments.gates, replica), at(arguments.recurrent, replica),
                           at(arguments.bias, replica), at(arguments.cell_before, replica), at(arguments.cell, replica),
                           at(output, replica));
}

void CpuStream::compute(const LstmStepBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    assert(arguments.gates.columns == 4 * gradient.columns && arguments.gates.rows == gradient.rows);
    for (int replica = first_; replica < end_; ++replica)
        kernels_.lstm_step_backward(gradient.rows, gradient.columns, at(gradient, replica),
                                    at(arguments.cell_gradient, replica), at(arguments.gates, replica),
                                    at(arguments.cell_before, replica), at(arguments.cell, replica));
}

}  // namespace hpo
