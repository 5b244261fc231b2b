// The operations of an update: the norm of the gradient, the optimizers, the average of the weights, and the end of the
// iteration. P elements of the parameter block, W iterations of a window. Everything that backend.hpp says of
// operations holds for these.
#pragma once

#include <cstdint>

#include "worker/backends/tensor.hpp"
#include "worker/backends/work.hpp"

namespace hpo {

/// Dynamic loss scaling (Micikevicius et al., "Mixed precision training", ICLR 2018) keeps gradients that float16 would
/// lose: the gradient of the loss is multiplied by `scale`, and the gradients of the parameters are divided by it. A
/// gradient that is not finite causes no update and halves the scale (down to 1). After `growth` updates in a row
/// without one, the scale doubles (up to 2^24).
struct LossScale {
    static constexpr float first = 65536;  ///< the scale at the start
    static constexpr float growth = 2000;  ///< updates

    Tensor scale;  ///< per replica; none: there is no scaling, and the other members are not used
    Tensor good;   ///< per replica, f32 as the scale: updates since it changed
    Tensor valid;  ///< u8 per replica, written: 0 where the update must be left out
};

/// norm = |gradient| / scale; factor = (limit > 0 and norm > limit ? limit / norm : 1) / scale. With loss scaling, the
/// norm and the factor of a gradient that is not finite are 0.
struct GradientNorm {
    Tensor gradient;  ///< [1, P]
    Tensor limit;     ///< per replica; 0: no limit
    Tensor norm;      ///< [1, 1] written
    Tensor factor;    ///< [1, 1] written, for the optimizers
    LossScale scaling;

    [[nodiscard]] Work work() const { return moving(gradient, {gradient}); }
};

/// The parameter block of each replica with the operands of its update. Replicas that are not alive keep their
/// weights and their state.
struct Update {
    Tensor weights;            ///< [1, P] updated
    Tensor gradient;           ///< [1, P]
    std::int64_t decayed = 0;  ///< elements [0, decayed) are subject to weight decay
    Tensor learning_rates;     ///< [1, W]
    Tensor window_index;       ///< u32 per replica, below W: which of the rates applies; none: the first
    Tensor weight_decay;       ///< per replica
    Tensor factor;             ///< [1, 1] the gradient is multiplied by this; none: 1
    Tensor alive;              ///< u8 per replica
    Tensor valid;              ///< u8 per replica: 0 has the effect of not being alive; none: 1
    Tensor rounded{};          ///< [1, decayed] of 16 bits, updated: these elements of `weights`, rounded; or none
};

/// Loshchilov and Hutter 2019, with the formulas of torch.optim.AdamW: w -= lr * decay * w, then
/// w -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon) with t = iteration + 1.
struct AdamW {
    Update update;
    Tensor first_moment;   ///< [1, P] updated; 0 at the start
    Tensor second_moment;  ///< [1, P] updated; 0 at the start
    Tensor beta1;          ///< per replica
    Tensor beta2;          ///< per replica
    Tensor epsilon;        ///< per replica
    Tensor iteration;      ///< u32 per replica: updates done before this one

    [[nodiscard]] Work work() const {
        return moving(update.weights, {update.weights, update.weights, update.gradient, update.rounded, first_moment,
                                       first_moment, second_moment, second_moment});
    }
};

/// Stochastic gradient descent with the formulas of torch.optim.SGD: g += decay * w; velocity = momentum * velocity +
/// g; w -= lr * (nesterov ? g + momentum * velocity : velocity).
struct Sgd {
    Update update;
    Tensor velocity;  ///< [1, P] updated; 0 at the start
    Tensor momentum;  ///< per replica
    bool nesterov = false;

    [[nodiscard]] Work work() const {
        return moving(update.weights,
                      {update.weights, update.weights, update.gradient, update.rounded, velocity, velocity});
    }
};

/// Lion (Chen et al., "Symbolic discovery of optimization algorithms", 2023): w -= lr * (sign(beta1 * m + (1 - beta1) *
/// g) + decay * w); then m = beta2 * m + (1 - beta2) * g. Each weight moves by lr, for a gradient of any size; it does
/// not move if the sign is 0.
struct Lion {
    Update update;
    Tensor first_moment;  ///< [1, P] updated; 0 at the start
    Tensor beta1;         ///< per replica
    Tensor beta2;         ///< per replica

    [[nodiscard]] Work work() const {
        return moving(update.weights,
                      {update.weights, update.weights, update.gradient, update.rounded, first_moment, first_moment});
    }
};

/// to = (from_factor * from + to_factor * to) / (norm + 1e-7).
struct Combine {
    Tensor from;  ///< the shape of `to`; none: its term is left out
    Tensor to;    ///< f32, updated
    float from_factor = 0;
    float to_factor = 1;
    Tensor norm;  ///< [1, 1]; none: nothing is divided

    [[nodiscard]] Work work() const { return moving(to, {from, to, to}); }
};

/// An exponential moving average of the weights, after an update: average += (1 - d) * (weights - average) with
/// d = min(decay, (1 + t) / (10 + t)) and t = iteration + 1, so that the first weights are soon forgotten (as
/// ExponentialMovingAverage of TensorFlow does with num_updates; averaging: Polyak and Juditsky 1992).
struct Average {
    Tensor weights;    ///< [1, P]
    Tensor average;    ///< [1, P] updated; the weights at the start
    Tensor iteration;  ///< u32 per replica: updates done before this one
    Tensor alive;      ///< u8 per replica: others keep their average
    float decay = 0;

    [[nodiscard]] Work work() const { return moving(weights, {weights, average, average}); }
};

/// The last operation of an update. The host writes the learning rates of W updates into a table and reads their losses
/// from tables, so that it looks at them once in W updates, and each update consists of the same operations.
struct Advance {
    Tensor iteration;     ///< u32 per replica: += 1 where alive
    Tensor alive;         ///< u8 per replica
    Tensor window_index;  ///< u32 per replica, below W: += 1; none: there are no tables
    Tensor loss;          ///< [1, 1]
    Tensor norm;          ///< [1, 1]
    Tensor losses;        ///< [1, W]: entry `window_index` is written with the loss
    Tensor norms;         ///< [1, W]: entry `window_index` is written with the norm

    [[nodiscard]] Work work() const { return moving(loss, {}); }
};

}  // namespace hpo
