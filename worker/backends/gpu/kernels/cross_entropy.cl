// Softmax cross-entropy, and binary cross-entropy. In the first kernel of the one a sub-group works on one row, in that
// of the other a work-item on elements, and `parts` work-groups of a replica leave partial sums; in a second kernel,
// which both share, one work-group adds these up.

// The greatest number of a sub-group and its column, the first of equals. Every work-item of the work-group must call it.
FUNCTION void subgroup_greatest(LOCAL float* scratch, LOCAL u32* columns, float* greatest, u32* column) {
#ifdef HAS_SHUFFLES
    for (u32 distance = SUBGROUP_SIZE / 2; distance > 0; distance /= 2) {
        const float theirs = OF_ITEM_AFTER(*greatest, distance);
        const u32 their_column = OF_ITEM_AFTER(*column, distance);
        if (theirs > *greatest || (theirs == *greatest && their_column < *column)) {
            *greatest = theirs;
            *column = their_column;
        }
    }
    *greatest = OF_FIRST_ITEM(*greatest);
    *column = OF_FIRST_ITEM(*column);
#else
    const u32 item = WORK_ITEM % SUBGROUP_SIZE;
    BARRIER;
    scratch[WORK_ITEM] = *greatest;
    columns[WORK_ITEM] = *column;
    BARRIER;
    const u32 first = WORK_ITEM - item;
    *greatest = scratch[first];
    *column = columns[first];
    for (u32 i = first + 1u; i < first + SUBGROUP_SIZE; ++i) {
        if (scratch[i] > *greatest || (scratch[i] == *greatest && columns[i] < *column)) {
            *greatest = scratch[i];
            *column = columns[i];
        }
    }
#endif
}

// Both sums over a sub-group. Every work-item of the work-group must call it.
FUNCTION void subgroup_sums(LOCAL float* scratch, LOCAL float* more, float* x, float* y) {
#ifdef HAS_SHUFFLES
    *x = subgroup_sum(scratch, *x);
    *y = subgroup_sum(more, *y);
#else
    BARRIER;
    scratch[WORK_ITEM] = *x;
    more[WORK_ITEM] = *y;
    BARRIER;
    const u32 first = WORK_ITEM / SUBGROUP_SIZE * SUBGROUP_SIZE;
    *x = sum_of_subgroup(scratch + first);
    *y = sum_of_subgroup(more + first);
#endif
}

KERNEL cross_entropy_rows(GLOBAL u8* arena, GLOBAL u8* other, const CrossEntropyArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    SHARED float more[WORK_GROUP_SIZE];
    SHARED u32 winners[WORK_GROUP_SIZE];
    const u32 subgroup_item = WORK_ITEM % SUBGROUP_SIZE;
    const float smoothing = FLOATS(a.smoothing)[0];
    const float spread = smoothing / (float)a.columns;
    const u32 rows = valid_rows(arena, a.extent, a.rows);
    const u32 wanted = (rows + SUBGROUPS - 1u) / SUBGROUPS;
    const u32 parts = wanted < a.parts ? wanted : a.parts;  // as many as without padding, so that the sums are the same
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
        subgroup_greatest(scratch, winners, &greatest, &winner);
        const u32 label = row < rows ? (u32)INTS(a.labels)[row] : 0u;
        const float label_logit = row < rows ? z[label] - greatest : 0.0f;
        float exponentials = 0.0f;
        float sum = 0.0f;  // of z - greatest
        for (u32 i = subgroup_item; i < columns; i += SUBGROUP_SIZE) {
            exponentials += exp(z[i] - greatest);
            sum += z[i] - greatest;
        }
        subgroup_sums(scratch, more, &exponentials, &sum);
        const float of_class = PRESENT(a.class_weights) ? FLOATS(a.class_weights)[label] : 1.0f;
        if (row < rows && subgroup_item == 0u) {
            loss += of_class * (log(exponentials) - (1.0f - smoothing) * label_logit - spread * sum);
            hits += winner == label;
        }
        if (PRESENT(a.gradient)) {
            GLOBAL float* g = FLOATS(a.gradient) + (i64)row * a.columns;
            const float share = of_class * (PRESENT(a.scale) ? weight * FLOATS(a.scale)[0] : weight);
            const float inverse = share / exponentials;
            const float even = share * spread;
            for (u32 i = subgroup_item; i < columns; i += SUBGROUP_SIZE) {
                const float all = exp(z[i] - greatest) * inverse - even;
                g[i] = i == label ? all - share * (1.0f - smoothing) : all;
            }
        }
    }
    if (PRESENT(a.gradient))
        for (u32 row = rows + WORK_GROUP * SUBGROUPS + WORK_ITEM / SUBGROUP_SIZE; row < a.rows;
             row += a.parts * SUBGROUPS)
            for (u32 i = subgroup_item; i < a.columns; i += SUBGROUP_SIZE)
                FLOATS(a.gradient)[(i64)row * a.columns + i] = 0.0f;
    loss = group_sum(scratch, loss);
    // Counts are exact as floats: a work-group counts far fewer than 2^24 rows.
    const float count = group_sum(scratch, (float)hits);
    if (WORK_ITEM == 0u) {
        PART_FLOATS[WORK_GROUP] = loss;
        PART_COUNTS[WORK_GROUP] = (int)count;
    }
}

