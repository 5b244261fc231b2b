// Helpers of the tests of models.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hpo/random.hpp"
#include "worker/backends/cpu/cpu_device.hpp"
#include "worker/models/model.hpp"

namespace hpo::test {

/// A model in an arena of its own with all that a training step needs.
struct Net {
    Net(std::unique_ptr<Model> made, std::int64_t rows, int replicas, int first = 0, std::int64_t part_bytes = 1 << 19,
        Checkpointing checkpointing = Checkpointing::none)
        : owned(std::move(made)), model(*owned), layout(replicas) {
        const std::int64_t features = model.features(), classes = model.outputs();
        const std::int64_t size = model.block().elements;
        for (Tensor* block : {&weights, &gradients, &first_moment, &second_moment})
            *block = layout.add(Type::f32, 1, size);
        input = layout.add(Type::f32, rows, features);
        labels = layout.add(Type::i32, rows * model.targets(), 1);
        for (Tensor* number :
             {&dropout, &smoothing, &rate, &decay, &beta1, &beta2, &epsilon, &limit, &norm, &factor, &loss})
            *number = layout.add_per_replica(Type::f32);
        correct = layout.add_per_replica(Type::i32);
        seed = layout.add_per_replica(Type::u64);
        for (Tensor* whole : {&iteration, &batch, &first_rows}) *whole = layout.add_per_replica(Type::u32);
        alive = layout.add_per_replica(Type::u8);
        model.plan(layout, {.rows = rows, .part_bytes = part_bytes, .checkpointing = checkpointing, .batch = rows});
        device = make_cpu_device();
        arena = std::move(*device->allocate(layout.bytes()));
        stream = device->stream(*arena, replicas);
        for (int replica = 0; replica < replicas; ++replica) {
            const int name = first + replica;
            std::vector<float> samples(static_cast<std::size_t>(rows * features));
            for (std::size_t i = 0; i < samples.size(); ++i)
                samples[i] =
                    static_cast<float>(draw_unit(1, Purpose::synthetic, static_cast<std::uint64_t>(name), i) * 2 - 1);
            std::vector<std::int32_t> targets(static_cast<std::size_t>(labels.rows));
            for (std::size_t i = 0; i < targets.size(); ++i)
                targets[i] = static_cast<std::int32_t>((static_cast<std::int64_t>(i) + name) % classes);
            stream->write(input, replica, std::span<const float>(samples));
            stream->write(labels, replica, std::span<const std::int32_t>(targets));
            stream->write(dropout, replica, 0.25F * static_cast<float>(name));
            stream->write(smoothing, replica, 0.1F);
            stream->write(rate, replica, 0.01F / static_cast<float>(1 + name));
            stream->write(decay, replica, 0.1F);
            stream->write(beta1, replica, 0.9F);
            stream->write(beta2, replica, 0.999F);
            stream->write(epsilon, replica, 1e-8F);
            stream->write(limit, replica, 1.0F);
            stream->write(seed, replica, static_cast<std::uint64_t>(40 + name));
            stream->write(alive, replica, std::uint8_t{1});
        }
        model.write_constants(*stream);
        model.initialise(*stream, weights, seed);
    }

    /// Returns the training of the rows from `first` on.
    Training training(std::int64_t first = 0) const {
        for (int replica = 0; replica < stream->replicas(); ++replica) {
            stream->write(batch, replica, static_cast<std::uint32_t>(input.rows));
            stream->write(first_rows, replica, static_cast<std::uint32_t>(first));
        }
        return {dropout, seed, iteration, {batch, first_rows, first > 0 ? 1U : 0U}};
    }

    /// Loss and, if asked for, gradients of rows [first, first + count).
    void pass(std::int64_t first, std::int64_t count, Write write, bool backward = true) {
        const Tensor rows = input.slice(first * input.columns, count, input.columns);
        const Training now = training(first);
        const Tensor logits = model.forward(*stream, weights, rows, &now);
        const std::int64_t targets = model.targets();
        stream->enqueue(CrossEntropy{.logits = logits,
                                     .labels = labels.slice(first * targets, count * targets, 1),
                                     .smoothing = smoothing,
                                     .loss = loss,
                                     .correct = correct,
                                     .gradient = logits,
                                     .weight = 1.0F / static_cast<float>(labels.rows),
                                     .write = write});
        if (backward) model.backward(*stream, weights, gradients, rows, logits, now, write);
    }

    void step() {
        pass(0, input.rows, Write::set);
        stream->enqueue(GradientNorm{gradients, limit, norm, factor});
        stream->enqueue(AdamW{.update = {weights, gradients, model.block().decayed, rate, {}, decay, factor, alive},
                              .first_moment = first_moment,
                              .second_moment = second_moment,
                              .beta1 = beta1,
                              .beta2 = beta2,
                              .epsilon = epsilon,
                              .iteration = iteration});
        stream->enqueue(Advance{.iteration = iteration, .alive = alive});
    }

    std::vector<float> read(const Tensor& tensor, int replica) {
        std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
        stream->read(tensor, replica, std::span<float>(values));
        return values;
    }

    std::unique_ptr<Model> owned;
    Model& model;
    Layout layout;
    Tensor weights, gradients, first_moment, second_moment, input, labels;
    Tensor dropout, smoothing, rate, decay, beta1, beta2, epsilon, limit, norm, factor, loss, correct, seed, iteration,
        batch, first_rows, alive;
    std::unique_ptr<Device> device;
    std::unique_ptr<Buffer> arena;
    std::unique_ptr<Stream> stream;
};

}  // namespace hpo::test
