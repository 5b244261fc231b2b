// Models over sequences: tokens, rotary positions, attention, gates. See hpo::Attention and its neighbours.

// ---- Tokens ----

// A work-item copies an element.
KERNEL embed(GLOBAL u8* arena, GLOBAL u8* other, const EmbedArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i < (i64)a.rows * a.columns) {
        const i64 token = (i64)FLOATS(a.tokens)[i / a.columns];
        FLOATS(a.output)[i] = FLOATS(a.table)[token * a.columns + i % a.columns];
    }
}

// A work-group sums a row of the table's gradient over all places of the token, in their order.
KERNEL embed_backward(GLOBAL u8* arena, GLOBAL u8* other, const EmbedArguments a) {
    const float token = (float)WORK_GROUP;
    GLOBAL const float* tokens = FLOATS(a.tokens);
    for (u32 column = WORK_ITEM; column < a.columns; column += WORK_GROUP_SIZE) {
        GLOBAL float* to = FLOATS(a.table) + (i64)WORK_GROUP * a.columns + column;
        float sum = a.add ? *to : 0.0f;
        for (u32 row = 0; row < a.rows; ++row)
            if (tokens[row] == token) sum += FLOATS(a.output)[(i64)row * a.columns + column];
        *to = sum;
    }
}

// ---- Rotary positions: a work-item turns a pair of numbers ----

KERNEL rotate_heads(GLOBAL u8* arena, GLOBAL u8* other, const RotateArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i < a.count) {
        const u32 half_width = a.width / 2u;
        const u32 pair = (u32)(i % half_width);
        const u32 head = (u32)(i / half_width % a.heads);
        const i64 row = i / half_width / a.heads;
        const float angle = (float)(row % a.steps) * exp2(-13.287712379549449f * (float)pair / (float)half_width);
        const float cosine = cos(angle);
        const float sine = a.back ? -sin(angle) : sin(angle);
        GLOBAL float* x = FLOATS(a.values) + row * a.columns + head * a.width + pair;
        const float x0 = x[0];
        const float x1 = x[half_width];
        x[0] = x0 * cosine - x1 * sine;
        x[half_width] = x0 * sine + x1 * cosine;
    }
}

// ---- Attention ----
//
// Tiles have STEPS rows of TILE_ROW numbers, of which the first `width` are used; one more than a power of two, so that
// neighbouring work-items read different banks. Tiles of scores have rows of SCORE_ROW numbers. Work-item (row, lane)
// computes the score of that query and that key, and the numbers lane, lane + STEPS, ... of that row of the result.

#define TILE_ROW (WIDEST_HEAD + 1)
#define SCORE_ROW (STEPS + 1u)
#define NUMBERS (WIDEST_HEAD / 16)

// The first element of a sample's step in tensors with `columns` numbers for each step.
FUNCTION i64 step_at(const AttentionArguments a, u32 sample, u32 step, u32 columns) {
    return ((i64)sample * a.steps + step) * columns;
}

FUNCTION u32 projection_columns(const AttentionArguments a) { return (a.heads + 2u * a.kv_heads) * a.width; }

// The rows from `first` on; those behind the last step become 0.
FUNCTION void load_tile(const AttentionArguments a, LOCAL float* to, GLOBAL const float* from, u32 row_elements,
                        u32 first, float factor) {
    for (u32 i = WORK_ITEM; i < STEPS * a.width; i += WORK_GROUP_SIZE) {
        const u32 row = i / a.width;
        const u32 column = i % a.width;
        to[row * TILE_ROW + column] =
            first + row < a.steps ? from[(i64)(first + row) * row_elements + column] * factor : 0.0f;
    }
}

FUNCTION float dot_of(LOCAL const float* x, LOCAL const float* y, u32 width) {
    float sum = 0.0f;
    for (u32 i = 0; i < width; ++i) sum += x[i] * y[i];
    return sum;
}

FUNCTION int attends(const AttentionArguments a, u32 query, u32 key) {
    return query < a.steps && key < a.steps && (!a.causal || key <= query);
}

