// Numbers of 16 bits, as u16, so that neither language needs an extension (after Giesen, "half to float done quick").

#define HALVES(ref) ((GLOBAL u16*)BYTES(ref))

#define BFLOAT16 2u
#define FLOAT16 3u

// Rounds to nearest, ties to even. Beyond the largest number the result is infinity; NaN stays NaN.
FUNCTION u16 narrowed(float number, u32 precision) {
    u32 x = BITS_OF(number);
    const u32 sign = x & 0x80000000u;
    x ^= sign;
    u32 narrow;
    if (precision == BFLOAT16) {
        narrow = x > 0x7F800000u ? 0x7FC0u : (x + 0x7FFFu + (x >> 16 & 1u)) >> 16;
    } else if (x >= 0x47800000u) {
        narrow = x > 0x7F800000u ? 0x7E00u : 0x7C00u;
    } else if (x < 0x38800000u) {  // a subnormal number: the addition aligns its bits
        narrow = BITS_OF(FLOAT_OF(x) + 0.5f) - 0x3F000000u;
    } else {
        narrow = (x + 0xC8000FFFu + (x >> 13 & 1u)) >> 13;
    }
    return (u16)(narrow | sign >> 16);
}

FUNCTION float widened(u16 number, u32 precision) {
    const u32 x = number;
    if (precision == BFLOAT16) return FLOAT_OF(x << 16);
    const u32 exponent = x & 0x7C00u;
    u32 wide = ((x & 0x7FFFu) << 13) + 0x38000000u;
    if (exponent == 0x7C00u) wide += 0x38000000u;
    if (exponent == 0u) wide = BITS_OF(FLOAT_OF(wide + 0x00800000u) - FLOAT_OF(0x38800000u));
    return FLOAT_OF(wide | (x & 0x8000u) << 16);
}

// A work-group rounds UPDATE_ELEMENTS elements.
KERNEL round_operand(GLOBAL u8* arena, GLOBAL u8* other, const RoundArguments a) {
    const i64 first = (i64)WORK_GROUP * UPDATE_ELEMENTS;
    for (u32 e = WORK_ITEM; e < UPDATE_ELEMENTS; e += WORK_GROUP_SIZE)
        if (first + e < a.count)
            HALVES(a.to)[first + e] = narrowed(FLOATS(a.from)[first + e], a.rounds);
}
