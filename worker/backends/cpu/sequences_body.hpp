// The kernels of models over sequences: a part of kernels_body.hpp, which includes it inside of its unnamed namespace.
// sequences.hpp defines them.

// ---- Products of tiles: attention multiplies matrices that lie in the first cache levels ----

#if defined(__AVX512F__) || defined(__ARM_NEON)
constexpr int tile_rows = 8;  // of a product that are worked on at once: there are 32 registers for their sums
#else
constexpr int tile_rows = 4;
#endif
constexpr int64_t tile = 64;          ///< steps of a tile of queries or keys
constexpr int64_t widest_head = 128;  ///< Attention::widest_head

/// A left operand: element (row, column) is at row * of_row + column * of_column, so that it may be a transposed one.
struct LeftOperand {
    const float* at;
    int64_t of_row, of_column;
};

template <int vectors>
inline void multiply_strip(int64_t depth, const LeftOperand& a, const float* b, int64_t b_row, float* c, int64_t c_row,
                           bool add) {
    Floats sums[tile_rows][vectors];
    for (int r = 0; r < tile_rows; ++r)
        for (int v = 0; v < vectors; ++v)
            sums[r][v] = add ? *reinterpret_cast<const Floats*>(c + r * c_row + v * lanes) : Floats{};
    for (int64_t p = 0; p < depth; ++p) {
        Floats right[vectors];
        for (int v = 0; v < vectors; ++v) right[v] = *reinterpret_cast<const Floats*>(b + p * b_row + v * lanes);
        const float* left = a.at + p * a.of_column;
        for (int r = 0; r < tile_rows; ++r)
            for (int v = 0; v < vectors; ++v) sums[r][v] += left[r * a.of_row] * right[v];
    }
    for (int r = 0; r < tile_rows; ++r)
        for (int v = 0; v < vectors; ++v) *reinterpret_cast<Floats*>(c + r * c_row + v * lanes) = sums[r][v];
}

/// The part of a product that matters for the rows of a strip: the first columns of c, and the numbers that are summed.
struct Extent {
    int64_t columns, first, depth;
};

/// c [rows, columns] = a * b, or adds it, within extent_of(row) for the strip of tile_rows rows that begins at `row`.
/// `rows` is a multiple of tile_rows, the columns are one of 16; b and c are aligned.
template <class ExtentOf>
inline void multiply_tiles(int64_t rows, const ExtentOf& extent_of, const LeftOperand& a, const float* b, int64_t b_row,
                           float* c, int64_t c_row, bool add) {
    for (int64_t row = 0; row < rows; row += tile_rows) {
        const Extent extent = extent_of(row);
        const LeftOperand left{a.at + row * a.of_row + extent.first * a.of_column, a.of_row, a.of_column};
        const float* right = b + extent.first * b_row;
        const int64_t depth = extent.depth - extent.first;
        int64_t column = 0;
        for (; column + 2 * lanes <= extent.columns; column += 2 * lanes)
            multiply_strip<2>(depth, left, right + column, b_row, c + row * c_row + column, c_row, add);
        for (; column < extent.columns; column += lanes)
            multiply_strip<1>(depth, left, right + column, b_row, c + row * c_row + column, c_row, add);
    }
}

inline void clear(int64_t count, float* values) {
    __builtin_memset(values, 0, static_cast<size_t>(count) * sizeof(float));
}

/// Copies `rows` rows of `columns` numbers, times `factor`, into a tile with rows of `wide_columns`; the rest of the
/// first `wide_rows` rows becomes 0.
inline void pack(int64_t rows, int64_t columns, const float* from, int64_t from_row, float factor, float* to,
                 int64_t wide_rows, int64_t wide_columns) {
    for (int64_t r = 0; r < rows; ++r) {
        const float* source = from + r * from_row;
        float* target = to + r * wide_columns;
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) target[i] = source[i] * factor;
        if (columns < wide_columns) clear(wide_columns - columns, target + columns);
    }
    clear((wide_rows - rows) * wide_columns, to + rows * wide_columns);
}

