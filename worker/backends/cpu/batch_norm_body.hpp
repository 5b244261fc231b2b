// The kernels of batch normalisation: a part of kernels_body.hpp, which includes it inside of its unnamed namespace.
// batch_norm.hpp defines them. Sums are taken of parts of rows first, so that many rows do not round much.

/// Calls visit(first row, rows of the ghost batch, first column, columns, number of the ghost batch).
template <class F>
inline void each_ghost_block(int64_t rows, int64_t columns, int64_t ghost, F&& visit) {
    for (int64_t row = 0, number = 0; row < rows; row += ghost, ++number)
        for (int64_t first = 0; first < columns; first += channel_block)
            visit(row, rows - row < ghost ? rows - row : ghost, first,
                  columns - first < channel_block ? columns - first : channel_block, number);
}

/// total[i] = the sum over the rows of term(row, i).
template <class F>
inline void sum_rows(int64_t rows, int64_t count, float* total, F&& term) {
    float sums[channel_block];
    for (int64_t i = 0; i < count; ++i) total[i] = 0;
    for (int64_t begin = 0; begin < rows; begin += BatchNorm::part_rows) {
        const int64_t end = begin + BatchNorm::part_rows < rows ? begin + BatchNorm::part_rows : rows;
        for (int64_t i = 0; i < count; ++i) sums[i] = 0;
        for (int64_t row = begin; row < end; ++row) {
#pragma omp simd
            for (int64_t i = 0; i < count; ++i) sums[i] += term(row, i);
        }
        for (int64_t i = 0; i < count; ++i) total[i] += sums[i];
    }
}

/// y = (x - mean) * rstd * scale + shift.
inline void normalise_columns(int64_t rows, int64_t columns, int64_t count, const float* x, const float* mean,
                              const float* rstd, const float* scale, const float* shift, float* y) {
    float factor[channel_block];
    for (int64_t i = 0; i < count; ++i) factor[i] = rstd[i] * scale[i];
    for (int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) y[i] = (x[i] - mean[i]) * factor[i] + shift[i];
    }
}

void batch_norm(int64_t rows, int64_t columns, int64_t ghost, const float* input, const float* scale,
                const float* shift, float* output, float* mean, float* rstd, float epsilon) {
    each_ghost_block(rows, columns, ghost,
                     [=](int64_t row, int64_t in_ghost, int64_t first, int64_t count, int64_t number) {
                         const float* x = input + row * columns + first;
                         float* m = mean + number * columns + first;
                         float* r = rstd + number * columns + first;
                         const float share = 1.0F / static_cast<float>(in_ghost);
                         sum_rows(in_ghost, count, m, [=](int64_t k, int64_t i) { return x[k * columns + i]; });
                         for (int64_t i = 0; i < count; ++i) m[i] *= share;
                         sum_rows(in_ghost, count, r, [=](int64_t k, int64_t i) {
                             const float middle = x[k * columns + i] - m[i];
                             return middle * middle;
                         });
                         for (int64_t i = 0; i < count; ++i) r[i] = 1.0F / __builtin_sqrtf(r[i] * share + epsilon);
                         normalise_columns(in_ghost, columns, count, x, m, r, scale + first, shift + first,
                                           output + row * columns + first);
                     });
}

void batch_norm_by_running(int64_t rows, int64_t columns, const float* input, const float* scale, const float* shift,
                           const float* running_mean, const float* running_variance, float* output, float epsilon) {
    float rstd[channel_block];
    each_ghost_block(rows, columns, rows, [&](int64_t, int64_t, int64_t first, int64_t count, int64_t) {
        for (int64_t i = 0; i < count; ++i) rstd[i] = 1.0F / __builtin_sqrtf(running_variance[first + i] + epsilon);
        normalise_columns(rows, columns, count, input + first, running_mean + first, rstd, scale + first, shift + first,
                          output + first);
    });
}

void batch_norm_backward(int64_t rows, int64_t columns, int64_t ghost, float* gradient, const float* input,
                         const float* mean, const float* rstd, const float* scale, float* scale_gradient,
                         float* shift_gradient) {
    float sums[channel_block];
    float moments[channel_block];
    float factor[channel_block];
    each_ghost_block(
        rows, columns, ghost, [&](int64_t row, int64_t in_ghost, int64_t first, int64_t count, int64_t number) {
            const float* x = input + row * columns + first;
            float* g = gradient + row * columns + first;
            const float* m = mean + number * columns + first;
            const float* r = rstd + number * columns + first;
            sum_rows(in_ghost, count, sums, [=](int64_t k, int64_t i) { return g[k * columns + i]; });
            sum_rows(in_ghost, count, moments,
                     [=](int64_t k, int64_t i) { return g[k * columns + i] * (x[k * columns + i] - m[i]); });
            const float share = 1.0F / static_cast<float>(in_ghost);
            for (int64_t i = 0; i < count; ++i) {
                scale_gradient[first + i] += moments[i] * r[i];
                shift_gradient[first + i] += sums[i];
                factor[i] = r[i] * scale[first + i];
                sums[i] *= share;
                moments[i] *= share * r[i] * r[i];
            }
            for (int64_t k = 0; k < in_ghost; ++k) {
                const float* from = x + k * columns;
                float* to = g + k * columns;
#pragma omp simd
                for (int64_t i = 0; i < count; ++i)
                    to[i] = (to[i] - sums[i] - (from[i] - m[i]) * moments[i]) * factor[i];
            }
        });
}
