#include "worker/training/rank_sums.hpp"

#include <algorithm>
#include <utility>

namespace hpo {
namespace {

constexpr std::int64_t most_at_once = std::int64_t{1} << 17;  // numbers, which stay in a core's own cache

}  // namespace

RankSums::RankSums(Communicator& ranks, Stream& stream, const GroupPlan& plan, const Clock& clock)
    : ranks_(ranks), stream_(stream), plan_(plan), clock_(clock) {
    for (const Parameter& parameter : plan.model->block().parameters)
        if (!parameter.trained)
            statistics_.push_back(plan.arena.weights.slice(parameter.first, 1, parameter.elements()));
    numbers_.reserve(static_cast<std::size_t>(most_at_once));
}

void RankSums::begin_update() {
    if (ranks_.rank() == 0) return;
    for (const Tensor& statistic : statistics_) stream_.enqueue(Fill{statistic, 0});
}

bool RankSums::add_up(int replicas, bool stop) {
    const Seconds begin = clock_.now();
    for (int replica = 0; replica < replicas; ++replica) {
        add(plan_.arena.gradient, replica);
        for (const Tensor& statistic : statistics_) add(statistic, replica);
        add(plan_.arena.loss, replica);
    }
    numbers_.push_back(stop && ranks_.rank() == 0 ? 1.0F : 0.0F);
    exchange();
    const bool stops = numbers_.back() > 0;
    numbers_.clear();
    seconds_ += (clock_.now() - begin).count();
    return stops;
}

/// Adds the tensor's numbers to those on their way, which are exchanged whenever there are enough.
void RankSums::add(const Tensor& whole, int replica) {
    for (std::int64_t done = 0; done < whole.elements();) {
        const std::size_t first = numbers_.size();
        const std::int64_t room = most_at_once - 1 - static_cast<std::int64_t>(first);
        const std::int64_t count = std::min(room, whole.elements() - done);
        const Tensor tensor = whole.slice(done, 1, count);
        numbers_.resize(first + static_cast<std::size_t>(count));
        stream_.read(tensor, replica, std::span(numbers_).subspan(first));
        pieces_.push_back({tensor, replica});
        done += count;
        if (count < room) continue;
        exchange();
        numbers_.clear();
    }
}

void RankSums::exchange() {
    ranks_.all_reduce(numbers_);
    std::size_t first = 0;
    for (const auto& [tensor, replica] : pieces_) {
        const auto count = static_cast<std::size_t>(tensor.elements());
        stream_.write(tensor, replica, std::span<const float>(numbers_).subspan(first, count));
        first += count;
    }
    pieces_.clear();
}

void RankSums::follow_lead(std::int64_t& number) {
    const Seconds begin = clock_.now();
    ranks_.broadcast_value(number);
    seconds_ += (clock_.now() - begin).count();
}

double RankSums::take_seconds() { return std::exchange(seconds_, 0.0); }

}  // namespace hpo
