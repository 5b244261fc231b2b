#include "worker/profiled_device.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <utility>

namespace hpo {
namespace {

double product_flops(std::int64_t rows, std::int64_t inputs, std::int64_t outputs) {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(inputs) * static_cast<double>(outputs);
}

std::string product_shape(std::int64_t rows, std::int64_t inputs, std::int64_t outputs) {
    return std::to_string(rows) + " x " + std::to_string(inputs) + " x " + std::to_string(outputs);
}

/// Of the products of queries with keys, and of their weights with values.
double attention_flops(const Attention& it) {
    const double flops = 2 * product_flops(it.output.rows, it.output.columns, it.steps);
    return it.causal ? flops / 2 : flops;
}

class ProfiledStream final : public Stream {
   public:
    ProfiledStream(std::unique_ptr<Stream> stream, const Clock& clock, Profile& profile)
        : stream_(std::move(stream)), clock_(clock), profile_(profile), selected_(stream_->replicas()) {}

    [[nodiscard]] int replicas() const override { return stream_->replicas(); }
    void select_replicas(int first, int count) override {
        selected_ = count;
        stream_->select_replicas(first, count);
    }
    void write_bytes(const Tensor& to, int replica, std::span<const std::byte> data) override {
        stream_->write_bytes(to, replica, data);
    }
    void read_bytes(const Tensor& from, int replica, std::span<std::byte> data) override {
        stream_->read_bytes(from, replica, data);
    }
    void synchronise() override { stream_->synchronise(); }
    void copy_from(const Buffer& arena, const Tensor& from, const Tensor& to) override {
        stream_->copy_from(arena, from, to);
    }
    void initialise(const Tensor& to, float bound, const Tensor& seed, std::uint32_t site) override {
        stream_->initialise(to, bound, seed, site);
    }
    std::unique_ptr<Stage> stage(std::size_t bytes) override { return stream_->stage(bytes); }
    [[nodiscard]] bool updates_in_backward() const override { return stream_->updates_in_backward(); }
    void repeat(std::uint64_t name, const std::function<void()>& operations) override {
        profile_.recording ? operations() : stream_->repeat(name, operations);
    }

