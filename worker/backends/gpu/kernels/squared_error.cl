// The squared error. In the first kernel `parts` work-groups of a replica leave partial sums; in the second kernel one
// work-group adds these up.

// The second half of a replica's part of the workspace holds sums of absolute values here.
#define PART_SIZES ((GLOBAL float*)PART_COUNTS)

KERNEL squared_error_parts(GLOBAL u8* arena, GLOBAL u8* other, const SquaredErrorArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const i64 all = (i64)a.rows * a.columns;
    const i64 valid = (i64)valid_rows(arena, a.extent, a.rows) * a.columns;
    // As many parts as without padding, so that the sums are the same.
    const i64 wanted = (valid + UPDATE_ELEMENTS - 1u) / UPDATE_ELEMENTS;
    const u32 parts = wanted < (i64)a.parts ? (u32)wanted : a.parts;
    const float weight = PRESENT(a.weights) ? FLOATS(a.weights)[0] : a.weight;
    const float share = 2.0f * (PRESENT(a.scale) ? weight * FLOATS(a.scale)[0] : weight);
    const u32 item = WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    float squares = 0.0f;
    float sizes = 0.0f;
    if (WORK_GROUP < parts) {
        for (i64 i = item; i < valid; i += (i64)parts * WORK_GROUP_SIZE) {
            const float error = FLOATS(a.predictions)[i] - FLOATS(a.targets)[i];
            squares += error * error;
            sizes += fabs(error);
            if (PRESENT(a.gradient)) FLOATS(a.gradient)[i] = error * share;
        }
    }
    if (PRESENT(a.gradient))
        for (i64 i = valid + item; i < all; i += (i64)a.parts * WORK_GROUP_SIZE) FLOATS(a.gradient)[i] = 0.0f;
    squares = group_sum(scratch, squares);
    sizes = group_sum(scratch, sizes);
    if (WORK_ITEM == 0u) {
        PART_FLOATS[WORK_GROUP] = squares;
        PART_SIZES[WORK_GROUP] = sizes;
    }
}

KERNEL squared_error_total(GLOBAL u8* arena, GLOBAL u8* other, const SquaredErrorArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const float weight = PRESENT(a.weights) ? FLOATS(a.weights)[0] : a.weight;
    const float loss = group_sum(scratch, WORK_ITEM < a.parts ? PART_FLOATS[WORK_ITEM] : 0.0f) * weight;
    const float absolute = group_sum(scratch, WORK_ITEM < a.parts ? PART_SIZES[WORK_ITEM] : 0.0f) * weight;
    if (WORK_ITEM == 0u) {
        FLOATS(a.loss)[0] = a.add ? FLOATS(a.loss)[0] + loss : loss;
        FLOATS(a.absolute)[0] = a.add ? FLOATS(a.absolute)[0] + absolute : absolute;
    }
}
