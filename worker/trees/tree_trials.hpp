// Runs trials of trees, one after the other, as TrialGroup runs those of networks.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string_view>

#include "worker/training/background.hpp"
#include "worker/trees/tree_data.hpp"
#include "worker/trees/tree_trial.hpp"

namespace hpo {

/// Every failure becomes an outcome, failed or out_of_memory, with a message. Throws only exceptions of the hosts.
class TreeTrials {
   public:
    using Ended = std::function<void(const from_worker::Finished&)>;

    /// Calls `ended` once for every trial that was added. `context` must outlive it.
    TreeTrials(WorkerContext& context, Ended ended);
    ~TreeTrials();
    TreeTrials(const TreeTrials&) = delete;
    TreeTrials& operator=(const TreeTrials&) = delete;

    [[nodiscard]] bool empty() const { return !trial_; }
    /// Begins a trial; there must be no other. Loads its data unless they are loaded, and reads its checkpoint.
    void add(const to_worker::Run& run, TrialHost& host);
    /// Grows the trial by a step, and ends it where it is to end.
    void step();
    /// Frees the data. There must be no trial.
    void clear() { data_ = {}; }

   private:
    template <class F>
    bool guarded(const AttemptId& id, TrialHost& host, F&& work);
    void run(TrialHost& host, std::string_view phase, const std::function<void()>& job);
    void drop_trial();
    [[nodiscard]] std::future<void> start(const std::function<void()>& job);
    [[nodiscard]] int threads() const;

    WorkerContext& context_;
    Ended on_end_;
    TreeData data_;  ///< of the last trial
    std::optional<TreeTrial> trial_;
    /// Grows on `cores_`. The library's own threads belong to the thread that calls it, and take its cores over.
    std::unique_ptr<Background> thread_;
    std::vector<int> cores_;
};

}  // namespace hpo
