// Embeddings of the columns of tables, compared with the product of the features and the tables.
#include <array>

#include "tests/contract/backends/harness.hpp"

namespace hpo::test {
namespace {

/// A number, a column of 4 levels, another number, and columns of 2 levels and of 9. Their tables lie in a block of
/// parameters with gaps.
struct Columns {
    std::int64_t first_width, second_width, third_width;

    static constexpr std::int64_t features = 17, block = 1000;

    [[nodiscard]] std::vector<EmbeddedColumn> entries() const {
        std::vector<EmbeddedColumn> made;
        const auto embed = [&](std::int32_t feature, std::int32_t levels, std::int32_t weight, std::int64_t width) {
            for (std::int32_t i = 0; i < width; ++i)
                made.push_back({feature, levels, weight + i, static_cast<std::int32_t>(width)});
        };
        made.push_back({.feature = 0});
        embed(1, 4, 16, first_width);
        made.push_back({.feature = 5});
        embed(6, 2, 300, second_width);
        embed(8, 9, 400, third_width);
        return made;
    }
};

/// The gradient of dot(output, g) for the tables, and the output.
void product(const std::vector<EmbeddedColumn>& entries, std::int64_t rows, const Numbers& x, const Numbers& w,
             const Numbers& g, Numbers& y, Numbers& dw) {
    const std::size_t outputs = entries.size();
    for (std::size_t row = 0; row < number(rows); ++row)
        for (std::size_t i = 0; i < outputs; ++i) {
            const EmbeddedColumn& it = entries[i];
            const std::size_t feature = row * number(Columns::features) + number(it.feature);
            if (it.levels == 0) y[row * outputs + i] = x[feature];
            for (std::int32_t level = 0; level < it.levels; ++level) {
                const std::size_t weight = number(it.weight + level * it.width);
                y[row * outputs + i] += x[feature + number(level)] * w[weight];
                dw[weight] += x[feature + number(level)] * g[row * outputs + i];
            }
        }
}

TEST(EmbedColumns, MultipliesTheFeaturesOfEachColumnByItsTable) {
    for (const Columns& shape : {Columns{1, 1, 1}, Columns{2, 1, 5}, Columns{70, 3, 33}})
        for (const std::int64_t rows : {1, 7, 40})
            fused_and_alone([&](Harness& harness) {
                const std::vector<EmbeddedColumn> entries = shape.entries();
                const auto outputs = static_cast<std::int64_t>(entries.size());
                // Mostly zeros, as levels are; in each column some rows have none or several.
                const Tensor input = harness.integers<float>(rows, Columns::features, [](int replica, std::int64_t i) {
                    const std::uint64_t place = static_cast<std::uint64_t>(i);
                    const auto it = static_cast<std::uint64_t>(replica);
                    return draw_unit(5, Purpose::synthetic, it, place) < 0.7
                               ? 0.0F
                               : static_cast<float>(draw_unit(6, Purpose::synthetic, it, place) * 2 - 1);
                });
                const Tensor columns = harness.integers<std::int32_t>(outputs, 4, [&](int, std::int64_t i) {
                    const EmbeddedColumn& it = entries[number(i / 4)];
                    return std::array{it.feature, it.levels, it.weight, it.width}[number(i % 4)];
                });
                const Tensor weights = harness.random(1, Columns::block), output = harness.output(rows, outputs);
                const Tensor up = harness.random(rows, outputs), set = harness.random(1, Columns::block),
                             add = harness.random(1, Columns::block);
                harness.start();
                std::vector<Numbers> before_set, before_add;
                for (int k = 0; k < harness.replicas(); ++k) {
                    before_set.push_back(harness.values(set, k));
                    before_add.push_back(harness.values(add, k));
                }
                harness.stream().enqueue(EmbedColumns{input, columns, weights, output});
                harness.stream().enqueue(EmbedColumnsBackward{.input = input,
                                                              .columns = columns,
                                                              .output_gradient = up,
                                                              .weight_gradients = set,
                                                              .most_levels = 9,
                                                              .write = Write::set});
                harness.stream().enqueue(EmbedColumnsBackward{.input = input,
                                                              .columns = columns,
                                                              .output_gradient = up,
                                                              .weight_gradients = add,
                                                              .most_levels = 9,
                                                              .write = Write::add});
                for (int k = 0; k < harness.replicas(); ++k) {
                    Numbers y(number(rows * outputs)), dw(number(Columns::block));
                    product(entries, rows, harness.values(input, k), harness.values(weights, k), harness.values(up, k),
                            y, dw);
                    expect_near(harness.values(output, k), y, 1e-5);
                    Numbers wanted_set = before_set[number(k)], wanted_add = before_add[number(k)];
                    for (std::size_t i = 0; i < dw.size(); ++i) wanted_add[i] += dw[i];
                    for (const EmbeddedColumn& it : entries)
                        for (std::int32_t level = 0; level < it.levels; ++level) {
                            const std::size_t weight = number(it.weight + level * it.width);
                            wanted_set[weight] = dw[weight];
                        }
                    expect_near(harness.values(set, k), wanted_set, 1e-5);
                    expect_near(harness.values(add, k), wanted_add, 1e-5);
                }
            });
}

}  // namespace
}  // namespace hpo::test
