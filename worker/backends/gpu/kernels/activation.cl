// Bias, activation and dropout.

// ---- Functions of one number, with the formulas of the CPU ----

// The rational minimax approximation of Eigen: 4 ulp, and +-1 beyond +-4.
FUNCTION float error_function(float x) {
    const float b = x < -4.0f ? -4.0f : (x > 4.0f ? 4.0f : x);
    const float s = b * b;
    float p = -2.72614225801306e-10f;
    float q = -1.45660718464996e-05f;
    p = p * s + 2.77068142495902e-08f;
    p = p * s + -2.10102402082508e-06f;
    p = p * s + -5.69250639462346e-05f;
    p = p * s + -7.34990630326855e-04f;
    p = p * s + -2.95459980854025e-03f;
    p = p * s + -1.60960333262415e-02f;
    q = q * s + -2.13374055278905e-04f;
    q = q * s + -1.68282697438203e-03f;
    q = q * s + -7.37332916720468e-03f;
    q = q * s + -1.42647390514189e-02f;
    return b * p / q;
}

FUNCTION float normal(float x) { return 0.5f + 0.5f * error_function(x * 0.70710678118654752f); }
FUNCTION float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }

#define RELU 1u
#define GELU 2u
#define SILU 3u

FUNCTION float silu_slope(float x) {
    const float s = sigmoid(x);
    return s * (1.0f + x * (1.0f - s));
}

// ---- Kernels ----

// An element is dropped when its draw is below this number.
FUNCTION u32 dropout_threshold(GLOBAL u8* arena, const DropoutArguments a) {
    return PRESENT(a.probability) ? (u32)round(FLOATS(a.probability)[0] * 65536.0f) : 0u;
}

// A work-item handles one row, 128 columns and one of the 16 blocks of draws for these columns: eight elements, in
// pairs of neighbours.
#define COLUMN_OF(e) (span * 128u + (e) / 2u * 32u + 2u * block + (e) % 2u)

KERNEL activate(GLOBAL u8* arena, GLOBAL u8* other, const ActivateArguments a) {
    const u32 spans = (a.columns + 127u) / 128u;
    const u32 item = WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    const u32 block = item % 16u;
    const u32 span = item / 16u % spans;
    const u32 row = item / 16u / spans;
    if (row >= a.rows) return;
    const u32 threshold = dropout_threshold(arena, a.dropout);
    const float scale = 65536.0f / (float)(65536u - threshold);
    const u32 activation = number_or(arena, a.activations, a.activation);
    u32 c[4];
    if (threshold > 0u) {
        GLOBAL u32* seed = UINTS(a.dropout.seed);
        c[0] = first_of(arena, a.dropout.extent) + row;
        c[1] = (u32)a.dropout.site << 16 | (span * 16u + block);
        c[2] = UINTS(a.dropout.iteration)[0];
        c[3] = PURPOSE_DROPOUT;
        philox(c, seed[0], seed[1]);
    }
    const int keeps_output = a.rounds != 0u && activation == RELU;
    const int keeps_a = a.pre.offset != a.output.offset && !keeps_output;
    // All are read before the first is written: a work-item waits for the memory once.
    float x[8];
    for (u32 e = 0; e < 8u; ++e) {
        const u32 column = COLUMN_OF(e);
        x[e] = column < a.columns ? FLOATS(a.pre)[(i64)row * a.columns + column] : 0.0f;
    }
    if (PRESENT(a.bias)) {
        for (u32 e = 0; e < 8u; ++e) {
            const u32 column = COLUMN_OF(e);
            if (column < a.columns) x[e] += FLOATS(a.bias)[column];
        }
        for (u32 e = 0; e < 8u; ++e) {
            const u32 column = COLUMN_OF(e);
            if (column < a.columns && keeps_a) FLOATS(a.pre)[(i64)row * a.columns + column] = x[e];
        }
    }
    if (activation == RELU)  // NaN stays NaN: divergence must show
        for (u32 e = 0; e < 8u; ++e) x[e] = x[e] < 0.0f ? 0.0f : x[e];
    else if (activation == GELU)
        for (u32 e = 0; e < 8u; ++e) x[e] = x[e] * normal(x[e]);
    else if (activation == SILU)
        for (u32 e = 0; e < 8u; ++e) x[e] = x[e] * sigmoid(x[e]);
    for (u32 e = 0; e < 8u; ++e) {
        const u32 column = COLUMN_OF(e);
        const i64 i = (i64)row * a.columns + column;
        if (column < a.columns) {
            const int stays = threshold == 0u || (c[e / 2u] >> (e % 2u * 16u) & 0xFFFFu) >= threshold;
            const float kept = x[e] * (stays ? scale : 0.0f);
            if (a.rounds == 0u)
                FLOATS(a.output)[i] = PRESENT(a.skipped) ? kept + FLOATS(a.skipped)[i] : kept;
            else
                HALVES(a.output)[i] = narrowed(kept, a.rounds);
            if (keeps_output) FLOATS(a.pre)[i] = kept;
            if (threshold > 0u && PRESENT(a.dropout.mask)) BYTES(a.dropout.mask)[i] = (u8)stays;
        }
    }
}

