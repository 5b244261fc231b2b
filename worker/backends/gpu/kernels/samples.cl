// Filling, initialising and gathering.

KERNEL fill(GLOBAL u8* arena, GLOBAL u8* other, const FillArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i < a.count) FLOATS(a.to)[i] = a.value;
}

// A work-item draws a block of four elements.
KERNEL initialise(GLOBAL u8* arena, GLOBAL u8* other, const InitialiseArguments a) {
    const i64 block = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    GLOBAL u32* seed = UINTS(a.seed);
    u32 c[4];
    c[0] = (u32)block;
    c[1] = (u32)((u64)block >> 32);
    c[2] = a.site;
    c[3] = PURPOSE_INITIALISE;
    philox(c, seed[0], seed[1]);
    for (int i = 0; i < 4; ++i)
        if (4 * block + i < a.count) FLOATS(a.to)[4 * block + i] = (float)((int)(c[i] >> 8) - (1 << 23)) * a.unit;
}

// The sample at `position` in a replica's EpochOrder (order.hpp).
FUNCTION u32 shuffled(const u32* key, u32 count, u32 position) {
    u32 bits = 6u;
    while (bits < 32u && ((count - 1u) >> bits) != 0u) ++bits;
    const u32 right_bits = bits - bits / 2u;
    const u32 left_mask = (1u << bits / 2u) - 1u;
    const u32 right_mask = (1u << right_bits) - 1u;
    u32 x = position;
    do {
        u32 halves[2];
        halves[0] = x >> right_bits;
        halves[1] = x & right_mask;
        for (u32 round = 0; round < 8u; ++round) {
            u32 h = halves[1u - round % 2u] ^ key[round];
            h = (h ^ h >> 16) * 0x85EBCA6Bu;
            h = (h ^ h >> 13) * 0xC2B2AE35u;
            halves[round % 2u] ^= (h ^ h >> 16) & (round % 2u == 0u ? left_mask : right_mask);
        }
        x = halves[0] << right_bits | halves[1];
    } while (x >= count);
    return x;
}

// Which part of the samples this replica works on.
FUNCTION u64 part_of(GLOBAL u8* arena, const GatherArguments a) {
    if (a.staged != 0u) return REPLICA;
    return PRESENT(a.part) ? UINTS(a.part)[0] : 0u;
}

// The row of the samples' buffer that row `row` of this micro-batch is a copy of.
FUNCTION u32 picked(GLOBAL u8* arena, GLOBAL u8* other, const GatherArguments a, u32 row) {
    const int in_order = !PRESENT(a.extent.batch);
    u32 sample = (in_order ? a.first : first_of(arena, a.extent)) + row;
    if (!in_order && a.staged == 0u) {
        const u32 batch = UINTS(a.extent.batch)[0];
        const u32 count = PRESENT(a.part) ? UINTS(a.part_count)[0] : a.count;
        const u32 epoch = count / batch;
        const u32 iteration = UINTS(a.iteration)[0];
        u32 key[8];
        for (u32 block = 0; block < 2u; ++block) {
            u32 c[4];
            c[0] = block;
            c[1] = 0u;
            c[2] = iteration / epoch;
            c[3] = PURPOSE_SHUFFLE;
            philox(c, UINTS(a.seed)[0], UINTS(a.seed)[1]);
            for (u32 i = 0; i < 4u; ++i) key[4u * block + i] = c[i];
        }
        sample = shuffled(key, count, iteration % epoch * batch + sample);
    }
    if (!PRESENT(a.sample_rows)) return sample;
    return ((GLOBAL const u32*)(other + a.sample_rows.offset + part_of(arena, a) * a.sample_rows.stride))[sample];
}

// The changes to an image: by how many rows and columns it is shifted, and whether it is mirrored.
#define CHANGES 3u

FUNCTION void draw_changes(GLOBAL u8* arena, const GatherArguments a, u32 row, LOCAL int* changes) {
    const u32 shifts = 2u * a.most_shift + 1u;
    u32 c[4];
    c[0] = first_of(arena, a.extent) + row;
    c[1] = 0u;
    c[2] = UINTS(a.iteration)[0];
    c[3] = PURPOSE_AUGMENT;
    philox(c, UINTS(a.seed)[0], UINTS(a.seed)[1]);
    changes[0] = (int)(((u64)c[0] * shifts) >> 32) - (int)a.most_shift;
    changes[1] = (int)(((u64)c[1] * shifts) >> 32) - (int)a.most_shift;
    changes[2] = (int)(a.flip & c[2] & 1u);
}

