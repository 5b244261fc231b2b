#include "tests/contract/backends/rig.hpp"

namespace hpo::test {
namespace {

struct Sizes {
    std::int64_t batch, inputs, outputs;
};
constexpr Sizes sizes[] = {{1, 1, 1},   {1, 3, 7},     {3, 1, 1},    {7, 17, 3},   {17, 33, 65},
                           {33, 65, 7}, {65, 129, 10}, {2, 257, 33}, {130, 70, 96}};

Numbers product(const Numbers& x, const Numbers& w, const Sizes& size) {
    Numbers y(number(size.batch * size.outputs));
    for (std::int64_t b = 0; b < size.batch; ++b)
        for (std::int64_t o = 0; o < size.outputs; ++o)
            for (std::int64_t i = 0; i < size.inputs; ++i)
                y[number(b * size.outputs + o)] += x[number(b * size.inputs + i)] * w[number(o * size.inputs + i)];
    return y;
}

TEST(Linear, IsInputTimesTransposedWeight) {
    for (const auto& size : sizes)
        in_every_way([&](Rig& rig) {
            const Tensor x = rig.random(size.batch, size.inputs);
            const Tensor w = rig.random(size.outputs, size.inputs);
            const Tensor y = rig.output(size.batch, size.outputs);
            rig.start();
            rig.stream().linear({x, w, y});
            for (int k = 0; k < rig.lanes(); ++k)
                expect_near(rig.values(y, k), product(rig.values(x, k), rig.values(w, k), size), 1e-5);
        });
}

TEST(Linear, GradientsAreThoseOfTheProduct) {
    for (const auto& size : sizes)
        for (const Write write : {Write::set, Write::add})
            in_every_way([&](Rig& rig) {
                const Tensor x = rig.random(size.batch, size.inputs);
                const Tensor w = rig.random(size.outputs, size.inputs);
                const Tensor dy = rig.random(size.batch, size.outputs);
                const Tensor dw =
                    write == Write::set ? rig.output(size.outputs, size.inputs) : rig.random(size.outputs, size.inputs);
                const Tensor dx = rig.output(size.batch, size.inputs);
                rig.start();
                std::vector<Numbers> before;
                for (int k = 0; k < rig.lanes(); ++k) before.push_back(rig.values(dw, k));
                rig.stream().linear_backward({dy, x, w, dw, dx, write});
                for (int k = 0; k < rig.lanes(); ++k) {
                    const Numbers xs = rig.values(x, k), ws = rig.values(w, k), up = rig.values(dy, k);
                    Numbers wanted_w(ws.size()), wanted_x(xs.size());
                    if (write == Write::add) wanted_w = before[number(k)];
                    for (std::int64_t b = 0; b < size.batch; ++b)
                        for (std::int64_t o = 0; o < size.outputs; ++o)
                            for (std::int64_t i = 0; i < size.inputs; ++i) {
                                const double g = up[number(b * size.outputs + o)];
                                wanted_w[number(o * size.inputs + i)] += g * xs[number(b * size.inputs + i)];
                                wanted_x[number(b * size.inputs + i)] += g * ws[number(o * size.inputs + i)];
                            }
                    expect_near(rig.values(dw, k), wanted_w, 1e-5);
                    expect_near(rig.values(dx, k), wanted_x, 1e-5);
                }
            });
}

TEST(Linear, GradientsAgreeWithFiniteDifferences) {
    const Sizes size{3, 7, 5};
    in_every_way([&](Rig& rig) {
        const Tensor x = rig.random(size.batch, size.inputs);
        const Tensor w = rig.random(size.outputs, size.inputs);
        const Tensor dy = rig.random(size.batch, size.outputs);
        const Tensor dw = rig.output(size.outputs, size.inputs);
        const Tensor dx = rig.output(size.batch, size.inputs);
        rig.start();
        rig.stream().linear_backward({dy, x, w, dw, dx, Write::set});
        for (int k = 0; k < rig.lanes(); ++k) {
            const Numbers xs = rig.values(x, k), ws = rig.values(w, k), up = rig.values(dy, k);
            expect_near(rig.values(dw, k),
                        differences(ws, [&](const Numbers& v) { return dot(product(xs, v, size), up); }), 1e-5);
            expect_near(rig.values(dx, k),
                        differences(xs, [&](const Numbers& v) { return dot(product(v, ws, size), up); }), 1e-5);
        }
    });
}

TEST(Linear, TheFirstLayerNeedsNoGradientOfItsInput) {
    in_every_way([&](Rig& rig) {
        const Tensor x = rig.random(3, 7), w = rig.random(5, 7), dy = rig.random(3, 5), dw = rig.output(5, 7);
        rig.start();
        rig.stream().linear_backward({dy, x, w, dw, {}, Write::set});
        for (int k = 0; k < rig.lanes(); ++k) EXPECT_TRUE(std::isfinite(rig.values(dw, k)[0]));
    });
}

}  // namespace
}  // namespace hpo::test
