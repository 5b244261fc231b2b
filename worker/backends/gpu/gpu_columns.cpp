// A GPU's operations on the columns of tables.
#include "worker/backends/gpu/gpu_stream.hpp"

namespace hpo::gpu {

void GpuStream::embed_columns(const EmbedColumns& arguments) {
    const auto& [input, columns, weights, output] = arguments;
    assert(input.rows == output.rows && output.columns == columns.rows && columns.columns == 4);
    launch(Kernel::embed_columns, groups_of_items(output.elements()),
           EmbedColumnsArguments{ref(input), ref(columns), ref(weights), ref(output), word(input.rows),
                                 word(input.columns), word(output.columns), 0, 0, 0});
}

void GpuStream::embed_columns_backward(const EmbedColumnsBackward& arguments) {
    const auto& [input, columns, gradient, weight_gradients, most_levels, write] = arguments;
    assert(input.rows == gradient.rows && gradient.columns == columns.rows && columns.columns == 4);
    launch(
        Kernel::embed_columns_backward, groups_of_items(gradient.columns * most_levels),
        EmbedColumnsArguments{ref(input), ref(columns), ref(weight_gradients), ref(gradient), word(input.rows),
                              word(input.columns), word(gradient.columns), word(most_levels), write == Write::add, 0});
}

}  // namespace hpo::gpu
