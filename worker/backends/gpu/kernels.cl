// The kernels, once for OpenCL C 1.2 and CUDA: dialect.h names what differs, arguments.h what each is told. Each takes
// the arena, a second buffer (a workspace, or samples) and its arguments; groups are along x, replicas along y.
//
// A replica's result depends on that replica alone, to the bit: sums are trees of a shape that the tensor's shape fixes.
// A barrier is reached by all items of a group, the same number of times: what may not write is told so by a condition.

#define FLOATS(ref) ((GLOBAL float*)(arena + (ref).offset + (u64)REPLICA * (ref).stride))
#define UINTS(ref) ((GLOBAL u32*)(arena + (ref).offset + (u64)REPLICA * (ref).stride))
#define INTS(ref) ((GLOBAL int*)(arena + (ref).offset + (u64)REPLICA * (ref).stride))
#define BYTES(ref) (arena + (ref).offset + (u64)REPLICA * (ref).stride)
#define PRESENT(ref) ((ref).offset != ABSENT)

// ---- Functions of one number (the same formulas as on the CPU) ----

// The rational minimax approximation of Eigen, 4 ulp, +-1 beyond +-4.
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

FUNCTION float activation_value(u32 activation, float x) {
    if (activation == RELU) return x < 0.0f ? 0.0f : x;  // NaN stays NaN: divergence must show
    if (activation == GELU) return x * normal(x);
    if (activation == SILU) return x * sigmoid(x);
    return x;
}

FUNCTION float activation_slope(u32 activation, float x, float output) {
    if (activation == RELU) return output > 0.0f ? 1.0f : 0.0f;
    if (activation == GELU) return normal(x) + x * 0.39894228040143268f * exp(-0.5f * x * x);
    if (activation == SILU) {
        const float s = sigmoid(x);
        return s * (1.0f + x * (1.0f - s));
    }
    return 1.0f;
}

// ---- The valid part of a replica ----

// Samples of the batch before this micro-batch.
FUNCTION u32 first_of(GLOBAL u8* arena, const ExtentArguments extent) {
    return PRESENT(extent.batch) ? (u32)extent.micro_batch * UINTS(extent.rows)[0] : 0u;
}

// The rows of a micro-batch that are not padding.
FUNCTION u32 valid_rows(GLOBAL u8* arena, const ExtentArguments extent, u32 rows) {
    if (!PRESENT(extent.batch)) return rows;
    const u32 first = first_of(arena, extent);
    const u32 batch = UINTS(extent.batch)[0];
    const u32 left = batch > first ? batch - first : 0u;
    const u32 most = UINTS(extent.rows)[0] < rows ? UINTS(extent.rows)[0] : rows;
    return left < most ? left : most;
}

FUNCTION u32 number_or(GLOBAL u8* arena, const TensorRef numbers, u32 otherwise) {
    return PRESENT(numbers) ? UINTS(numbers)[0] : otherwise;
}

// ---- Philox4x32-10 (hpo/random.hpp) ----

#define PURPOSE_SHUFFLE 4u
#define PURPOSE_INITIALISE 5u
#define PURPOSE_DROPOUT 6u
#define PURPOSE_AUGMENT 9u

