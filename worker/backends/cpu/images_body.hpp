// The kernels of patches, group norms and mean pooling: a part of kernels_body.hpp, which includes it inside of its
// unnamed namespace. See convolution.hpp.

/// Calls visit(row of the kernel, offset of the first pixel inside the image or -1, pixels before, inside and after it)
/// for each row of each patch of an image, in the order in which they lie in the output.
template <class F>
inline void each_patch_row(const PatchSizes& s, F&& visit) {
    const int64_t border = s.kernel / 2;
    for (int64_t out_y = 0; out_y < s.out_height; ++out_y)
        for (int64_t out_x = 0; out_x < s.out_width; ++out_x)
            for (int64_t row = 0; row < s.kernel; ++row) {
                const int64_t y = out_y * s.stride + row - border;
                const int64_t x = out_x * s.stride - border;
                if (y < 0 || y >= s.height) {
                    visit(int64_t{0}, s.kernel, int64_t{0}, int64_t{0});
                    continue;
                }
                const int64_t before = x < 0 ? -x : 0;
                const int64_t after = x + s.kernel > s.width ? x + s.kernel - s.width : 0;
                visit(y * s.width + x + before, before, s.kernel - before - after, after);
            }
}

void unfold(int64_t images, const PatchSizes& s, const float* input, float* output) {
    for (int64_t image = 0; image < images; ++image, input += s.height * s.width * s.channels)
        each_patch_row(s, [&](int64_t pixel, int64_t before, int64_t inside, int64_t after) {
            const float* from = input + pixel * s.channels;
            for (int64_t i = 0; i < before * s.channels; ++i) *output++ = 0;
#pragma omp simd
            for (int64_t i = 0; i < inside * s.channels; ++i) output[i] = from[i];
            output += inside * s.channels;
            for (int64_t i = 0; i < after * s.channels; ++i) *output++ = 0;
        });
}

void fold(int64_t images, const PatchSizes& s, const float* input, float* output) {
    const int64_t elements = s.height * s.width * s.channels;
    for (int64_t image = 0; image < images; ++image, output += elements) {
        for (int64_t i = 0; i < elements; ++i) output[i] = 0;
        each_patch_row(s, [&](int64_t pixel, int64_t before, int64_t inside, int64_t) {
            float* to = output + pixel * s.channels;
            const float* from = input + before * s.channels;
#pragma omp simd
            for (int64_t i = 0; i < inside * s.channels; ++i) to[i] += from[i];
            input += s.kernel * s.channels;
        });
    }
}

/// Channels that are worked on at once: their sums stay in the first-level cache.
constexpr int64_t channel_block = 256;
constexpr int64_t most_groups = 256;

void group_norm(int64_t samples, int64_t pixels, int64_t channels, int64_t groups, const float* input,
                const float* scale, const float* shift, float* output, float* mean, float* rstd, float epsilon) {
    const int64_t in_group = channels / groups;
    const float share = 1.0F / static_cast<float>(pixels * in_group);
    float sums[channel_block];
    float middle[channel_block];
    for (int64_t sample = 0; sample < samples; ++sample) {
        const float* x = input + sample * pixels * channels;
        float* y = output + sample * pixels * channels;
        float* m = mean + sample * groups;
        float* r = rstd + sample * groups;
        for (int64_t g = 0; g < groups; ++g) m[g] = r[g] = 0;
        for (int64_t first = 0; first < channels; first += channel_block) {
            const int64_t count = channels - first < channel_block ? channels - first : channel_block;
            for (int64_t i = 0; i < count; ++i) sums[i] = 0;
            for (int64_t p = 0; p < pixels; ++p) {
                const float* row = x + p * channels + first;
#pragma omp simd
                for (int64_t i = 0; i < count; ++i) sums[i] += row[i];
            }
            for (int64_t i = 0; i < count; ++i) m[(first + i) / in_group] += sums[i] * share;
        }
        for (int64_t first = 0; first < channels; first += channel_block) {
            const int64_t count = channels - first < channel_block ? channels - first : channel_block;
            for (int64_t i = 0; i < count; ++i) {
                sums[i] = 0;
                middle[i] = m[(first + i) / in_group];
            }
            for (int64_t p = 0; p < pixels; ++p) {
                const float* row = x + p * channels + first;
#pragma omp simd
                for (int64_t i = 0; i < count; ++i) sums[i] += (row[i] - middle[i]) * (row[i] - middle[i]);
            }
            for (int64_t i = 0; i < count; ++i) r[(first + i) / in_group] += sums[i] * share;
        }
        for (int64_t g = 0; g < groups; ++g) r[g] = 1.0F / __builtin_sqrtf(r[g] + epsilon);
        for (int64_t first = 0; first < channels; first += channel_block) {
            const int64_t count = channels - first < channel_block ? channels - first : channel_block;
            for (int64_t i = 0; i < count; ++i) {
                middle[i] = m[(first + i) / in_group];
                sums[i] = r[(first + i) / in_group] * scale[first + i];
            }
            for (int64_t p = 0; p < pixels; ++p) {
                const float* row = x + p * channels + first;
                float* to = y + p * channels + first;
#pragma omp simd
                for (int64_t i = 0; i < count; ++i) to[i] = (row[i] - middle[i]) * sums[i] + shift[first + i];
            }
        }
    }
}

