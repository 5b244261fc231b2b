#include <cstring>

#include "tests/contract/backends/harness.hpp"
#include "tests/support/half.hpp"

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
        fused_and_alone([&](Harness& harness) {
            const Tensor x = harness.random(size.batch, size.inputs);
            const Tensor w = harness.random(size.outputs, size.inputs);
            const Tensor y = harness.output(size.batch, size.outputs);
            harness.start();
            harness.stream().enqueue(Linear{x, w, y});
            for (int k = 0; k < harness.replicas(); ++k)
                expect_near(harness.values(y, k), product(harness.values(x, k), harness.values(w, k), size), 1e-5);
        });
}

TEST(Linear, GradientsAreThoseOfTheProduct) {
    for (const auto& size : sizes)
        for (const Write write : {Write::set, Write::add})
            fused_and_alone([&](Harness& harness) {
                const Tensor x = harness.random(size.batch, size.inputs);
                const Tensor w = harness.random(size.outputs, size.inputs);
                const Tensor dy = harness.random(size.batch, size.outputs);
                const Tensor dw = write == Write::set ? harness.output(size.outputs, size.inputs)
                                                      : harness.random(size.outputs, size.inputs);
                const Tensor dx = harness.output(size.batch, size.inputs);
                harness.start();
                std::vector<Numbers> before;
                for (int k = 0; k < harness.replicas(); ++k) before.push_back(harness.values(dw, k));
                harness.stream().enqueue(LinearBackward{.output_gradient = dy,
                                                        .input = x,
                                                        .weight = w,
                                                        .weight_gradient = dw,
                                                        .input_gradient = dx,
                                                        .write = write});
                for (int k = 0; k < harness.replicas(); ++k) {
                    const Numbers xs = harness.values(x, k), ws = harness.values(w, k), up = harness.values(dy, k);
                    Numbers wanted_w(ws.size()), wanted_x(xs.size());
                    if (write == Write::add) wanted_w = before[number(k)];
                    for (std::int64_t b = 0; b < size.batch; ++b)
                        for (std::int64_t o = 0; o < size.outputs; ++o)
                            for (std::int64_t i = 0; i < size.inputs; ++i) {
                                const double g = up[number(b * size.outputs + o)];
                                wanted_w[number(o * size.inputs + i)] += g * xs[number(b * size.inputs + i)];
                                wanted_x[number(b * size.inputs + i)] += g * ws[number(o * size.inputs + i)];
                            }
                    expect_near(harness.values(dw, k), wanted_w, 1e-5);
                    expect_near(harness.values(dx, k), wanted_x, 1e-5);
                }
            });
}

TEST(Linear, GradientsAgreeWithFiniteDifferences) {
    const Sizes size{3, 7, 5};
    fused_and_alone([&](Harness& harness) {
        const Tensor x = harness.random(size.batch, size.inputs);
        const Tensor w = harness.random(size.outputs, size.inputs);
        const Tensor dy = harness.random(size.batch, size.outputs);
        const Tensor dw = harness.output(size.outputs, size.inputs);
        const Tensor dx = harness.output(size.batch, size.inputs);
        harness.start();
        harness.stream().enqueue(LinearBackward{.output_gradient = dy,
                                                .input = x,
                                                .weight = w,
                                                .weight_gradient = dw,
                                                .input_gradient = dx,
                                                .write = Write::set});
        for (int k = 0; k < harness.replicas(); ++k) {
            const Numbers xs = harness.values(x, k), ws = harness.values(w, k), up = harness.values(dy, k);
            expect_near(harness.values(dw, k),
                        differences(ws, [&](const Numbers& v) { return dot(product(xs, v, size), up); }), 1e-5);
            expect_near(harness.values(dx, k),
                        differences(xs, [&](const Numbers& v) { return dot(product(v, ws, size), up); }), 1e-5);
        }
    });
}