FUNCTION void philox(u32* c, u32 key0, u32 key1) {
    for (int round = 0; round < 10; ++round) {
        const u64 low = (u64)0xD2511F53u * c[0];
        const u64 high = (u64)0xCD9E8D57u * c[2];
        c[0] = (u32)(high >> 32) ^ c[1] ^ key0;
        c[1] = (u32)high;
        c[2] = (u32)(low >> 32) ^ c[3] ^ key1;
        c[3] = (u32)low;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

// ---- Sums over items; every item of the group comes here ----

// Over the SUBGROUP_SIZE items of a row.
FUNCTION float subgroup_sum(LOCAL float* scratch, float x) {
    BARRIER;
    scratch[WORK_ITEM] = x;
    BARRIER;
    for (u32 distance = SUBGROUP_SIZE / 2; distance > 0; distance /= 2) {
        if (WORK_ITEM % SUBGROUP_SIZE < distance) scratch[WORK_ITEM] += scratch[WORK_ITEM + distance];
        BARRIER;
    }
    return scratch[WORK_ITEM - WORK_ITEM % SUBGROUP_SIZE];
}

// Over the whole group.
FUNCTION float group_sum(LOCAL float* scratch, float x) {
    BARRIER;
    scratch[WORK_ITEM] = x;
    BARRIER;
    for (u32 distance = WORK_GROUP_SIZE / 2; distance > 0; distance /= 2) {
        if (WORK_ITEM < distance) scratch[WORK_ITEM] += scratch[WORK_ITEM + distance];
        BARRIER;
    }
    return scratch[0];
}

// Over the SUBGROUPS items of a column (those with the same WORK_ITEM % SUBGROUP_SIZE); the result is the first subgroup's.
FUNCTION float column_sum(LOCAL float* scratch, float x) {
    BARRIER;
    scratch[WORK_ITEM] = x;
    BARRIER;
    for (u32 distance = SUBGROUPS / 2; distance > 0; distance /= 2) {
        if (WORK_ITEM < distance * SUBGROUP_SIZE) scratch[WORK_ITEM] += scratch[WORK_ITEM + distance * SUBGROUP_SIZE];
        BARRIER;
    }
    return scratch[WORK_ITEM % SUBGROUP_SIZE];
}

// ---- Parameters and batches ----

KERNEL fill(GLOBAL u8* arena, GLOBAL u8* other, const FillArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i < a.count) FLOATS(a.to)[i] = a.value;
}

// Items: blocks of four elements.
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

// The EpochOrder (order.hpp) of a replica: which sample is at `position`.
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

// Which row of the samples' buffer `row` of this micro-batch is.
FUNCTION u32 picked(GLOBAL u8* arena, GLOBAL u8* other, const GatherArguments a, u32 row) {
    const int in_order = !PRESENT(a.extent.batch);
    u32 sample = (in_order ? a.first : first_of(arena, a.extent)) + row;
    if (!in_order && a.staged == 0u) {
        const u32 batch = UINTS(a.extent.batch)[0];
        const u32 epoch = a.count / batch;
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
        sample = shuffled(key, a.count, iteration % epoch * batch + sample);
    }
    return a.sample_rows == ABSENT ? sample : ((GLOBAL const u32*)(other + a.sample_rows))[sample];
}

// How an image is changed: rows and columns of shift, and whether it is mirrored.
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

// Which feature of the sample comes to place i; -1: none.
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

// `other`: the samples. Groups of SUBGROUPS rows, a subgroup each, whose first item finds the sample.
#define GATHER(name, type)                                                                                 \
    KERNEL name(GLOBAL u8* arena, GLOBAL u8* other, const GatherArguments a) {                             \
        SHARED u32 samples[SUBGROUPS];                                                                         \
        SHARED int changes[SUBGROUPS * CHANGES];                                                               \
        const u32 subgroup = WORK_ITEM / SUBGROUP_SIZE;                                                                      \
        const u32 row = WORK_GROUP * SUBGROUPS + subgroup;                                                              \
        const u32 columns = row < a.rows ? a.columns : 0u;                                                 \
        const int valid = row < valid_rows(arena, a.extent, a.rows);                                             \
        if (columns > 0u && WORK_ITEM % SUBGROUP_SIZE == 0u) {                                                           \
            const u32 sample = valid ? picked(arena, other, a, row) : 0u;                                    \
            GLOBAL const int* labels =                                                                     \
                (GLOBAL const int*)(other + a.sample_labels.offset + REPLICA * a.sample_labels.stride);       \
            samples[subgroup] = sample;                                                                        \
            INTS(a.labels)[row] = valid ? labels[sample] : 0;                                            \
            if (a.height > 0u) draw_changes(arena, a, row, changes + subgroup * CHANGES);                      \
        }                                                                                                  \
        BARRIER;                                                                                           \
        GLOBAL const type* from = (GLOBAL const type*)(other + a.features.offset + REPLICA * a.features.stride) +\
                                  (columns > 0u ? (i64)samples[subgroup] * a.columns : 0);                     \
        GLOBAL float* to = FLOATS(a.output) + (i64)row * a.columns;                                        \
        for (u32 i = WORK_ITEM % SUBGROUP_SIZE; i < columns; i += SUBGROUP_SIZE) {                                                \
            const int j = a.height > 0u ? changed_from(a, i, changes + subgroup * CHANGES) : (int)i;           \
            const float x = (j >= 0 ? (float)from[j] : 0.0f) * a.scale + a.shift;                          \
            to[i] = valid ? x : 0.0f;                                                                        \
        }                                                                                                  \
    }
GATHER(gather_f32, float)
GATHER(gather_u8, u8)

// ---- Activation, bias and dropout ----

// A draw below it drops.
FUNCTION u32 dropout_threshold(GLOBAL u8* arena, const DropoutArguments a) {
    return PRESENT(a.probability) ? (u32)round(FLOATS(a.probability)[0] * 65536.0f) : 0u;
}

// Items: (row, 128 columns, one of the 16 blocks of draws they share), eight elements each, two neighbours at a time.
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
    for (u32 e = 0; e < 8u; ++e) {
        const u32 column = span * 128u + e / 2u * 32u + 2u * block + e % 2u;
        const i64 i = (i64)row * a.columns + column;
        if (column < a.columns) {
            const int stays = threshold == 0u || (c[e / 2u] >> (e % 2u * 16u) & 0xFFFFu) >= threshold;
            float x = FLOATS(a.pre)[i];
            if (PRESENT(a.bias)) {
                x += FLOATS(a.bias)[column];
                if (a.pre.offset != a.output.offset) FLOATS(a.pre)[i] = x;
            }
            FLOATS(a.output)[i] = activation_value(activation, x) * (stays ? scale : 0.0f);
            if (threshold > 0u && PRESENT(a.dropout.mask)) BYTES(a.dropout.mask)[i] = (u8)stays;
        }
    }
}

