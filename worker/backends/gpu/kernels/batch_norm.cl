// Batch normalisation over ghost batches: see hpo::BatchNorm. The rows of a ghost batch are divided into parts, each of
// which a work-group sums up, and the sums of the parts are put together by another. The workspace has two rows of
// numbers for each part.

// The rows of a part: of the input, from `first` on. A part may be empty.
typedef struct {
    u32 first;
    u32 count;
} RowRange;

FUNCTION RowRange rows_of_ghost(u32 rows, u32 ghost_rows, u32 ghost) {
    RowRange range;
    range.first = ghost * ghost_rows;
    range.count = rows - range.first < ghost_rows ? rows - range.first : ghost_rows;
    return range;
}

FUNCTION RowRange rows_of_part(u32 rows, u32 ghost_rows, u32 part_rows, u32 part) {
    const u32 in_ghost = (ghost_rows + part_rows - 1u) / part_rows;
    const RowRange whole = rows_of_ghost(rows, ghost_rows, part / in_ghost);
    const u32 before = part % in_ghost * part_rows;
    const u32 left = whole.count > before ? whole.count - before : 0u;
    RowRange range;
    range.first = whole.first + before;
    range.count = left < part_rows ? left : part_rows;
    return range;
}

// A work-group handles SUBGROUP_SIZE columns of a part: their means, and the sums of the squared distances from these.
KERNEL batch_norm_parts(GLOBAL u8* arena, GLOBAL u8* other, const BatchNormArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const u32 blocks = (a.columns + SUBGROUP_SIZE - 1u) / SUBGROUP_SIZE;
    const u32 part = WORK_GROUP / blocks;
    const u32 column = WORK_GROUP % blocks * SUBGROUP_SIZE + WORK_ITEM % SUBGROUP_SIZE;
    const RowRange range = rows_of_part(a.rows, a.ghost, a.part_rows, part);
    GLOBAL const float* input = FLOATS(a.input) + (i64)range.first * a.columns + column;
    float sum = 0.0f;
    if (column < a.columns)
        for (u32 row = WORK_ITEM / SUBGROUP_SIZE; row < range.count; row += SUBGROUPS)
            sum += input[(i64)row * a.columns];
    sum = column_sum(scratch, sum);
    const float mean = range.count > 0u ? sum / (float)range.count : 0.0f;
    float squares = 0.0f;
    if (column < a.columns) {
        for (u32 row = WORK_ITEM / SUBGROUP_SIZE; row < range.count; row += SUBGROUPS) {
            const float x = input[(i64)row * a.columns] - mean;
            squares += x * x;
        }
    }
    squares = column_sum(scratch, squares);
    if (WORK_ITEM < SUBGROUP_SIZE && column < a.columns) {
        FLOATS(a.parts)[(i64)part * 2u * a.columns + column] = mean;
        FLOATS(a.parts)[((i64)part * 2u + 1u) * a.columns + column] = squares;
    }
}

// A work-group handles SUBGROUP_SIZE columns of a ghost batch (Chan, Golub and LeVeque 1979).
KERNEL batch_norm_statistics(GLOBAL u8* arena, GLOBAL u8* other, const BatchNormArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const u32 blocks = (a.columns + SUBGROUP_SIZE - 1u) / SUBGROUP_SIZE;
    const u32 in_ghost = (a.ghost + a.part_rows - 1u) / a.part_rows;
    const u32 ghost = WORK_GROUP / blocks;
    const u32 column = WORK_GROUP % blocks * SUBGROUP_SIZE + WORK_ITEM % SUBGROUP_SIZE;
    const float share = 1.0f / (float)rows_of_ghost(a.rows, a.ghost, ghost).count;
    GLOBAL const float* parts = FLOATS(a.parts) + (i64)ghost * in_ghost * 2u * a.columns + column;
    float sum = 0.0f;
    if (column < a.columns)
        for (u32 part = WORK_ITEM / SUBGROUP_SIZE; part < in_ghost; part += SUBGROUPS)
            sum += parts[(i64)part * 2u * a.columns] *
                   (float)rows_of_part(a.rows, a.ghost, a.part_rows, ghost * in_ghost + part).count;
    const float mean = column_sum(scratch, sum) * share;
    float squares = 0.0f;
    if (column < a.columns) {
        for (u32 part = WORK_ITEM / SUBGROUP_SIZE; part < in_ghost; part += SUBGROUPS) {
            const float distance = parts[(i64)part * 2u * a.columns] - mean;
            const u32 count = rows_of_part(a.rows, a.ghost, a.part_rows, ghost * in_ghost + part).count;
            squares += parts[((i64)part * 2u + 1u) * a.columns] + distance * distance * (float)count;
        }
    }
    squares = column_sum(scratch, squares);
    if (WORK_ITEM < SUBGROUP_SIZE && column < a.columns) {
        FLOATS(a.mean)[(i64)ghost * a.columns + column] = mean;
        FLOATS(a.rstd)[(i64)ghost * a.columns + column] = 1.0f / sqrt(squares * share + a.epsilon);
    }
}

