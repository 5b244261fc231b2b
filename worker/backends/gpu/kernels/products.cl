// Matrix products, where no library computes them.

// A work-group computes one TILE x TILE tile of C; the tiles are numbered row by row. A work-item computes 4 x 4
// elements of it, 16 apart, into sum[16]. A_AT and B_AT give the index of an element of op(A) and op(B). A_DEPTH_FIRST
// and B_DEPTH_FIRST say whether k runs along memory, so that neighbouring work-items load neighbouring elements.
#define TILE_OF_PRODUCT(POINTER, NUMBER, A_AT, B_AT, A_DEPTH_FIRST, B_DEPTH_FIRST)                   \
    SHARED float a_tile[TILE_DEPTH * TILE];                                                          \
    SHARED float b_tile[TILE_DEPTH * TILE];                                                          \
    const u32 tiles = (a.n + TILE - 1u) / TILE;                                                      \
    const u32 first_m = WORK_GROUP / tiles * TILE;                                                   \
    const u32 first_n = WORK_GROUP % tiles * TILE;                                                   \
    POINTER A = (POINTER)BYTES(a.a);                                                                 \
    POINTER B = (POINTER)BYTES(a.b);                                                                 \
    float sum[16];                                                                                   \
    for (u32 i = 0; i < 16u; ++i) sum[i] = 0.0f;                                                     \
    for (u32 first_k = 0; first_k < a.k; first_k += TILE_DEPTH) {                                    \
        for (u32 e = WORK_ITEM; e < TILE_DEPTH * TILE; e += WORK_GROUP_SIZE) {                       \
            const u32 ak = A_DEPTH_FIRST ? e % TILE_DEPTH : e / TILE;                                \
            const u32 am = A_DEPTH_FIRST ? e / TILE_DEPTH : e % TILE;                                \
            const u32 bk = B_DEPTH_FIRST ? e % TILE_DEPTH : e / TILE;                                \
            const u32 bn = B_DEPTH_FIRST ? e / TILE_DEPTH : e % TILE;                                \
            a_tile[ak * TILE + am] = first_k + ak < a.k && first_m + am < a.m                        \
                                         ? NUMBER(A[A_AT((i64)(first_m + am), (i64)(first_k + ak))]) \
                                         : 0.0f;                                                     \
            b_tile[bk * TILE + bn] = first_k + bk < a.k && first_n + bn < a.n                        \
                                         ? NUMBER(B[B_AT((i64)(first_k + bk), (i64)(first_n + bn))]) \
                                         : 0.0f;                                                     \
        }                                                                                            \
        BARRIER;                                                                                     \
        for (u32 k = 0; k < TILE_DEPTH; ++k) {                                                       \
            for (u32 i = 0; i < 16u; ++i)                                                            \
                sum[i] += a_tile[k * TILE + WORK_ITEM / 16u + i / 4u * 16u] *                        \
                          b_tile[k * TILE + WORK_ITEM % 16u + i % 4u * 16u];                         \
        }                                                                                            \
        BARRIER;                                                                                     \
    }

// Row and column of the work-item's element i.
#define ROW_OF_SUM(i) (first_m + WORK_ITEM / 16u + (i) / 4u * 16u)
#define COLUMN_OF_SUM(i) (first_n + WORK_ITEM % 16u + (i) % 4u * 16u)

#define MULTIPLY(name, POINTER, NUMBER, A_AT, B_AT, A_DEPTH_FIRST, B_DEPTH_FIRST)                        \
    KERNEL name(GLOBAL u8* arena, GLOBAL u8* other, const MultiplyArguments a) {                         \
        TILE_OF_PRODUCT(POINTER, NUMBER, A_AT, B_AT, A_DEPTH_FIRST, B_DEPTH_FIRST)                       \
        GLOBAL float* C = FLOATS(a.c);                                                                   \
        for (u32 i = 0; i < 16u; ++i) {                                                                  \
            const u32 m = ROW_OF_SUM(i);                                                                 \
            const u32 n = COLUMN_OF_SUM(i);                                                              \
            if (m < a.m && n < a.n) C[(i64)m * a.n + n] = a.add ? C[(i64)m * a.n + n] + sum[i] : sum[i]; \
        }                                                                                                \
    }