void group_norm_backward(int64_t samples, int64_t pixels, int64_t channels, int64_t groups, float* gradient,
                         const float* input, const float* mean, const float* rstd, const float* scale,
                         float* scale_gradient, float* shift_gradient) {
    const int64_t in_group = channels / groups;
    const float share = 1.0F / static_cast<float>(pixels * in_group);
    float sums[channel_block];
    float moments[channel_block];
    float middle[channel_block];
    float inverse[channel_block];
    float group_sums[most_groups];     // means of g * scale
    float group_moments[most_groups];  // means of g * scale * normalised
    for (int64_t sample = 0; sample < samples; ++sample) {
        const float* x = input + sample * pixels * channels;
        float* g = gradient + sample * pixels * channels;
        const float* m = mean + sample * groups;
        const float* r = rstd + sample * groups;
        for (int64_t k = 0; k < groups; ++k) group_sums[k] = group_moments[k] = 0;
        for (int64_t first = 0; first < channels; first += channel_block) {
            const int64_t count = channels - first < channel_block ? channels - first : channel_block;
            for (int64_t i = 0; i < count; ++i) {
                sums[i] = moments[i] = 0;
                middle[i] = m[(first + i) / in_group];
                inverse[i] = r[(first + i) / in_group];
            }
            for (int64_t p = 0; p < pixels; ++p) {
                const float* row = x + p * channels + first;
                const float* up = g + p * channels + first;
#pragma omp simd
                for (int64_t i = 0; i < count; ++i) {
                    sums[i] += up[i];
                    moments[i] += up[i] * (row[i] - middle[i]);
                }
            }
            for (int64_t i = 0; i < count; ++i) {
                moments[i] *= inverse[i];
                scale_gradient[first + i] += moments[i];
                shift_gradient[first + i] += sums[i];
                group_sums[(first + i) / in_group] += sums[i] * scale[first + i] * share;
                group_moments[(first + i) / in_group] += moments[i] * scale[first + i] * share;
            }
        }
        for (int64_t first = 0; first < channels; first += channel_block) {
            const int64_t count = channels - first < channel_block ? channels - first : channel_block;
            for (int64_t i = 0; i < count; ++i) {
                const int64_t k = (first + i) / in_group;
                middle[i] = m[k];
                inverse[i] = r[k] * scale[first + i];
                sums[i] = r[k] * group_sums[k];
                moments[i] = r[k] * r[k] * group_moments[k];
            }
            for (int64_t p = 0; p < pixels; ++p) {
                const float* row = x + p * channels + first;
                float* up = g + p * channels + first;
#pragma omp simd
                for (int64_t i = 0; i < count; ++i)
                    up[i] = up[i] * inverse[i] - sums[i] - (row[i] - middle[i]) * moments[i];
            }
        }
    }
}

void mean_pixels(int64_t samples, int64_t pixels, int64_t channels, const float* input, float* output) {
    const float share = 1.0F / static_cast<float>(pixels);
    for (int64_t sample = 0; sample < samples; ++sample, output += channels) {
        for (int64_t i = 0; i < channels; ++i) output[i] = 0;
        for (int64_t p = 0; p < pixels; ++p, input += channels) {
#pragma omp simd
            for (int64_t i = 0; i < channels; ++i) output[i] += input[i];
        }
        for (int64_t i = 0; i < channels; ++i) output[i] *= share;
    }
}

void mean_pixels_backward(int64_t samples, int64_t pixels, int64_t channels, const float* output_gradient,
                          float* input_gradient) {
    const float share = 1.0F / static_cast<float>(pixels);
    for (int64_t sample = 0; sample < samples; ++sample, output_gradient += channels)
        for (int64_t p = 0; p < pixels; ++p, input_gradient += channels) {
#pragma omp simd
            for (int64_t i = 0; i < channels; ++i) input_gradient[i] = output_gradient[i] * share;
        }
}