// A work-item normalises an element. In training, the first ones also update a column's running mean and variance.
KERNEL batch_norm_apply(GLOBAL u8* arena, GLOBAL u8* other, const BatchNormArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i < (i64)a.rows * a.columns) {
        const u32 column = (u32)(i % a.columns);
        float mean;
        float rstd;
        if (a.ghost > 0u) {
            const i64 at = i / a.columns / a.ghost * a.columns + column;
            mean = FLOATS(a.mean)[at];
            rstd = FLOATS(a.rstd)[at];
        } else {
            mean = FLOATS(a.running_mean)[column];
            rstd = 1.0f / sqrt(FLOATS(a.running_variance)[column] + a.epsilon);
        }
        FLOATS(a.output)[i] = (FLOATS(a.input)[i] - mean) * (rstd * FLOATS(a.scale)[column]) + FLOATS(a.shift)[column];
    }
    if (a.ghost > 0u && i < (i64)a.columns) {
        const float newest = 1.0f / ((float)UINTS(a.iteration)[0] + 1.0f);
        const float momentum = newest > a.momentum ? newest : a.momentum;
        const float kept = a.add ? 1.0f : 1.0f - momentum;
        float mean = FLOATS(a.running_mean)[i] * kept;
        float variance = FLOATS(a.running_variance)[i] * kept;
        const u32 ghosts = (a.rows + a.ghost - 1u) / a.ghost;
        for (u32 ghost = 0; ghost < ghosts; ++ghost) {
            const float rows = (float)rows_of_ghost(a.rows, a.ghost, ghost).count;
            const float share = momentum * rows / (float)a.batch;
            const float unbiased = rows > 1.0f ? rows / (rows - 1.0f) : 1.0f;
            const float rstd = FLOATS(a.rstd)[(i64)ghost * a.columns + i];
            const float present = 1.0f / (rstd * rstd) - a.epsilon;
            mean += share * FLOATS(a.mean)[(i64)ghost * a.columns + i];
            variance += present > 0.0f ? share * unbiased * present : 0.0f;
        }
        FLOATS(a.running_mean)[i] = mean;
        FLOATS(a.running_variance)[i] = variance;
    }
}

// A work-group handles SUBGROUP_SIZE columns of a part: the sums of g and of g * normalised.
KERNEL batch_norm_backward_parts(GLOBAL u8* arena, GLOBAL u8* other, const BatchNormBackwardArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const u32 blocks = (a.columns + SUBGROUP_SIZE - 1u) / SUBGROUP_SIZE;
    const u32 part = WORK_GROUP / blocks;
    const u32 column = WORK_GROUP % blocks * SUBGROUP_SIZE + WORK_ITEM % SUBGROUP_SIZE;
    const RowRange range = rows_of_part(a.rows, a.ghost, a.part_rows, part);
    float sum = 0.0f;
    float moment = 0.0f;
    if (column < a.columns) {
        const i64 at = (i64)(range.first / a.ghost) * a.columns + column;
        const float mean = FLOATS(a.mean)[at];
        const float rstd = FLOATS(a.rstd)[at];
        for (u32 row = WORK_ITEM / SUBGROUP_SIZE; row < range.count; row += SUBGROUPS) {
            const i64 i = (i64)(range.first + row) * a.columns + column;
            const float g = FLOATS(a.gradient)[i];
            sum += g;
            moment += g * ((FLOATS(a.input)[i] - mean) * rstd);
        }
    }
    sum = column_sum(scratch, sum);
    moment = column_sum(scratch, moment);
    if (WORK_ITEM < SUBGROUP_SIZE && column < a.columns) {
        FLOATS(a.parts)[(i64)part * 2u * a.columns + column] = sum;
        FLOATS(a.parts)[((i64)part * 2u + 1u) * a.columns + column] = moment;
    }
}

