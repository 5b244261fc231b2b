// The operations of recurrent models. B samples of S steps, W numbers of state. Recurrent models work step by step, so
// that their rows lie by step: row s * B + b is step s of sample b. All rules of backend.hpp for operations hold for
// these.
#pragma once

#include <cstdint>

#include "worker/backends/tensor.hpp"
#include "worker/backends/work.hpp"

namespace hpo {

/// Row o * I + i becomes row i * O + o: samples of steps become steps of samples, and the other way round.
struct SwapRows {
    Tensor input;            ///< [O * I, C]
    Tensor output;           ///< [O * I, C] written
    std::int64_t inner = 1;  ///< I, divides the rows

    [[nodiscard]] Work work() const { return moving(input, {input, output}); }
};

/// One step of a gated recurrent unit (Cho et al. 2014) in the form of torch.nn.GRU, whose reset gate multiplies the
/// part from the state: r = sigmoid(x_r + h_r), z = sigmoid(x_z + h_z), n = tanh(x_n + r * h_n), output = (1 - z) * n +
/// z * before. x is `gates` + `input_bias`, h is `recurrent` + `recurrent_bias`.
struct GruStep {
    Tensor gates;           ///< [B, 3 * W] the products with the input; becomes r, z and n
    Tensor recurrent;       ///< [B, 3 * W] the products with the state before
    Tensor input_bias;      ///< [1, 3 * W]
    Tensor recurrent_bias;  ///< [1, 3 * W]
    Tensor before;          ///< [B, W] state
    Tensor candidate;       ///< [B, W] written: h_n
    Tensor output;          ///< [B, W] written: state

    [[nodiscard]] Work work() const { return moving(gates, {gates, gates, recurrent, before, candidate, output}); }
};

struct GruStepBackward {
    Tensor gradient;            ///< [B, W] of `output`
    Tensor gates;               ///< [B, 3 * W] as forward left it; becomes the gradient of x
    Tensor candidate;           ///< [B, W] as forward left it
    Tensor before;              ///< [B, W]
    Tensor recurrent_gradient;  ///< [B, 3 * W] written: the gradient of h
    Tensor before_gradient;     ///< [B, W] added to: without the share through h; none for the first step

    [[nodiscard]] Work work() const {
        return moving(gates, {gradient, gates, gates, candidate, before, recurrent_gradient});
    }
};

/// One step of a long short-term memory (Hochreiter and Schmidhuber 1997; with forget gates: Gers et al. 2000) without
/// peepholes: i, f and o are the sigmoids, g the tanh of x + h; cell = f * cell_before + i * g; output = o *
/// tanh(cell). x is `gates`, h is `recurrent` + `bias`. The order is i, f, g, o, as in torch.nn.LSTM.
struct LstmStep {
    Tensor gates;        ///< [B, 4 * W] the products with the input; becomes i, f, g and o
    Tensor recurrent;    ///< [B, 4 * W] the products with the state before
    Tensor bias;         ///< [1, 4 * W]
    Tensor cell_before;  ///< [B, W]
    Tensor cell;         ///< [B, W] written
    Tensor output;       ///< [B, W] written

    [[nodiscard]] Work work() const { return moving(gates, {gates, gates, recurrent, cell_before, cell, output}); }
};

struct LstmStepBackward {
    Tensor gradient;       ///< [B, W] of `output`
    Tensor cell_gradient;  ///< [B, W] of `cell`, from the step after; becomes that of `cell_before`
    Tensor gates;          ///< [B, 4 * W] as forward left it; becomes the gradient of x + h
    Tensor cell_before;    ///< [B, W]
    Tensor cell;           ///< [B, W]

    [[nodiscard]] Work work() const {
        return moving(gates, {gradient, cell_gradient, cell_gradient, gates, gates, cell_before, cell});
    }
};

}  // namespace hpo
