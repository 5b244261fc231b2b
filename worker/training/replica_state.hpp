// One replica's part of a group's arena, without temporary tensors of an update: the state of a checkpoint (weights,
// moments, average, loss scaling) and the numbers of its configuration. Padded replicas are read and written in the
// layout of their own model.
//
// `k` is the number of the replica `replica`.
#pragma once

#include <span>
#include <vector>

#include "worker/backends/backend.hpp"
#include "worker/data/device_data.hpp"
#include "worker/training/group_plan.hpp"
#include "worker/training/replica.hpp"

namespace hpo {

class ReplicaState {
   public:
    /// All arguments must outlive it.
    ReplicaState(Stream& stream, const GroupPlan& plan, const DeviceData& data);

    /// Writes the numbers of the replica's configuration and progress.
    void write_numbers(int k, const Replica& replica);
    /// Marks a replica as ended, so that its weights stay as they are.
    void write_end(int k);

    /// Writes the state of a model that has not been trained. Leaves this replica selected.
    void initialise(int k, const Replica& replica);
    /// Writes a state that read() has returned. Leaves this replica selected.
    void write(int k, const Replica& replica, std::span<const float> state);
    void read(int k, const Replica& replica, std::span<float> state);
    /// The weights that are evaluated.
    void write_weights(int k, const Replica& replica, std::span<const float> from);
    void read_weights(int k, const Replica& replica, std::span<float> to);

    /// Copies the state of replica `from` to replica `to`. Leaves one replica selected.
    void copy(int from, int to);
    /// Copies the states of all selected replicas from an arena with this plan.
    void copy_from(const Buffer& arena, const GroupPlan& plan);

   private:
    void initialise_weights(int k, const Replica& replica);
    void read_block(const Tensor& block, int k, const Replica& replica, std::span<float> to);
    void write_block(const Tensor& block, int k, const Replica& replica, std::span<const float> from);
    template <class F>
    void each_tensor(const ReplicaSpec& spec, F&& visit) const;

    Stream& stream_;
    const GroupPlan& plan_;
    const DeviceData& data_;
    std::vector<float> padded_, unpadded_;  ///< a block on its way to or from a padded replica
};

}  // namespace hpo