    void fill(const Tensor& to, float value) override {
        timed("fill", to, {to}, [&] { stream_->fill(to, value); });
    }
    void copy(const Tensor& from, const Tensor& to) override {
        timed("copy", to, {from, to}, [&] { stream_->copy(from, to); });
    }
    void add(const Tensor& from, const Tensor& to) override {
        timed("add", to, {from, to, to}, [&] { stream_->add(from, to); });
    }
    void round(const Tensor& from, const Tensor& to) override {
        timed("round", to, {from, to}, [&] { stream_->round(from, to); });
    }
    void gather(const Samples& samples, const Gather& a) override {
        timed("gather", a.output, {a.output, a.output, a.targets}, [&] { stream_->gather(samples, a); });
    }
    void linear(const Linear& a) override {
        const std::int64_t rows = a.input.rows, inputs = a.weight.columns, outputs = a.weight.rows;
        timed({"linear", product_shape(rows, inputs, outputs), product_flops(rows, inputs, outputs)},
              {a.input, a.weight, a.output}, [&] { stream_->linear(a); });
    }
    void linear_backward(const LinearBackward& a) override {
        const std::int64_t rows = a.input.rows, inputs = a.weight.columns, outputs = a.weight.rows;
        const double products = (a.weight_gradient || a.adamw ? 1 : 0) + (a.input_gradient ? 1 : 0);
        timed(
            {"linear_backward", product_shape(rows, inputs, outputs), products * product_flops(rows, inputs, outputs)},
            {a.input, a.weight, a.output_gradient, a.weight_gradient, a.input_gradient},
            [&] { stream_->linear_backward(a); });
    }
    void activate(const Activate& a) override {
        timed("activate", a.output, {a.pre, a.output, a.skipped}, [&] { stream_->activate(a); });
    }
    void activate_backward(const ActivateBackward& a) override {
        timed("activate_backward", a.gradient, {a.incoming ? a.incoming : a.gradient, a.gradient, a.pre},
              [&] { stream_->activate_backward(a); });
    }
    void layer_norm(const LayerNorm& a) override {
        timed("layer_norm", a.output, {a.input, a.output}, [&] { stream_->layer_norm(a); });
    }
    void layer_norm_backward(const LayerNormBackward& a) override {
        timed("layer_norm_backward", a.gradient, {a.gradient, a.gradient, a.input, a.skipped_gradient},
              [&] { stream_->layer_norm_backward(a); });
    }
    void unfold(const Unfold& a) override {
        timed("unfold", a.output, {a.input, a.output}, [&] { stream_->unfold(a); });
    }
    void fold(const Fold& a) override {
        timed("fold", a.input, {a.input, a.output}, [&] { stream_->fold(a); });
    }
    [[nodiscard]] bool convolves() const override { return stream_->convolves(); }
    void convolve(const Convolve& a) override {
        const std::int64_t rows = a.output.rows, inputs = a.weight.columns, outputs = a.weight.rows;
        timed({"convolve", product_shape(rows, inputs, outputs), product_flops(rows, inputs, outputs)},
              {a.input, a.weight, a.output}, [&] { stream_->convolve(a); });
    }
    void convolve_backward(const ConvolveBackward& a) override {
        const std::int64_t rows = a.output_gradient.rows, inputs = a.weight.columns, outputs = a.weight.rows;
        const double products = a.input_gradient ? 2 : 1;
        timed({"convolve_backward", product_shape(rows, inputs, outputs),
               products * product_flops(rows, inputs, outputs)},
              {a.input, a.weight, a.output_gradient, a.weight_gradient, a.input_gradient},
              [&] { stream_->convolve_backward(a); });
    }
    void group_norm(const GroupNorm& a) override {
        timed("group_norm", a.output, {a.input, a.output}, [&] { stream_->group_norm(a); });
    }
    void group_norm_backward(const GroupNormBackward& a) override {
        timed("group_norm_backward", a.gradient, {a.gradient, a.gradient, a.input},
              [&] { stream_->group_norm_backward(a); });
    }
    void batch_norm(const BatchNorm& a) override {
        timed("batch_norm", a.output, {a.input, a.output}, [&] { stream_->batch_norm(a); });
    }
    void batch_norm_backward(const BatchNormBackward& a) override {
        timed("batch_norm_backward", a.gradient, {a.gradient, a.gradient, a.input},
              [&] { stream_->batch_norm_backward(a); });
    }
    void mean_pixels(const MeanPixels& a) override {
        timed("mean_pixels", a.input, {a.input, a.output}, [&] { stream_->mean_pixels(a); });
    }
    void mean_pixels_backward(const MeanPixelsBackward& a) override {
        timed("mean_pixels_backward", a.input_gradient, {a.output_gradient, a.input_gradient},
              [&] { stream_->mean_pixels_backward(a); });
    }
    void max_pixels(const MaxPixels& a) override {
        timed("max_pixels", a.input, {a.input, a.output}, [&] { stream_->max_pixels(a); });
    }
    void max_pixels_backward(const MaxPixelsBackward& a) override {
        timed("max_pixels_backward", a.input_gradient, {a.forward.input, a.output_gradient, a.input_gradient},
              [&] { stream_->max_pixels_backward(a); });
    }
    void embed(const Embed& a) override {
        timed("embed", a.output, {a.tokens, a.output, a.output}, [&] { stream_->embed(a); });
    }
    void embed_backward(const EmbedBackward& a) override {
        timed("embed_backward", a.output_gradient, {a.tokens, a.output_gradient, a.table_gradient},
              [&] { stream_->embed_backward(a); });
    }
    void embed_columns(const EmbedColumns& a) override {
        timed("embed_columns", a.output, {a.input, a.output}, [&] { stream_->embed_columns(a); });
    }
    void embed_columns_backward(const EmbedColumnsBackward& a) override {
        timed("embed_columns_backward", a.output_gradient, {a.input, a.output_gradient},
              [&] { stream_->embed_columns_backward(a); });
    }
    void rotate(const Rotate& a) override {
        timed("rotate", a.values, {a.values, a.values}, [&] { stream_->rotate(a); });
    }
    void attention(const Attention& a) override {
        timed({"attention", attention_shape(a), attention_flops(a)}, {a.projections, a.output, a.log_sums},
              [&] { stream_->attention(a); });
    }
    void attention_backward(const AttentionBackward& a) override {
        const Attention& forward = a.forward;  // five products in place of two
        timed({"attention_backward", attention_shape(forward), 2.5 * attention_flops(forward)},
              {forward.projections, forward.output, a.gradient, a.of_projections},
              [&] { stream_->attention_backward(a); });
    }
    void gate(const Gate& a) override {
        timed("gate", a.input, {a.input, a.output}, [&] { stream_->gate(a); });
    }
    void gate_backward(const GateBackward& a) override {
        timed("gate_backward", a.input, {a.input, a.output_gradient, a.input_gradient},
              [&] { stream_->gate_backward(a); });
    }
    void swap_rows(const SwapRows& a) override {
        timed("swap_rows", a.input, {a.input, a.output}, [&] { stream_->swap_rows(a); });
    }
    void gru_step(const GruStep& a) override {
        timed("gru_step", a.gates, {a.gates, a.gates, a.recurrent, a.before, a.candidate, a.output},
              [&] { stream_->gru_step(a); });
    }
    void gru_step_backward(const GruStepBackward& a) override {
        timed("gru_step_backward", a.gates, {a.gradient, a.gates, a.gates, a.candidate, a.before, a.recurrent_gradient},
              [&] { stream_->gru_step_backward(a); });
    }
    void lstm_step(const LstmStep& a) override {
        timed("lstm_step", a.gates, {a.gates, a.gates, a.recurrent, a.cell_before, a.cell, a.output},
              [&] { stream_->lstm_step(a); });
    }
    void lstm_step_backward(const LstmStepBackward& a) override {
        timed("lstm_step_backward", a.gates,
              {a.gradient, a.cell_gradient, a.cell_gradient, a.gates, a.gates, a.cell_before, a.cell},
              [&] { stream_->lstm_step_backward(a); });
    }
    void cross_entropy(const CrossEntropy& a) override {
        timed("cross_entropy", a.logits, {a.logits, a.gradient}, [&] { stream_->cross_entropy(a); });
    }
    void binary_cross_entropy(const CrossEntropy& a) override {
        timed("binary_cross_entropy", a.logits, {a.logits, a.labels, a.gradient},
              [&] { stream_->binary_cross_entropy(a); });
    }
    void squared_error(const SquaredError& a) override {
        timed("squared_error", a.predictions, {a.predictions, a.targets, a.gradient},
              [&] { stream_->squared_error(a); });
    }
    void gradient_norm(const GradientNorm& a) override {
        timed("gradient_norm", a.gradient, {a.gradient}, [&] { stream_->gradient_norm(a); });
    }
    void adamw(const AdamW& a) override {
        timed("adamw", a.update.weights,
              {a.update.weights, a.update.weights, a.update.gradient, a.update.rounded, a.first_moment, a.first_moment,
               a.second_moment, a.second_moment},
              [&] { stream_->adamw(a); });
    }
    void sgd(const Sgd& a) override {
        timed("sgd", a.update.weights,
              {a.update.weights, a.update.weights, a.update.gradient, a.update.rounded, a.velocity, a.velocity},
              [&] { stream_->sgd(a); });
    }
    void lion(const Lion& a) override {
        timed("lion", a.update.weights,
              {a.update.weights, a.update.weights, a.update.gradient, a.update.rounded, a.first_moment, a.first_moment},
              [&] { stream_->lion(a); });
    }
    void combine(const Combine& a) override {
        timed("combine", a.to, {a.from, a.to, a.to}, [&] { stream_->combine(a); });
    }
    void average(const Average& a) override {
        timed("average", a.weights, {a.weights, a.average, a.average}, [&] { stream_->average(a); });
    }
    void advance(const Advance& a) override {
        timed("advance", a.loss, {}, [&] { stream_->advance(a); });
        if (!profile_.recording) return;
        for (ProfiledOperation& one : profile_.operations) one.updates.push_back(std::exchange(one.seconds, 0));
    }