// Groups: SUBGROUP_SIZE columns of all rows, so that one reading changes the gradient and sums it. An item reads AHEAD rows before it
// writes the first of them: it would else wait for the memory at each.
#define AHEAD 8u

KERNEL activate_backward(GLOBAL u8* arena, GLOBAL u8* other, const ActivateBackwardArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const u32 column = WORK_GROUP * SUBGROUP_SIZE + WORK_ITEM % SUBGROUP_SIZE;
    const u32 threshold = dropout_threshold(arena, a.dropout);
    const float scale = 65536.0f / (float)(65536u - threshold);
    const u32 activation = number_or(arena, a.activations, a.activation);
    const int masked = threshold > 0u && activation != RELU;  // relu: dropped is where the output is 0
    const u32 rows = column < a.columns ? a.rows : 0u;
    float sum = 0.0f;
    for (u32 first = WORK_ITEM / SUBGROUP_SIZE; first < rows; first += SUBGROUPS * AHEAD) {
        float g[AHEAD];
        for (u32 e = 0; e < AHEAD; ++e) {
            const u32 row = first + e * SUBGROUPS;
            const i64 i = (i64)row * a.columns + column;
            g[e] = 0.0f;
            if (row < rows) {
                const float x = activation >= GELU ? FLOATS(a.pre)[i] : 0.0f;
                const float output = activation == RELU ? FLOATS(a.output)[i] : 0.0f;
                if (!masked || BYTES(a.dropout.mask)[i] != 0)
                    g[e] = FLOATS(a.gradient)[i] * (activation_slope(activation, x, output) * scale);
            }
        }
        for (u32 e = 0; e < AHEAD; ++e) {
            const u32 row = first + e * SUBGROUPS;
            if (row < rows) FLOATS(a.gradient)[(i64)row * a.columns + column] = g[e];
            sum += g[e];
        }
    }
    sum = column_sum(scratch, sum);
    if (PRESENT(a.bias_gradient) && WORK_ITEM < SUBGROUP_SIZE && column < a.columns)
        FLOATS(a.bias_gradient)[column] = a.add ? FLOATS(a.bias_gradient)[column] + sum : sum;
}

