// A GPU's operations on the columns of tables.
#include "worker/backends/gpu/gpu_stream.hpp"

namespace hpo::gpu {

void GpuStream::compute(const EmbedColumns& arguments) {
    const auto& [input, columns, weights, output] = arguments;
    assert(input.rows == output.rows && output.columns == columns.rows && columns.columns == 4);
    launch(Kernel::embed_columns, groups_of_items(output.elements()),
           EmbedColumnsArguments{.input = ref(input),
                                 .columns = ref(columns),
                                 .weights = ref(weights),
                                 .output = ref(output),
                                 .rows = word(input.rows),
                                 .inputs = word(input.columns),
                                 .outputs = word(output.columns),
                                 .most_levels = 0,
                                 .add = 0,
                                 .unused = 0});
}

void GpuStream::compute(const EmbedColumnsBackward& arguments) {
    const auto& [input, columns, gradient, weight_gradients, most_levels, write] = arguments;
    assert(input.rows == gradient.rows && gradient.columns == columns.rows && columns.columns == 4);
    launch(Kernel::embed_columns_backward, groups_of_items(gradient.columns * most_levels),
           EmbedColumnsArguments{.input = ref(input),
                                 .columns = ref(columns),
                                 .weights = ref(weight_gradients),
                                 .output = ref(gradient),
                                 .rows = word(input.rows),
                                 .inputs = word(input.columns),
                                 .outputs = word(gradient.columns),
                                 .most_levels = word(most_levels),
                                 .add = write == Write::add,
                                 .unused = 0});
}

}  // namespace hpo::gpu
