// The CPU's operations of models over sequences.
#include "worker/backends/cpu/cpu_stream.hpp"

namespace hpo {

void CpuStream::compute(const Embed& arguments) {
    const auto& [tokens, table, output] = arguments;
    assert(output.rows == tokens.elements() && output.columns == table.columns);
    for (int replica = first_; replica < end_; ++replica)
        share(output.rows, output.columns, [&](std::int64_t first, std::int64_t rows) {
            kernels_.embed(rows, output.columns, at(tokens, replica) + first, at(table, replica),
                           at(output, replica) + first * output.columns);
        });
}

void CpuStream::compute(const EmbedBackward& arguments) {
    const Tensor& gradient = arguments.output_gradient;
    assert(gradient.rows == arguments.tokens.elements() && gradient.columns == arguments.table_gradient.columns);
    for (int replica = first_; replica < end_; ++replica) {
        prepare(arguments.table_gradient, replica, arguments.write);
        kernels_.embed_backward(gradient.rows, gradient.columns, at(arguments.tokens, replica), at(gradient, replica),
                                at(arguments.table_gradient, replica));
    }
}

void CpuStream::compute(const Rotate& arguments) {
    const Tensor& values = arguments.values;
    assert(arguments.width % 2 == 0 && arguments.width <= Attention::widest_head);
    assert(values.rows % arguments.steps == 0 && arguments.heads * arguments.width <= values.columns);
    const std::int64_t of_sample = arguments.steps * values.columns;
    for (int replica = first_; replica < end_; ++replica)
        share(values.rows / arguments.steps, of_sample, [&](std::int64_t first, std::int64_t samples) {
            kernels_.rotate(samples, arguments.steps, values.columns, arguments.heads, arguments.width, arguments.back,
                            at(values, replica) + first * of_sample);
        });
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

void CpuStream::compute(const Attention& arguments) {
    const AttentionSizes sizes = sizes_of(arguments);
    for (int replica = first_; replica < end_; ++replica)
        share(arguments.output.rows / arguments.steps, sizes.steps * sizes.steps * sizes.heads,
              [&](std::int64_t first, std::int64_t samples) {
                  const auto its = [&](const Tensor& tensor) {
                      return at(tensor, replica) + first * sizes.steps * tensor.columns;
                  };
                  kernels_.attention(samples, sizes, its(arguments.projections), its(arguments.output),
                                     its(arguments.log_sums));
              });
}

void CpuStream::compute(const AttentionBackward& arguments) {
    const Attention& forward = arguments.forward;
    const AttentionSizes sizes = sizes_of(forward);
    assert(arguments.gradient.elements() == forward.output.elements());
    assert(arguments.deltas.elements() == forward.log_sums.elements());
    assert(arguments.of_projections.elements() == forward.projections.elements());
    for (int replica = first_; replica < end_; ++replica)
        share(forward.output.rows / forward.steps, sizes.steps * sizes.steps * sizes.heads,
              [&](std::int64_t first, std::int64_t samples) {
                  const auto its = [&](const Tensor& tensor, std::int64_t columns) {
                      return at(tensor, replica) + first * sizes.steps * columns;
                  };
                  const std::int64_t width = forward.output.columns, all = forward.projections.columns;
                  kernels_.attention_backward(samples, sizes, its(forward.projections, all), its(forward.output, width),
                                              its(forward.log_sums, sizes.heads), its(arguments.gradient, width),
                                              its(arguments.deltas, sizes.heads), its(arguments.of_projections, all));
              });
}

void CpuStream::compute(const Gate& arguments) {
    const auto& [input, output] = arguments;
    assert(input.rows == output.rows && input.columns == 2 * output.columns);
    const std::int64_t columns = output.columns;
    for (int replica = first_; replica < end_; ++replica)
        share(output.rows, columns, [&](std::int64_t first, std::int64_t rows) {
            kernels_.gate(rows, columns, at(input, replica) + first * 2 * columns,
                          at(output, replica) + first * columns);
        });
}

void CpuStream::compute(const GateBackward& arguments) {
    const auto& [input, output_gradient, input_gradient] = arguments;
    assert(input.elements() == 2 * output_gradient.elements() && input_gradient.elements() == input.elements());
    const std::int64_t columns = output_gradient.columns;
    for (int replica = first_; replica < end_; ++replica)
        share(output_gradient.rows, columns, [&](std::int64_t first, std::int64_t rows) {
            kernels_.gate_backward(rows, columns, at(input, replica) + first * 2 * columns,
                                   at(output_gradient, replica) + first * columns,
                                   at(input_gradient, replica) + first * 2 * columns);
        });
}

}  // namespace hpo