// ---- Layer norm: groups of SUBGROUPS rows, a subgroup each ----

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
        const float x = input[i] + FLOATS(a.bias)[i];
        input[i] = x;
        sum += x;
    }
    const float mean = subgroup_sum(scratch, sum) * share;
    float squares = 0.0f;
    for (u32 i = WORK_ITEM % SUBGROUP_SIZE; i < summed; i += SUBGROUP_SIZE) squares += (input[i] - mean) * (input[i] - mean);
    const float rstd = 1.0f / sqrt(subgroup_sum(scratch, squares) * share + a.epsilon);
    for (u32 i = WORK_ITEM % SUBGROUP_SIZE; i < columns; i += SUBGROUP_SIZE)
        FLOATS(a.output)[(i64)row * a.columns + i] =
            i < valid ? (input[i] - mean) * rstd * FLOATS(a.scale)[i] + FLOATS(a.shift)[i] : 0.0f;
    if (row < a.rows && WORK_ITEM % SUBGROUP_SIZE == 0u) {
        FLOATS(a.mean)[row] = mean;
        FLOATS(a.rstd)[row] = rstd;
    }
}

// The gradients of scale and shift; groups of SUBGROUP_SIZE columns. Before layer_norm_backward_rows, which changes the gradient.
KERNEL layer_norm_backward_columns(GLOBAL u8* arena, GLOBAL u8* other, const LayerNormBackwardArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const u32 column = WORK_GROUP * SUBGROUP_SIZE + WORK_ITEM % SUBGROUP_SIZE;
    float scale = 0.0f;
    float shift = 0.0f;
    if (column < a.columns) {
        for (u32 row = WORK_ITEM / SUBGROUP_SIZE; row < a.rows; row += SUBGROUPS) {
            const i64 i = (i64)row * a.columns + column;
            const float g = FLOATS(a.gradient)[i];
            scale += g * ((FLOATS(a.input)[i] - FLOATS(a.mean)[row]) * FLOATS(a.rstd)[row]);
            shift += g;
        }
    }
    scale = column_sum(scratch, scale);
    shift = column_sum(scratch, shift);
    if (WORK_ITEM < SUBGROUP_SIZE && column < a.columns) {
        FLOATS(a.scale_gradient)[column] = a.add ? FLOATS(a.scale_gradient)[column] + scale : scale;
        FLOATS(a.shift_gradient)[column] = a.add ? FLOATS(a.shift_gradient)[column] + shift : shift;
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
    sum = subgroup_sum(scratch, sum) * share;
    moment = subgroup_sum(scratch, moment) * share;
    for (u32 i = WORK_ITEM % SUBGROUP_SIZE; i < columns; i += SUBGROUP_SIZE)
        gradient[i] =
            i < valid ? rstd * (gradient[i] * FLOATS(a.scale)[i] - sum - (input[i] - mean) * rstd * moment) : 0.0f;
}

// ---- Softmax cross-entropy: a subgroup a row, `parts` groups a replica; then one group sums what they left ----

// A replica's partial results in the workspace: floats, then as many integers.
#define PART_FLOATS ((GLOBAL float*)(other + (u64)REPLICA * MAX_PARTS * 8u))
#define PART_COUNTS ((GLOBAL int*)(other + (u64)REPLICA * MAX_PARTS * 8u + MAX_PARTS * 4u))

KERNEL cross_entropy_rows(GLOBAL u8* arena, GLOBAL u8* other, const CrossEntropyArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    SHARED u32 winners[WORK_GROUP_SIZE];
    const u32 subgroup_item = WORK_ITEM % SUBGROUP_SIZE;
    const float smoothing = FLOATS(a.smoothing)[0];
    const float spread = smoothing / (float)a.columns;
    const u32 rows = valid_rows(arena, a.extent, a.rows);
    const u32 wanted = (rows + SUBGROUPS - 1u) / SUBGROUPS;
    const u32 parts = wanted < a.parts ? wanted : a.parts;  // as many as without padding: sums are the same
    const float weight = PRESENT(a.weights) ? FLOATS(a.weights)[0] : a.weight;
    float loss = 0.0f;
    int hits = 0;
    for (u32 first = WORK_GROUP * SUBGROUPS; WORK_GROUP < parts && first < rows; first += parts * SUBGROUPS) {
        const u32 row = first + WORK_ITEM / SUBGROUP_SIZE;
        const u32 columns = row < rows ? a.columns : 0u;
        GLOBAL float* z = FLOATS(a.logits) + (i64)row * a.columns;
        float greatest = -3.402823466e+38f;
        u32 winner = 0u;
        for (u32 i = subgroup_item; i < columns; i += SUBGROUP_SIZE) {
            if (z[i] > greatest) {
                greatest = z[i];
                winner = i;
            }
        }
        BARRIER;
        scratch[WORK_ITEM] = greatest;
        winners[WORK_ITEM] = winner;
        BARRIER;
        for (u32 distance = SUBGROUP_SIZE / 2; distance > 0; distance /= 2) {
            if (subgroup_item < distance) {
                const float theirs = scratch[WORK_ITEM + distance];
                const u32 their_winner = winners[WORK_ITEM + distance];
                if (theirs > scratch[WORK_ITEM] || (theirs == scratch[WORK_ITEM] && their_winner < winners[WORK_ITEM])) {
                    scratch[WORK_ITEM] = theirs;
                    winners[WORK_ITEM] = their_winner;
                }
            }
            BARRIER;
        }
        greatest = scratch[WORK_ITEM - subgroup_item];
        winner = winners[WORK_ITEM - subgroup_item];
        const u32 label = row < rows ? (u32)INTS(a.labels)[row] : 0u;
        const float label_logit = row < rows ? z[label] - greatest : 0.0f;
        float exponentials = 0.0f;
        float sum = 0.0f;  // of z - greatest
        for (u32 i = subgroup_item; i < columns; i += SUBGROUP_SIZE) {
            exponentials += exp(z[i] - greatest);
            sum += z[i] - greatest;
        }
        exponentials = subgroup_sum(scratch, exponentials);
        sum = subgroup_sum(scratch, sum);
        if (row < rows && subgroup_item == 0u) {
            loss += log(exponentials) - (1.0f - smoothing) * label_logit - spread * sum;
            hits += winner == label;
        }
        if (PRESENT(a.gradient)) {
            GLOBAL float* g = FLOATS(a.gradient) + (i64)row * a.columns;
            const float share = PRESENT(a.scale) ? weight * FLOATS(a.scale)[0] : weight;
            const float inverse = share / exponentials;
            const float even = share * spread;
            for (u32 i = subgroup_item; i < columns; i += SUBGROUP_SIZE) {
                const float all = exp(z[i] - greatest) * inverse - even;
                g[i] = i == label ? all - share * (1.0f - smoothing) : all;
            }
        }
    }
    if (PRESENT(a.gradient))
        for (u32 row = rows + WORK_GROUP * SUBGROUPS + WORK_ITEM / SUBGROUP_SIZE; row < a.rows; row += a.parts * SUBGROUPS)
            for (u32 i = subgroup_item; i < a.columns; i += SUBGROUP_SIZE) FLOATS(a.gradient)[(i64)row * a.columns + i] = 0.0f;
    loss = group_sum(scratch, loss);
    // Counts are exact as floats: a group sees far fewer than 2^24 rows.
    const float count = group_sum(scratch, (float)hits);
    if (WORK_ITEM == 0u) {
        PART_FLOATS[WORK_GROUP] = loss;
        PART_COUNTS[WORK_GROUP] = (int)count;
    }
}

KERNEL cross_entropy_total(GLOBAL u8* arena, GLOBAL u8* other, const CrossEntropyArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const float weight = PRESENT(a.weights) ? FLOATS(a.weights)[0] : a.weight;
    const float loss = group_sum(scratch, WORK_ITEM < a.parts ? PART_FLOATS[WORK_ITEM] : 0.0f) * weight;
    if (WORK_ITEM == 0u) {
        int count = a.add ? INTS(a.correct)[0] : 0;
        for (u32 part = 0; part < a.parts; ++part) count += PART_COUNTS[part];
        INTS(a.correct)[0] = count;
        FLOATS(a.loss)[0] = a.add ? FLOATS(a.loss)[0] + loss : loss;
    }
}

// ---- Gradient norm and optimizers ----

KERNEL norm_parts(GLOBAL u8* arena, GLOBAL u8* other, const GradientNormArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    float sum = 0.0f;
    for (i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM; i < a.count; i += (i64)a.parts * WORK_GROUP_SIZE) {
        const float g = FLOATS(a.gradient)[i];
        sum += g * g;
    }
    sum = group_sum(scratch, sum);
    if (WORK_ITEM == 0u) PART_FLOATS[WORK_GROUP] = sum;
}

KERNEL norm_total(GLOBAL u8* arena, GLOBAL u8* other, const GradientNormArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const float whole = sqrt(group_sum(scratch, WORK_ITEM < a.parts ? PART_FLOATS[WORK_ITEM] : 0.0f));
    if (WORK_ITEM != 0u) return;
    const float limit = FLOATS(a.limit)[0];
    const float scale = PRESENT(a.scale) ? FLOATS(a.scale)[0] : 1.0f;
    const float norm = whole / scale;
    const int valid = !PRESENT(a.scale) || norm <= 3.402823466e+38f;  // neither infinite nor NaN
    FLOATS(a.norm)[0] = valid ? norm : 0.0f;
    FLOATS(a.factor)[0] = valid ? (limit > 0.0f && norm > limit ? limit / norm : 1.0f) / scale : 0.0f;
    if (PRESENT(a.scale)) {
        const float good = valid ? FLOATS(a.good)[0] + 1.0f : 0.0f;
        const int grows = good == a.growth;
        BYTES(a.valid)[0] = (u8)valid;
        FLOATS(a.good)[0] = grows ? 0.0f : good;
        if (grows) FLOATS(a.scale)[0] = scale < 8388608.0f ? scale * 2.0f : 16777216.0f;
        if (!valid) FLOATS(a.scale)[0] = scale > 2.0f ? scale * 0.5f : 1.0f;
    }
}

// 1 - beta^t with the accuracy of its last bits also where beta is close to 1 and t small.
FUNCTION float missing_weight(float beta, float t) { return -expm1(t * log1p(beta - 1.0f)); }

// Whether a replica's update is to be done.
FUNCTION int updates(GLOBAL u8* arena, const UpdateArguments a) {
    return BYTES(a.alive)[0] != 0 && (!PRESENT(a.valid) || BYTES(a.valid)[0] != 0);
}

FUNCTION float rate_of(GLOBAL u8* arena, const UpdateArguments a) {
    return FLOATS(a.learning_rates)[PRESENT(a.window_index) ? UINTS(a.window_index)[0] : 0u];
}

// Groups: UPDATE_ELEMENTS elements. The first item prepares what is the same for all.
KERNEL adamw(GLOBAL u8* arena, GLOBAL u8* other, const AdamWArguments a) {
    SHARED float common[2];
    const float rate = rate_of(arena, a.update);
    const float beta1 = FLOATS(a.beta1)[0];
    const float beta2 = FLOATS(a.beta2)[0];
    const float epsilon = FLOATS(a.epsilon)[0];
    const float decay = 1.0f - rate * FLOATS(a.update.weight_decay)[0];
    const float factor = PRESENT(a.update.factor) ? FLOATS(a.update.factor)[0] : 1.0f;
    const int alive = updates(arena, a.update);
    if (WORK_ITEM == 0u) {
        const float t = (float)(UINTS(a.iteration)[0] + 1u);
        common[0] = rate / missing_weight(beta1, t);
        common[1] = 1.0f / sqrt(missing_weight(beta2, t));
    }
    BARRIER;
    const float step = common[0];
    const float inverse_root = common[1];
    const i64 first = (i64)WORK_GROUP * UPDATE_ELEMENTS;
    for (u32 e = WORK_ITEM; e < UPDATE_ELEMENTS; e += WORK_GROUP_SIZE) {
        const i64 i = first + e;
        if (alive && i < a.update.count) {
            const float w = FLOATS(a.update.weights)[i];
            const float g = FLOATS(a.update.gradient)[i] * factor;
            const float m = beta1 * FLOATS(a.first_moment)[i] + (1.0f - beta1) * g;
            const float v = beta2 * FLOATS(a.second_moment)[i] + (1.0f - beta2) * g * g;
            FLOATS(a.first_moment)[i] = m;
            FLOATS(a.second_moment)[i] = v;
            FLOATS(a.update.weights)[i] =
                w * (i < a.update.decayed ? decay : 1.0f) - step * m / (sqrt(v) * inverse_root + epsilon);
        }
    }
}

KERNEL sgd(GLOBAL u8* arena, GLOBAL u8* other, const SgdArguments a) {
    const float rate = rate_of(arena, a.update);
    const float decay = FLOATS(a.update.weight_decay)[0];
    const float factor = PRESENT(a.update.factor) ? FLOATS(a.update.factor)[0] : 1.0f;
    const float momentum = FLOATS(a.momentum)[0];
    const int alive = updates(arena, a.update);
    const i64 first = (i64)WORK_GROUP * UPDATE_ELEMENTS;
    for (u32 e = WORK_ITEM; e < UPDATE_ELEMENTS; e += WORK_GROUP_SIZE) {
        const i64 i = first + e;
        if (alive && i < a.update.count) {
            const float w = FLOATS(a.update.weights)[i];
            const float g = FLOATS(a.update.gradient)[i] * factor + (i < a.update.decayed ? decay : 0.0f) * w;
            const float u = momentum * FLOATS(a.velocity)[i] + g;
            FLOATS(a.velocity)[i] = u;
            FLOATS(a.update.weights)[i] = w - rate * (a.nesterov ? g + momentum * u : u);
        }
    }
}

KERNEL advance(GLOBAL u8* arena, GLOBAL u8* other, const AdvanceArguments a) {
    if (WORK_ITEM != 0u) return;
    if (PRESENT(a.window_index)) {
        const u32 window_index = UINTS(a.window_index)[0];
        FLOATS(a.losses)[window_index] = FLOATS(a.loss)[0];
        FLOATS(a.norms)[window_index] = FLOATS(a.norm)[0];
        UINTS(a.window_index)[0] = window_index + 1u;
    }
    if (BYTES(a.alive)[0] != 0) UINTS(a.iteration)[0] += 1u;
}

// ---- Numbers of 16 bits, in words that need no extension of either language (bit by bit after Giesen, "half to float
// done quick") ----

#define BFLOAT16 2u
#define FLOAT16 3u

// To nearest, ties to even; beyond the largest number infinity, NaN stays NaN.
FUNCTION u16 narrowed(float number, u32 precision) {
    u32 x = BITS_OF(number);
    const u32 sign = x & 0x80000000u;
    x ^= sign;
    u32 narrow;
    if (precision == BFLOAT16) {
        narrow = x > 0x7F800000u ? 0x7FC0u : (x + 0x7FFFu + (x >> 16 & 1u)) >> 16;
    } else if (x >= 0x47800000u) {
        narrow = x > 0x7F800000u ? 0x7E00u : 0x7C00u;
    } else if (x < 0x38800000u) {  // a subnormal: the sum aligns its bits
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

// Groups: UPDATE_ELEMENTS elements.
KERNEL round_operand(GLOBAL u8* arena, GLOBAL u8* other, const RoundArguments a) {
    const i64 first = (i64)WORK_GROUP * UPDATE_ELEMENTS;
    for (u32 e = WORK_ITEM; e < UPDATE_ELEMENTS; e += WORK_GROUP_SIZE)
        if (first + e < a.count) ((GLOBAL u16*)BYTES(a.to))[first + e] = narrowed(FLOATS(a.from)[first + e], a.precision);
}

// ---- Matrix products, where no library computes them ----

// Groups: a TILE x TILE part of C, row of tiles by row of tiles; an item computes 4 x 4 of it, 16 apart. A_AT and B_AT
// are the element of op(A) and op(B); A_DEPTH_FIRST and B_DEPTH_FIRST say whether k runs along memory, so that
// neighbours load neighbours.
#define MULTIPLY(name, POINTER, NUMBER, A_AT, B_AT, A_DEPTH_FIRST, B_DEPTH_FIRST)                                    \
    KERNEL name(GLOBAL u8* arena, GLOBAL u8* other, const MultiplyArguments a) {                                     \
        SHARED float a_tile[TILE_DEPTH * TILE];                                                                      \
        SHARED float b_tile[TILE_DEPTH * TILE];                                                                      \
        const u32 tiles = (a.n + TILE - 1u) / TILE;                                                                  \
        const u32 first_m = WORK_GROUP / tiles * TILE;                                                                    \
        const u32 first_n = WORK_GROUP % tiles * TILE;                                                                    \
        POINTER A = (POINTER)BYTES(a.a);                                                                         \
        POINTER B = (POINTER)BYTES(a.b);                                                                         \
        GLOBAL float* C = FLOATS(a.c);                                                                               \
        float sum[16];                                                                                               \
        for (u32 i = 0; i < 16u; ++i) sum[i] = 0.0f;                                                                 \
        for (u32 first_k = 0; first_k < a.k; first_k += TILE_DEPTH) {                                                \
            for (u32 e = WORK_ITEM; e < TILE_DEPTH * TILE; e += WORK_GROUP_SIZE) {                                            \
                const u32 ak = A_DEPTH_FIRST ? e % TILE_DEPTH : e / TILE;                                            \
                const u32 am = A_DEPTH_FIRST ? e / TILE_DEPTH : e % TILE;                                            \
                const u32 bk = B_DEPTH_FIRST ? e % TILE_DEPTH : e / TILE;                                            \
                const u32 bn = B_DEPTH_FIRST ? e / TILE_DEPTH : e % TILE;                                            \
                a_tile[ak * TILE + am] =                                                                             \
                    first_k + ak < a.k && first_m + am < a.m ? NUMBER(A[A_AT((i64)(first_m + am), (i64)(first_k + ak))]) : 0.0f; \
                b_tile[bk * TILE + bn] =                                                                             \
                    first_k + bk < a.k && first_n + bn < a.n ? NUMBER(B[B_AT((i64)(first_k + bk), (i64)(first_n + bn))]) : 0.0f; \
            }                                                                                                        \
            BARRIER;                                                                                                 \
            for (u32 k = 0; k < TILE_DEPTH; ++k) {                                                                   \
                for (u32 i = 0; i < 16u; ++i)                                                                        \
                    sum[i] += a_tile[k * TILE + WORK_ITEM / 16u + i / 4u * 16u] *                                         \
                              b_tile[k * TILE + WORK_ITEM % 16u + i % 4u * 16u];                                          \
            }                                                                                                        \
            BARRIER;                                                                                                 \
        }                                                                                                            \
        for (u32 i = 0; i < 16u; ++i) {                                                                              \
            const u32 m = first_m + WORK_ITEM / 16u + i / 4u * 16u;                                                       \
            const u32 n = first_n + WORK_ITEM % 16u + i % 4u * 16u;                                                       \
            if (m < a.m && n < a.n) C[(i64)m * a.n + n] = a.add ? C[(i64)m * a.n + n] + sum[i] : sum[i];             \
        }                                                                                                            \
    }

#define A_PLAIN(row, depth) (row) * a.k + (depth)
#define A_TRANSPOSED(row, depth) (depth) * a.m + (row)
#define B_PLAIN(depth, column) (depth) * a.n + (column)
#define B_TRANSPOSED(depth, column) (column) * a.k + (depth)
#define AS_IT_IS(number) (number)
#define WIDENED(number) widened(number, a.precision)
MULTIPLY(multiply, GLOBAL const float*, AS_IT_IS, A_PLAIN, B_PLAIN, 1, 0)
MULTIPLY(multiply_by_transposed, GLOBAL const float*, AS_IT_IS, A_PLAIN, B_TRANSPOSED, 1, 1)
MULTIPLY(multiply_transposed, GLOBAL const float*, AS_IT_IS, A_TRANSPOSED, B_PLAIN, 0, 0)
MULTIPLY(multiply_rounded, GLOBAL const u16*, WIDENED, A_PLAIN, B_PLAIN, 1, 0)
MULTIPLY(multiply_by_transposed_rounded, GLOBAL const u16*, WIDENED, A_PLAIN, B_TRANSPOSED, 1, 1)
MULTIPLY(multiply_transposed_rounded, GLOBAL const u16*, WIDENED, A_TRANSPOSED, B_PLAIN, 0, 0)