/// Copies four rows of `columns` numbers into four columns.
inline void transpose_four(int64_t columns, const float* from, int64_t from_row, float* to) {
    const auto row = [](auto* at) -> auto& { return *reinterpret_cast<FourFloats*>(const_cast<float*>(at)); };
    int64_t i = 0;
    for (; i + 4 <= columns; i += 4) {
        const FourFloats a = row(from + i), b = row(from + from_row + i), c = row(from + 2 * from_row + i),
                         d = row(from + 3 * from_row + i);
        const FourFloats ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
        const FourFloats high_ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
        const FourFloats high_cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
        row(to + i * tile) = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
        row(to + (i + 1) * tile) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
        row(to + (i + 2) * tile) = __builtin_shufflevector(high_ab, high_cd, 0, 1, 4, 5);
        row(to + (i + 3) * tile) = __builtin_shufflevector(high_ab, high_cd, 2, 3, 6, 7);
    }
    for (; i < columns; ++i)
        for (int64_t r = 0; r < 4; ++r) to[i * tile + r] = from[r * from_row + i];
}

/// The same as pack, transposed: row i of the tile has number i of each row, and 0 from the last row to `wide_rows`.
inline void pack_transposed(int64_t rows, int64_t columns, const float* from, int64_t from_row, float* to,
                            int64_t wide_rows) {
    if (rows < wide_rows)
        for (int64_t i = 0; i < columns; ++i) clear(wide_rows - rows, to + i * tile + rows);
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) transpose_four(columns, from + r * from_row, from_row, to + r);
    for (; r < rows; ++r)
        for (int64_t i = 0; i < columns; ++i) to[i * tile + r] = from[r * from_row + i];
}

inline Floats& vector_at(float* values) { return *reinterpret_cast<Floats*>(values); }

/// -1 in the lanes of the vector that begins at `first` and hold a number before `end`, and 0 in the others.
inline Words lanes_before(int64_t first, int64_t end) {
    Words index;
    for (int i = 0; i < lanes; ++i) index[i] = i;
    return index < static_cast<int32_t>(end - first);
}

/// Rounds the rows up to whole tiles, on which products of tiles may work.
inline int64_t whole_rows(int64_t rows) { return (rows + tile_rows - 1) / tile_rows * tile_rows; }
inline int64_t whole_lanes(int64_t columns) { return (columns + 15) / 16 * 16; }

// ---- Attention ----

inline int64_t row_of(const AttentionSizes& s) { return (s.heads + 2 * s.kv_heads) * s.width; }
/// Returns the first column of the keys that a head of queries uses.
inline int64_t key_column(const AttentionSizes& s, int64_t head) {
    return (s.heads + head / (s.heads / s.kv_heads)) * s.width;
}

/// The place of a tile of queries against a tile of keys.
struct TilePair {
    int64_t first_query, queries, first_key, keys;
    bool causal;

    /// Returns true if the whole pair of tiles is masked.
    [[nodiscard]] bool is_masked() const { return causal && first_key >= first_query + queries; }
    /// Keys that the query `row` of the tile attends to.
    [[nodiscard]] int64_t seen_by(int64_t row) const {
        const int64_t seen = causal ? first_query + row - first_key + 1 : keys;
        return seen < 0 ? 0 : seen < keys ? seen : keys;
    }
    /// Keys that some query attends to in the strip of tile_rows queries that begins at `row`.
    [[nodiscard]] int64_t seen_by_strip(int64_t row) const { return seen_by(row + tile_rows - 1); }
    /// The first query of the tile, at the start of a strip, that may attend to the keys from `key` on.
    [[nodiscard]] int64_t first_that_sees(int64_t key) const {
        const int64_t first = causal ? first_key + key - first_query : 0;
        return first < 0 ? 0 : first < queries ? first : queries;
    }
};

inline int64_t at_most(int64_t count, int64_t most) { return count < most ? count : most; }

