#include "worker/training/rank_orders.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>

#include "hpo/wire.hpp"
#include "worker/training/precision.hpp"
#include "worker/training/process_memory.hpp"

namespace hpo {
namespace {

using nlohmann::json;

constexpr char memory_is_short = 'M', other_failure = 'F';  // the first character of a rank's last words

template <class T>
std::span<std::byte> bytes_of(std::vector<T>& numbers) {
    return std::as_writable_bytes(std::span(numbers));
}

}  // namespace

std::string to_text(const RankOrder& order) {
    return json{{"kind", order.kind},
                {"run", wire::encode(OrchestratorMessage(order.run))},
                {"placement", order.placement},
                {"precision", order.precision},
                {"micro_batch", order.micro_batch},
                {"checkpointing", order.checkpointing},
                {"rate_scale", order.rate_scale},
                {"cores", order.cores}}
        .dump();
}

RankOrder order_of(const std::string& text) {
    const json from = json::parse(text);
    const auto message = wire::decode_orchestrator(from.at("run").get<std::string>());
    if (!message) throw std::runtime_error(message.error().message);
    return {.kind = from.at("kind"),
            .run = std::get<to_worker::Run>(*message),
            .placement = from.at("placement"),
            .precision = from.at("precision"),
            .micro_batch = from.at("micro_batch"),
            .checkpointing = from.at("checkpointing"),
            .rate_scale = from.at("rate_scale"),
            .cores = from.at("cores")};
}

Configuration as_ordered(Configuration own, const RankOrder& order) {
    TrainingConfig& training = own.training;
    // No larger micro-batch is possible than without accumulation, so that this one holds.
    training.accumulation = 1;
    training.micro_batch = order.micro_batch;
    training.checkpointing = order.checkpointing;
    training.automatic_checkpointing = false;
    return own;
}

std::vector<int> cores_of_rank(std::span<const int> cores, int rank, int size) {
    if (cores.empty()) return {};
    const auto number = static_cast<std::size_t>(rank), ranks = static_cast<std::size_t>(size);
    const std::size_t each = cores.size() / ranks;
    if (each == 0) return {cores[number % cores.size()]};
    const auto own = cores.subspan(number * each, each);
    return {own.begin(), own.end()};
}

namespace {

/// Computes from now on with the cores of a rank, to which the calling thread is bound if each rank has its own.
void take_cores(Device& device, const RankCores& all, std::span<const int> cores, int rank, int size) {
    const std::vector<int> own = cores_of_rank(cores, rank, size);
    all.bind(cores.size() < static_cast<std::size_t>(size) ? std::span<const int>() : own);
    device.use_cores(own);
}

}  // namespace

bool LeadingRank::start() {
    const auto started = processes_.start();
    if (started) return *started;
    std::fprintf(stderr, "%s\n", started.error().message.c_str());
    std::_Exit(1);
}

template <class F>
void LeadingRank::guarded(F&& work) {
    try {
        work();
    } catch (const RanksParted& parted) {
        processes_.stop();
        throw InvalidTrial(std::string("the processes of the trial have parted, a defect of hpo: ") + parted.what());
    } catch (const RankLost& lost) {
        RankEnd end = processes_.end_of(lost);
        const char kind = end.words.empty() ? '\0' : end.words.front();
        if (kind != '\0') end.words.erase(0, 1);
        if (kind == memory_is_short) throw OutOfMemory(to_text(end));
        if (kind == other_failure) throw InvalidTrial(to_text(end));
        std::fprintf(stderr, "%s\n", to_text(end).c_str());
        end_like(end);
    }
}

void LeadingRank::send(const RankOrder& order) {
    std::string text = to_text(order);
    std::uint64_t length = text.size();
    communicator().broadcast_value(length);
    communicator().broadcast(std::as_writable_bytes(std::span(text)));
}

void LeadingRank::load(const to_worker::Run& run, const DataConfig& data) {
    guarded([&] { send({.kind = RankOrder::Kind::load, .run = run, .placement = data.placement, .cores = cores_}); });
}

void LeadingRank::clear() {
    guarded([&] {
        send({.kind = RankOrder::Kind::clear, .cores = cores_});
        communicator().barrier();
    });
}

void LeadingRank::enter(const to_worker::Run& run, const Configuration& laid_out, Trainer& trainer, double rate_scale) {
    guarded([&] {
        send({.kind = RankOrder::Kind::enter,
              .run = run,
              .placement = laid_out.data.placement,
              .precision = laid_out.training.precision,
              .micro_batch = trainer.plan().pace.micro_batch,
              .checkpointing = trainer.plan().checkpointing,
              .rate_scale = rate_scale,
              .cores = cores_});
        std::vector<float> state(static_cast<std::size_t>(trainer.plan().state_elements));
        for (int replica = 0; replica < trainer.replicas(); ++replica) {
            trainer.read_state(replica, state);
            ReplicaProgress progress = trainer.progress_of(replica);
            communicator().broadcast(bytes_of(state));
            communicator().broadcast_value(progress);
        }
    });
}

bool LeadingRank::train_step(Trainer& trainer, const ShouldContinue& should_continue, double rate_scale) {
    bool trained = false;
    guarded([&] {
        send({.kind = RankOrder::Kind::step, .rate_scale = rate_scale, .cores = cores_});
        trained = trainer.train_step(should_continue);
        communicator().barrier();  // then their peaks are those of this step
    });
    return trained;
}

void LeadingRank::use_cores(Device& device, const std::vector<int>& cores) {
    cores_ = cores;
    take_cores(device, processes_.cores(), cores, 0, size());
}

std::int64_t LeadingRank::peak_of_others() {
    std::int64_t sum = 0;
    for (int rank = 1; rank < size(); ++rank) sum += processes_.communicator().peak_of(rank);
    return sum;
}

namespace {

/// A rank other than 0.
class FollowingRank {
   public:
    FollowingRank(HostCommunicator& ranks, WorkerContext& context) : ranks_(ranks), context_(context) {}

