#include "worker/profile.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "worker/calibration.hpp"
#include "worker/profiled_device.hpp"
#include "worker/training/trainer.hpp"

namespace hpo {

using Json = nlohmann::json;

void profile_training(WorkerContext& context, const to_worker::Run& run, std::int64_t updates,
                      const std::function<void(const Json&)>& emit) {
    Params params = run.params;
    params["eval_every"] = updates;
    const Configuration configuration = resolve_auto(context, configuration_of(context, params));
    const DeviceData& data = ensure_data(context, configuration.data, run.data_seed, [] {});
    GroupPlan plan = value_or_throw(plan_group(configuration, data.shape, data.sizes, 1));
    check_host_memory(context, plan);
    Buffer& arena = ensure_arena(context, plan);
    emit({{"measured", "update"},
          {"backend", context.device.backend()},
          {"name", context.device.name()},
          {"identity", identity_of(context.device)},
          {"precision", to_text(configuration.training.precision)},
          {"batch_size", configuration.training.batch_size},
          {"micro_batches", plan.pace.micro_batches},
          {"parameters", plan.model->block().count()},
          {"updates", updates}});

    Profile profile;
    const auto device = profiled(context.device, context.clock, profile);
    const ReplicaSpec spec{configuration.training, configuration.seed.value_or(run.seed), nullptr, 0};
    Trainer trainer(*device, arena, std::move(plan), data, {&spec, 1}, 3, context.clock);
    const ShouldContinue always = [] { return true; };
    trainer.train_step(always);  // loads code
    trainer.train_step(always);
    emit({{"measured", "whole"}, {"seconds", trainer.step_seconds_of(0) / static_cast<double>(updates)}});
    profile.recording = true;
    trainer.train_step(always);

    if (!trainer.feed().loading_text().empty())
        emit({{"measured", "loading"}, {"text", trainer.feed().loading_text()}});
    for (ProfiledOperation& one : profile.operations) {
        // An operation that is not in each update, such as one at the change of an epoch, has updates without it.
        one.updates.resize(static_cast<std::size_t>(updates), 0);
        std::sort(one.updates.begin(), one.updates.end());
        const auto each = static_cast<double>(updates);
        emit({{"measured", "operation"},
              {"operation", one.name},
              {"shape", one.shape},
              {"calls", static_cast<double>(one.calls) / each},
              {"flops", one.flops / each},
              {"bytes", one.bytes / each},
              {"seconds", one.updates[one.updates.size() / 2]},
              {"least", one.updates.front()},
              {"most", one.updates.back()}});
    }
}

}  // namespace hpo