void attention_tile(const AttentionSizes& s, const float* queries, const float* keys, const float* values,
                    int64_t first_query, float* output, float* log_sums) {
    alignas(64) float q[tile * widest_head];
    alignas(64) float kt[widest_head * tile];
    alignas(64) float v[tile * widest_head];
    alignas(64) float scores[tile * tile];
    alignas(64) float sums[tile * widest_head];
    float greatest[tile];
    float normaliser[tile];
    const int64_t tile_columns = whole_lanes(s.width), row_elements = row_of(s);
    const int64_t rows = at_most(tile, s.steps - first_query), padded = whole_rows(rows);
    pack(rows, s.width, queries + first_query * row_elements, row_elements, s.scale, q, padded, tile_columns);
    for (float& value : greatest) value = -__FLT_MAX__;
    for (int64_t first_key = 0; first_key < s.steps; first_key += tile) {
        const TilePair pair{first_query, rows, first_key, at_most(tile, s.steps - first_key), s.causal};
        if (pair.is_masked()) break;
        const int64_t wide_keys = whole_lanes(pair.keys);
        const auto keys_of = [&](int64_t row) { return Extent{whole_lanes(pair.seen_by_strip(row)), 0, s.width}; };
        const auto values_of = [&](int64_t row) { return Extent{tile_columns, 0, pair.seen_by_strip(row)}; };
        pack_transposed(pair.keys, s.width, keys + first_key * row_elements, row_elements, kt, wide_keys);
        pack(pair.keys, s.width, values + first_key * row_elements, row_elements, 1, v, wide_keys, tile_columns);
        multiply_tiles(padded, keys_of, {q, tile_columns, 1}, kt, tile, scores, tile, false);
        for (int64_t r = 0; r < rows; ++r) {
            float* p = scores + r * tile;
            const int64_t seen = pair.seen_by(r), computed = keys_of(r / tile_rows * tile_rows).columns;
            Floats highest = Floats{} + greatest[r], total_of_lanes{};
            for (int64_t j = 0; j < computed; j += lanes) {
                const Floats score = lanes_before(j, seen) ? vector_at(p + j) : Floats{} - __FLT_MAX__;
                highest = score > highest ? score : highest;
            }
            const float most = greatest_of(highest);
            for (int64_t j = 0; j < computed; j += lanes) {
                const Floats weight = lanes_before(j, seen) ? exponential(vector_at(p + j) - most) : Floats{};
                vector_at(p + j) = weight;
                total_of_lanes += weight;
            }
            float sum = sum_of(total_of_lanes);
            if (first_key > 0) {
                const float shrunk = exponential(greatest[r] - most);
                sum += normaliser[r] * shrunk;
                float* total = sums + r * tile_columns;
#pragma omp simd
                for (int64_t i = 0; i < tile_columns; ++i) total[i] *= shrunk;
            }
            normaliser[r] = sum;
            greatest[r] = most;
        }
        multiply_tiles(padded, values_of, {scores, tile, 1}, v, tile_columns, sums, tile_columns, first_key > 0);
    }
    for (int64_t r = 0; r < rows; ++r) {
        float* to = output + (first_query + r) * s.heads * s.width;
        const float share = 1.0F / normaliser[r];
#pragma omp simd
        for (int64_t i = 0; i < s.width; ++i) to[i] = sums[r * tile_columns + i] * share;
        log_sums[(first_query + r) * s.heads] = greatest[r] + __builtin_logf(normaliser[r]);
    }
}

void attention(int64_t samples, const AttentionSizes& s, const float* projections, float* output, float* log_sums) {
    for (int64_t sample = 0; sample < samples; ++sample)
        for (int64_t head = 0; head < s.heads; ++head) {
            const float* first = projections + sample * s.steps * row_of(s);
            const float* keys = first + key_column(s, head);
            const float* values = keys + s.kv_heads * s.width;
            for (int64_t step = 0; step < s.steps; step += tile)
                attention_tile(s, first + head * s.width, keys, values, step,
                               output + (sample * s.steps * s.heads + head) * s.width,
                               log_sums + sample * s.steps * s.heads + head);
        }
}

/// The operands of the backward pass of one sample, at its first step.
struct AttentionPass {
    const float* projections;
    const float* log_sums;
    const float* gradient;  ///< of the output
    const float* deltas;
    float* of_projections;
};

