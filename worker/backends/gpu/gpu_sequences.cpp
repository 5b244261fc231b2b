// A GPU's operations of models over sequences.

#include "worker/backends/gpu/gpu_stream.hpp"

namespace hpo::gpu {

void GpuStream::compute(const Embed& arguments) {
    const auto& [tokens, table, output] = arguments;
    assert(output.rows == tokens.elements() && output.columns == table.columns);
    launch(Kernel::embed, groups_of_items(output.elements()),
           EmbedArguments{.tokens = ref(tokens),
                          .table = ref(table),
                          .output = ref(output),
                          .rows = word(output.rows),
                          .columns = word(output.columns),
                          .add = 0});
}

void GpuStream::compute(const EmbedBackward& arguments) {
    const Tensor& gradient = arguments.output_gradient;
    const Tensor& table = arguments.table_gradient;
    assert(gradient.rows == arguments.tokens.elements() && gradient.columns == table.columns);
    launch(Kernel::embed_backward, table.rows,
           EmbedArguments{.tokens = ref(arguments.tokens),
                          .table = ref(table),
                          .output = ref(gradient),
                          .rows = word(gradient.rows),
                          .columns = word(gradient.columns),
                          .add = arguments.write == Write::add});
}

void GpuStream::compute(const Rotate& arguments) {
    const Tensor& values = arguments.values;
    assert(arguments.width % 2 == 0 && arguments.width <= Attention::widest_head);
    assert(values.rows % arguments.steps == 0 && arguments.heads * arguments.width <= values.columns);
    const std::int64_t pairs = values.rows * arguments.heads * arguments.width / 2;
    launch(Kernel::rotate_heads, groups_of_items(pairs),
           RotateArguments{.values = ref(values),
                           .count = pairs,
                           .steps = word(arguments.steps),
                           .heads = word(arguments.heads),
                           .width = word(arguments.width),
                           .columns = word(values.columns),
                           .back = arguments.back});
}

static_assert(STEPS * STEPS == WORK_GROUP_SIZE && WIDEST_HEAD == Attention::widest_head);

AttentionArguments GpuStream::ref(const Attention& it) const {
    assert(it.heads % it.kv_heads == 0 && it.output.columns % it.heads == 0 && it.width() <= Attention::widest_head);
    assert(it.projections.columns == (it.heads + 2 * it.kv_heads) * it.width());
    assert(it.projections.rows == it.output.rows && it.output.rows % it.steps == 0);
    return {.projections = ref(it.projections),
            .output = ref(it.output),
            .log_sums = ref(it.log_sums),
            .gradient = {ABSENT, 0},
            .deltas = {ABSENT, 0},
            .of_projections = {ABSENT, 0},
            .samples = word(it.output.rows / it.steps),
            .steps = word(it.steps),
            .heads = word(it.heads),
            .kv_heads = word(it.kv_heads),
            .width = word(it.width()),
            .causal = it.causal,
            .scale = it.score_scale()};
}

namespace {

/// Tiles of all heads and samples.
std::int64_t tiles_of(const Attention& it, std::int64_t heads) {
    return it.output.rows / it.steps * heads * divide_up(it.steps, STEPS);
}

}  // namespace

void GpuStream::compute(const Attention& arguments) {
    launch(Kernel::attention, tiles_of(arguments, arguments.heads), ref(arguments));
}

void GpuStream::compute(const AttentionBackward& arguments) {
    const Attention& forward = arguments.forward;
    assert(arguments.gradient.elements() == forward.output.elements());
    assert(arguments.deltas.elements() == forward.log_sums.elements());
    assert(arguments.of_projections.elements() == forward.projections.elements());
    AttentionArguments all = ref(forward);
    all.gradient = ref(arguments.gradient);
    all.deltas = ref(arguments.deltas);
    all.of_projections = ref(arguments.of_projections);
    launch(Kernel::attention_deltas, groups_of_items(forward.log_sums.elements()), all);
    launch(Kernel::attention_of_keys, tiles_of(forward, forward.kv_heads), all);
    launch(Kernel::attention_of_queries, tiles_of(forward, forward.heads), all);
}

void GpuStream::compute(const Gate& arguments) {
    const auto& [input, output] = arguments;
    assert(input.rows == output.rows && input.columns == 2 * output.columns);
    launch(Kernel::gate, groups_of_items(output.elements()),
           GateArguments{.input = ref(input),
                         .output = ref(output),
                         .input_gradient = {ABSENT, 0},
                         .count = output.elements(),
                         .columns = word(output.columns)});
}

void GpuStream::compute(const GateBackward& arguments) {
    const auto& [input, output_gradient, input_gradient] = arguments;
    assert(input.elements() == 2 * output_gradient.elements() && input_gradient.elements() == input.elements());
    launch(Kernel::gate_backward, groups_of_items(output_gradient.elements()),
           GateArguments{.input = ref(input),
                         .output = ref(output_gradient),
                         .input_gradient = ref(input_gradient),
                         .count = output_gradient.elements(),
                         .columns = word(output_gradient.columns)});
}

}  // namespace hpo::gpu
