// A residual convolution network (He, Zhang, Ren and Sun, "Deep residual learning for image recognition", CVPR 2016)
// with group normalisation (Wu and He, "Group normalization", ECCV 2018) or batch normalisation, for images of any
// height, width and channels.
//
// The stem is a 3 x 3 convolution, norm and activation. Each stage has blocks of two such convolutions; a block
// adds its input after the second norm, before the last activation. The first block of each further stage halves height
// and width (rounded up), by a stride of 2 or by max pooling before it, and doubles the channels; its input goes
// through a 1 x 1 convolution. The head takes the mean over all pixels, drops out, and has a linear layer. Convolutions
// have no bias, since a norm follows.
//
// Convolution weights are drawn by He et al. 2015 (uniform, sqrt(6 / fan_in)), the last layer's with 1 / sqrt(fan_in);
// norms begin with 1 and 0. A scale that begins at 0 (Goyal et al. 2017) was measured to learn slower with AdamW.
#pragma once

#include "worker/data/dataset.hpp"
#include "worker/models/batch_norms.hpp"
#include "worker/models/model.hpp"
#include "worker/models/padding.hpp"

namespace hpo {

struct CnnShape {
    ImageShape image;
    std::int64_t channels = 32;  ///< of the first stage; a multiple of `groups`
    std::int64_t stages = 3;     ///< at least 1
    std::int64_t blocks = 1;     ///< of each stage, at least 1
    std::int64_t groups = 8;     ///< of each norm
    Activation activation = Activation::relu;
    bool max_pooling = false;      ///< stages halve images by max pooling, and not by a stride of 2
    std::int64_t ghost_batch = 0;  ///< with batch norm in place of group norm: see ghost_batch_of; 0: none
};

class Cnn : public Model {
   public:
    Cnn(const CnnShape& shape, std::int64_t outputs);

    [[nodiscard]] double forward_flops() const override;
    [[nodiscard]] double backward_flops() const override;
    [[nodiscard]] std::int64_t indivisible(std::int64_t batch) const override;
    [[nodiscard]] std::vector<std::string> remarks() const override;
    void plan(Layout& layout, const ModelPlan& plan) override;
    void set_replica_model(Stream& stream, int replica, const Model& model) const override;
    Tensor forward(Stream& stream, const Tensor& weights, const Tensor& input, const Training* training) override;
    void backward(Stream& stream, const Tensor& weights, const Tensor& gradients, const Tensor& input,
                  const Tensor& output_gradient, const Training& training, Write write) override;

   private:
    struct Convolution {
        Patches patches;
        std::int64_t outputs = 0;  ///< channels
        int weight = 0;            ///< index into the block's parameters
        Tensor output;             ///< [rows * pixels, outputs]

        [[nodiscard]] double flops() const;  ///< of a sample
        [[nodiscard]] Tensor of(std::int64_t samples) const {
            return output.first_rows(samples * patches.out_pixels());
        }
    };
    /// A convolution with its norm and activation.
    struct Layer {
        Convolution convolution;
        int scale = 0;  ///< of a group norm
        int shift = 0;
        Tensor mean, rstd;  ///< [rows, groups]
        BatchNormLayer batch_norm;
        Tensor normed;  ///< as the convolution's output
        Tensor output;  ///< the same as `normed` where the activation works in place

        [[nodiscard]] Tensor in(const Tensor& tensor, std::int64_t samples) const {
            return tensor.first_rows(samples * convolution.patches.out_pixels());
        }
    };
    struct Block {
        Layer first, second;
        bool projects = false;  ///< true if the input goes through `shortcut`
        MaxPixels pooling;      ///< of the input; no output: none
        Convolution shortcut;
    };
    /// Tensors of each part of the backward pass.
    struct Pass {
        Stream& stream;
        const Tensor& weights;
        const Tensor& gradients;
        std::int64_t samples;
        Write write;
    };

    [[nodiscard]] MaxPixels pooling(const Block& block, const Tensor& input, std::int64_t samples) const;
    [[nodiscard]] Tensor parameter(int index, const Tensor& block) const;
    template <class F>
    void each_layer(F&& visit);
    template <class F>
    void each_convolution(F&& visit);
    /// Calls visit(first sample, samples) for parts whose patches fit the memory for them.
    template <class F>
    void each_part(const Convolution& convolution, std::int64_t samples, F&& visit) const;
    /// Returns true if the stream convolves images as they are; otherwise their patches are unfolded and multiplied.
    [[nodiscard]] bool convolves(const Stream& stream) const;
    /// Returns the memory that the stream needs to convolve images: that of patches, which are not used then.
    [[nodiscard]] Tensor workspace(const Convolution& convolution) const;
    [[nodiscard]] Dropout dropout(std::int64_t samples, const Training& training) const;

    void convolve(Stream& stream, const Convolution& convolution, const Tensor& weights, const Tensor& input,
                  std::int64_t samples) const;
    void normalise(Stream& stream, const Layer& layer, const Tensor& weights, std::int64_t samples,
                   const Training* training) const;
    void activate(Stream& stream, const Layer& layer, std::int64_t samples) const;
    void convolve_backward(const Pass& pass, const Convolution& convolution, const Tensor& input,
                           const Tensor& output_gradient, const Tensor& input_gradient) const;
    /// Turns the gradient of a layer's activated output into the gradient of its norm's output, in place.
    void activate_backward(const Pass& pass, const Layer& layer, const Tensor& gradient) const;
    void normalise_backward(const Pass& pass, const Layer& layer, const Tensor& gradient) const;

    CnnShape shape_;
    Layer stem_;
    std::vector<Block> blocks_;
    std::int64_t features_ = 0;  ///< channels of the last stage
    int head_weight_ = 0, head_bias_ = 0;

    BatchNorms batch_norms_;
    Precision precision_ = Precision::float32;
    std::int64_t part_bytes_ = 0;
    bool in_place_ = false;             ///< the activation
    Tensor activations_;                ///< u32 per replica, of padded replicas
    Tensor pooled_, dropped_, mask_;    ///< [rows, features]
    Tensor logits_;                     ///< [rows, outputs]
    Tensor patches_, patch_gradients_;  ///< patches of a part; patches_ may also be the workspace of a convolution
    Tensor gradient_[3];                ///< as the largest layer
    Tensor pooled_gradient_;            ///< [rows, features]
    Tensor sums_;                       ///< of group norms in the backward pass
    // Operands of 16 bits, of one product at a time.
    Tensor rounded_patches_, rounded_gradient_;
};

// The CNN's row of the registry (see ModelKind).
void normalise_cnn(const Params& given, Params& all);
/// Takes the activation that needs the most memory; trials with other channels, stages, blocks or groups have a bucket
/// of their own.
void pad_cnn(Params& all, const PaddingBounds&);
/// Makes a model from the keys channels, stages, blocks, norm, groups, ghost_batch, downsampling and activation. The
/// samples must be images.
Result<std::unique_ptr<Model>> make_cnn(const Params& params, const DataShape& shape);

}  // namespace hpo
