// The kernels of the columns of tables: a part of kernels_body.hpp, which includes it inside of its unnamed namespace.
// columns.hpp defines them.

/// Calls visit(entry, its first output) for each feature that is a number, and once for each embedding.
template <class F>
inline void each_embedded(int64_t outputs, const EmbeddedColumn* columns, F&& visit) {
    for (int64_t first = 0; first<outputs; first += columns[first].levels> 0 ? columns[first].width : 1)
        visit(columns[first], first);
}

void embed_columns(int64_t rows, int64_t inputs, int64_t outputs, const float* input, const EmbeddedColumn* columns,
                   const float* weights, float* output) {
    for (int64_t row = 0; row < rows; ++row, input += inputs, output += outputs)
        each_embedded(outputs, columns, [=](const EmbeddedColumn& it, int64_t first) {
            const float* x = input + it.feature;
            float* y = output + first;
            if (it.levels == 0) {
                *y = *x;
                return;
            }
            for (int64_t i = 0; i < it.width; ++i) y[i] = 0;
            for (int64_t level = 0; level < it.levels; ++level) {
                if (x[level] == 0) continue;
                const float* w = weights + it.weight + level * it.width;
                for (int64_t i = 0; i < it.width; ++i) y[i] += x[level] * w[i];
            }
        });
}

void embed_columns_backward(int64_t rows, int64_t inputs, int64_t outputs, const float* input,
                            const EmbeddedColumn* columns, const float* gradient, float* weight_gradients) {
    for (int64_t row = 0; row < rows; ++row, input += inputs, gradient += outputs)
        each_embedded(outputs, columns, [=](const EmbeddedColumn& it, int64_t first) {
            const float* x = input + it.feature;
            for (int64_t level = 0; level < it.levels; ++level) {
                if (x[level] == 0) continue;
                float* to = weight_gradients + it.weight + level * it.width;
                for (int64_t i = 0; i < it.width; ++i) to[i] += x[level] * gradient[first + i];
            }
        });
}
