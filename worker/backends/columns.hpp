// The operations on the columns of tables. Everything that backend.hpp says of operations holds for these. I features
// of a sample, O numbers that they become, P elements of the parameter block.
#pragma once

#include <array>
#include <cstdint>

#include "worker/backends/tensor.hpp"
#include "worker/backends/work.hpp"

namespace hpo {

/// The source of a number of EmbedColumns::output: a feature as it is, or a number of the embedding of a categorical
/// column, whose levels are `levels` features, one for each row of a table.
struct EmbeddedColumn {
    std::int32_t feature = 0;  ///< the first one
    std::int32_t levels = 0;   ///< 0: the feature itself
    std::int32_t weight = 0;   ///< element of the parameter block that belongs to the first level
    std::int32_t width = 0;    ///< numbers of the embedding: the distance to the element of the next level
};
static_assert(sizeof(EmbeddedColumn) == 4 * sizeof(std::int32_t));

/// Entity embeddings (Guo and Berkhahn, "Entity embeddings of categorical variables", 2016): the features of each
/// categorical column are multiplied by the column's table, which for one that is 1 among others that are 0 is to take
/// a row of the table. Features that are 0 add nothing.
struct EmbedColumns {
    Tensor input;    ///< [B, I]
    Tensor columns;  ///< i32 [O, 4]: an EmbeddedColumn for each number; those of an embedding are neighbours
    Tensor weights;  ///< [1, P]
    Tensor output;   ///< [B, O] written

    [[nodiscard]] Work work() const { return moving(output, {input, output}); }
};

struct EmbedColumnsBackward {
    Tensor input;                  ///< [B, I]
    Tensor columns;                ///< as in forward
    Tensor output_gradient;        ///< [B, O]
    Tensor weight_gradients;       ///< [1, P]: those of the tables by `write`; the others are not touched
    std::int64_t most_levels = 0;  ///< of a column
    Write write = Write::set;

    [[nodiscard]] Work work() const { return moving(output_gradient, {input, output_gradient}); }
};

}  // namespace hpo
