// The norm of the gradient, and the optimizers.

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

// 1 - beta^t, accurate to its last bits even where beta is close to 1 and t is small.
FUNCTION float missing_weight(float beta, float t) { return -expm1(t * log1p(beta - 1.0f)); }

// Returns true if the replica is updated.
FUNCTION int updates(GLOBAL u8* arena, const UpdateArguments a) {
    return BYTES(a.alive)[0] != 0 && (!PRESENT(a.valid) || BYTES(a.valid)[0] != 0);
}

FUNCTION float rate_of(GLOBAL u8* arena, const UpdateArguments a) {
    return FLOATS(a.learning_rates)[PRESENT(a.window_index) ? UINTS(a.window_index)[0] : 0u];
}

// Tensors are padded to 64 bytes, so that the bytes behind the last element may be read, though not written.
FUNCTION void load_four(float* to, GLOBAL const float* from) {
    const float4 four = LOAD4(from);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
}

FUNCTION void store_four(GLOBAL float* to, const float* from, i64 left) {
    if (left >= 4)
        STORE4(to, FOUR(from[0], from[1], from[2], from[3]));
    else
        for (i64 e = 0; e < left; ++e) to[e] = from[e];
}

// Stores four weights of the block from `first` on, and once more those that products read rounded.
FUNCTION void store_weights(GLOBAL u8* arena, const UpdateArguments a, const float* w, i64 first) {
    store_four(FLOATS(a.weights) + first, w, a.count - first);
    if (!PRESENT(a.rounded) || first >= a.decayed) return;
    u64 four = 0u;
    for (u32 e = 0; e < 4u; ++e) four |= (u64)narrowed(w[e], (u32)a.rounds) << 16u * e;
    GLOBAL u16* to = HALVES(a.rounded) + first;
    if (first + 4 <= a.decayed)
        *(GLOBAL u64*)to = four;
    else
        for (u32 e = 0; first + e < a.decayed; ++e) to[e] = (u16)(four >> 16u * e);
}

// The numbers that all elements of a replica share.
typedef struct {
    float beta1, beta2, epsilon, decay, factor, step, inverse_root;
    int alive;
} AdamWNumbers;

// Every work-item of the work-group must call it. The first one computes the costly numbers. `common`: two numbers.
FUNCTION AdamWNumbers adamw_numbers(GLOBAL u8* arena, const AdamWArguments a, LOCAL float* common) {
    AdamWNumbers n;
    const float rate = rate_of(arena, a.update);
    n.beta1 = FLOATS(a.beta1)[0];
    n.beta2 = FLOATS(a.beta2)[0];
    n.epsilon = FLOATS(a.epsilon)[0];
    n.decay = 1.0f - rate * FLOATS(a.update.weight_decay)[0];
    n.factor = PRESENT(a.update.factor) ? FLOATS(a.update.factor)[0] : 1.0f;
    n.alive = updates(arena, a.update);
    if (WORK_ITEM == 0u) {
        const float t = (float)(UINTS(a.iteration)[0] + 1u);
        common[0] = rate / missing_weight(n.beta1, t);
        common[1] = 1.0f / sqrt(missing_weight(n.beta2, t));
    }
    BARRIER;
    n.step = common[0];
    n.inverse_root = common[1];
    return n;
}

// Updates one weight `w` and its moments with the gradient `g`.
FUNCTION void adamw_element(const AdamWNumbers n, float decay, float g, float* w, float* m, float* v) {
    g *= n.factor;
    *m = n.beta1 * *m + (1.0f - n.beta1) * g;
    *v = n.beta2 * *v + (1.0f - n.beta2) * g * g;
    *w = *w * decay - n.step * *m / (sqrt(*v) * n.inverse_root + n.epsilon);
}

// A work-group updates UPDATE_ELEMENTS elements, a work-item four of them.
KERNEL adamw(GLOBAL u8* arena, GLOBAL u8* other, const AdamWArguments a) {
    SHARED float common[2];
    const AdamWNumbers n = adamw_numbers(arena, a, common);
    const i64 first = (i64)WORK_GROUP * UPDATE_ELEMENTS + 4u * WORK_ITEM;
    if (!n.alive || first >= a.update.count) return;
    float w[4], g[4], m[4], v[4];
    load_four(w, FLOATS(a.update.weights) + first);
    load_four(g, FLOATS(a.update.gradient) + first);
    load_four(m, FLOATS(a.first_moment) + first);
    load_four(v, FLOATS(a.second_moment) + first);
    for (u32 e = 0; e < 4u; ++e)
        adamw_element(n, first + e < a.update.decayed ? n.decay : 1.0f, g[e], w + e, m + e, v + e);
    store_four(FLOATS(a.first_moment) + first, m, a.update.count - first);
    store_four(FLOATS(a.second_moment) + first, v, a.update.count - first);
    store_weights(arena, a.update, w, first);
}