KERNEL binary_cross_entropy_parts(GLOBAL u8* arena, GLOBAL u8* other, const CrossEntropyArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    const i64 all = (i64)a.rows * a.columns;
    const i64 valid = (i64)valid_rows(arena, a.extent, a.rows) * a.columns;
    // As many parts as without padding, so that the sums are the same.
    const i64 wanted = (valid + UPDATE_ELEMENTS - 1u) / UPDATE_ELEMENTS;
    const u32 parts = wanted < (i64)a.parts ? (u32)wanted : a.parts;
    const float smoothing = FLOATS(a.smoothing)[0];
    const float weight = PRESENT(a.weights) ? FLOATS(a.weights)[0] : a.weight;
    const float share = PRESENT(a.scale) ? weight * FLOATS(a.scale)[0] : weight;
    const u32 item = WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    float loss = 0.0f;
    int hits = 0;
    if (WORK_GROUP < parts) {
        for (i64 i = item; i < valid; i += (i64)parts * WORK_GROUP_SIZE) {
            const float z = FLOATS(a.logits)[i];
            const float label = FLOATS(a.labels)[i];
            // With y the smoothed label, w its weight, and log(1 + exp(z)) = -log(1 - sigmoid(z)):
            // (1 - y) log(1 + exp(z)) + w y (log(1 + exp(z)) - z).
            const float y = label * (1.0f - smoothing) + 0.5f * smoothing;
            const float positive = PRESENT(a.class_weights) ? FLOATS(a.class_weights)[i % a.columns] * y : y;
            const float both = 1.0f - y + positive;
            const float small = exp(z > 0.0f ? -z : z);
            loss += both * ((z > 0.0f ? z : 0.0f) + log(1.0f + small)) - positive * z;
            hits += (z > 0.0f) == (label > 0.5f);
            if (PRESENT(a.gradient))
                FLOATS(a.gradient)[i] = share * (both * (z > 0.0f ? 1.0f : small) / (1.0f + small) - positive);
        }
    }
    if (PRESENT(a.gradient))
        for (i64 i = valid + item; i < all; i += (i64)a.parts * WORK_GROUP_SIZE) FLOATS(a.gradient)[i] = 0.0f;
    loss = group_sum(scratch, loss);
    // Counts are exact as floats: a work-group counts far fewer than 2^24 elements.
    const float count = group_sum(scratch, (float)hits);
    if (WORK_ITEM == 0u) {
        PART_FLOATS[WORK_GROUP] = loss;
        PART_COUNTS[WORK_GROUP] = (int)count;
    }
}

KERNEL cross_entropy_total(GLOBAL u8* arena, GLOBAL u8* other, const CrossEntropyArguments a) {
    SHARED float scratch[WORK_GROUP_SIZE];
    SHARED int counts[WORK_GROUP_SIZE];
    const float weight = PRESENT(a.weights) ? FLOATS(a.weights)[0] : a.weight;
    counts[WORK_ITEM] = WORK_ITEM < a.parts ? PART_COUNTS[WORK_ITEM] : 0;
    BARRIER;
    int count = 0;
    for (u32 i = WORK_ITEM % SUBGROUP_SIZE; i < WORK_GROUP_SIZE; i += SUBGROUP_SIZE) count += counts[i];
    BARRIER;
    counts[WORK_ITEM] = count;
    const float loss = group_sum(scratch, WORK_ITEM < a.parts ? PART_FLOATS[WORK_ITEM] : 0.0f) * weight;
    if (WORK_ITEM == 0u) {
        count = a.add ? INTS(a.correct)[0] : 0;
        for (u32 i = 0; i < SUBGROUP_SIZE; ++i) count += counts[i];
        INTS(a.correct)[0] = count;
        FLOATS(a.loss)[0] = a.add ? FLOATS(a.loss)[0] + loss : loss;
    }
}
