// A GPU's matrix products.
#include "worker/backends/gpu/gpu_stream.hpp"

namespace hpo::gpu {

void GpuStream::multiply(Form form, const Tensor& a, const Tensor& b, const Tensor& c, const Sizes& sizes, Write write,
                         Precision precision) {
    const MultiplyArguments arguments{.a = ref(a),
                                      .b = ref(b),
                                      .c = ref(c),
                                      .m = word(sizes.m),
                                      .n = word(sizes.n),
                                      .k = word(sizes.k),
                                      .add = write == Write::add,
                                      .precision = static_cast<u32>(precision)};
    if (runtime_.multiply(arena_.memory(), form, arguments, replicas_)) return;
    constexpr Kernel kernels[][2] = {{Kernel::multiply, Kernel::multiply_rounded},
                                     {Kernel::multiply_by_transposed, Kernel::multiply_by_transposed_rounded},
                                     {Kernel::multiply_transposed, Kernel::multiply_transposed_rounded}};
    const bool rounded = operand_type(precision) != Type::f32;
    launch(kernels[static_cast<int>(form)][rounded ? 1 : 0], divide_up(sizes.m, TILE) * divide_up(sizes.n, TILE),
           arguments);
}

void GpuStream::compute(const Linear& arguments) {
    const auto& [input, weight, output, precision] = arguments;
    assert(input.columns == weight.columns && output.rows == input.rows && output.columns == weight.rows);
    assert(input.type == operand_type(precision) && weight.type == input.type);
    multiply(Form::by_transposed, input, weight, output, {input.rows, weight.rows, input.columns}, Write::set,
             precision);
}

void GpuStream::compute(const LinearBackward& arguments) {
    const Precision precision = arguments.precision;
    const Tensor& gradient = arguments.output_gradient;
    const Tensor& input = arguments.input;
    const Tensor& weight = arguments.weight;
    assert(gradient.rows == input.rows && gradient.columns == weight.rows && input.columns == weight.columns);
    assert(gradient.type == operand_type(precision) && weight.type == gradient.type);
    assert(input.type == gradient.type || (!arguments.weight_gradient && !arguments.adamw));
    if (arguments.weight_gradient && !arguments.adamw) {
        assert(arguments.weight_gradient.elements() == weight.elements());
        multiply(Form::transposed, gradient, input, arguments.weight_gradient,
                 {weight.rows, weight.columns, input.rows}, arguments.write, precision);
    }
    if (arguments.input_gradient) {
        assert(arguments.input_gradient.elements() == input.elements());
        multiply(Form::plain, gradient, weight, arguments.input_gradient, {input.rows, weight.columns, weight.rows},
                 Write::set, precision);
    }
    if (!arguments.adamw) return;
    // Last, since the input's gradient is computed with the weights as they were.
    static_assert(gradient_parts(TILE, TILE) == 1 && gradient_parts(TILE + 1, TILE) == 2);
    const std::int64_t parts = gradient_parts(weight.rows, weight.columns);
    assert(arguments.roots.elements() == parts && arguments.adamw->update.weights.elements() == weight.elements());
    const bool narrow = operand_type(precision) != Type::f32;
    assert(!narrow || arguments.adamw->update.rounded.offset == weight.offset);
    launch(narrow ? Kernel::multiply_and_adamw_rounded : Kernel::multiply_and_adamw, parts,
           MultiplyAndAdamWArguments{{ref(gradient),
                                      ref(input),
                                      {ABSENT, 0},
                                      word(weight.rows),
                                      word(weight.columns),
                                      word(input.rows),
                                      0,
                                      static_cast<u32>(precision)},
                                     ref(*arguments.adamw),
                                     ref(arguments.roots)});
}

}  // namespace hpo::gpu