// The feature of the sample that becomes feature i; -1: none, it comes from outside of the image.
FUNCTION int changed_from(const GatherArguments a, u32 i, LOCAL const int* changes) {
    const u32 channels = a.columns / (a.height * a.width);
    const int height = (int)a.height;
    const int width = (int)a.width;
    const int x = (int)(i / channels % a.width);
    const int from_y = (int)(i / channels / a.width) + changes[0];
    const int from_x = (changes[2] != 0 ? width - 1 - x : x) + changes[1];
    if (from_y < 0 || from_y >= height || from_x < 0 || from_x >= width) return -1;
    return (from_y * width + from_x) * (int)channels + (int)(i % channels);
}

// A work-item reads this number of features before it writes the first of them.
#define READ_AHEAD 8u

// `other` holds the samples. A work-group gathers SUBGROUPS rows, one for each sub-group, whose first work-item finds
// the sample. Targets are copied as they are, classes or numbers.
#define GATHER(name, type)                                                                                          \
    KERNEL name(GLOBAL u8* arena, GLOBAL u8* other, const GatherArguments a) {                                      \
        SHARED u32 samples[SUBGROUPS];                                                                              \
        SHARED int changes[SUBGROUPS * CHANGES];                                                                    \
        const u32 subgroup = WORK_ITEM / SUBGROUP_SIZE;                                                             \
        const u32 row = WORK_GROUP * SUBGROUPS + subgroup;                                                          \
        const u32 columns = row < a.rows ? a.columns : 0u;                                                          \
        const u32 target_columns = row < a.rows ? a.target_columns : 0u;                                            \
        const int valid = row < valid_rows(arena, a.extent, a.rows);                                                \
        if (columns > 0u && WORK_ITEM % SUBGROUP_SIZE == 0u) {                                                      \
            samples[subgroup] = valid ? picked(arena, other, a, row) : 0u;                                          \
            if (a.height > 0u) draw_changes(arena, a, row, changes + subgroup * CHANGES);                           \
        }                                                                                                           \
        BARRIER;                                                                                                    \
        const i64 sample = columns > 0u ? (i64)samples[subgroup] : 0;                                               \
        const u64 part = part_of(arena, a);                                                                         \
        const float scale = PRESENT(a.part) ? FLOATS(a.part_scale)[0] : a.scale;                                    \
        const float shift = PRESENT(a.part) ? FLOATS(a.part_shift)[0] : a.shift;                                    \
        GLOBAL const type* from =                                                                                   \
            (GLOBAL const type*)(other + a.features.offset + part * a.features.stride) + sample * a.columns;        \
        for (u32 first = WORK_ITEM % SUBGROUP_SIZE; first < columns; first += SUBGROUP_SIZE * READ_AHEAD) {         \
            float x[READ_AHEAD];                                                                                    \
            for (u32 e = 0; e < READ_AHEAD; ++e) {                                                                  \
                const u32 i = first + e * SUBGROUP_SIZE;                                                            \
                const int j = i >= columns  ? -1                                                                    \
                              : a.height > 0u ? changed_from(a, i, changes + subgroup * CHANGES)                    \
                                              : (int)i;                                                             \
                x[e] = j >= 0 ? (float)from[j] : 0.0f;                                                              \
            }                                                                                                       \
            for (u32 e = 0; e < READ_AHEAD; ++e) {                                                                  \
                const u32 i = first + e * SUBGROUP_SIZE;                                                            \
                const float feature = valid ? x[e] * scale + shift : 0.0f;                                          \
                if (i < columns && a.rounds == 0u) FLOATS(a.output)[(i64)row * a.columns + i] = feature;            \
                if (i < columns && a.rounds != 0u)                                                                  \
                    HALVES(a.output)[(i64)row * a.columns + i] = narrowed(feature, a.rounds);                       \
            }                                                                                                       \
        }                                                                                                           \
        GLOBAL const u32* from_targets =                                                                            \
            (GLOBAL const u32*)(other + a.sample_targets.offset + part * a.sample_targets.stride) +                 \
            sample * a.target_columns;                                                                              \
        for (u32 i = WORK_ITEM % SUBGROUP_SIZE; i < target_columns; i += SUBGROUP_SIZE)                             \
            UINTS(a.targets)[(i64)row * a.target_columns + i] = valid ? from_targets[i] : 0u;                       \
    }
GATHER(gather_f32, float)
GATHER(gather_u8, u8)
