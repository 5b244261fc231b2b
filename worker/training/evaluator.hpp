// Evaluates replicas on samples without training them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "worker/backends/backend.hpp"
#include "worker/training/batch_feed.hpp"
#include "worker/training/class_tally.hpp"
#include "worker/training/group_plan.hpp"
#include "worker/training/replica.hpp"

namespace hpo {

class Evaluator {
   public:
    /// All arguments must outlive it.
    Evaluator(Stream& stream, const GroupPlan& plan, BatchFeed& feed) : stream_(stream), plan_(plan), feed_(feed) {}

    /// Writes Replica::evaluation of `replicas`, which are those from number `first` on and whose folds have `all` of
    /// `samples`. The model must read GroupArena::evaluated(). Leaves these replicas selected. False: `should_continue`
    /// ended it, and nothing was written.
    bool evaluate(const Samples& samples, std::int64_t all, int first, std::span<Replica> replicas,
                  const ShouldContinue& should_continue);

   private:
    template <class Label>
    void tally(const Tensor& logits, const Tensor& labels, int first, std::span<ClassTally> tallies);

    Stream& stream_;
    const GroupPlan& plan_;
    BatchFeed& feed_;
    std::vector<int> folds_;  ///< of the replicas
};

}  // namespace hpo
