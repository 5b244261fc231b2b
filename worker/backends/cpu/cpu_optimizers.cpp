// The CPU's operations of an update.
#include <algorithm>
#include <cmath>

#include "worker/backends/cpu/cpu_stream.hpp"

namespace hpo {

void CpuStream::compute(const GradientNorm& arguments) {
    const LossScale& scaling = arguments.scaling;
    for (int replica = first_; replica < end_; ++replica) {
        const float scale = scaling.scale ? value(scaling.scale, replica) : 1.0F;
        const auto norm = static_cast<float>(
            std::sqrt(kernels_.sum_of_squares(arguments.gradient.elements(), at(arguments.gradient, replica))) / scale);
        const float limit = value(arguments.limit, replica);
        const bool valid = !scaling.scale || std::isfinite(norm);
        *at(arguments.norm, replica) = valid ? norm : 0.0F;
        *at(arguments.factor, replica) = valid ? (limit > 0 && norm > limit ? limit / norm : 1.0F) / scale : 0.0F;
        if (!scaling.scale) continue;
        *at<std::uint8_t>(scaling.valid, replica) = valid ? 1 : 0;
        float& good = *at(scaling.good, replica);
        good = valid ? good + 1 : 0.0F;
        const bool grows = good == LossScale::growth;
        if (grows) good = 0;
        if (grows || !valid) *at(scaling.scale, replica) = std::clamp(scale * (grows ? 2.0F : 0.5F), 1.0F, 0x1.0p24F);
    }
}

float CpuStream::rate_of(const Update& update, int replica) const {
    const std::uint32_t window_index = update.window_index ? value<std::uint32_t>(update.window_index, replica) : 0;
    assert(window_index < update.learning_rates.columns);
    return at(update.learning_rates, replica)[window_index];
}

bool CpuStream::updates(const Update& update, int replica) const {
    return value<std::uint8_t>(update.alive, replica) != 0 &&
           (!update.valid || value<std::uint8_t>(update.valid, replica) != 0);
}

void CpuStream::round_decayed(const Update& update, int replica) const {
    if (!update.rounded) return;
    assert(update.rounded.elements() == update.decayed);
    share_elements(update.decayed, [&](std::int64_t first, std::int64_t count) {
        round_to_bfloat16(count, at(update.weights, replica) + first,
                          at<std::uint16_t>(update.rounded, replica) + first);
    });
}

/// Calls work(first, count, step) for parts of the parameters; those that do not decay get the step with `no_decay`.
template <class Step, class F>
void CpuStream::share_update(const Update& update, const Step& step, float no_decay, F&& work) const {
    const std::int64_t decayed = update.decayed;
    share_elements(decayed, [&](std::int64_t first, std::int64_t count) { work(first, count, step); });
    Step rest = step;
    rest.decay = no_decay;
    share_elements(update.weights.elements() - decayed,
                   [&](std::int64_t first, std::int64_t count) { work(decayed + first, count, rest); });
}

void CpuStream::compute(const AdamW& arguments) {
    const Update& update = arguments.update;
    for (int replica = first_; replica < end_; ++replica) {
        if (!updates(update, replica)) continue;
        const double rate = rate_of(update, replica);
        const double t = value<std::uint32_t>(arguments.iteration, replica) + 1.0;
        const float beta1 = value(arguments.beta1, replica);
        const float beta2 = value(arguments.beta2, replica);
        const AdamWStep step{.decay = static_cast<float>(1 - rate * value(update.weight_decay, replica)),
                             .factor = update.factor ? value(update.factor, replica) : 1.0F,
                             .beta1 = beta1,
                             .beta2 = beta2,
                             .step = static_cast<float>(rate / (1 - std::pow(beta1, t))),
                             .inverse_root = static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, t))),
                             .epsilon = value(arguments.epsilon, replica)};
        float* weights = at(update.weights, replica);
        const float* gradient = at(update.gradient, replica);
        float* first = at(arguments.first_moment, replica);
        float* second = at(arguments.second_moment, replica);
        share_update(update, step, 1, [&](std::int64_t i, std::int64_t count, const AdamWStep& its) {
            kernels_.adamw(count, its, weights + i, gradient + i, first + i, second + i);
        });
        round_decayed(update, replica);
    }
}

