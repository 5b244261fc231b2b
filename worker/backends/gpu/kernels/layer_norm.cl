// Layer normalisation. A work-group works on SUBGROUPS rows, one for each sub-group.

KERNEL layer_norm(GLOBAL u8* arena, GLOBAL u8* other, const LayerNormArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const u32 row = WORK_GROUP * SUBGROUPS + WORK_ITEM / SUBGROUP_SIZE;
    const u32 columns = row < a.rows ? a.columns : 0u;
    const u32 valid = number_or(arena, a.valid_columns, a.columns);
    const u32 summed = columns < valid ? columns : valid;
    const float share = 1.0f / (float)valid;
    GLOBAL float* input = FLOATS(a.input) + (i64)row * a.columns;
    float sum = 0.0f;
    for (u32 i = WORK_ITEM % SUBGROUP_SIZE; i < summed; i += SUBGROUP_SIZE) {
        float x = input[i];
        if (PRESENT(a.bias)) {
            x += FLOATS(a.bias)[i];
            input[i] = x;
        }
        sum += x;
    }
    const float mean = subgroup_sum(scratch, a.centred ? sum : 0.0f) * share;
    float squares = 0.0f;
    for (u32 i = WORK_ITEM % SUBGROUP_SIZE; i < summed; i += SUBGROUP_SIZE)
        squares += (input[i] - mean) * (input[i] - mean);
    const float rstd = 1.0f / sqrt(subgroup_sum(scratch, squares) * share + a.epsilon);
    for (u32 i = WORK_ITEM % SUBGROUP_SIZE; i < columns; i += SUBGROUP_SIZE)
        FLOATS(a.output)
        [(i64)row * a.columns + i] =
            i < valid ? (input[i] - mean) * rstd * FLOATS(a.scale)[i] + (PRESENT(a.shift) ? FLOATS(a.shift)[i] : 0.0f)
                      : 0.0f;
    if (row < a.rows && WORK_ITEM % SUBGROUP_SIZE == 0u) {
        FLOATS(a.mean)[row] = mean;
        FLOATS(a.rstd)[row] = rstd;
    }
}

// The gradients of scale and shift; a work-group handles SUBGROUP_SIZE columns of a part of the rows. It must run before
// layer_norm_backward_rows, which changes the gradient.
KERNEL layer_norm_backward_columns(GLOBAL u8* arena, GLOBAL u8* other, const LayerNormBackwardArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const ColumnOfPart it = column_of_part(a.rows, a.columns, a.parts);
    float scale = 0.0f;
    float shift = 0.0f;
    for (u32 row = it.begin + WORK_ITEM / SUBGROUP_SIZE; row < it.end; row += SUBGROUPS) {
        const i64 i = (i64)row * a.columns + it.column;
        const float g = FLOATS(a.gradient)[i];
        scale += g * ((FLOATS(a.input)[i] - FLOATS(a.mean)[row]) * FLOATS(a.rstd)[row]);
        shift += g;
    }
    scale = column_sum(scratch, scale);
    shift = column_sum(scratch, shift);
    if (WORK_ITEM < SUBGROUP_SIZE && it.column < a.columns) {
        put_column_sum(FLOATS(a.scale_gradient), FIRST_COLUMN_SUMS, it, a.columns, a.parts, a.add, scale);
        if (PRESENT(a.shift_gradient))
            put_column_sum(FLOATS(a.shift_gradient), SECOND_COLUMN_SUMS, it, a.columns, a.parts, a.add, shift);
    }
}

KERNEL layer_norm_backward_rows(GLOBAL u8* arena, GLOBAL u8* other, const LayerNormBackwardArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const u32 row = WORK_GROUP * SUBGROUPS + WORK_ITEM / SUBGROUP_SIZE;
    const u32 columns = row < a.rows ? a.columns : 0u;
    const u32 valid = number_or(arena, a.valid_columns, a.columns);
    const float share = 1.0f / (float)valid;
    const float mean = row < a.rows ? FLOATS(a.mean)[row] : 0.0f;
    const float rstd = row < a.rows ? FLOATS(a.rstd)[row] : 0.0f;
    GLOBAL float* gradient = FLOATS(a.gradient) + (i64)row * a.columns;
    GLOBAL float* input = FLOATS(a.input) + (i64)row * a.columns;
    float sum = 0.0f;     // of g * scale
    float moment = 0.0f;  // of g * scale * normalised
    for (u32 i = WORK_ITEM % SUBGROUP_SIZE; i < columns; i += SUBGROUP_SIZE) {
        const float scaled = gradient[i] * FLOATS(a.scale)[i];
        sum += scaled;
        moment += scaled * ((input[i] - mean) * rstd);
    }
    sum = subgroup_sum(scratch, a.centred ? sum : 0.0f) * share;
    moment = subgroup_sum(scratch, moment) * share;
    for (u32 i = WORK_ITEM % SUBGROUP_SIZE; i < columns; i += SUBGROUP_SIZE) {
        const float of_input =
            i < valid ? rstd * (gradient[i] * FLOATS(a.scale)[i] - sum - (input[i] - mean) * rstd * moment) : 0.0f;
        if (PRESENT(a.skipped_gradient))
            FLOATS(a.skipped_gradient)[(i64)row * a.columns + i] += of_input;
        else
            gradient[i] = of_input;
    }
}
