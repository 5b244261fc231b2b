// Random draws of 16 blocks at once, and those of dropout: a part of kernels_body.hpp, which includes it inside of its
// unnamed namespace.

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
