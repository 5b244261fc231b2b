// The kernels of recurrent models: a part of kernels_body.hpp, which includes it inside of its unnamed namespace. See
// recurrent.hpp.

void swap_rows(int64_t outer, int64_t inner, int64_t columns, const float* input, float* output) {
    for (int64_t i = 0; i < inner; ++i)
        for (int64_t o = 0; o < outer; ++o)
            __builtin_memcpy(output + (i * outer + o) * columns, input + (o * inner + i) * columns,
                             static_cast<size_t>(columns) * sizeof(float));
}

/// Accurate to the last bits of 1, not to those of a small result.
inline float tanh_of(float x) { return 2.0F * Silu::sigmoid(2.0F * x) - 1.0F; }

void gru_step(int64_t rows, int64_t width, float* gates, const float* recurrent, const float* input_bias,
              const float* recurrent_bias, const float* before, float* candidate, float* output) {
    for (int64_t row = 0; row < rows; ++row) {
        float* r = gates + row * 3 * width;
        float* z = r + width;
        float* n = z + width;
        const float* h = recurrent + row * 3 * width;
        const float* was = before + row * width;
        float* c = candidate + row * width;
        float* y = output + row * width;
#pragma omp simd
        for (int64_t i = 0; i < width; ++i) {
            const int64_t iz = i + width, in = i + 2 * width;
            const float reset = Silu::sigmoid(r[i] + input_bias[i] + h[i] + recurrent_bias[i]);
            const float update = Silu::sigmoid(z[i] + input_bias[iz] + h[iz] + recurrent_bias[iz]);
            const float through = h[in] + recurrent_bias[in];
            const float fresh = tanh_of(n[i] + input_bias[in] + reset * through);
            r[i] = reset;
            z[i] = update;
            n[i] = fresh;
            c[i] = through;
            y[i] = (1 - update) * fresh + update * was[i];
        }
    }
}

void gru_step_backward(int64_t rows, int64_t width, const float* gradient, float* gates, const float* candidate,
                       const float* before, float* recurrent_gradient, float* before_gradient) {
    for (int64_t row = 0; row < rows; ++row) {
        float* r = gates + row * 3 * width;
        float* z = r + width;
        float* n = z + width;
        float* of_h = recurrent_gradient + row * 3 * width;
        const float* g = gradient + row * width;
        const float* c = candidate + row * width;
        const float* was = before + row * width;
        if (before_gradient) {
            float* of_was = before_gradient + row * width;
#pragma omp simd
            for (int64_t i = 0; i < width; ++i) of_was[i] += g[i] * z[i];
        }
#pragma omp simd
        for (int64_t i = 0; i < width; ++i) {
            const float of_n = g[i] * (1 - z[i]) * (1 - n[i] * n[i]);
            const float of_z = g[i] * (was[i] - n[i]) * z[i] * (1 - z[i]);
            const float of_r = of_n * c[i] * r[i] * (1 - r[i]);
            of_h[i] = of_r;
            of_h[i + width] = of_z;
            of_h[i + 2 * width] = of_n * r[i];
            r[i] = of_r;
            z[i] = of_z;
            n[i] = of_n;
        }
    }
}

void lstm_step(int64_t rows, int64_t width, float* gates, const float* recurrent, const float* bias,
               const float* cell_before, float* cell, float* output) {
    for (int64_t row = 0; row < rows; ++row) {
        float* x = gates + row * 4 * width;
        const float* h = recurrent + row * 4 * width;
        const float* was = cell_before + row * width;
        float* c = cell + row * width;
        float* y = output + row * width;
#pragma omp simd
        for (int64_t i = 0; i < width; ++i) {
            const int64_t jf = i + width, jg = i + 2 * width, jo = i + 3 * width;
            const float in = Silu::sigmoid(x[i] + h[i] + bias[i]);
            const float keep = Silu::sigmoid(x[jf] + h[jf] + bias[jf]);
            const float fresh = tanh_of(x[jg] + h[jg] + bias[jg]);
            const float out = Silu::sigmoid(x[jo] + h[jo] + bias[jo]);
            const float now = keep * was[i] + in * fresh;
            x[i] = in;
            x[jf] = keep;
            x[jg] = fresh;
            x[jo] = out;
            c[i] = now;
            y[i] = out * tanh_of(now);
        }
    }
}

void lstm_step_backward(int64_t rows, int64_t width, const float* gradient, float* cell_gradient, float* gates,
                        const float* cell_before, const float* cell) {
    for (int64_t row = 0; row < rows; ++row) {
        float* x = gates + row * 4 * width;
        const float* g = gradient + row * width;
        float* of_cell = cell_gradient + row * width;
        const float* was = cell_before + row * width;
        const float* c = cell + row * width;
#pragma omp simd
        for (int64_t i = 0; i < width; ++i) {
            const int64_t jf = i + width, jg = i + 2 * width, jo = i + 3 * width;
            const float in = x[i], keep = x[jf], fresh = x[jg], out = x[jo];
            const float squashed = tanh_of(c[i]);
            const float of_c = of_cell[i] + g[i] * out * (1 - squashed * squashed);
            x[i] = of_c * fresh * in * (1 - in);
            x[jf] = of_c * was[i] * keep * (1 - keep);
            x[jg] = of_c * in * (1 - fresh * fresh);
            x[jo] = g[i] * squashed * out * (1 - out);
            of_cell[i] = of_c * keep;
        }
    }
}
