#include "worker/training/muon.hpp"

#include <algorithm>
#include <cmath>

#include "worker/training/group_plan.hpp"

namespace hpo {
namespace {

// The coefficients of the source, for which the slope at 0 is as large as it can be.
constexpr int iterations = 5;
constexpr float linear_term = 3.4445F, cubic_term = -4.7750F, quintic_term = 2.0315F;
constexpr double adamw_like = 0.2;  // the root mean square of AdamW's updates, about

}  // namespace

std::vector<MatrixPart> matrices_of(const Parameter& parameter) {
    const std::int64_t columns = parameter.elements() / parameter.rows();
    if (parameter.stacked.empty()) return {{0, parameter.rows(), columns}};
    std::vector<MatrixPart> parts;
    std::int64_t first = 0;
    for (const std::int64_t rows : parameter.stacked) {
        parts.push_back({first, rows, columns});
        first += rows * columns;
    }
    assert(first == parameter.elements());
    return parts;
}

/// X becomes a X + (b A + c A A) X with A = X X^T, or with the products on the other side where that is the shorter
/// one.
void make_orthogonal(Stream& stream, const Tensor& matrix, const NewtonSchulz& work) {
    const std::int64_t side = std::min(matrix.rows, matrix.columns);
    const Tensor gram = work.gram.slice(0, side, side), squared = work.squared.slice(0, side, side);
    const Tensor product = work.product.slice(0, matrix.rows, matrix.columns);
    stream.enqueue(
        GradientNorm{.gradient = matrix, .limit = work.zero, .norm = work.norm, .factor = work.factor, .scaling = {}});
    stream.enqueue(Combine{.to = matrix, .norm = work.norm});
    for (int i = 0; i < iterations; ++i) {
        const bool wide = matrix.rows <= matrix.columns;
        if (wide)
            stream.enqueue(Linear{.input = matrix, .weight = matrix, .output = gram});
        else
            stream.enqueue(
                LinearBackward{.output_gradient = matrix, .input = matrix, .weight = squared, .weight_gradient = gram});
        stream.enqueue(Linear{.input = gram, .weight = gram, .output = squared});
        stream.enqueue(Combine{.from = gram, .to = squared, .from_factor = cubic_term, .to_factor = quintic_term});
        if (wide)
            stream.enqueue(LinearBackward{
                .output_gradient = squared, .input = matrix, .weight = matrix, .input_gradient = product});
        else
            stream.enqueue(Linear{.input = matrix, .weight = squared, .output = product});
        stream.enqueue(Combine{.from = product, .to = matrix, .from_factor = 1, .to_factor = linear_term});
    }
}

void write_orthogonal_divisors(Stream& stream, int replica, const GroupPlan& plan, const Model& model) {
    std::vector<float> divisors;
    for (const RateRun& run : plan.runs)
        if (run.orthogonal)
            for (const MatrixPart& part : matrices_of(model.block().parameters[run.parameter]))
                divisors.push_back(static_cast<float>(
                    1 / (adamw_like * std::sqrt(static_cast<double>(std::max(part.rows, part.columns))))));
    divisors.resize(static_cast<std::size_t>(plan.arena.orthogonal.divisors.columns), 1.0F);
    stream.write(plan.arena.orthogonal.divisors, replica, std::span<const float>(divisors));
    stream.write(plan.arena.orthogonal.zero, replica, 0.0F);
    stream.write(plan.arena.orthogonal.minus_one, replica, -1.0F);
}

void update_orthogonally(Stream& stream, const GroupPlan& plan, const RateRun& run, const Update& update) {
    const Orthogonal& work = plan.arena.orthogonal;
    const Parameter& parameter = plan.model->block().parameters[run.parameter];
    const auto whole = [&](const Tensor& tensor) { return tensor.slice(0, 1, update.weights.columns); };
    const Tensor direction = work.direction.slice(0, 1, run.elements);
    // Momentum as SGD has it, whose step of -1 from 0 is the direction of Nesterov's momentum.
    stream.enqueue(Fill{direction, 0});
    Update momentum = update;
    momentum.weights = direction;
    momentum.decayed = 0;
    momentum.rounded = {};
    momentum.learning_rates = work.minus_one;
    momentum.window_index = {};
    momentum.weight_decay = work.zero;
    stream.enqueue(
        Sgd{momentum, plan.arena.first_moment.slice(run.first, 1, run.elements), plan.numbers.momentum, true});

    const NewtonSchulz space{work.product, work.gram, work.squared, work.norm, work.factor, work.zero};
    const auto parts = matrices_of(parameter);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const MatrixPart& part = parts[i];
        const Tensor inside = direction.slice(part.first, part.rows, part.columns);
        const Tensor matrix = work.part.slice(0, part.rows, part.columns);  // aligned
        stream.enqueue(Copy{inside, matrix});
        make_orthogonal(stream, matrix, space);
        stream.enqueue(Combine{.to = matrix, .norm = work.divisors.at(*run.orthogonal + static_cast<std::int64_t>(i))});
        stream.enqueue(Copy{matrix, inside});
    }
    Update apply = update;
    apply.gradient = direction;
    apply.factor = {};
    stream.enqueue(Fill{whole(work.product), 0});
    stream.enqueue(Sgd{apply, whole(work.product), work.zero, false});
}

}  // namespace hpo