// A work-group handles a tile of queries of a head of a sample.
KERNEL attention(GLOBAL u8* arena, GLOBAL u8* other, const AttentionArguments a) {
    SHARED float q[STEPS * TILE_ROW];
    SHARED float k[STEPS * TILE_ROW];
    SHARED float v[STEPS * TILE_ROW];
    SHARED float scores[STEPS * SCORE_ROW];
    const u32 tiles = (a.steps + STEPS - 1u) / STEPS;
    const u32 first = WORK_GROUP % tiles * STEPS;
    const u32 head = WORK_GROUP / tiles % a.heads;
    const u32 sample = WORK_GROUP / tiles / a.heads;
    const u32 columns = projection_columns(a);
    const u32 row = WORK_ITEM / STEPS;
    const u32 lane = WORK_ITEM % STEPS;
    const u32 query = first + row;
    const u32 key_column = (a.heads + head / (a.heads / a.kv_heads)) * a.width;
    GLOBAL const float* projections = FLOATS(a.projections) + step_at(a, sample, 0u, columns);
    const u32 end = a.causal && first + STEPS < a.steps ? first + STEPS : a.steps;
    float sums[NUMBERS];
    float greatest = -1e30f;
    float normaliser = 0.0f;
    for (u32 n = 0; n < NUMBERS; ++n) sums[n] = 0.0f;
    load_tile(a, q, projections + head * a.width, columns, first, a.scale);
    for (u32 first_key = 0; first_key < end; first_key += STEPS) {
        BARRIER;
        load_tile(a, k, projections + key_column, columns, first_key, 1.0f);
        load_tile(a, v, projections + key_column + a.kv_heads * a.width, columns, first_key, 1.0f);
        BARRIER;
        const int seen = attends(a, query, first_key + lane);
        const float score = seen ? dot_of(q + row * TILE_ROW, k + lane * TILE_ROW, a.width) : -1e30f;
        scores[row * SCORE_ROW + lane] = score;
        BARRIER;
        float most = greatest;
        for (u32 j = 0; j < STEPS; ++j) {
            const float x = scores[row * SCORE_ROW + j];
            most = x > most ? x : most;
        }
        BARRIER;
        scores[row * SCORE_ROW + lane] = seen ? exp(score - most) : 0.0f;
        BARRIER;
        const float shrunk = exp(greatest - most);
        normaliser *= shrunk;
        for (u32 j = 0; j < STEPS; ++j) normaliser += scores[row * SCORE_ROW + j];
        greatest = most;
        for (u32 n = 0; n < NUMBERS && lane + n * STEPS < a.width; ++n) {
            float sum = sums[n] * shrunk;
            for (u32 j = 0; j < STEPS; ++j) sum += scores[row * SCORE_ROW + j] * v[j * TILE_ROW + lane + n * STEPS];
            sums[n] = sum;
        }
    }
    if (query < a.steps) {
        GLOBAL float* output = FLOATS(a.output) + step_at(a, sample, query, a.heads * a.width) + head * a.width;
        for (u32 n = 0; n < NUMBERS && lane + n * STEPS < a.width; ++n)
            output[lane + n * STEPS] = sums[n] / normaliser;
        if (lane == 0u) FLOATS(a.log_sums)[step_at(a, sample, query, a.heads) + head] = greatest + log(normaliser);
    }
}

// A work-item multiplies the output of a head in a step with its gradient.
KERNEL attention_deltas(GLOBAL u8* arena, GLOBAL u8* other, const AttentionArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i < (i64)a.samples * a.steps * a.heads) {
        GLOBAL const float* y = FLOATS(a.output) + i * a.width;
        GLOBAL const float* g = FLOATS(a.gradient) + i * a.width;
        float sum = 0.0f;
        for (u32 j = 0; j < a.width; ++j) sum += y[j] * g[j];
        FLOATS(a.deltas)[i] = sum;
    }
}

