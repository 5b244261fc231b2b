// The multilayer perceptron: for each hidden layer linear, layer or batch norm (if asked for), activation, dropout;
// then linear. Layers before a batch norm have no bias, which the norm would take away. Categorical columns of tables
// may go through embeddings first (Guo and Berkhahn 2016).
//
// Hidden weights are drawn by He et al. 2015 (uniform, sqrt(6 / fan_in)), the last layer's with 1 / sqrt(fan_in), so
// that first outputs are small; biases are 0, norms 1 and 0. Embeddings are uniform with a deviation of
// 0.02.
#pragma once

#include <algorithm>

#include "worker/data/dataset.hpp"
#include "worker/models/batch_norms.hpp"
#include "worker/models/model.hpp"
#include "worker/models/padding.hpp"

namespace hpo {

struct MlpShape {
    std::vector<std::int64_t> hidden;  ///< widths; may be empty: a linear model
    Activation activation = Activation::relu;
    bool layer_norm = false;
    /// Numbers of the embedding of a column, at most; 0: its features are inputs as they are.
    std::int64_t embedding_width = 0;
    std::vector<CategoryShape> categories{};  ///< the columns that may have one
    std::int64_t ghost_batch = 0;             ///< with batch norm: see ghost_batch_of; 0: none
    std::int64_t base_width = 0;              ///< see ParameterBlock

    /// Returns the width for a column with `levels` levels: half of them, since more would add parameters and no
    /// information; at most embedding_width.
    [[nodiscard]] std::int64_t width_of(std::int64_t levels) const {
        return std::min(embedding_width, (levels + 1) / 2);
    }
};

class Mlp : public Model {
   public:
    /// With more than one target a sample, the layers apply to each step's features alone.
    Mlp(MlpShape hidden, const ModelShape& shape);

    [[nodiscard]] double forward_flops() const override;
    [[nodiscard]] double backward_flops() const override;
    [[nodiscard]] std::int64_t gradient_parts() const override;
    [[nodiscard]] Type input_type() const override {
        return embeddings_.empty() ? operand_type(precision_) : Type::f32;
    }
    void plan(Layout& layout, const ModelPlan& plan) override;
    void write_constants(Stream& stream) const override;
    [[nodiscard]] std::vector<std::string> remarks() const override;
    [[nodiscard]] std::int64_t indivisible(std::int64_t batch) const override;
    void set_replica_model(Stream& stream, int replica, const Model& model) const override;
    Tensor forward(Stream& stream, const Tensor& weights, const Tensor& input, const Training* training) override;
    void backward(Stream& stream, const Tensor& weights, const Tensor& gradients, const Tensor& input,
                  const Tensor& output_gradient, const Training& training, Write write) override;

   private:
    /// A linear layer with its activation, norm and dropout; tensors are [rows, outputs] unless said, with a row for
    /// each target.
    struct Layer {
        std::int64_t inputs = 0;
        std::int64_t outputs = 0;
        bool hidden = true;
        int weight = 0;  ///< indices into the block's parameters
        int bias = -1;
        int norm_scale = -1;
        int norm_shift = -1;
        BatchNormLayer batch_norm;
        Tensor linear;  ///< before the norm or the activation
        Tensor normed;  ///< after the norm; the same as `linear` without one
        Tensor output;  ///< operand of the next layer's product; of 16 bits in 16-bit precisions
        Tensor mean;    ///< [rows, 1], with a layer norm
        Tensor rstd;
        Tensor mask;           ///< u8
        Tensor valid_outputs;  ///< u32 per replica: outputs without padding, of padded replicas with a norm
    };

    struct Embedding {
        CategoryShape column;
        std::int64_t width = 0;
        int weight = 0;  ///< index into the block's parameters: [levels, width]
    };

    [[nodiscard]] Tensor parameter(int index, const Tensor& block) const;
    [[nodiscard]] Tensor first_input(const Tensor& input) const;
    [[nodiscard]] bool rounds() const { return operand_type(precision_) != Type::f32; }
    [[nodiscard]] Dropout dropout(std::size_t layer, std::int64_t rows, const Training& training) const;
    void normalise_and_activate(Stream& stream, std::size_t layer, const Tensor& weights, std::int64_t rows,
                                const Training* training) const;

    MlpShape shape_;
    std::vector<Embedding> embeddings_;
    std::vector<Layer> layers_;
    BatchNorms batch_norms_;
    Precision precision_ = Precision::float32;
    Tensor columns_;           ///< i32 [inputs, 4], with embeddings: see EmbedColumns
    Tensor embedded_;          ///< [rows, inputs], with embeddings
    Tensor rounded_embedded_;  ///< the same, in precisions of 16 bits
    Tensor activations_;       ///< u32 per replica, of padded replicas
    Tensor rounded_gradient_;  ///< [rows, widest layer], in precisions of 16 bits
    Tensor gradient_[2];       ///< [rows, widest hidden, or inputs with embeddings]: of a layer's output, by turns
};

// The MLP's row of the registry (see ModelKind).
/// Puts `hidden` in place of width and depth.
void normalise_mlp(const Params& given, Params& all);
/// Rounds the widths up, and takes the activation that needs the most memory.
void pad_mlp(Params& all, const PaddingBounds& widths);
/// Makes a model from the keys hidden (or width and depth), activation, norm, ghost_batch, embedding_width,
/// parametrization and base_width.
Result<std::unique_ptr<Model>> make_mlp(const Params& params, const DataShape& shape);

}  // namespace hpo