/// Computes the gradients of a tile of keys and values, and adds its share to those of the queries.
void attention_backward_tile(const AttentionSizes& s, const AttentionPass& pass, int64_t kv_head, int64_t first_key) {
    alignas(64) float q[tile * widest_head];
    alignas(64) float k[tile * widest_head];
    alignas(64) float kt[widest_head * tile];
    alignas(64) float vt[widest_head * tile];
    alignas(64) float up[tile * widest_head];
    alignas(64) float p[tile * tile];
    alignas(64) float slope[tile * tile];
    alignas(64) float of_q[tile * widest_head];
    alignas(64) float of_k[tile * widest_head];
    alignas(64) float of_v[tile * widest_head];
    const int64_t tile_columns = whole_lanes(s.width), row_elements = row_of(s), in_group = s.heads / s.kv_heads;
    const int64_t columns = at_most(tile, s.steps - first_key), wide_keys = whole_lanes(columns);
    const int64_t key_at = first_key * row_elements + key_column(s, kv_head * in_group);
    const int64_t value_at = key_at + s.kv_heads * s.width;
    pack(columns, s.width, pass.projections + key_at, row_elements, 1, k, wide_keys, tile_columns);
    pack_transposed(columns, s.width, pass.projections + key_at, row_elements, kt, wide_keys);
    pack_transposed(columns, s.width, pass.projections + value_at, row_elements, vt, wide_keys);
    clear(wide_keys * tile_columns, of_k);
    clear(wide_keys * tile_columns, of_v);
    for (int64_t head = kv_head * in_group; head < (kv_head + 1) * in_group; ++head)
        for (int64_t first = 0; first < s.steps; first += tile) {
            const TilePair pair{first, at_most(tile, s.steps - first), first_key, columns, s.causal};
            if (pair.is_masked()) continue;
            const int64_t padded = whole_rows(pair.queries);
            const int64_t query_at = first * row_elements + head * s.width;
            pack(pair.queries, s.width, pass.projections + query_at, row_elements, s.scale, q, padded, tile_columns);
            pack(pair.queries, s.width, pass.gradient + (first * s.heads + head) * s.width, s.heads * s.width, 1, up,
                 padded, tile_columns);
            const auto keys_of = [&](int64_t row) { return Extent{whole_lanes(pair.seen_by_strip(row)), 0, s.width}; };
            const auto values_of = [&](int64_t row) { return Extent{tile_columns, 0, pair.seen_by_strip(row)}; };
            const auto queries_of = [&](int64_t key) {
                return Extent{tile_columns, pair.first_that_sees(key), pair.queries};
            };
            multiply_tiles(padded, keys_of, {q, tile_columns, 1}, kt, tile, p, tile, false);
            multiply_tiles(padded, keys_of, {up, tile_columns, 1}, vt, tile, slope, tile, false);
            for (int64_t r = 0; r < pair.queries; ++r) {
                const float log_sum = pass.log_sums[(first + r) * s.heads + head];
                const float delta = pass.deltas[(first + r) * s.heads + head];
                const int64_t seen = pair.seen_by(r), computed = keys_of(r / tile_rows * tile_rows).columns;
                float* row = p + r * tile;
                float* its_slope = slope + r * tile;
                for (int64_t j = 0; j < computed; j += lanes) {
                    const Floats weight = lanes_before(j, seen) ? exponential(vector_at(row + j) - log_sum) : Floats{};
                    vector_at(row + j) = weight;
                    vector_at(its_slope + j) = weight * (vector_at(its_slope + j) - delta);
                }
            }
            multiply_tiles(wide_keys, queries_of, {p, 1, tile}, up, tile_columns, of_v, tile_columns, true);
            multiply_tiles(wide_keys, queries_of, {slope, 1, tile}, q, tile_columns, of_k, tile_columns, true);
            multiply_tiles(padded, values_of, {slope, tile, 1}, k, tile_columns, of_q, tile_columns, false);
            for (int64_t r = 0; r < pair.queries; ++r) {
                float* to = pass.of_projections + query_at + r * row_elements;
                const float* from = of_q + r * tile_columns;
                if (first_key == 0) {
#pragma omp simd
                    for (int64_t i = 0; i < s.width; ++i) to[i] = from[i] * s.scale;
                } else {
#pragma omp simd
                    for (int64_t i = 0; i < s.width; ++i) to[i] += from[i] * s.scale;
                }
            }
        }
    for (int64_t j = 0; j < columns; ++j) {
        float* to_key = pass.of_projections + key_at + j * row_elements;
        float* to_value = pass.of_projections + value_at + j * row_elements;
#pragma omp simd
        for (int64_t i = 0; i < s.width; ++i) {
            to_key[i] = of_k[j * tile_columns + i];
            to_value[i] = of_v[j * tile_columns + i];
        }
    }
}