// A work-group handles SUBGROUP_SIZE columns of a ghost batch: its first part gets the sums over all of them.
KERNEL batch_norm_backward_sums(GLOBAL u8* arena, GLOBAL u8* other, const BatchNormBackwardArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const u32 blocks = (a.columns + SUBGROUP_SIZE - 1u) / SUBGROUP_SIZE;
    const u32 in_ghost = (a.ghost + a.part_rows - 1u) / a.part_rows;
    const u32 column = WORK_GROUP % blocks * SUBGROUP_SIZE + WORK_ITEM % SUBGROUP_SIZE;
    GLOBAL float* parts = FLOATS(a.parts) + (i64)(WORK_GROUP / blocks) * in_ghost * 2u * a.columns + column;
    float sum = 0.0f;
    float moment = 0.0f;
    if (column < a.columns) {
        for (u32 part = WORK_ITEM / SUBGROUP_SIZE; part < in_ghost; part += SUBGROUPS) {
            sum += parts[(i64)part * 2u * a.columns];
            moment += parts[((i64)part * 2u + 1u) * a.columns];
        }
    }
    sum = column_sum(scratch, sum);
    moment = column_sum(scratch, moment);
    if (WORK_ITEM < SUBGROUP_SIZE && column < a.columns) {
        parts[0] = sum;
        parts[a.columns] = moment;
    }
}

// A work-item handles an element; the first ones also a column's gradients of scale and shift.
KERNEL batch_norm_backward_input(GLOBAL u8* arena, GLOBAL u8* other, const BatchNormBackwardArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    const u32 in_ghost = (a.ghost + a.part_rows - 1u) / a.part_rows;
    if (i < (i64)a.rows * a.columns) {
        const u32 column = (u32)(i % a.columns);
        const u32 ghost = (u32)(i / a.columns / a.ghost);
        const float share = 1.0f / (float)rows_of_ghost(a.rows, a.ghost, ghost).count;
        GLOBAL const float* sums = FLOATS(a.parts) + (i64)ghost * in_ghost * 2u * a.columns + column;
        const float rstd = FLOATS(a.rstd)[(i64)ghost * a.columns + column];
        const float normalised = (FLOATS(a.input)[i] - FLOATS(a.mean)[(i64)ghost * a.columns + column]) * rstd;
        FLOATS(a.gradient)[i] = (FLOATS(a.gradient)[i] - sums[0] * share - normalised * (sums[a.columns] * share)) *
                                (rstd * FLOATS(a.scale)[column]);
    }
    if (i < (i64)a.columns) {
        const u32 ghosts = (a.rows + a.ghost - 1u) / a.ghost;
        float shift = 0.0f;
        float scale = 0.0f;
        for (u32 ghost = 0; ghost < ghosts; ++ghost) {
            GLOBAL const float* sums = FLOATS(a.parts) + (i64)ghost * in_ghost * 2u * a.columns + i;
            shift += sums[0];
            scale += sums[a.columns];
        }
        FLOATS(a.scale_gradient)[i] = a.add ? FLOATS(a.scale_gradient)[i] + scale : scale;
        FLOATS(a.shift_gradient)[i] = a.add ? FLOATS(a.shift_gradient)[i] + shift : shift;
    }
}