// A work-group handles SUBGROUP_SIZE columns of a part of the rows, so that the gradient is changed and summed in one reading. A
// work-item reads AHEAD rows before it writes the first of them, so that it does not wait for the memory at each row.
#define AHEAD 8u

KERNEL activate_backward(GLOBAL u8* arena, GLOBAL u8* other, const ActivateBackwardArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const ColumnOfPart it = column_of_part(a.rows, a.columns, a.parts);
    const u32 column = it.column;
    const u32 threshold = dropout_threshold(arena, a.dropout);
    const float scale = 65536.0f / (float)(65536u - threshold);
    const u32 activation = number_or(arena, a.activations, a.activation);
    const int masked = threshold > 0u && activation != RELU;  // with relu the output is 0 where an element was dropped
    const u32 rows = it.end;
    float sum = 0.0f;
    GLOBAL const float* seen = activation == RELU ? FLOATS(a.output) : FLOATS(a.pre);
    for (u32 first = it.begin + WORK_ITEM / SUBGROUP_SIZE; first < rows; first += SUBGROUPS * AHEAD) {
        const i64 at = (i64)first * a.columns + column;
        const i64 step = (i64)SUBGROUPS * a.columns;
        float g[AHEAD];
        float x[AHEAD];
        for (u32 e = 0; e < AHEAD; ++e) {
            const u32 row = first + e * SUBGROUPS;
            const i64 i = at + e * step;
            const int stays = row < rows && (!masked || BYTES(a.dropout.mask)[i] != 0);
            g[e] = stays ? FLOATS(a.incoming)[i] : 0.0f;
            x[e] = stays && activation != 0u ? seen[i] : 0.0f;
        }
        if (activation == RELU)
            for (u32 e = 0; e < AHEAD; ++e) x[e] = x[e] > 0.0f ? 1.0f : 0.0f;
        else if (activation == GELU)
            for (u32 e = 0; e < AHEAD; ++e)
                x[e] = normal(x[e]) + x[e] * 0.39894228040143268f * exp(-0.5f * x[e] * x[e]);
        else if (activation == SILU)
            for (u32 e = 0; e < AHEAD; ++e) x[e] = silu_slope(x[e]);
        else
            for (u32 e = 0; e < AHEAD; ++e) x[e] = 1.0f;
        for (u32 e = 0; e < AHEAD; ++e) {
            const u32 row = first + e * SUBGROUPS;
            const i64 i = at + e * step;
            g[e] *= x[e] * scale;
            if (row < rows && a.rounds == 0u) FLOATS(a.gradient)[i] = g[e];
            if (row < rows && a.rounds != 0u) HALVES(a.gradient)[i] = narrowed(g[e], a.rounds);
            sum += g[e];
        }
    }
    sum = column_sum(scratch, sum);
    if (PRESENT(a.bias_gradient) && WORK_ITEM < SUBGROUP_SIZE && column < a.columns)
        put_column_sum(FLOATS(a.bias_gradient), FIRST_COLUMN_SUMS, it, a.columns, a.parts, a.add, sum);
}