// The weight of a key for a query, and the gradient of its score.
typedef struct {
    float weight;
    float slope;
} Weighed;

FUNCTION Weighed weigh(GLOBAL u8* arena, const AttentionArguments a, u32 sample, u32 head, u32 query, u32 key,
                       float score, float of_weight) {
    Weighed result;
    result.weight = 0.0f;
    result.slope = 0.0f;
    if (attends(a, query, key)) {
        const i64 at = step_at(a, sample, query, a.heads) + head;
        result.weight = exp(score - FLOATS(a.log_sums)[at]);
        result.slope = result.weight * (of_weight - FLOATS(a.deltas)[at]);
    }
    return result;
}

// A work-group computes the gradients of a tile of keys and values of a sample.
KERNEL attention_of_keys(GLOBAL u8* arena, GLOBAL u8* other, const AttentionArguments a) {
    SHARED float q[STEPS * TILE_ROW];
    SHARED float k[STEPS * TILE_ROW];
    SHARED float v[STEPS * TILE_ROW];
    SHARED float up[STEPS * TILE_ROW];
    SHARED float weights[STEPS * SCORE_ROW];
    SHARED float slopes[STEPS * SCORE_ROW];
    const u32 tiles = (a.steps + STEPS - 1u) / STEPS;
    const u32 first = WORK_GROUP % tiles * STEPS;
    const u32 kv_head = WORK_GROUP / tiles % a.kv_heads;
    const u32 sample = WORK_GROUP / tiles / a.kv_heads;
    const u32 columns = projection_columns(a);
    const u32 row = WORK_ITEM / STEPS;
    const u32 lane = WORK_ITEM % STEPS;
    const u32 in_group = a.heads / a.kv_heads;
    const u32 key_column = (a.heads + kv_head) * a.width;
    const u32 value_column = key_column + a.kv_heads * a.width;
    GLOBAL const float* projections = FLOATS(a.projections) + step_at(a, sample, 0u, columns);
    GLOBAL const float* gradient = FLOATS(a.gradient) + step_at(a, sample, 0u, a.heads * a.width);
    float of_k[NUMBERS];
    float of_v[NUMBERS];
    for (u32 n = 0; n < NUMBERS; ++n) of_k[n] = of_v[n] = 0.0f;
    load_tile(a, k, projections + key_column, columns, first, 1.0f);
    load_tile(a, v, projections + value_column, columns, first, 1.0f);
    for (u32 head = kv_head * in_group; head < (kv_head + 1u) * in_group; ++head) {
        for (u32 first_query = a.causal ? first : 0u; first_query < a.steps; first_query += STEPS) {
            BARRIER;
            load_tile(a, q, projections + head * a.width, columns, first_query, a.scale);
            load_tile(a, up, gradient + head * a.width, a.heads * a.width, first_query, 1.0f);
            BARRIER;
            const Weighed it = weigh(arena, a, sample, head, first_query + row, first + lane,
                                     dot_of(q + row * TILE_ROW, k + lane * TILE_ROW, a.width),
                                     dot_of(up + row * TILE_ROW, v + lane * TILE_ROW, a.width));
            weights[row * SCORE_ROW + lane] = it.weight;
            slopes[row * SCORE_ROW + lane] = it.slope;
            BARRIER;
            for (u32 n = 0; n < NUMBERS && lane + n * STEPS < a.width; ++n) {
                for (u32 j = 0; j < STEPS; ++j) {
                    of_v[n] += weights[j * SCORE_ROW + row] * up[j * TILE_ROW + lane + n * STEPS];
                    of_k[n] += slopes[j * SCORE_ROW + row] * q[j * TILE_ROW + lane + n * STEPS];
                }
            }
        }
    }
    if (first + row < a.steps) {
        GLOBAL float* to = FLOATS(a.of_projections) + step_at(a, sample, first + row, columns);
        for (u32 n = 0; n < NUMBERS && lane + n * STEPS < a.width; ++n) {
            to[key_column + lane + n * STEPS] = of_k[n];
            to[value_column + lane + n * STEPS] = of_v[n];
        }
    }
}

