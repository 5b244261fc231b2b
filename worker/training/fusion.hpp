// Decides which trials may train side by side (fused, as replicas of one trainer). If fusing saves launches, trials may
// differ: batch size and widths are padded to those of a bucket, and each replica has its own activation, optimizer and
// values of keys that do not affect the layout. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "worker/models/padding.hpp"
#include "worker/training/configuration.hpp"

namespace hpo {

/// Returns the configuration of a trial's bucket: that of the trial with the most memory among those that may train
/// side by side with it.
Configuration bucket_of(Configuration configuration, const BucketBounds& bounds = {});

/// Returns a text that is equal for two trials if and only if they can share an arena laid out for `laid_out`.
std::string fusion_key(const Configuration& laid_out, std::uint64_t data_seed);

/// Returns a text that is equal for trials whose updates take the same time on the same device, by the keys that affect
/// speed (WorkerKey::changes_speed), without those that may differ between replicas of one trainer.
std::string speed_key(const Configuration& configuration);

}  // namespace hpo
