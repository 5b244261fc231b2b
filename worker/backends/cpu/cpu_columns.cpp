// The CPU's operations on the columns of tables.
#include "worker/backends/cpu/cpu_stream.hpp"

namespace hpo {

const EmbeddedColumn* CpuStream::columns_at(const Tensor& columns, int replica) const {
    assert(columns.columns == 4);
    return reinterpret_cast<const EmbeddedColumn*>(at<std::int32_t>(columns, replica));
}

void CpuStream::compute(const EmbedColumns& arguments) {
    const auto& [input, columns, weights, output] = arguments;
    assert(input.rows == output.rows && output.columns == columns.rows);
    for (int replica = first_; replica < end_; ++replica)
        kernels_.embed_columns(input.rows, input.columns, output.columns, at(input, replica),
                               columns_at(columns, replica), at(weights, replica), at(output, replica));
}

void CpuStream::compute(const EmbedColumnsBackward& arguments) {
    const Tensor& input = arguments.input;
    const Tensor& gradient = arguments.output_gradient;
    assert(input.rows == gradient.rows && gradient.columns == arguments.columns.rows);
    for (int replica = first_; replica < end_; ++replica) {
        const EmbeddedColumn* columns = columns_at(arguments.columns, replica);
        for (std::int64_t i = 0; i < gradient.columns; ++i)
            if (columns[i].levels > 0 && (i == 0 || columns[i].feature != columns[i - 1].feature))
                prepare(arguments.weight_gradients.slice(columns[i].weight, columns[i].levels, columns[i].width),
                        replica, arguments.write);
        kernels_.embed_columns_backward(input.rows, input.columns, gradient.columns, at(input, replica), columns,
                                        at(gradient, replica), at(arguments.weight_gradients, replica));
    }
}

}  // namespace hpo
