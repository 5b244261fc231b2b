#include "worker/training/batch_feed.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <utility>

namespace hpo {

BatchFeed::BatchFeed(Device& device, Stream& stream, const Buffer& arena, const GroupPlan& plan, const DeviceData& data,
                     const Clock& clock)
    : arena_(arena), plan_(plan), data_(data), clock_(clock) {
    assert(data.staged() == static_cast<bool>(plan.arena.staged[0].bytes));
    if (!data.staged()) return;
    stage_ = stream.stage(bytes());
    wish_ = {plan.shared.loader_threads, plan.shared.prefetch, plan.most_ahead, device.slots() == 1};
    chooses_ = wish_.threads < 0;
    if (!chooses_) use(choose_loading(wish_));
}

Samples BatchFeed::source(const Samples& samples) const {
    if (!stage_) return samples;
    const GroupArena::Staged& sent = plan_.arena.staged[place_];
    Samples staged{&arena_, sent.features, sent.targets, {}, sent.features.rows};
    staged.scale = samples.scale;
    staged.shift = samples.shift;
    staged.staged = true;
    return staged;
}

/// The k-th replica's part of the staged batch.
std::span<std::byte> BatchFeed::part_of(std::span<std::byte> host, std::size_t k) const {
    const Tensor& one = plan_.arena.staged[0].bytes;
    return host.subspan(k * one.replica_stride, one.bytes());
}

/// Copies a sample to row `row` of a replica's part.
void BatchFeed::put(const Samples& from, int fold, std::int64_t sample, std::span<std::byte> part,
                    std::int64_t row) const {
    const std::byte* data = static_cast<const HostBuffer*>(from.buffer)->data();
    std::int64_t position = sample;
    if (from.rows) {
        std::int32_t listed = 0;
        std::memcpy(&listed, data + from.rows.replica(fold).offset + 4 * sample, 4);
        position = listed;
    }
    const auto bytes = static_cast<std::size_t>(data_.shape.row_bytes());
    const auto at = static_cast<std::size_t>(position), to = static_cast<std::size_t>(row);
    const std::size_t target_bytes = from.targets.first_rows(1).bytes();
    const std::size_t targets = plan_.arena.staged[0].targets.offset - plan_.arena.staged[0].bytes.offset;
    const auto to_features = part.subspan(to * bytes, bytes);
    const auto to_targets = part.subspan(targets + target_bytes * to, target_bytes);
    if (const SampleReader* reader = data_.reader(fold)) {
        const Part of = from.buffer == data_.test_buffer.get() ? Part::test : Part::train;
        return reader->read(of, position, to_features, to_targets);
    }
    std::memcpy(to_features.data(), data + from.features.replica(fold).offset + at * bytes, bytes);
    std::memcpy(to_targets.data(), data + from.targets.replica(fold).offset + target_bytes * at, target_bytes);
}

/// The batch of every replica, `number` updates later.
void BatchFeed::fill_batches(std::span<const BatchOrder> orders, std::int64_t number, std::span<std::byte> host) const {
    for (std::size_t k = 0; k < orders.size(); ++k) {
        const BatchOrder& its = orders[k];
        const std::int64_t epoch = its.samples / its.batch, iteration = its.iteration + number;
        const std::int64_t first = iteration % epoch * its.batch;
        const EpochOrder order(its.seed, static_cast<std::uint64_t>(iteration / epoch),
                               static_cast<std::uint32_t>(its.samples));
        const auto part = part_of(host, k);
        for (std::int64_t i = 0; i < its.batch; ++i)
            put(data_.train, its.fold, order.at(static_cast<std::uint32_t>(first + i)), part, i);
    }
}

/// The same rows for each replica, by its fold.
void BatchFeed::fill_rows(const Samples& samples, std::int64_t from, std::int64_t rows, std::span<const int> folds,
                          std::span<std::byte> host) const {
    for (std::size_t k = 0; k < folds.size(); ++k)
        for (std::int64_t i = 0; i < rows; ++i) put(samples, folds[k], from + i, part_of(host, k), i);
}

/// Sends the stage's next part to the target that was not read last.
void BatchFeed::send(int first, int count) {
    place_ = 1 - place_;
    stage_->send(plan_.arena.staged[place_].bytes.replica(first).all_replicas(count));
}

void BatchFeed::send_batches(std::span<const BatchOrder> orders) {
    const std::span<std::byte> host = stage_->next();
    if (loader_) {
        if (!std::exchange(loads_training_, true))
            loader_->begin([this, its = std::vector(orders.begin(), orders.end())](
                               std::int64_t number, std::span<std::byte> to) { fill_batches(its, number, to); },
                           std::numeric_limits<std::int64_t>::max());
        loader_->next(host);
    } else {
        const Seconds begin = clock_.now();
        const auto ready = seconds_ready();
        fill_batches(orders, 0, host);
        const double took = (clock_.now() - begin).count();
        times_.loading += took;
        if (ready) times_.waiting += std::max(0.0, took - (seconds_ready().value_or(*ready + took) - *ready));
    }
    send(0, static_cast<int>(orders.size()));
}

void BatchFeed::begin_rows(const Samples& samples, std::int64_t all, std::span<const int> folds) {
    folds_.assign(folds.begin(), folds.end());
    if (!loader_) return;
    loads_training_ = false;
    const auto fill = [this, samples, all, its = folds_](std::int64_t number, std::span<std::byte> to) {
        const std::int64_t from = number * plan_.pace.rows;
        fill_rows(samples, from, std::min(plan_.pace.rows, all - from), its, to);
    };
    loader_->begin(fill, (all + plan_.pace.rows - 1) / plan_.pace.rows);
}

void BatchFeed::send_rows(const Samples& samples, std::int64_t from, std::int64_t rows, int first) {
    const std::span<std::byte> host = stage_->next();
    if (loader_)
        loader_->next(host);
    else
        fill_rows(samples, from, rows, folds_, host);
    send(first, static_cast<int>(folds_.size()));
}

void BatchFeed::took(std::int64_t updates, Seconds seconds) {
    constexpr std::int64_t enough = 8;  // updates
    if (!chooses_) return;
    if (!std::exchange(timed_before_, true)) {
        times_ = {};
        return;
    }
    times_.updates += updates;
    times_.update += seconds.count();
    if (times_.updates >= enough) use(choose_loading(wish_, times_));
}

void BatchFeed::use(const LoadingChoice& choice) {
    chooses_ = false;
    loading_text_ = choice.text;
    if (choice.threads > 0) loader_ = std::make_unique<BatchLoader>(choice.threads, choice.ahead, bytes());
}

}  // namespace hpo
