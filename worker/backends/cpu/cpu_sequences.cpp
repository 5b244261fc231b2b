// The CPU's operations of models over sequences.
#include "worker/backends/cpu/cpu_stream.hpp"

namespace hpo {

void CpuStream::embed(const Embed& arguments) {
    const auto& [tokens, table, output] = arguments;
    assert(output.rows == tokens.elements() && output.columns == table.columns);
    for (int replica = first_; replica < end_; ++replica)
        kernels_.embed(output.rows, output.columns, at(tokens, replica), at(table, replica), at(output, replica));
}

void CpuStream::embed_backward(const EmbedBackward& arguments) {
    const Tensor& gradient = arguments.output_gradient;
    assert(gradient.rows == arguments.tokens.elements() && gradient.columns == arguments.table_gradient.columns);
    for (int replica = first_; replica < end_; ++replica) {
        prepare(arguments.table_gradient, replica, arguments.write);
        kernels_.embed_backward(gradient.rows, gradient.columns, at(arguments.tokens, replica), at(gradient, replica),
                                at(arguments.table_gradient, replica));
    }
}

void CpuStream::rotate(const Rotate& arguments) {
    const Tensor& values = arguments.values;
    assert(arguments.width % 2 == 0 && arguments.width <= Attention::widest_head);
    assert(values.rows % arguments.steps == 0 && arguments.heads * arguments.width <= values.columns);
    for (int replica = first_; replica < end_; ++replica)
        kernels_.rotate(values.rows / arguments.steps, arguments.steps, values.columns, arguments.heads,
                        arguments.width, arguments.back, at(values, replica));
}

namespace {

AttentionSizes sizes_of(const Attention& it) {
    assert(it.heads % it.kv_heads == 0 && it.output.columns % it.heads == 0 && it.width() <= Attention::widest_head);
    assert(it.projections.columns == (it.heads + 2 * it.kv_heads) * it.width());
    assert(it.projections.rows == it.output.rows && it.output.rows % it.steps == 0);
    assert(it.log_sums.rows == it.output.rows && it.log_sums.columns == it.heads);
    return {it.steps, it.heads, it.kv_heads, it.width(), it.causal, it.score_scale()};
}

}  // namespace

void CpuStream::attention(const Attention& arguments) {
    const AttentionSizes sizes = sizes_of(arguments);
    for (int replica = first_; replica < end_; ++replica)
        kernels_.attention(arguments.output.rows / arguments.steps, sizes, at(arguments.projections, replica),
                           at(arguments.output, replica), at(arguments.log_sums, replica));
}

void CpuStream::attention_backward(const AttentionBackward& arguments) {
    const Attention& forward = arguments.forward;
    const AttentionSizes sizes = sizes_of(forward);
    assert(arguments.gradient.elements() == forward.output.elements());
    assert(arguments.deltas.elements() == forward.log_sums.elements());
    assert(arguments.of_projections.elements() == forward.projections.elements());
    for (int replica = first_; replica < end_; ++replica)
        kernels_.attention_backward(forward.output.rows / forward.steps, sizes, at(forward.projections, replica),
                                    at(forward.output, replica), at(forward.log_sums, replica),
                                    at(arguments.gradient, replica), at(arguments.deltas, replica),
                                    at(arguments.of_projections, replica));
}

void CpuStream::gate(const Gate& arguments) {
    const auto& [input, output] = arguments;
    assert(input.rows == output.rows && input.columns == 2 * output.columns);
    for (int replica = first_; replica < end_; ++replica)
        kernels_.gate(output.rows, output.columns, at(input, replica), at(output, replica));
}

void CpuStream::gate_backward(const GateBackward& arguments) {
    const auto& [input, output_gradient, input_gradient] = arguments;
    assert(input.elements() == 2 * output_gradient.elements() && input_gradient.elements() == input.elements());
    for (int replica = first_; replica < end_; ++replica)
        kernels_.gate_backward(output_gradient.rows, output_gradient.columns, at(input, replica),
                               at(output_gradient, replica), at(input_gradient, replica));
}

}  // namespace hpo
