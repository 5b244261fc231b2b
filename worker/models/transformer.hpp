// A transformer (Vaswani et al., "Attention is all you need", NeurIPS 2017) over tokens or over windows of numbers,
// with its norms before attention and perceptron (Xiong et al., "On layer normalization in the transformer
// architecture", ICML 2020).
//
// Tokens are rows of a table; the features of a step go through a linear layer. Learned positions are added to them;
// rotary ones (Su et al. 2021) turn queries and keys. Each block adds attention(norm(x)) to x, and then
// perceptron(norm(x)). Behind the last norm, the head is applied to each step where each has a target, and otherwise to
// the mean over the steps. Dropout follows the positions, and attention and perceptron of each block before they are
// added (Radford et al. 2019); weights of attention are not dropped. Linear layers in blocks have no bias.
//
// Weights are uniform with a deviation of 1 / sqrt(fan_in); those that end a block's branch are divided by
// sqrt(2 * blocks), tables of tokens and positions have a deviation of 0.02 (Radford et al. 2019), and the head begins
// in [-1, 1) / sqrt(width). Norms begin with 1 and 0.
//
// With muP the base model has the same number of heads, and heads of D numbers divide their scores by D / sqrt(D of the
// base).
#pragma once

#include "worker/data/dataset.hpp"
#include "worker/models/model.hpp"
#include "worker/models/padding.hpp"

namespace hpo {

struct TransformerShape {
    enum class Positions : std::uint8_t { learned, rotary, none };

    std::int64_t steps = 1;
    std::int64_t vocabulary = 0;  ///< of tokens; 0: a step has `features` numbers
    std::int64_t features = 0;
    std::int64_t depth = 2;  ///< blocks
    std::int64_t width = 256;
    std::int64_t heads = 4;      ///< divides width
    std::int64_t kv_heads = 4;   ///< divides heads
    std::int64_t hidden = 1024;  ///< numbers between the perceptron's two layers
    bool gated = false;          ///< SwiGLU; otherwise `activation`
    Activation activation = Activation::gelu;
    bool rms = false;  ///< RMS norm in place of layer norm
    Positions positions = Positions::learned;
    bool causal = false;          ///< steps attend to themselves and those before them
    bool tied = false;            ///< the head's weights are the table of tokens
    std::int64_t base_width = 0;  ///< see ParameterBlock

    [[nodiscard]] std::int64_t head_width() const { return width / heads; }
    /// Returns the scale of the scores of attention; 0: 1 / sqrt(head_width()).
    [[nodiscard]] float score_scale() const;
    [[nodiscard]] std::int64_t projection() const { return (heads + 2 * kv_heads) * head_width(); }
};

class Transformer : public Model {
   public:
    /// `targets`: shape.steps, or 1 for one target per sample.
    Transformer(const TransformerShape& shape, std::int64_t outputs, std::int64_t targets);

    [[nodiscard]] double forward_flops() const override;
    [[nodiscard]] double backward_flops() const override;
    void plan(Layout& layout, const ModelPlan& plan) override;
    [[nodiscard]] std::vector<MemoryPart> memory_parts() const override { return parts_; }
    void set_replica_model(Stream& stream, int replica, const Model& model) const override;
    Tensor forward(Stream& stream, const Tensor& weights, const Tensor& input, const Training* training) override;
    void backward(Stream& stream, const Tensor& weights, const Tensor& gradients, const Tensor& input,
                  const Tensor& output_gradient, const Training& training, Write write) override;

   private:
    // All tensors of activations have a row for each step of each sample, unless said.
    struct Norm {
        int scale = 0, shift = -1;  ///< indices into the block of parameters; no shift: RMS norm
        Tensor mean, rstd;          ///< one column
        Tensor output;
    };
    struct Block {
        Norm before_attention, before_perceptron;
        bool kept = true;  ///< or its tensors, but for `output` and second_mask, are those of the others that are not
        int projections_weight = 0, mixing_weight = 0, up_weight = 0, down_weight = 0;
        Tensor projections;  ///< queries, keys and values
        Tensor log_sums;     ///< a column for each head
        Tensor attended;
        Tensor mask, second_mask;  ///< u8
        Tensor middle;             ///< x after attention
        Tensor hidden, active;     ///< before and after the activation or gate
        Tensor output;
    };
    /// Tensors of each part of a pass.
    struct Pass {
        Stream& stream;
        const Tensor& weights;
        std::int64_t samples;
        const Training* training;
        Tensor gradients{};
        Write write = Write::set;
    };

    [[nodiscard]] Tensor parameter(int index, const Tensor& block) const;
    [[nodiscard]] Tensor rows_of(const Tensor& tensor, const Pass& pass) const;
    [[nodiscard]] Dropout dropout(const Pass& pass, std::size_t site, const Tensor& mask) const;
    [[nodiscard]] Attention attention(const Pass& pass, const Block& block) const;
    [[nodiscard]] const Tensor& input_of(std::size_t block) const;
    void normalise(const Pass& pass, const Norm& norm, const Tensor& input) const;
    /// Adds the gradient of the norm's input to `to`; `gradient` is overwritten.
    void normalise_backward(const Pass& pass, const Norm& norm, const Tensor& input, const Tensor& gradient,
                            const Tensor& to) const;
    void multiply(const Pass& pass, const Tensor& input, int weight, const Tensor& output) const;
    void multiply_backward(const Pass& pass, const Tensor& output_gradient, const Tensor& input, int weight,
                           const Tensor& input_gradient) const;
    void enter(const Pass& pass, const Tensor& input) const;
    /// `again`: for the backward pass, which does not need the block's output.
    void run(const Pass& pass, std::size_t index, bool again = false) const;
    void run_backward(const Pass& pass, std::size_t index) const;
    void enter_backward(const Pass& pass, const Tensor& input) const;

    [[nodiscard]] double block_flops() const;  ///< of a sample

    TransformerShape shape_;
    std::vector<Block> blocks_;
    Norm last_;
    int entry_ = 0;        ///< the table of tokens, or the weight of the linear layer
    int entry_bias_ = -1;  ///< numbers without learned positions
    int positions_ = -1;
    int head_ = 0;
    int head_bias_ = -1;  ///< none where the head is tied

    Precision precision_ = Precision::float32;
    std::vector<MemoryPart> parts_;
    std::size_t last_not_kept_ = 0;  ///< the last block whose tensors are still there when the backward pass begins
    Tensor entered_, entry_mask_;
    Tensor pooled_, pooled_gradient_;  ///< a row for each sample
    Tensor outputs_;
    // Tensors of the backward pass.
    Tensor gradient_;         ///< of x
    Tensor branch_gradient_;  ///< of a branch's output, and of a norm's
    Tensor wide_gradient_;    ///< of projections and of the perceptron's hidden numbers
    Tensor active_gradient_;  ///< behind a gate
    Tensor deltas_;
    // Operands of 16 bits, of one product at a time.
    Tensor rounded_input_, rounded_gradient_;
};

// The transformer's row of the registry (see ModelKind).
/// Fills in keys that depend on others: norm, activation, kv_heads.
void normalise_transformer(const Params& given, Params& all);
/// Changes nothing: trials of other shapes have a bucket of their own.
void pad_transformer(Params& all, const PaddingBounds&);
/// Makes a model from the keys width, depth, heads, kv_heads, mlp_ratio, activation, norm, positions, causal,
/// tied_embeddings, parametrization and base_width. The samples must be sequences.
Result<std::unique_ptr<Model>> make_transformer(const Params& params, const DataShape& shape);

}  // namespace hpo