TEST(Linear, TheFirstLayerNeedsNoGradientOfItsInput) {
    fused_and_alone([&](Harness& harness) {
        const Tensor x = harness.random(3, 7), w = harness.random(5, 7), dy = harness.random(3, 5),
                     dw = harness.output(5, 7);
        harness.start();
        harness.stream().enqueue(LinearBackward{.output_gradient = dy,
                                                .input = x,
                                                .weight = w,
                                                .weight_gradient = dw,
                                                .input_gradient = {},
                                                .write = Write::set});
        for (int k = 0; k < harness.replicas(); ++k) EXPECT_TRUE(std::isfinite(harness.values(dw, k)[0]));
    });
}

/// Rounds a number to the nearest value of a type with the compiler's arithmetic.
double rounded(double x, Precision precision) {
    if (precision == Precision::float16) return static_cast<double>(static_cast<testing::Half>(x));
    if (precision != Precision::bfloat16 || x == 0 || !std::isfinite(x)) return x;
    const double unit = std::ldexp(1.0, std::ilogb(x) - 7);  // 8 bits of mantissa; halves go to even
    return std::nearbyint(x / unit) * unit;
}

Numbers rounded(Numbers values, Precision precision) {
    for (double& value : values) value = rounded(value, precision);
    return values;
}

/// A tensor in f32 and where it is rounded to.
struct Operand {
    Tensor exact, rounded;

    Operand(Harness& harness, std::int64_t rows, std::int64_t columns, Precision precision)
        : exact(harness.random(rows, columns)) {
        const Type type = operand_type(precision);
        rounded = type == Type::f32 ? exact : harness.rounded(rows, columns, type);
    }
    void round(Stream& stream) const {
        if (rounded.type != Type::f32) stream.enqueue(Round{exact, rounded});
    }
};

TEST(Linear, In16BitsItIsTheProductOfTheRoundedOperandsSummedInFloat32) {
    for (const auto& size : sizes)
        fused_and_alone([&](Harness& harness) {
            struct Case {
                Precision precision;
                Operand x, w, dy;
                Tensor y, dw, dx;
            };
            std::vector<Case> cases;
            for (const Precision precision : {Precision::bfloat16, Precision::float16})
                cases.push_back({precision,
                                 {harness, size.batch, size.inputs, precision},
                                 {harness, size.outputs, size.inputs, precision},
                                 {harness, size.batch, size.outputs, precision},
                                 harness.output(size.batch, size.outputs),
                                 harness.output(size.outputs, size.inputs),
                                 harness.output(size.batch, size.inputs)});
            harness.start();
            for (const auto& [precision, x, w, dy, y, dw, dx] : cases) {
                if (!harness.device().computes_in(precision)) continue;
                for (const Operand* one : {&x, &w, &dy}) one->round(harness.stream());
                harness.stream().enqueue(Linear{x.rounded, w.rounded, y, precision});
                harness.stream().enqueue(LinearBackward{.output_gradient = dy.rounded,
                                                        .input = x.rounded,
                                                        .weight = w.rounded,
                                                        .weight_gradient = dw,
                                                        .input_gradient = dx,
                                                        .write = Write::set,
                                                        .precision = precision});
                for (int k = 0; k < harness.replicas(); ++k) {
                    const Numbers xs = rounded(harness.values(x.exact, k), precision),
                                  ws = rounded(harness.values(w.exact, k), precision);
                    const Numbers up = rounded(harness.values(dy.exact, k), precision);
                    expect_near(harness.values(y, k), product(xs, ws, size), 1e-5);
                    Numbers wanted_w(ws.size()), wanted_x(xs.size());
                    for (std::int64_t b = 0; b < size.batch; ++b)
                        for (std::int64_t o = 0; o < size.outputs; ++o)
                            for (std::int64_t i = 0; i < size.inputs; ++i) {
                                const double g = up[number(b * size.outputs + o)];
                                wanted_w[number(o * size.inputs + i)] += g * xs[number(b * size.inputs + i)];
                                wanted_x[number(b * size.inputs + i)] += g * ws[number(o * size.inputs + i)];
                            }
                    expect_near(harness.values(dw, k), wanted_w, 1e-5);
                    expect_near(harness.values(dx, k), wanted_x, 1e-5);
                }
            }
        });
}

