// Recurrent networks over tokens or over windows of numbers: layers of gated recurrent units (Cho et al. 2014) or of
// long short-term memory (Hochreiter and Schmidhuber 1997), one on the other, in the form and with the names of gates
// of torch.nn.GRU and torch.nn.LSTM.
//
// Tokens are rows of a table; the features of a step are used as they are. States begin with 0. The head is applied to
// the last layer's state at each step where each has a target, and otherwise to that at the last step. Dropout precedes
// the head.
//
// Weights begin in [-1, 1) / sqrt(width), as PyTorch's do, and biases with 0. The table of tokens has a deviation of 1.
#pragma once

#include "worker/data/dataset.hpp"
#include "worker/models/model.hpp"
#include "worker/models/padding.hpp"

namespace hpo {

struct RecurrentShape {
    enum class Cell : std::uint8_t { gru, lstm };

    Cell cell = Cell::gru;
    std::int64_t steps = 1;
    std::int64_t vocabulary = 0;  ///< of tokens; 0: a step has `features` numbers
    std::int64_t features = 0;
    std::int64_t depth = 1;  ///< layers
    std::int64_t width = 256;

    [[nodiscard]] std::int64_t gates() const { return cell == Cell::gru ? 3 : 4; }
    [[nodiscard]] std::int64_t entering() const { return vocabulary > 0 ? width : features; }
};

class Recurrent : public Model {
   public:
    /// `targets`: shape.steps, or 1 for one target per sample.
    Recurrent(const RecurrentShape& shape, std::int64_t outputs, std::int64_t targets);

    [[nodiscard]] double forward_flops() const override;
    [[nodiscard]] double backward_flops() const override;
    void plan(Layout& layout, const ModelPlan& plan) override;
    [[nodiscard]] std::vector<MemoryPart> memory_parts() const override { return parts_; }
    void set_replica_model(Stream& stream, int replica, const Model& model) const override;
    Tensor forward(Stream& stream, const Tensor& weights, const Tensor& input, const Training* training) override;
    void backward(Stream& stream, const Tensor& weights, const Tensor& gradients, const Tensor& input,
                  const Tensor& output_gradient, const Training& training, Write write) override;

   private:
    // Activations lie step by step: row s * samples + sample. States have one more step, of zeros, at the beginning.
    struct Layer {
        int weight = 0, recurrent_weight = 0;  ///< indices into the block of parameters
        int bias = 0, recurrent_bias = -1;     ///< the latter of GRU alone
        Tensor gates;                          ///< [S * B, G * W]; in the backward pass their gradient
        Tensor states;                         ///< [(S + 1) * B, W]
        Tensor candidates;                     ///< GRU: [S * B, W]
        Tensor cells;                          ///< LSTM: [(S + 1) * B, W]
    };
    struct Pass {
        Stream& stream;
        const Tensor& weights;
        std::int64_t samples;
        Tensor gradients{};
        Write write = Write::set;

        [[nodiscard]] Tensor step(const Tensor& tensor, std::int64_t index) const {
            return tensor.slice(index * samples * tensor.columns, samples, tensor.columns);
        }
        /// `count` steps from `first` on.
        [[nodiscard]] Tensor steps(const Tensor& tensor, std::int64_t first, std::int64_t count) const {
            return tensor.slice(first * samples * tensor.columns, count * samples, tensor.columns);
        }
    };

    [[nodiscard]] Tensor parameter(int index, const Tensor& block) const;
    [[nodiscard]] Dropout dropout(const Training& training, std::int64_t rows) const;
    void multiply(const Pass& pass, const Tensor& input, int weight, const Tensor& output) const;
    /// Computes the gradients of a product. Without `weights`: of the input alone; without `input_gradient`: of the
    /// weights alone.
    void multiply_backward(const Pass& pass, const Tensor& output_gradient, const Tensor& input, int weight,
                           bool weights, const Tensor& input_gradient) const;
    [[nodiscard]] Tensor input_of(const Pass& pass, std::size_t layer) const;
    void run(const Pass& pass, std::size_t layer) const;
    void run_backward(const Pass& pass, std::size_t layer) const;

    RecurrentShape shape_;
    std::vector<Layer> layers_;
    int tokens_ = -1;
    int head_ = 0, head_bias_ = 0;

    Precision precision_ = Precision::float32;
    std::vector<MemoryPart> parts_;
    Tensor by_step_;    ///< the input: [S * B, features], of tokens [S * B, 1]
    Tensor entered_;    ///< of tokens: [S * B, W]
    Tensor recurrent_;  ///< [B, G * W] of one step; in the backward pass of GRU a row for each step
    Tensor by_sample_;  ///< [B * S, W] where each step has a target
    Tensor dropped_, mask_;
    Tensor outputs_;
    Tensor state_gradient_;  ///< [S * B, W]
    Tensor below_gradient_;  ///< [S * B, W] of a layer's input
    Tensor cell_gradient_;   ///< LSTM: [B, W]
    Tensor carried_;         ///< [B, W]
    // Operands of 16 bits, of one product at a time.
    Tensor rounded_input_, rounded_gradient_;
};

// The rows of the registry (see ModelKind).
void normalise_recurrent(const Params& given, Params& all);
/// Changes nothing: trials of other shapes have a bucket of their own.
void pad_recurrent(Params& all, const PaddingBounds&);
/// Make a model from the keys width and depth. The samples must be sequences.
Result<std::unique_ptr<Model>> make_gru(const Params& params, const DataShape& shape);
Result<std::unique_ptr<Model>> make_lstm(const Params& params, const DataShape& shape);

}  // namespace hpo
