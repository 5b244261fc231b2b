// One trial of boosted trees, from `run` to `finished`. A step grows model.rounds rounds and evaluates them. Since an
// ensemble only grows, its best step is a beginning of it, and there is one checkpoint, folder/last.ckpt.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/messages.hpp"
#include "worker/training/replica.hpp"
#include "worker/training/trial.hpp"
#include "worker/training/trial_files.hpp"
#include "worker/training/trial_progress.hpp"
#include "worker/trees/tree_data.hpp"
#include "worker/trees/xgboost.hpp"

namespace hpo {

class TreeTrial {
   public:
    /// Does a job on the thread that has all cores of the trial, and waits for it. Throws StopRequested once the job is
    /// done if the host has asked the trial to end meanwhile.
    using Runner = std::function<void(std::string_view phase, const std::function<void()>& job)>;

    /// To be called on the runner's thread, as the destructor. `data` is that of the configuration. All references must
    /// outlive the trial. Resumes from the checkpoint if the run asks for it; where that fails, starts from the
    /// beginning, and the log says why. Throws InvalidTrial.
    TreeTrial(to_worker::Run run, Configuration configuration, const WorkerContext& context, TreeData& data,
              TrialHost& host, Runner runner, int threads);

    [[nodiscard]] const AttemptId& id() const { return run_.id; }
    TrialHost& host() { return host_; }
    /// Grows, evaluates and reports a step, waits for the decision and carries it out. Returns how the trial ended, or
    /// nothing while it continues. Throws StopRequested.
    std::optional<from_worker::Finished> step();
    /// Grows with `threads` threads from the next step on.
    void set_threads(int threads);

   private:
    [[nodiscard]] std::vector<Booster::Setting> settings(int fold, std::int64_t ensemble) const;
    void make_boosters();
    void tell();
    void grow();
    /// The outputs of the first `rounds` rounds; 0: of all.
    [[nodiscard]] std::vector<float> outputs(int fold, const TreeSamples& samples, std::int64_t rounds) const;
    [[nodiscard]] Metrics evaluate(Part part, std::int64_t rounds) const;
    [[nodiscard]] Report measured(double seconds, double training_loss, Metrics validation);
    void resume();
    void save();
    void test_and_save();
    [[nodiscard]] Result<void> write_model(std::int64_t rounds, std::int64_t step) const;
    [[nodiscard]] from_worker::Finished ended(Outcome outcome, std::string message = {});
    [[nodiscard]] const DataShape& shape() const { return data_.facts->shape; }

    to_worker::Run run_;
    Configuration configuration_;
    const WorkerContext& context_;
    TreeData& data_;
    TrialHost& host_;
    Runner runner_;
    int threads_;
    std::int64_t rounds_;                         ///< of a step
    std::vector<std::vector<Booster>> boosters_;  ///< of each fold: one for each ensemble
    TrialProgress progress_;                      ///< of completed steps; an iteration is a round
    std::uint64_t binding_ = 0;
    bool started_ = false;    ///< host_ was told
    std::string divergence_;  ///< a description; empty: the loss is finite
    Metrics values_;
    std::string checkpoint_;
};

}  // namespace hpo
