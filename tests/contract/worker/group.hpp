// Replicas in one trainer, without a TrialGroup around it.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tests/contract/worker/fixture.hpp"
#include "worker/training/fusion.hpp"

namespace hpo::test {

inline const ShouldContinue always = [] { return true; };

struct Group {
    /// Makes one replica for each of `replicas`, which must have the same fusion key. With folds, replica k has fold
    /// k % folds.
    Group(std::unique_ptr<Device> device, const std::vector<Params>& replicas, std::int64_t steps = 3,
          const std::vector<std::uint64_t>& seeds = {}, Fusion fusion = Fusion::identical,
          std::int64_t backward_updates = 0)
        : worker(std::move(device)),
          data(
              *load_to_device(*worker.device, resolve_auto(worker.context, *read_configuration(replicas[0])).data, 5)) {
        worker.context.tuning.backward_updates = backward_updates;
        const auto configuration = resolve_auto(worker.context, *read_configuration(replicas[0]));
        auto plan = *plan_group(fusion == Fusion::padded ? bucket_of(configuration) : configuration, data->shape,
                                data->sizes, static_cast<int>(replicas.size()), fusion);
        arena = *worker.device->allocate(plan.arena.bytes);
        for (std::size_t k = 0; k < replicas.size(); ++k) {
            const auto configuration_alone = *read_configuration(replicas[k]);
            plans_alone.push_back(*plan_group(configuration_alone, data->shape, data->sizes, 1));
            specs.push_back({configuration_alone.training, k < seeds.size() ? seeds[k] : 77,
                             plans_alone.back().model.get(), static_cast<int>(k) % plan.folds});
        }
        trainer.emplace(*worker.device, *arena, std::move(plan), *data, specs, steps, worker.clock);
    }
    explicit Group(const std::vector<Params>& replicas, std::int64_t steps = 3,
                   const std::vector<std::uint64_t>& seeds = {}, std::string_view backend = "cpu",
                   Fusion fusion = Fusion::identical)
        : Group(device_of(backend), replicas, steps, seeds, fusion) {}

    std::vector<float> state(int replica) {
        std::vector<float> got(static_cast<std::size_t>(plans_alone[static_cast<std::size_t>(replica)].state_elements));
        trainer->read_state(replica, got);
        return got;
    }
    std::vector<float> weights(int replica) {
        std::vector<float> got(
            static_cast<std::size_t>(plans_alone[static_cast<std::size_t>(replica)].arena.weights.columns));
        trainer->read_weights(replica, got);
        return got;
    }

    test::WorkerFixture worker;
    std::unique_ptr<DeviceData> data;
    std::unique_ptr<Buffer> arena;
    std::vector<GroupPlan> plans_alone;  ///< of each replica alone
    std::vector<ReplicaSpec> specs;
    std::optional<Trainer> trainer;
};

}  // namespace hpo::test
