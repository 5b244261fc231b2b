// Adds up the results of all ranks from their micro-batches of an update: gradients, losses, and the statistics that a
// forward pass updates.
#pragma once

#include <cstdint>
#include <vector>

#include "hpo/clock.hpp"
#include "worker/backends/backend.hpp"
#include "worker/ranks/communicator.hpp"
#include "worker/training/group_plan.hpp"

namespace hpo {

class RankSums {
   public:
    /// All arguments must outlive it.
    RankSums(Communicator& ranks, Stream& stream, const GroupPlan& plan, const Clock& clock);

    /// Before the first micro-batch of an update. The statistics of rank 0 alone go into their sums.
    void begin_update();
    /// After the last one of this rank: adds up over the ranks. Returns true if rank 0 gives `stop`.
    bool add_up(int replicas, bool stop);
    /// Gives all ranks the number of rank 0.
    void follow_lead(std::int64_t& number);
    /// Returns the seconds in these calls, which include waiting for other ranks, since the last call of this function.
    double take_seconds();

   private:
    struct Piece {
        Tensor tensor;
        int replica;
    };
    void add(const Tensor& whole, int replica);
    void exchange();

    Communicator& ranks_;
    Stream& stream_;
    const GroupPlan& plan_;
    const Clock& clock_;
    std::vector<Tensor> statistics_;  ///< in the weights
    std::vector<Piece> pieces_;       ///< whose numbers are on their way
    std::vector<float> numbers_;
    double seconds_ = 0;
};

}  // namespace hpo