   private:
    struct Operation {
        std::string_view name;
        std::string shape;
        double flops = 0;
    };

    static std::string attention_shape(const Attention& it) {
        return std::to_string(it.output.rows / it.steps) + " x " + std::to_string(it.steps) + " steps, " +
               std::to_string(it.heads) + " heads of " + std::to_string(it.width());
    }

    template <class F>
    void timed(std::string_view name, const Tensor& like, std::initializer_list<Tensor> moved, F&& operation) {
        if (!profile_.recording) return operation();
        timed({name, std::to_string(like.rows) + " x " + std::to_string(like.columns)}, moved, operation);
    }
    template <class F>
    void timed(const Operation& of, std::initializer_list<Tensor> moved, F&& operation) {
        if (!profile_.recording) return operation();
        const Seconds begin = clock_.now();
        operation();
        stream_->synchronise();
        const Seconds took = clock_.now() - begin;
        auto& all = profile_.operations;
        auto found = std::find_if(all.begin(), all.end(), [&](const ProfiledOperation& one) {
            return one.name == of.name && one.shape == of.shape;
        });
        if (found == all.end()) found = all.insert(all.end(), {.name = of.name, .shape = of.shape});
        ++found->calls;
        found->seconds += took.count();
        found->flops += selected_ * of.flops;
        for (const Tensor& tensor : moved) found->bytes += selected_ * static_cast<double>(tensor.bytes());
    }

    std::unique_ptr<Stream> stream_;
    const Clock& clock_;
    Profile& profile_;
    int selected_;
};

class ProfiledDevice final : public Device {
   public:
    ProfiledDevice(Device& device, const Clock& clock, Profile& profile)
        : device_(device), clock_(clock), profile_(profile) {}

    [[nodiscard]] std::string_view backend() const override { return device_.backend(); }
    [[nodiscard]] std::string name() const override { return device_.name(); }
    [[nodiscard]] Result<void> computes_in(Precision precision) const override {
        return device_.computes_in(precision);
    }
    Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override { return device_.allocate(bytes); }
    std::unique_ptr<Stream> stream(Buffer& arena, int replicas) override {
        return std::make_unique<ProfiledStream>(device_.stream(arena, replicas), clock_, profile_);
    }

   private:
    Device& device_;
    const Clock& clock_;
    Profile& profile_;
};

}  // namespace

std::unique_ptr<Device> profiled(Device& device, const Clock& clock, Profile& profile) {
    return std::make_unique<ProfiledDevice>(device, clock, profile);
}

}  // namespace hpo
