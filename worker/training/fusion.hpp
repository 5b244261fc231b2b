// Which trials may train side by side (fused, as replicas of one trainer). Where this saves launches, trials need not
// be alike: batch size and widths are padded to those of a bucket, and each replica has its own activation, optimizer
// and values of the keys that the layout does not depend on. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "worker/models/padding.hpp"
#include "worker/training/configuration.hpp"

namespace hpo {

/// The configuration of the bucket of a trial: of all trials that may train side by side with it, the one that takes
/// the most memory.
Configuration bucket_of(Configuration configuration, const BucketBounds& bounds = {});

/// A text that is equal for two trials exactly if they can share an arena that is laid out for `laid_out`.
std::string fusion_key(const Configuration& laid_out, std::uint64_t data_seed);

/// A text that is equal for two trials whose updates take the same time on the same device, as far as their keys tell
/// (WorkerKey::changes_speed). What differs between replicas of one trainer is left out.
std::string speed_key(const Configuration& configuration);

}  // namespace hpo
