// A GPU's operations of an update.
#include "worker/backends/gpu/gpu_stream.hpp"

namespace hpo::gpu {

void GpuStream::compute(const GradientNorm& arguments) {
    const std::int64_t count = arguments.gradient.elements();
    const u32 parts = parts_of(divide_up(count, UPDATE_ELEMENTS));
    const LossScale& scaling = arguments.scaling;
    const GradientNormArguments both{.gradient = ref(arguments.gradient),
                                     .limit = ref(arguments.limit),
                                     .norm = ref(arguments.norm),
                                     .factor = ref(arguments.factor),
                                     .scale = ref(scaling.scale),
                                     .good = ref(scaling.good),
                                     .valid = ref(scaling.valid),
                                     .count = count,
                                     .parts = parts,
                                     .growth = LossScale::growth};
    launch(Kernel::norm_parts, parts, both);
    launch(Kernel::norm_total, 1, both);
}

static_assert(UPDATE_ELEMENTS == 4 * WORK_GROUP_SIZE && alignment % 16 == 0, "optimizers read four floats at once");

namespace {

[[maybe_unused]] bool can_be_updated(const Update& update) {
    return update.weights.offset % 16 == 0 && update.gradient.offset % 16 == 0 &&
           (!update.rounded || (update.rounded.offset % 8 == 0 && update.rounded.elements() == update.decayed));
}

}  // namespace

void GpuStream::compute(const AdamW& arguments) {
    assert(can_be_updated(arguments.update));
    launch(Kernel::adamw, divide_up(arguments.update.weights.elements(), UPDATE_ELEMENTS), ref(arguments));
}

void GpuStream::compute(const Sgd& arguments) {
    assert(can_be_updated(arguments.update));
    launch(Kernel::sgd, divide_up(arguments.update.weights.elements(), UPDATE_ELEMENTS),
           SgdArguments{ref(arguments.update), ref(arguments.velocity), ref(arguments.momentum), arguments.nesterov});
}

void GpuStream::compute(const Lion& arguments) {
    assert(can_be_updated(arguments.update));
    launch(
        Kernel::lion, divide_up(arguments.update.weights.elements(), UPDATE_ELEMENTS),
        LionArguments{ref(arguments.update), ref(arguments.first_moment), ref(arguments.beta1), ref(arguments.beta2)});
}

void GpuStream::compute(const Combine& arguments) {
    const auto& [from, to, from_factor, to_factor, norm] = arguments;
    assert(!from || from.elements() == to.elements());
    launch(Kernel::combine, groups_of_items(to.elements()),
           CombineArguments{.from = ref(from),
                            .to = ref(to),
                            .norm = ref(norm),
                            .count = to.elements(),
                            .from_factor = from_factor,
                            .to_factor = to_factor});
}

void GpuStream::compute(const Average& arguments) {
    assert(arguments.weights.offset % 16 == 0 && arguments.average.offset % 16 == 0);
    launch(Kernel::average, divide_up(arguments.weights.elements(), UPDATE_ELEMENTS),
           AverageArguments{.weights = ref(arguments.weights),
                            .average = ref(arguments.average),
                            .iteration = ref(arguments.iteration),
                            .alive = ref(arguments.alive),
                            .count = arguments.weights.elements(),
                            .decay = arguments.decay,
                            .unused = 0});
}

void GpuStream::compute(const Advance& arguments) {
    launch(Kernel::advance, 1,
           AdvanceArguments{.iteration = ref(arguments.iteration),
                            .alive = ref(arguments.alive),
                            .window_index = ref(arguments.window_index),
                            .loss = ref(arguments.loss),
                            .norm = ref(arguments.norm),
                            .losses = ref(arguments.losses),
                            .norms = ref(arguments.norms)});
    runtime_.flush();
}

}  // namespace hpo::gpu
