// The kernels of losses: a part of kernels_body.hpp, which includes it inside of its unnamed namespace. See
// CrossEntropy and SquaredError in operations.hpp.

// ---- Softmax cross-entropy ----

/// The 16 numbers from `row` + first on; past the end `padding`, in `spare`.
inline const float* sixteen(const float* row, int64_t first, int64_t columns, float padding, float* spare) {
    if (first + wide <= columns) return row + first;
    for (int64_t i = 0; i < wide; ++i) spare[i] = first + i < columns ? row[first + i] : padding;
    return spare;
}

void cross_entropy(int64_t rows, int64_t columns, const float* logits, const int32_t* labels,
                   const float* class_weights, float smoothing, float weight, float scale, float* loss,
                   int32_t* correct, float* gradient) {
    constexpr float lowest = -__FLT_MAX__;
    const float spread = smoothing / static_cast<float>(columns);
    double total = 0;
    int32_t hits = 0;
    float spare[wide];
    for (int64_t row = 0; row < rows; ++row) {
        const float* z = logits + row * columns;
        const int64_t label = labels[row];
        float greatest = lowest;
        int64_t winner = 0;
        for (int64_t i = 0; i < columns; ++i) {
            if (z[i] > greatest) {
                greatest = z[i];
                winner = i;
            }
        }
        float exponentials = 0;
        float sum = 0;  // of z - greatest
        for (int64_t first = 0; first < columns; first += wide) {
            const float* x = sixteen(z, first, columns, lowest, spare);
#pragma omp simd reduction(+ : exponentials, sum)
            for (int64_t i = 0; i < wide; ++i) {
                exponentials += first + i < columns ? exponential(x[i] - greatest) : 0.0F;
                sum += first + i < columns ? x[i] - greatest : 0.0F;
            }
        }
        const float normaliser = __builtin_logf(exponentials);
        const float of_class = class_weights ? class_weights[label] : 1.0F;
        total += of_class * (normaliser - (1 - smoothing) * (z[label] - greatest) - spread * sum);
        hits += winner == label;
        if (!gradient) continue;
        float* g = gradient + row * columns;
        const float share = weight * scale * of_class;
        const float inverse = share / exponentials;
        const float even = share * spread;
        for (int64_t first = 0; first < columns; first += wide) {
            const float* x = sixteen(z, first, columns, lowest, spare);
            const int64_t count = columns - first < wide ? columns - first : wide;
            float result[wide];
#pragma omp simd
            for (int64_t i = 0; i < wide; ++i) result[i] = exponential(x[i] - greatest) * inverse - even;
            for (int64_t i = 0; i < count; ++i) g[first + i] = result[i];
        }
        g[label] -= share * (1 - smoothing);
    }
    *loss += static_cast<float>(weight * total);
    *correct += hits;
}

// ---- Binary cross-entropy ----

void binary_cross_entropy(int64_t rows, int64_t columns, const float* logits, const float* labels,
                          const float* class_weights, float smoothing, float weight, float scale, float* loss,
                          int32_t* correct, float* gradient) {
    const float share = weight * scale;
    double total = 0;
    int32_t hits = 0;
    for (int64_t row = 0; row < rows; ++row) {
        const float* z = logits + row * columns;
        const float* label = labels + row * columns;
        float sum = 0;
        for (int64_t i = 0; i < columns; ++i) {
            // With y the smoothed label, w its weight, and log(1 + exp(z)) = -log(1 - sigmoid(z)):
            // (1 - y) log(1 + exp(z)) + w y (log(1 + exp(z)) - z).
            const float y = label[i] * (1 - smoothing) + 0.5F * smoothing;
            const float positive = class_weights ? class_weights[i] * y : y;
            const float both = 1 - y + positive;
            const float small = exponential(z[i] > 0 ? -z[i] : z[i]);
            sum += both * ((z[i] > 0 ? z[i] : 0) + __builtin_logf(1 + small)) - positive * z[i];
            hits += (z[i] > 0) == (label[i] > 0.5F);
            if (gradient)
                gradient[row * columns + i] = share * (both * (z[i] > 0 ? 1 : small) / (1 + small) - positive);
        }
        total += sum;
    }
    *loss += static_cast<float>(weight * total);
    *correct += hits;
}

// ---- Squared error ----

void squared_error(int64_t count, const float* predictions, const float* targets, float weight, float scale,
                   float* loss, float* absolute, float* gradient) {
    const float share = 2 * weight * scale;
    double squares = 0;
    double sizes = 0;
    constexpr int64_t block = 4096;  // floats within, doubles across, as in sum_of_squares
    for (int64_t first = 0; first < count; first += block) {
        const int64_t end = first + block < count ? first + block : count;
        float block_squares = 0;
        float block_sizes = 0;
#pragma omp simd reduction(+ : block_squares, block_sizes)
        for (int64_t i = first; i < end; ++i) {
            const float error = predictions[i] - targets[i];
            block_squares += error * error;
            block_sizes += __builtin_fabsf(error);
        }
        squares += block_squares;
        sizes += block_sizes;
        if (!gradient) continue;
#pragma omp simd
        for (int64_t i = first; i < end; ++i) gradient[i] = (predictions[i] - targets[i]) * share;
    }
    *loss += static_cast<float>(weight * squares);
    *absolute += static_cast<float>(weight * sizes);
}