    void serve() {
        for (;;) {
            std::uint64_t length = 0;
            ranks_.broadcast_value(length);
            std::string text(length, '\0');
            ranks_.broadcast(std::as_writable_bytes(std::span(text)));
            const RankOrder order = order_of(text);
            if (order.cores != cores_) {
                cores_ = order.cores;
                take_cores(context_.device, all_cores_, cores_, ranks_.rank(), ranks_.size());
            }
            switch (order.kind) {
                case RankOrder::Kind::clear:
                    trainer_.reset();
                    context_.arena.reset();
                    ranks_.barrier();
                    break;
                case RankOrder::Kind::load:
                    load(order);
                    break;
                case RankOrder::Kind::enter:
                    enter(order);
                    break;
                case RankOrder::Kind::step:
                    step(order.rate_scale);
                    break;
            }
        }
    }

   private:
    /// Makes sure that the data are there.
    Configuration load(const RankOrder& order) {
        Configuration configuration = configuration_of(context_, order.run.params);
        configuration.data.placement = order.placement;
        const DeviceData* const before = context_.data.get();
        if (!before || before->config != configuration.data || before->data_seed != order.run.data_seed)
            trainer_.reset();
        ensure_data(context_, configuration.data, order.run.data_seed, [] {});
        return configuration;
    }

    void enter(const RankOrder& order) {
        Configuration configuration = load(order);
        trainer_.reset();
        reset_peak();
        configuration =
            as_ordered(resolve_auto(context_, with_precision(std::move(configuration), order.precision)), order);
        GroupPlan plan = value_or_throw(plan_group(configuration, context_.data->shape, context_.data->sizes, 1));
        if (plan.pace.micro_batch != order.micro_batch)
            throw InvalidTrial("its micro-batches have " + std::to_string(plan.pace.micro_batch) +
                               " samples, and those of rank 0 " + std::to_string(order.micro_batch));
        if (!arena_fits(context_, plan)) context_.arena.reset();
        Buffer& arena = ensure_arena(context_, plan);
        trainer_ = std::make_unique<Trainer>(context_.device, arena, std::move(plan), *context_.data,
                                             std::span<const ReplicaSpec>{}, 0, context_.clock, &ranks_);
        std::vector<float> state(static_cast<std::size_t>(trainer_->plan().state_elements));
        const std::uint64_t seed = configuration.seed.value_or(order.run.seed);
        for (int fold = 0; fold < trainer_->plan().folds; ++fold) {
            ReplicaProgress progress;
            ranks_.broadcast(bytes_of(state));
            ranks_.broadcast_value(progress);
            trainer_->resume(fold, {configuration.training, seed_of_fold(seed, fold), nullptr, fold}, order.run.steps,
                             state, progress);
        }
    }

    void step(double rate_scale) {
        for (int replica = 0; replica < trainer_->replicas(); ++replica) trainer_->set_rate_scale(replica, rate_scale);
        trainer_->train_step([] { return true; });
        ranks_.set_peak(peak_bytes().value_or(0));
        ranks_.barrier();
    }

    HostCommunicator& ranks_;
    WorkerContext& context_;
    RankCores all_cores_;
    std::vector<int> cores_;
    std::unique_ptr<Trainer> trainer_;
};

}  // namespace

int follow_lead(HostCommunicator& ranks, WorkerContext& context) {
    try {
        FollowingRank(ranks, context).serve();
    } catch (const RankLost&) {
        return 0;  // rank 0 has ended, or has given up the trial and ends this process
    } catch (const std::bad_alloc& error) {
        ranks.leave_words(memory_is_short + std::string(error.what()));
    } catch (const std::exception& error) {
        ranks.leave_words(other_failure + std::string(error.what()));
    }
    return 1;
}

}  // namespace hpo
