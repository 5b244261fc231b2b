// The kernels of optimizers: a part of kernels_body.hpp, which includes it inside of its unnamed namespace. See
// optimizers.hpp.

double sum_of_squares(int64_t count, const float* values) {
    double total = 0;
    constexpr int64_t block = 4096;  // floats within, doubles across: exact enough, and one reading at full width
    for (int64_t first = 0; first < count; first += block) {
        const int64_t end = first + block < count ? first + block : count;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = first; i < end; ++i) sum += values[i] * values[i];
        total += sum;
    }
    return total;
}

void adamw(int64_t count, const AdamWStep& step, float* __restrict weights, const float* __restrict gradient,
           float* __restrict first, float* __restrict second) {
    const AdamWStep s = step;
    const float rest1 = 1 - s.beta1;
    const float rest2 = 1 - s.beta2;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
        const float g = gradient[i] * s.factor;
        const float m = s.beta1 * first[i] + rest1 * g;
        const float v = s.beta2 * second[i] + rest2 * g * g;
        first[i] = m;
        second[i] = v;
        weights[i] = weights[i] * s.decay - s.step * m / (__builtin_sqrtf(v) * s.inverse_root + s.epsilon);
    }
}

void sgd(int64_t count, const SgdStep& step, float* __restrict weights, const float* __restrict gradient,
         float* __restrict velocity) {
    const SgdStep s = step;
    const float direct = s.nesterov ? 1.0F : 0.0F;
    const float carried = s.nesterov ? s.momentum : 1.0F;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
        const float g = gradient[i] * s.factor + s.decay * weights[i];
        const float u = s.momentum * velocity[i] + g;
        velocity[i] = u;
        weights[i] -= s.learning_rate * (direct * g + carried * u);
    }
}

void lion(int64_t count, const LionStep& step, float* __restrict weights, const float* __restrict gradient,
          float* __restrict first) {
    const LionStep s = step;
    const float rest1 = 1 - s.beta1;
    const float rest2 = 1 - s.beta2;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
        const float g = gradient[i] * s.factor;
        const float direction = s.beta1 * first[i] + rest1 * g;
        const float sign = static_cast<float>(direction > 0) - static_cast<float>(direction < 0);
        first[i] = s.beta2 * first[i] + rest2 * g;
        weights[i] = weights[i] * s.decay - s.learning_rate * sign;
    }
}

void average(int64_t count, float rest, const float* __restrict weights, float* __restrict averaged) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) averaged[i] += rest * (weights[i] - averaged[i]);
}
