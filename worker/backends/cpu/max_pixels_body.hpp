// The kernels of max pooling: a part of kernels_body.hpp, which includes it inside of its unnamed namespace. See
// MaxPixels in operations.hpp.

/// Calls visit(pixel of the output, pixels of its window, their number) for each pixel of the output of an image.
template <class F>
inline void each_window(int64_t height, int64_t width, F&& visit) {
    int64_t out = 0;
    for (int64_t y = 0; y < height; y += 2)
        for (int64_t x = 0; x < width; x += 2, ++out) {
            int64_t window[4];
            int64_t count = 0;
            for (int64_t down = y; down < y + 2 && down < height; ++down)
                for (int64_t right = x; right < x + 2 && right < width; ++right) window[count++] = down * width + right;
            visit(out, window, count);
        }
}

/// NaN wins: divergence must show.
inline float larger(float now, float next) { return next > now || next != next ? next : now; }

void max_pixels(int64_t images, int64_t height, int64_t width, int64_t channels, const float* input, float* output) {
    const int64_t out_pixels = ((height + 1) / 2) * ((width + 1) / 2);
    for (int64_t image = 0; image < images; ++image) {
        each_window(height, width, [=](int64_t out, const int64_t* window, int64_t count) {
            float* to = output + out * channels;
            for (int64_t i = 0; i < channels; ++i) to[i] = input[window[0] * channels + i];
            for (int64_t k = 1; k < count; ++k) {
                const float* from = input + window[k] * channels;
#pragma omp simd
                for (int64_t i = 0; i < channels; ++i) to[i] = larger(to[i], from[i]);
            }
        });
        input += height * width * channels;
        output += out_pixels * channels;
    }
}

void max_pixels_backward(int64_t images, int64_t height, int64_t width, int64_t channels, const float* input,
                         const float* output_gradient, float* input_gradient) {
    const int64_t out_pixels = ((height + 1) / 2) * ((width + 1) / 2);
    for (int64_t image = 0; image < images; ++image) {
        each_window(height, width, [=](int64_t out, const int64_t* window, int64_t count) {
            const float* up = output_gradient + out * channels;
            for (int64_t i = 0; i < channels; ++i) {
                int64_t winner = 0;
                for (int64_t k = 1; k < count; ++k)
                    if (input[window[k] * channels + i] > input[window[winner] * channels + i]) winner = k;
                for (int64_t k = 0; k < count; ++k)
                    input_gradient[window[k] * channels + i] = winner == k ? up[i] : 0.0F;
            }
        });
        input += height * width * channels;
        input_gradient += height * width * channels;
        output_gradient += out_pixels * channels;
    }
}