TEST(Linear, ItsErrorIsThatOfThePrecision) {
    // 257 products of operands below 1 in magnitude. The error of each product is at most two roundings.
    const Sizes size{2, 257, 33};
    const std::pair<Precision, double> bounds[] = {
        {Precision::tf32, 0x1p-10}, {Precision::bfloat16, 0x1p-7}, {Precision::float16, 0x1p-10}};
    for (const auto& [precision, bound] : bounds)
        on_every_device([&, wanted = precision, most = bound](Harness& harness) {
            if (!harness.device().computes_in(wanted)) return;
            const Operand x(harness, size.batch, size.inputs, wanted), w(harness, size.outputs, size.inputs, wanted);
            const Tensor y = harness.output(size.batch, size.outputs);
            harness.start();
            for (const Operand* operand : {&x, &w}) operand->round(harness.stream());
            harness.stream().enqueue(Linear{x.rounded, w.rounded, y, wanted});
            const Numbers exact = product(harness.values(x.exact, 0), harness.values(w.exact, 0), size),
                          got = harness.values(y, 0);
            double largest = 0;
            for (std::size_t i = 0; i < got.size(); ++i) largest = std::max(largest, std::abs(got[i] - exact[i]));
            EXPECT_LT(largest, most * std::sqrt(257.0));
            // tf32 is a permission that a library need not use.
            if (wanted != Precision::tf32) {
                EXPECT_GT(largest, most / 100) << "nothing is rounded";
            }
        });
}

TEST(Round, RoundsEveryKindOfNumber) {
    const Numbers kinds{0,       -0.0,      1,        -1,       1 + 0x1p-8, 1 + 0x1p-11, 1 + 0x3p-11, 1 + 0x1p-12,
                        65504,   65519,     -65520,   1e30,     0x1p-14,    0x1.8p-15,   0x1p-24,     0x1p-25,
                        0x3p-26, 0x1.8p-24, 0x1p-149, 0x1p-126, 3e38,       1e-9,        0.1,         -0.3};
    const auto count = static_cast<std::int64_t>(kinds.size());
    on_every_device([&](Harness& harness) {
        std::vector<std::pair<Precision, Tensor>> all;
        const Tensor x = harness.output(1, count);
        for (const Precision precision : narrow_precisions(harness.device()))
            all.push_back({precision, harness.rounded(1, count, operand_type(precision))});
        harness.start();
        const std::vector<float> given(kinds.begin(), kinds.end());
        harness.stream().write(x, 0, std::span<const float>(given));
        for (const auto& [precision, narrow] : all) {
            harness.stream().enqueue(Round{x, narrow});
            const auto raw = harness.bytes(narrow, 0);
            for (std::size_t i = 0; i < kinds.size(); ++i) {
                std::uint16_t bits = 0;
                std::memcpy(&bits, raw.data() + 2 * i, 2);
                if (precision == Precision::float16) {
                    const auto half = static_cast<testing::Half>(given[i]);
                    std::uint16_t wanted = 0;
                    std::memcpy(&wanted, &half, 2);
                    EXPECT_EQ(bits, wanted) << given[i];
                } else {
                    float got = 0;
                    const std::uint32_t wide = std::uint32_t{bits} << 16;
                    std::memcpy(&got, &wide, 4);
                    if (std::fpclassify(given[i]) == FP_SUBNORMAL) continue;
                    EXPECT_EQ(got, static_cast<float>(rounded(given[i], precision))) << given[i];
                }
            }
        }
    });
}

TEST(Device, SaysInWhichPrecisionsItComputes) {
    on_every_device([](Harness& harness) {
        const Device& device = harness.device();
        EXPECT_TRUE(device.computes_in(Precision::float32));
        for (const Precision precision : {Precision::tf32, Precision::bfloat16, Precision::float16}) {
            const auto can = device.computes_in(precision);
            EXPECT_TRUE(can.ok() || !can.error().message.empty());
            const bool has = device.name().find(", AMX, ") != std::string::npos ||
                             device.name().find("BF16, ") != std::string::npos;  // AVX512-BF16, or ARM's BF16
            EXPECT_TRUE(device.backend() != "cpu" || can.ok() == (precision == Precision::bfloat16 && has));
            EXPECT_TRUE(device.backend() != "opencl" || can.ok() == (precision != Precision::tf32));
        }
    });
}

}  // namespace
}  // namespace hpo::test