void attention_backward(int64_t samples, const AttentionSizes& s, const float* projections, const float* output,
                        const float* log_sums, const float* gradient, float* deltas, float* of_projections) {
    const int64_t heads = samples * s.steps * s.heads;
    for (int64_t i = 0; i < heads; ++i) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < s.width; ++j) sum += output[i * s.width + j] * gradient[i * s.width + j];
        deltas[i] = sum;
    }
    for (int64_t sample = 0; sample < samples; ++sample) {
        const int64_t row = sample * s.steps;
        const AttentionPass pass{projections + row * row_of(s), log_sums + row * s.heads,
                                 gradient + row * s.heads * s.width, deltas + row * s.heads,
                                 of_projections + row * row_of(s)};
        for (int64_t kv_head = 0; kv_head < s.kv_heads; ++kv_head)
            for (int64_t step = 0; step < s.steps; step += tile) attention_backward_tile(s, pass, kv_head, step);
    }
}

// ---- Tokens, positions, gates ----

void embed(int64_t rows, int64_t columns, const float* tokens, const float* table, float* output) {
    for (int64_t row = 0; row < rows; ++row) {
        const float* from = table + static_cast<int64_t>(tokens[row]) * columns;
        float* to = output + row * columns;
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) to[i] = from[i];
    }
}

void embed_backward(int64_t rows, int64_t columns, const float* tokens, const float* gradient, float* table_gradient) {
    for (int64_t row = 0; row < rows; ++row)
        add(columns, gradient + row * columns, table_gradient + static_cast<int64_t>(tokens[row]) * columns);
}

void rotate(int64_t samples, int64_t steps, int64_t columns, int64_t heads, int64_t width, bool back, float* values) {
    const int64_t half = width / 2;
    float cosine[widest_head / 2];
    float sine[widest_head / 2];
    for (int64_t step = 0; step < steps; ++step) {
        for (int64_t i = 0; i < half; ++i) {
            constexpr double log2_of_base = 13.287712379549449;  // of 10000
            const double angle = static_cast<double>(step) *
                                 __builtin_exp2(-log2_of_base * static_cast<double>(i) / static_cast<double>(half));
            cosine[i] = static_cast<float>(__builtin_cos(angle));
            sine[i] = static_cast<float>(back ? -__builtin_sin(angle) : __builtin_sin(angle));
        }
        for (int64_t sample = 0; sample < samples; ++sample)
            for (int64_t head = 0; head < heads; ++head) {
                float* x = values + (sample * steps + step) * columns + head * width;
                float* y = x + half;
#pragma omp simd
                for (int64_t i = 0; i < half; ++i) {
                    const float turned = x[i] * cosine[i] - y[i] * sine[i];
                    y[i] = x[i] * sine[i] + y[i] * cosine[i];
                    x[i] = turned;
                }
            }
    }
}

void gate(int64_t rows, int64_t columns, const float* input, float* output) {
    for (int64_t row = 0; row < rows; ++row) {
        const float* a = input + row * 2 * columns;
        const float* b = a + columns;
        float* y = output + row * columns;
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) y[i] = Silu::value(a[i]) * b[i];
    }
}

void gate_backward(int64_t rows, int64_t columns, const float* input, const float* output_gradient,
                   float* input_gradient) {
    for (int64_t row = 0; row < rows; ++row) {
        const float* a = input + row * 2 * columns;
        const float* b = a + columns;
        const float* g = output_gradient + row * columns;
        float* to_a = input_gradient + row * 2 * columns;
        float* to_b = to_a + columns;
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) {
            const float s = Silu::sigmoid(a[i]);
            to_a[i] = g[i] * b[i] * s * (1.0F + a[i] * (1.0F - s));
            to_b[i] = g[i] * a[i] * s;
        }
    }
}
