// The kernels, compiled once for each level with HPO_KERNEL_TABLE set to the table's name. Everything but the table is
// in an unnamed namespace and nothing of the standard library is called: an inline function compiled here for AVX-512
// could otherwise be the copy that the linker keeps for the whole program.
#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <arm_neon.h>
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hpo/random.hpp"
#include "worker/backends/batch_norm.hpp"
#include "worker/backends/cpu/kernels.hpp"

namespace hpo {
namespace {

using std::int32_t;
using std::int64_t;
using std::size_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

// ---- The widest register, for loops that the compiler does not vectorise well by itself ----

#if defined(__AVX512F__)
constexpr int register_bytes = 64;
#elif defined(__AVX2__)
constexpr int register_bytes = 32;
#else
constexpr int register_bytes = 16;
#endif
using Floats = float __attribute__((vector_size(register_bytes), may_alias));
using Words = int32_t __attribute__((vector_size(register_bytes), may_alias));
using UnsignedWords = uint32_t __attribute__((vector_size(register_bytes)));
constexpr int64_t lanes = register_bytes / sizeof(float);

using FourFloats = float __attribute__((vector_size(16), aligned(4), may_alias));

inline Floats load_floats(const float* from) {
    Floats loaded;
    __builtin_memcpy(&loaded, from, sizeof loaded);
    return loaded;
}
inline void store_floats(const Floats& value, float* to) { __builtin_memcpy(to, &value, sizeof value); }

/// op(op(quarter, quarter), ...) of the vector's quarters, or of its halves.
template <class Op>
inline FourFloats fold(const Floats& values, const Op& op) {
    FourFloats parts[lanes / 4];
    __builtin_memcpy(parts, &values, sizeof values);
    for (int64_t i = 1; i < lanes / 4; ++i) parts[0] = op(parts[0], parts[i]);
    return parts[0];
}

inline float sum_of(const Floats& values) {
    const FourFloats sums = fold(values, [](const FourFloats& a, const FourFloats& b) { return a + b; });
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

inline float greatest_of(const Floats& values) {
    const auto greater = [](const auto& a, const auto& b) { return a > b ? a : b; };
    const FourFloats most = fold(values, greater);
    return greater(greater(most[0], most[1]), greater(most[2], most[3]));
}

/// The sum of f(x) over the numbers; f takes a float or a vector. Two sums are built side by side: the next addition
/// need not wait for the last one.
template <class F>
inline float sum_over(int64_t count, const float* values, const F& f) {
    Floats even{}, odd{};
    int64_t i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
        even += f(load_floats(values + i));
        odd += f(load_floats(values + i + lanes));
    }
    float rest = 0;
    for (; i < count; ++i) rest += f(values[i]);
    return sum_of(even + odd) + rest;
}

// ---- Functions of one number, branch-free, so that a loop over them becomes vector code ----

/// Bounds x to [low, high]. T is float or a vector of floats.
template <class T>
inline T clamp(T x, float low, float high) {
    const T least = T{} + low, most = T{} + high;
    return x < least ? least : (x > most ? most : x);
}

/// e^x, 2 ulp; NaN stays NaN. Below -87.3 the smallest normal number, above 88.3 about 2e38: enough for softmax and
/// sigmoid. Cody and Waite's reduction, then the polynomial of Cephes' expf. T is float or a vector of floats.
template <class T>
inline T exponential(T x) {
    using Bits = std::conditional_t<sizeof(T) == sizeof(float), uint32_t, UnsignedWords>;
    const T bounded = clamp(x, -87.3F, 88.3F);
    constexpr float round = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
    const T shifted = bounded * 1.44269504088896341F + round;
    const T n = shifted - round;
    const T r = (bounded - n * 0.693359375F) - n * -2.12194440e-4F;
    T p = r * 1.9875691500e-4F + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * r * r + r + 1.0F;
    const Bits exponent = (__builtin_bit_cast(Bits, shifted) << 23) + 0x3F800000U;
    return p * __builtin_bit_cast(T, exponent);
}

/// The rational minimax approximation of Eigen, 4 ulp, +-1 beyond +-4.
inline float error_function(float x) {
    const float b = clamp(x, -4.0F, 4.0F);
    const float s = b * b;
    float p = -2.72614225801306e-10F;
    p = p * s + 2.77068142495902e-08F;
    p = p * s + -2.10102402082508e-06F;
    p = p * s + -5.69250639462346e-05F;
    p = p * s + -7.34990630326855e-04F;
    p = p * s + -2.95459980854025e-03F;
    p = p * s + -1.60960333262415e-02F;
    float q = -1.45660718464996e-05F;
    q = q * s + -2.13374055278905e-04F;
    q = q * s + -1.68282697438203e-03F;
    q = q * s + -7.37332916720468e-03F;
    q = q * s + -1.42647390514189e-02F;
    return b * p / q;
}

struct Identity {
    static float value(float x) { return x; }
    static float slope(float, float) { return 1; }
};
struct Relu {
    static float value(float x) { return x < 0 ? 0 : x; }  // NaN stays NaN: divergence must show
    static float slope(float, float output) { return output > 0 ? 1 : 0; }
};
struct Gelu {
    static float normal(float x) { return 0.5F + 0.5F * error_function(x * 0.70710678118654752F); }
    static float value(float x) { return x * normal(x); }
    static float slope(float x, float) { return normal(x) + x * 0.39894228040143268F * exponential(-0.5F * x * x); }
};
struct Silu {
    static float sigmoid(float x) { return 1.0F / (1.0F + exponential(-x)); }
    static float value(float x) { return x * sigmoid(x); }
    static float slope(float x, float) {
        const float s = sigmoid(x);
        return s * (1.0F + x * (1.0F - s));
    }
};

// ---- Philox4x32-10 over 16 blocks at once (the same numbers as hpo/random.hpp) ----

constexpr int wide = 16;

// The widest register, and the one instruction the compiler does not find by itself: 32 x 32 to 64 bits in each pair.
#if defined(__AVX512F__)
using Pairs = uint64_t __attribute__((vector_size(64)));
inline Pairs multiply(Pairs a, Pairs b) {
    return reinterpret_cast<Pairs>(_mm512_mul_epu32(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
#elif defined(__AVX2__)
using Pairs = uint64_t __attribute__((vector_size(32)));
inline Pairs multiply(Pairs a, Pairs b) {
    return reinterpret_cast<Pairs>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
#elif defined(__ARM_NEON)
using Pairs = uint64_t __attribute__((vector_size(16)));
inline Pairs multiply(Pairs a, Pairs b) {
    return reinterpret_cast<Pairs>(
        vmull_u32(vmovn_u64(reinterpret_cast<uint64x2_t>(a)), vmovn_u64(reinterpret_cast<uint64x2_t>(b))));
}
#else
using Pairs = uint64_t __attribute__((vector_size(16)));
inline Pairs multiply(Pairs a, Pairs b) {
    return reinterpret_cast<Pairs>(_mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
}
#endif

struct alignas(64) PhiloxLanes {
    uint32_t word[4][wide];
};

inline void philox(PhiloxLanes& words, const uint32_t key0, const uint32_t key1) {
    constexpr uint64_t low = 0xFFFFFFFF;
    constexpr int step = sizeof(Pairs) / sizeof(uint32_t);
    for (int first = 0; first < wide; first += step) {
        Pairs c[4];
        for (int i = 0; i < 4; ++i) __builtin_memcpy(&c[i], &words.word[i][first], sizeof(Pairs));
        uint32_t k0 = key0;
        uint32_t k1 = key1;
        for (int round = 0; round < 10; ++round) {
            const Pairs m0 = Pairs{} + 0xD2511F53U;
            const Pairs m2 = Pairs{} + 0xCD9E8D57U;
            const Pairs even0 = multiply(c[0], m0);
            const Pairs odd0 = multiply(c[0] >> 32, m0);
            const Pairs even2 = multiply(c[2], m2);
            const Pairs odd2 = multiply(c[2] >> 32, m2);
            c[0] = ((even2 >> 32) | (odd2 & ~low)) ^ c[1] ^ (k0 | uint64_t{k0} << 32);
            c[1] = (even2 & low) | (odd2 << 32);
            c[2] = ((even0 >> 32) | (odd0 & ~low)) ^ c[3] ^ (k1 | uint64_t{k1} << 32);
            c[3] = (even0 & low) | (odd0 << 32);
            k0 += 0x9E3779B9U;
            k1 += 0xBB67AE85U;
        }
        for (int i = 0; i < 4; ++i) __builtin_memcpy(&words.word[i][first], &c[i], sizeof(Pairs));
    }
}

constexpr int64_t group = 128;  ///< columns whose draws come from one run of 16 blocks

/// The draws of the elements of `row` and columns column_group * 128 + i.
inline void draw_group(const DropoutDraw& dropout, uint32_t row, uint32_t column_group, std::uint16_t* draws) {
    PhiloxLanes c;
    for (int i = 0; i < wide; ++i) {
        c.word[0][i] = row;
        c.word[1][i] = dropout.site << 16 | (column_group * wide + static_cast<uint32_t>(i));
        c.word[2][i] = dropout.iteration;
        c.word[3][i] = static_cast<uint32_t>(Purpose::dropout);
    }
    philox(c, dropout.key0, dropout.key1);
    __builtin_memcpy(draws, c.word, sizeof c.word);
}

// ---- Activation, bias and dropout ----

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

// ---- Layer norm ----

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

// ---- Images ----

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

#include "worker/backends/cpu/batch_norm_body.hpp"

#include "worker/backends/cpu/max_pixels_body.hpp"

#include "worker/backends/cpu/columns_body.hpp"

#include "worker/backends/cpu/sequences_body.hpp"

#include "worker/backends/cpu/convolution_body.hpp"

#include "worker/backends/cpu/recurrent_body.hpp"

#include "worker/backends/cpu/losses_body.hpp"

// ---- Batches ----

void permute(int64_t count, const EpochOrder& order, uint32_t* positions) {
    for (int64_t first = 0; first < count; first += lanes) {
        const auto bytes = static_cast<size_t>(count - first < lanes ? count - first : lanes) * sizeof(uint32_t);
        UnsignedWords x{};
        __builtin_memcpy(&x, positions + first, bytes);
        x = order.permuted(x);
        for (int32_t any = -1; any != 0;) {
            const auto outside = order.is_outside(x);
            const UnsignedWords next = order.permuted(x);
            x = outside ? next : x;
            any = 0;
#pragma omp simd reduction(| : any)
            for (int i = 0; i < lanes; ++i) any |= outside[i];
        }
        __builtin_memcpy(positions + first, &x, bytes);
    }
}

template <class T>
void gather(int64_t rows, int64_t columns, const T* source, const int32_t* indices, float scale, float shift,
            float* output) {
    constexpr int64_t line = 64 / sizeof(T);
    for (int64_t row = 0; row < rows; ++row) {
        if (row + 2 < rows) {  // rows lie anywhere: the hardware cannot guess the next
            const T* later = source + indices[row + 2] * columns;
            for (int64_t i = 0; i < columns; i += line) __builtin_prefetch(later + i);
        }
        const T* x = source + indices[row] * columns;
        float* y = output + row * columns;
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) y[i] = static_cast<float>(x[i]) * scale + shift;
    }
}

// ---- Parameters ----

#include "worker/backends/cpu/optimizers_body.hpp"

void initialise(int64_t count, float bound, uint32_t key0, uint32_t key1, uint32_t site, float* values) {
    const float unit = bound * 0x1.0p-23F;
    for (int64_t first = 0; first < count; first += 4 * wide) {
        PhiloxLanes c;
        for (int i = 0; i < wide; ++i) {
            const uint64_t block = static_cast<uint64_t>(first / 4 + i);
            c.word[0][i] = static_cast<uint32_t>(block);
            c.word[1][i] = static_cast<uint32_t>(block >> 32);
            c.word[2][i] = site;
            c.word[3][i] = static_cast<uint32_t>(Purpose::initialise);
        }
        philox(c, key0, key1);
        // Four words of a block after the other: 4 i to 4 i + 3 are a group of stores that compilers vectorise.
        float drawn[4 * wide];
#pragma omp simd
        for (int i = 0; i < wide; ++i) {
            drawn[4 * i] = static_cast<float>(static_cast<int32_t>(c.word[0][i] >> 8) - (1 << 23)) * unit;
            drawn[4 * i + 1] = static_cast<float>(static_cast<int32_t>(c.word[1][i] >> 8) - (1 << 23)) * unit;
            drawn[4 * i + 2] = static_cast<float>(static_cast<int32_t>(c.word[2][i] >> 8) - (1 << 23)) * unit;
            drawn[4 * i + 3] = static_cast<float>(static_cast<int32_t>(c.word[3][i] >> 8) - (1 << 23)) * unit;
        }
        const int64_t rest = count - first < 4 * wide ? count - first : 4 * wide;
        __builtin_memcpy(values + first, drawn, static_cast<size_t>(rest) * sizeof(float));
    }
}

}  // namespace

extern const Kernels HPO_KERNEL_TABLE;
const Kernels HPO_KERNEL_TABLE = {
    .activate = {activate<Identity>, activate<Relu>, activate<Gelu>, activate<Silu>},
    .activate_backward = {activate_backward<Identity, true>, activate_backward<Relu, false>,
                          activate_backward<Gelu, true>, activate_backward<Silu, true>},
    .layer_norm = layer_norm,
    .layer_norm_backward = layer_norm_backward,
    .add = add,
    .unfold = unfold,
    .fold = fold,
    .convolve = convolve,
    .convolve_backward = convolve_backward,
    .group_norm = group_norm,
    .group_norm_backward = group_norm_backward,
    .batch_norm = batch_norm,
    .batch_norm_by_running = batch_norm_by_running,
    .batch_norm_backward = batch_norm_backward,
    .mean_pixels = mean_pixels,
    .mean_pixels_backward = mean_pixels_backward,
    .max_pixels = max_pixels,
    .max_pixels_backward = max_pixels_backward,
    .embed = embed,
    .embed_backward = embed_backward,
    .embed_columns = embed_columns,
    .embed_columns_backward = embed_columns_backward,
    .rotate = rotate,
    .attention = attention,
    .attention_backward = attention_backward,
    .gate = gate,
    .gate_backward = gate_backward,
    .swap_rows = swap_rows,
    .gru_step = gru_step,
    .gru_step_backward = gru_step_backward,
    .lstm_step = lstm_step,
    .lstm_step_backward = lstm_step_backward,
    .cross_entropy = cross_entropy,
    .binary_cross_entropy = binary_cross_entropy,
    .squared_error = squared_error,
    .permute = permute,
    .gather_f32 = gather<float>,
    .gather_u8 = gather<uint8_t>,
    .sum_of_squares = sum_of_squares,
    .adamw = adamw,
    .sgd = sgd,
    .lion = lion,
    .average = average,
    .initialise = initialise,
};

}  // namespace hpo