void CpuStream::compute(const Sgd& arguments) {
    const Update& update = arguments.update;
    for (int replica = first_; replica < end_; ++replica) {
        if (!updates(update, replica)) continue;
        const SgdStep step{.learning_rate = rate_of(update, replica),
                           .decay = value(update.weight_decay, replica),
                           .factor = update.factor ? value(update.factor, replica) : 1.0F,
                           .momentum = value(arguments.momentum, replica),
                           .nesterov = arguments.nesterov};
        float* weights = at(update.weights, replica);
        const float* gradient = at(update.gradient, replica);
        float* velocity = at(arguments.velocity, replica);
        share_update(update, step, 0, [&](std::int64_t i, std::int64_t count, const SgdStep& its) {
            kernels_.sgd(count, its, weights + i, gradient + i, velocity + i);
        });
        round_decayed(update, replica);
    }
}

void CpuStream::compute(const Lion& arguments) {
    const Update& update = arguments.update;
    for (int replica = first_; replica < end_; ++replica) {
        if (!updates(update, replica)) continue;
        const float rate = rate_of(update, replica);
        const LionStep step{.learning_rate = rate,
                            .decay = static_cast<float>(1 - double{rate} * value(update.weight_decay, replica)),
                            .factor = update.factor ? value(update.factor, replica) : 1.0F,
                            .beta1 = value(arguments.beta1, replica),
                            .beta2 = value(arguments.beta2, replica)};
        float* weights = at(update.weights, replica);
        const float* gradient = at(update.gradient, replica);
        float* first = at(arguments.first_moment, replica);
        share_update(update, step, 1, [&](std::int64_t i, std::int64_t count, const LionStep& its) {
            kernels_.lion(count, its, weights + i, gradient + i, first + i);
        });
        round_decayed(update, replica);
    }
}

void CpuStream::compute(const Combine& arguments) {
    const auto& [from, to, from_factor, to_factor, norm] = arguments;
    assert(!from || from.elements() == to.elements());
    for (int replica = first_; replica < end_; ++replica) {
        const float scale = norm ? 1.0F / (value(norm, replica) + 1e-7F) : 1.0F;
        const float of_from = from_factor * scale, of_to = to_factor * scale;
        const float* source = at(from, replica);
        float* target = at(to, replica);
        share_elements(to.elements(), [&](std::int64_t first, std::int64_t count) {
            if (source)
                for (std::int64_t i = first; i < first + count; ++i)
                    target[i] = of_from * source[i] + of_to * target[i];
            else
                for (std::int64_t i = first; i < first + count; ++i) target[i] *= of_to;
        });
    }
}

void CpuStream::compute(const Average& arguments) {
    for (int replica = first_; replica < end_; ++replica) {
        if (value<std::uint8_t>(arguments.alive, replica) == 0) continue;
        const auto t = static_cast<float>(value<std::uint32_t>(arguments.iteration, replica) + 1);
        const float decay = std::min(arguments.decay, (1 + t) / (10 + t));
        share_elements(arguments.weights.elements(), [&](std::int64_t first, std::int64_t count) {
            kernels_.average(count, 1 - decay, at(arguments.weights, replica) + first,
                             at(arguments.average, replica) + first);
        });
    }
}

void CpuStream::compute(const Advance& arguments) {
    for (int replica = first_; replica < end_; ++replica) {
        if (arguments.window_index) {
            auto& window_index = *at<std::uint32_t>(arguments.window_index, replica);
            assert(window_index < arguments.losses.columns && window_index < arguments.norms.columns);
            at(arguments.losses, replica)[window_index] = value(arguments.loss, replica);
            at(arguments.norms, replica)[window_index] = value(arguments.norm, replica);
            ++window_index;
        }
        if (value<std::uint8_t>(arguments.alive, replica)) ++*at<std::uint32_t>(arguments.iteration, replica);
    }
}

}  // namespace hpo
