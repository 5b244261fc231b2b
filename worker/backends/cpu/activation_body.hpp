// The kernels of activation, bias and dropout: a part of kernels_body.hpp, which includes it inside of its unnamed
// namespace. See Activate in operations.hpp.

void add(int64_t count, const float* from, float* to) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

template <class F, bool drop>
void activate_rows(int64_t rows, int64_t columns, float* pre, const float* bias, float* output, const float* skipped,
                   const DropoutDraw& dropout) {
    const auto threshold = static_cast<int32_t>(dropout.threshold);
    const float scale = dropout.scale;
    for (int64_t row = 0; row < rows; ++row) {
        for (int64_t first = 0; first < columns; first += group) {
            const int64_t count = columns - first < group ? columns - first : group;
            float* a = pre + row * columns + first;
            float* y = output + row * columns + first;
            if (bias) {
                const float* b = bias + first;
#pragma omp simd
                for (int64_t i = 0; i < count; ++i) a[i] += b[i];
            }
            if constexpr (drop) {
                std::uint16_t draws[group];
                draw_group(dropout, dropout.first_row + static_cast<uint32_t>(row),
                           static_cast<uint32_t>(first / group), draws);
#pragma omp simd
                for (int64_t i = 0; i < count; ++i) y[i] = F::value(a[i]) * (draws[i] < threshold ? 0.0F : scale);
                if (dropout.mask) {
                    uint8_t* kept = dropout.mask + row * columns + first;
#pragma omp simd
                    for (int64_t i = 0; i < count; ++i) kept[i] = draws[i] < threshold ? 0 : 1;
                }
            } else {
#pragma omp simd
                for (int64_t i = 0; i < count; ++i) y[i] = F::value(a[i]);
            }
            if (skipped) add(count, skipped + row * columns + first, y);
        }
    }
}

template <class F>
void activate(int64_t rows, int64_t columns, float* pre, const float* bias, float* output, const float* skipped,
              const DropoutDraw& dropout) {
    if (dropout.threshold > 0)
        activate_rows<F, true>(rows, columns, pre, bias, output, skipped, dropout);
    else
        activate_rows<F, false>(rows, columns, pre, bias, output, skipped, dropout);
}

/// `masked`: the mask shows which elements were dropped. Otherwise their output is 0 (relu), or none were dropped.
template <class F, bool masked>
void activate_backward_rows(int64_t rows, int64_t columns, float* gradient, const float* incoming, const float* pre,
                            const float* output, float* bias_gradient, const DropoutDraw& dropout) {
    const float scale = dropout.scale;
    for (int64_t row = 0; row < rows; ++row) {
        float* g = gradient + row * columns;
        const float* up = incoming + row * columns;
        const float* a = pre + row * columns;
        const float* y = output + row * columns;
        const uint8_t* kept = masked ? dropout.mask + row * columns : nullptr;
        const auto one = [&](int64_t i) {
            const float slope = F::slope(a[i], y[i]) * scale;
            if constexpr (masked)
                return kept[i] ? up[i] * slope : 0.0F;
            else
                return up[i] * slope;
        };
        if (bias_gradient) {
#pragma omp simd
            for (int64_t i = 0; i < columns; ++i) {
                g[i] = one(i);
                bias_gradient[i] += g[i];
            }
        } else {
#pragma omp simd
            for (int64_t i = 0; i < columns; ++i) g[i] = one(i);
        }
    }
}

template <class F, bool needs_mask>
void activate_backward(int64_t rows, int64_t columns, float* gradient, const float* incoming, const float* pre,
                       const float* output, float* bias_gradient, const DropoutDraw& dropout) {
    if (needs_mask && dropout.threshold > 0)
        activate_backward_rows<F, true>(rows, columns, gradient, incoming, pre, output, bias_gradient, dropout);
    else
        activate_backward_rows<F, false>(rows, columns, gradient, incoming, pre, output, bias_gradient, dropout);
}
