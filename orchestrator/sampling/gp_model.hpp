// The gp sampler's model of a study's results: the selected trials, the scale of the results, the kernel and its
// hyperparameters.
//
// There are five models: a joint kernel of warped coordinates on three scales of the results (as they are, and two
// logarithms above the best, which spread out the good end), and a joint kernel with additive parts on two of them. For
// a proposal, a model is drawn by the models' posterior densities, and its hyperparameters by theirs: few trials leave
// several models likely, and the likeliest alone would be trusted too much, most of all its warps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "orchestrator/sampling/expected_improvement.hpp"
#include "orchestrator/sampling/gaussian_process.hpp"
#include "orchestrator/sampling/sampler.hpp"

namespace hpo {

enum class Scale { plain, logarithm, steep_logarithm };

/// Returns the search space of a study, as the process sees it.
SearchSpace search_space(const SamplerSetup& setup);

/// Results on the scale of a model, with mean 0 and variance 1.
struct Targets {
    std::vector<double> values;
    std::vector<double> variances;  ///< of predicted losses, on the same scale; empty if no loss is predicted
    double cost = 0;                ///< negative log of the Jacobian, to compare models of different scales
};
Targets rescale(std::vector<double> losses, std::vector<double> variances, Scale scale);

/// The observations told to a sampler, in their order.
class History {
   public:
    /// Adds an observation. Returns true if it is the first of its trial. Otherwise it replaces the earlier one.
    bool tell(const Observation& observation);

    /// Returns the last observation of each trial, in the order of their first observations.
    [[nodiscard]] const std::vector<Observation>& trials() const { return trials_; }
    [[nodiscard]] std::size_t measured() const { return measured_; }  ///< trials with a loss
    /// Returns the observation with the least loss, measured or predicted, or nullptr if no trial has a loss.
    [[nodiscard]] const Observation* best() const { return best_ ? &trials_[*best_] : nullptr; }
    [[nodiscard]] std::size_t tells() const { return tells_.size(); }
    /// Returns `trials()` as it was after the first `tells` tells.
    [[nodiscard]] std::vector<Observation> as_of(std::size_t tells) const;
    /// Returns the points of at most `count` trials with the least losses, best first.
    [[nodiscard]] std::vector<Point> best_points(std::size_t count) const;

   private:
    void consider(std::size_t index);

    std::vector<Observation> trials_, tells_;
    std::map<std::int64_t, std::size_t> index_;  ///< trial to index of trials_
    std::size_t measured_ = 0;
    std::optional<std::size_t> best_;  ///< index of trials_
};

/// Returns the indices of at most `most` trials, ascending. Half of them are the best trials. The others are spread
/// evenly over the remaining ranks.
std::vector<std::size_t> select(const std::vector<Observation>& trials, std::size_t most);

/// The data of a Gaussian process.
struct Data {
    Inputs inputs;
    std::vector<double> losses;  ///< trials without a loss have the worst one
    std::vector<double>
        variances;  ///< of predicted losses and of means over folds, 0 for others; empty if there are none
    /// The largest number of steps. If the numbers of steps differ, their logarithm is a further input. If they do not,
    /// this is 0, without an input.
    std::int64_t steps = 0;
};
/// Returns the data of the trials with the indices `kept`. The loss of a trial whose end is predicted counts as
/// measured after all steps, with the variance of the prediction.
Data data_of(const SearchSpace& space, const std::vector<Observation>& trials, const std::vector<std::size_t>& kept);

struct Model {
    Scale scale = Scale::plain;
    Hyperparameters parameters;
};

/// Returns the process of `model` on `data`. Pending trials are added with the values that the process predicts for
/// them (Ginsbourger, Le Riche, Carraro: "Kriging is well-suited to parallelize optimization", 2010).
GaussianProcess process_of(const SearchSpace& space, const Data& data, const Model& model,
                           std::span<const Site> pending);

/// Returns the model of `data`, which are the trials near `centre`. Its kernel has the priors of a process on the cube
/// around `centre` that the trials fill, so that it can follow variation on lengths that are short compared with the
/// whole space. The fit starts from these priors, from the length scales of `whole`, the model of all trials, and, if
/// `whole` has additive parts, from its hyperparameters. The best result of these starts counts. A single start often
/// ends at hyperparameters that explain all results as noise. With `uniform`, which draws from [0, 1), hyperparameters
/// are drawn from their posterior, beginning at that result.
Model local_model(const SearchSpace& space, Data data, const Point& centre, const Model& whole,
                  const std::function<double()>& uniform = {});

/// Returns the least mean of the process at its inputs. With `at_last_step`, the means are those after all steps.
double least_believed(const GaussianProcess& process, bool at_last_step);

/// Chooses the model, at a cost that does not depend on the number of trials. Hyperparameters are fitted to at most
/// `most_fitted` trials. Each model is refitted after certain numbers of tells (last_fit), and refined in between. A
/// refit starts from its predecessor's hyperparameters, or from a fit from scratch to `most_sketched` trials if these
/// hyperparameters are better. Without its predecessor, a refit now and then ends in a local optimum where short waves
/// count as noise. A choice depends only on the observations, and with `uniform` on its numbers, never on when it is
/// made.
class ModelChooser {
   public:
    static constexpr std::size_t most_fitted = 200, most_sketched = 80;

    /// With `plain`, only models without a logarithm and without warps are considered. `space` must outlive this.
    explicit ModelChooser(const SearchSpace& space, bool plain = false) : space_(space), plain_(plain) {}

    /// Returns the likeliest model. With `uniform`, which draws from [0, 1), it is drawn by the posterior densities.
    Model choose(const History& history, const std::function<double()>& uniform = {});

    /// Returns the share of proposals that tpe should make in place of the model. It is 0 if the leave-one-out
    /// predictions rank the trials well (Spearman's correlation), and up to 1/2 if they do not.
    [[nodiscard]] double distrust(const History& history, const Model& model) const;

   private:
    struct Form {
        Scale scale;
        bool additive;
        std::size_t begins_at;  ///< form whose hyperparameters the fit starts from; its own number for the priors
        int iterations;
    };
    static const std::array<Form, 5> forms;

    [[nodiscard]] Kernel kernel_of(const Form& form) const;
    const Hyperparameters& fitted(std::size_t form, std::size_t tells, const History& history);

    const SearchSpace& space_;
    bool plain_;
    std::array<std::map<std::size_t, Hyperparameters>, 5> fitted_;  ///< for each form, by number of tells
};

/// Returns the number of tells, at most `tells`, after which form `form` of `forms` was last refitted. The
/// intervals grow by an eighth, and forms take turns within them. The result is at least 2.
std::size_t last_fit(std::size_t tells, std::size_t form, std::size_t forms);

}  // namespace hpo