#define A_PLAIN(row, depth) (row) * a.k + (depth)
#define A_TRANSPOSED(row, depth) (depth) * a.m + (row)
#define B_PLAIN(depth, column) (depth) * a.n + (column)
#define B_TRANSPOSED(depth, column) (column) * a.k + (depth)
#define UNCHANGED(number) (number)
#define WIDENED(number) widened(number, a.precision)
MULTIPLY(multiply, GLOBAL const float*, UNCHANGED, A_PLAIN, B_PLAIN, 1, 0)
MULTIPLY(multiply_by_transposed, GLOBAL const float*, UNCHANGED, A_PLAIN, B_TRANSPOSED, 1, 1)
MULTIPLY(multiply_transposed, GLOBAL const float*, UNCHANGED, A_TRANSPOSED, B_PLAIN, 0, 0)
MULTIPLY(multiply_rounded, GLOBAL const u16*, WIDENED, A_PLAIN, B_PLAIN, 1, 0)
MULTIPLY(multiply_by_transposed_rounded, GLOBAL const u16*, WIDENED, A_PLAIN, B_TRANSPOSED, 1, 1)
MULTIPLY(multiply_transposed_rounded, GLOBAL const u16*, WIDENED, A_TRANSPOSED, B_PLAIN, 0, 0)

// The gradient of a layer's weights, A^T B, goes into AdamW without being written. A work-group leaves the root of the
// sum of its gradients' squares, so that these roots have the norm of the gradient.
#define MULTIPLY_AND_ADAMW(name, POINTER, NUMBER)                                                              \
    KERNEL name(GLOBAL u8* arena, GLOBAL u8* other, const MultiplyAndAdamWArguments both) {                    \
        SHARED float common[2];                                                                                \
        const MultiplyArguments a = both.product;                                                              \
        TILE_OF_PRODUCT(POINTER, NUMBER, A_TRANSPOSED, B_PLAIN, 0, 0)                                          \
        const AdamWNumbers numbers = adamw_numbers(arena, both.adamw, common);                                 \
        float squares = 0.0f;                                                                                  \
        for (u32 i = 0; i < 16u; ++i) {                                                                        \
            const u32 m = ROW_OF_SUM(i);                                                                       \
            const u32 n = COLUMN_OF_SUM(i);                                                                    \
            const i64 e = (i64)m * a.n + n;                                                                    \
            if (m < a.m && n < a.n) squares += sum[i] * sum[i];                                                \
            if (m < a.m && n < a.n && numbers.alive) {                                                         \
                float w = FLOATS(both.adamw.update.weights)[e];                                                \
                float first = FLOATS(both.adamw.first_moment)[e];                                              \
                float second = FLOATS(both.adamw.second_moment)[e];                                            \
                adamw_element(numbers, e < both.adamw.update.decayed ? numbers.decay : 1.0f, sum[i], &w, &first, \
                              &second);                                                                        \
                FLOATS(both.adamw.update.weights)[e] = w;                                                      \
                if (PRESENT(both.adamw.update.rounded))                                                        \
                    HALVES(both.adamw.update.rounded)[e] = narrowed(w, (u32)both.adamw.update.rounds);         \
                FLOATS(both.adamw.first_moment)[e] = first;                                                    \
                FLOATS(both.adamw.second_moment)[e] = second;                                                  \
            }                                                                                                  \
        }                                                                                                      \
        squares = group_sum(a_tile, squares);                                                                  \
        if (WORK_ITEM == 0u) FLOATS(both.roots)[WORK_GROUP] = sqrt(squares);                                   \
    }
MULTIPLY_AND_ADAMW(multiply_and_adamw, GLOBAL const float*, UNCHANGED)
MULTIPLY_AND_ADAMW(multiply_and_adamw_rounded, GLOBAL const u16*, WIDENED)