// A work-group computes the gradients of a tile of queries of a head of a sample.
KERNEL attention_of_queries(GLOBAL u8* arena, GLOBAL u8* other, const AttentionArguments a) {
    SHARED float q[STEPS * TILE_ROW];
    SHARED float k[STEPS * TILE_ROW];
    SHARED float v[STEPS * TILE_ROW];
    SHARED float up[STEPS * TILE_ROW];
    SHARED float slopes[STEPS * SCORE_ROW];
    const u32 tiles = (a.steps + STEPS - 1u) / STEPS;
    const u32 first = WORK_GROUP % tiles * STEPS;
    const u32 head = WORK_GROUP / tiles % a.heads;
    const u32 sample = WORK_GROUP / tiles / a.heads;
    const u32 columns = projection_columns(a);
    const u32 row = WORK_ITEM / STEPS;
    const u32 lane = WORK_ITEM % STEPS;
    const u32 key_column = (a.heads + head / (a.heads / a.kv_heads)) * a.width;
    GLOBAL const float* projections = FLOATS(a.projections) + step_at(a, sample, 0u, columns);
    GLOBAL const float* gradient = FLOATS(a.gradient) + step_at(a, sample, 0u, a.heads * a.width);
    const u32 end = a.causal && first + STEPS < a.steps ? first + STEPS : a.steps;
    float of_q[NUMBERS];
    for (u32 n = 0; n < NUMBERS; ++n) of_q[n] = 0.0f;
    load_tile(a, q, projections + head * a.width, columns, first, a.scale);
    load_tile(a, up, gradient + head * a.width, a.heads * a.width, first, 1.0f);
    for (u32 first_key = 0; first_key < end; first_key += STEPS) {
        BARRIER;
        load_tile(a, k, projections + key_column, columns, first_key, 1.0f);
        load_tile(a, v, projections + key_column + a.kv_heads * a.width, columns, first_key, 1.0f);
        BARRIER;
        slopes[row * SCORE_ROW + lane] = weigh(arena, a, sample, head, first + row, first_key + lane,
                                               dot_of(q + row * TILE_ROW, k + lane * TILE_ROW, a.width),
                                               dot_of(up + row * TILE_ROW, v + lane * TILE_ROW, a.width))
                                             .slope;
        BARRIER;
        for (u32 n = 0; n < NUMBERS && lane + n * STEPS < a.width; ++n)
            for (u32 j = 0; j < STEPS; ++j)
                of_q[n] += slopes[row * SCORE_ROW + j] * k[j * TILE_ROW + lane + n * STEPS];
    }
    if (first + row < a.steps) {
        GLOBAL float* to = FLOATS(a.of_projections) + step_at(a, sample, first + row, columns) + head * a.width;
        for (u32 n = 0; n < NUMBERS && lane + n * STEPS < a.width; ++n) to[lane + n * STEPS] = of_q[n] * a.scale;
    }
}

// ---- Gates: a work-item handles an element of the output ----

KERNEL gate(GLOBAL u8* arena, GLOBAL u8* other, const GateArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i < a.count) {
        const i64 at = i / a.columns * 2 * a.columns + i % a.columns;
        const float x = FLOATS(a.input)[at];
        FLOATS(a.output)[i] = x * sigmoid(x) * FLOATS(a.input)[at + a.columns];
    }
}

KERNEL gate_backward(GLOBAL u8* arena, GLOBAL u8* other, const GateArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i < a.count) {
        const i64 at = i / a.columns * 2 * a.columns + i % a.columns;
        const float x = FLOATS(a.input)[at];
        const float g = FLOATS(a.output)[i];
        FLOATS(a.input_gradient)[at] = g * FLOATS(a.input)[at + a.columns] * silu_slope(x);
        FLOATS(a.input_gradient)[at + a.columns] = g * x * sigmoid(x);
    }
}
