// The kernels of layer norms: a part of kernels_body.hpp, which includes it inside of its unnamed namespace. See
// LayerNorm in operations.hpp.

void layer_norm(int64_t rows, int64_t columns, int64_t valid, bool centred, float* input, const float* bias,
                const float* scale, const float* shift, float* output, float* mean, float* rstd, float epsilon) {
    const float share = 1.0F / static_cast<float>(valid);
    for (int64_t row = 0; row < rows; ++row) {
        float* a = input + row * columns;
        float* y = output + row * columns;
        if (bias) add(valid, bias, a);
        const float m = centred ? sum_over(valid, a, [](auto x) { return x; }) * share : 0.0F;
        const float squares = sum_over(valid, a, [m](auto x) { return (x - m) * (x - m); });
        const float r = 1.0F / __builtin_sqrtf(squares * share + epsilon);
        if (shift) {
#pragma omp simd
            for (int64_t i = 0; i < valid; ++i) y[i] = (a[i] - m) * r * scale[i] + shift[i];
        } else {
#pragma omp simd
            for (int64_t i = 0; i < valid; ++i) y[i] = (a[i] - m) * r * scale[i];
        }
        for (int64_t i = valid; i < columns; ++i) y[i] = 0;
        mean[row] = m;
        rstd[row] = r;
    }
}

void layer_norm_backward(int64_t rows, int64_t columns, int64_t valid, bool centred, float* gradient,
                         const float* input, const float* mean, const float* rstd, const float* scale,
                         float* scale_gradient, float* shift_gradient, float* bias_gradient, float* skipped_gradient) {
    const float share = 1.0F / static_cast<float>(valid);
    for (int64_t row = 0; row < rows; ++row) {
        float* g = gradient + row * columns;
        const float* a = input + row * columns;
        const float m = mean[row];
        const float r = rstd[row];
        float sum = 0;     // of g * scale
        float moment = 0;  // of g * scale * normalised
#pragma omp simd reduction(+ : sum, moment)
        for (int64_t i = 0; i < valid; ++i) {
            const float normalised = (a[i] - m) * r;
            scale_gradient[i] += g[i] * normalised;
            sum += g[i] * scale[i];
            moment += g[i] * scale[i] * normalised;
        }
        if (shift_gradient) add(valid, g, shift_gradient);
        const float mean_sum = centred ? sum * share : 0.0F;
        const float mean_moment = moment * share;
        const auto one = [&](int64_t i) { return r * (g[i] * scale[i] - mean_sum - (a[i] - m) * r * mean_moment); };
        if (skipped_gradient) {
            float* to = skipped_gradient + row * columns;
#pragma omp simd
            for (int64_t i = 0; i < valid; ++i) to[i] += one(i);
            continue;
        }
#pragma omp simd
        for (int64_t i = 0; i < valid; ++i) g[i] = one(i);
        if (bias_gradient) add(valid, g, bias_gradient);
        for (int64_t i = valid; i < columns; ++i) g[i] = 0;
    }
}
