// The columns of tables: see hpo::EmbedColumns. An entry of `columns` has the numbers of hpo::EmbeddedColumn.

#define ENTRY_FEATURE 0
#define ENTRY_LEVELS 1
#define ENTRY_WEIGHT 2
#define ENTRY_WIDTH 3

// A work-item computes an element of the output.
KERNEL embed_columns(GLOBAL u8* arena, GLOBAL u8* other, const EmbedColumnsArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    if (i < (i64)a.rows * a.outputs) {
        GLOBAL const int* entry = INTS(a.columns) + i % a.outputs * 4;
        GLOBAL const float* x = FLOATS(a.input) + i / a.outputs * a.inputs + entry[ENTRY_FEATURE];
        const int levels = entry[ENTRY_LEVELS];
        float sum = levels == 0 ? x[0] : 0.0f;
        for (int level = 0; level < levels; ++level)
            if (x[level] != 0.0f)
                sum += x[level] * FLOATS(a.weights)[entry[ENTRY_WEIGHT] + (i64)level * entry[ENTRY_WIDTH]];
        FLOATS(a.output)[i] = sum;
    }
}

// A work-item sums an element of a table's gradient over the rows, in their order.
KERNEL embed_columns_backward(GLOBAL u8* arena, GLOBAL u8* other, const EmbedColumnsArguments a) {
    const i64 i = (i64)WORK_GROUP * WORK_GROUP_SIZE + WORK_ITEM;
    const i64 column = i / a.most_levels;
    const int level = (int)(i % a.most_levels);
    if (column < (i64)a.outputs && level < INTS(a.columns)[column * 4 + ENTRY_LEVELS]) {
        GLOBAL const int* entry = INTS(a.columns) + column * 4;
        GLOBAL const float* x = FLOATS(a.input) + entry[ENTRY_FEATURE] + level;
        GLOBAL const float* g = FLOATS(a.output) + column;
        GLOBAL float* to = FLOATS(a.weights) + entry[ENTRY_WEIGHT] + (i64)level * entry[ENTRY_WIDTH];
        float sum = a.add ? *to : 0.0f;
        for (u32 row = 0; row < a.rows; ++row)
            if (x[(i64)row * a.inputs] != 0.0f) sum += x[(i64)row * a.inputs] * g[(i64)row * a.outputs];
        *to = sum;
    }
}
