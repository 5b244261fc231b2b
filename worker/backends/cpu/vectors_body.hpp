// Vectors as wide as a register, and functions of one number for loops over them: a part of kernels_body.hpp, which
// includes it inside of its unnamed namespace.

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