KERNEL combine(GLOBAL u8* arena, GLOBAL u8* other, const CombineArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i >= a.count) return;
    const float scale = PRESENT(a.norm) ? 1.0f / (FLOATS(a.norm)[0] + 1e-7f) : 1.0f;
    float sum = a.to_factor * scale * FLOATS(a.to)[i];
    if (PRESENT(a.from)) sum += a.from_factor * scale * FLOATS(a.from)[i];
    FLOATS(a.to)[i] = sum;
}

KERNEL sgd(GLOBAL u8* arena, GLOBAL u8* other, const SgdArguments a) {
    const float rate = rate_of(arena, a.update);
    const float decay = FLOATS(a.update.weight_decay)[0];
    const float factor = PRESENT(a.update.factor) ? FLOATS(a.update.factor)[0] : 1.0f;
    const float momentum = FLOATS(a.momentum)[0];
    const int alive = updates(arena, a.update);
    const i64 first = (i64)WORK_GROUP * UPDATE_ELEMENTS + 4u * WORK_ITEM;
    if (!alive || first >= a.update.count) return;
    float w[4], g[4], u[4];
    load_four(w, FLOATS(a.update.weights) + first);
    load_four(g, FLOATS(a.update.gradient) + first);
    load_four(u, FLOATS(a.velocity) + first);
    for (u32 e = 0; e < 4u; ++e) {
        g[e] = g[e] * factor + (first + e < a.update.decayed ? decay : 0.0f) * w[e];
        u[e] = momentum * u[e] + g[e];
        w[e] = w[e] - rate * (a.nesterov ? g[e] + momentum * u[e] : u[e]);
    }
    store_four(FLOATS(a.velocity) + first, u, a.update.count - first);
    store_weights(arena, a.update, w, first);
}

KERNEL lion(GLOBAL u8* arena, GLOBAL u8* other, const LionArguments a) {
    const float rate = rate_of(arena, a.update);
    const float decay = 1.0f - rate * FLOATS(a.update.weight_decay)[0];
    const float factor = PRESENT(a.update.factor) ? FLOATS(a.update.factor)[0] : 1.0f;
    const float beta1 = FLOATS(a.beta1)[0];
    const float beta2 = FLOATS(a.beta2)[0];
    const int alive = updates(arena, a.update);
    const i64 first = (i64)WORK_GROUP * UPDATE_ELEMENTS + 4u * WORK_ITEM;
    if (!alive || first >= a.update.count) return;
    float w[4], g[4], m[4];
    load_four(w, FLOATS(a.update.weights) + first);
    load_four(g, FLOATS(a.update.gradient) + first);
    load_four(m, FLOATS(a.first_moment) + first);
    for (u32 e = 0; e < 4u; ++e) {
        g[e] *= factor;
        const float direction = beta1 * m[e] + (1.0f - beta1) * g[e];
        const float sign = (direction > 0.0f ? 1.0f : 0.0f) - (direction < 0.0f ? 1.0f : 0.0f);
        m[e] = beta2 * m[e] + (1.0f - beta2) * g[e];
        w[e] = w[e] * (first + e < a.update.decayed ? decay : 1.0f) - rate * sign;
    }
    store_four(FLOATS(a.first_moment) + first, m, a.update.count - first);
    store_weights(arena, a.update, w, first);
}

KERNEL average(GLOBAL u8* arena, GLOBAL u8* other, const AverageArguments a) {
    const float t = (float)(UINTS(a.iteration)[0] + 1u);
    const float soon = (1.0f + t) / (10.0f + t);
    const float rest = 1.0f - (a.decay < soon ? a.decay : soon);
    const i64 first = (i64)WORK_GROUP * UPDATE_ELEMENTS + 4u * WORK_ITEM;
    if (BYTES(a.alive)[0] == 0 || first >= a.count) return;
    float w[4], y[4];
    load_four(w, FLOATS(a.weights) + first);
    load_four(y, FLOATS(a.average) + first);
    for (u32 e = 0; e < 4u; ++e) y[e] += rest * (w[e] - y[e]);
    store_four(FLOATS(a.average) + first, y, a.count - first);
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
