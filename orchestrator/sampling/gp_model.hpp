// What the gp sampler believes about a study's results: which trials its model is made of, on what scale of the
// results, with which kernel and hyperparameters.
//
// There are five models: a joint kernel on three scales of the results (as they are, and two logarithms above the best,
// which spread out the good end), and a joint kernel with additive parts on two of them. That of the highest posterior
// density is chosen.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "orchestrator/sampling/expected_improvement.hpp"
#include "orchestrator/sampling/gaussian_process.hpp"
#include "orchestrator/sampling/sampler.hpp"

namespace hpo {

enum class Scale { plain, logarithm, steep_logarithm };

/// The space as a process sees it.
SearchSpace search_space(const SamplerSetup& setup);

/// Results on the scale that a model sees: mean 0, variance 1.
struct Targets {
    std::vector<double> values;
    std::vector<double> variances;  ///< of losses that are predicted, on the same scale; empty: none is
    double cost = 0;                ///< negative log of the Jacobian, to compare models of different scales
};
Targets rescale(std::vector<double> losses, std::vector<double> variances, Scale scale);

/// What was told, in its order.
class History {
   public:
    /// True: the first time that this trial tells something; else what it told before is replaced.
    bool tell(const Observation& observation);

    /// A trial once, in the order of the first tells.
    [[nodiscard]] const std::vector<Observation>& trials() const { return trials_; }
    [[nodiscard]] std::size_t measured() const { return measured_; }  ///< trials that told a loss
    /// That of the least loss, seen or predicted; none: nothing is measured.
    [[nodiscard]] const Observation* best() const { return best_ ? &trials_[*best_] : nullptr; }
    [[nodiscard]] std::size_t tells() const { return tells_.size(); }
    /// `trials()` as it was after the first `tells` tells.
    [[nodiscard]] std::vector<Observation> as_of(std::size_t tells) const;
    /// Points of the trials with the least losses, best first, at most `count`.
    [[nodiscard]] std::vector<Point> best_points(std::size_t count) const;

   private:
    void consider(std::size_t index);

    std::vector<Observation> trials_, tells_;
    std::map<std::int64_t, std::size_t> index_;  ///< trial to index of trials_
    std::size_t measured_ = 0;
    std::optional<std::size_t> best_;  ///< index of trials_
};

/// Indices of at most `most` of the trials: the better half of them, and others spread evenly over the ranks.
std::vector<std::size_t> select(const std::vector<Observation>& trials, std::size_t most);

/// What a Gaussian process is made of.
struct Data {
    Inputs inputs;
    std::vector<double> losses;     ///< trials without one have the worst
    std::vector<double> variances;  ///< of losses that are predicted, 0 of the others; empty: none is
    /// Where trials told after different numbers of steps, the logarithm of that number is a further input; this is the
    /// largest of them. 0: there is no such input.
    std::int64_t steps = 0;
};
/// Of a trial whose end is predicted the loss is that of all steps, with that variance.
Data data_of(const SearchSpace& space, const std::vector<Observation>& trials, const std::vector<std::size_t>& kept);

struct Model {
    Scale scale = Scale::plain;
    Hyperparameters parameters;
};

/// The process of `model` on `data`, with pending trials at what it predicts for them (Ginsbourger, Le Riche, Carraro:
/// "Kriging is well-suited to parallelize optimization", 2010).
GaussianProcess process_of(const SearchSpace& space, const Data& data, const Model& model,
                           std::span<const Site> pending);

/// The least value that the process believes in at its inputs; `at_last_step`: after all steps.
double least_believed(const GaussianProcess& process, bool at_last_step);

/// Chooses the model, at a cost that does not depend on the number of trials: hyperparameters are found from at most
/// `most_fitted` of them, each model's from nothing after a number of tells of its own, and refined in between. A
/// choice depends on what was told alone, never on when it was asked for.
class ModelChooser {
   public:
    static constexpr std::size_t most_fitted = 80;

    /// `plain`: values are modelled as they are.
    explicit ModelChooser(const SearchSpace& space, bool plain = false) : space_(space), plain_(plain) {}

    Model choose(const History& history);

    /// How often tpe should propose in the model's place: 0 where its leave-one-out predictions rank the trials
    /// (Spearman's correlation), up to 1/2 where they say nothing.
    [[nodiscard]] double distrust(const History& history, const Model& model) const;

   private:
    struct Form {
        Scale scale;
        bool additive;
        std::size_t begins_at;  ///< the form whose findings it begins with; its own number: with the priors
        int iterations;
    };
    static const std::array<Form, 5> forms;

    const Hyperparameters& fitted(std::size_t form, std::size_t tells, const History& history);

    const SearchSpace& space_;
    bool plain_;
    std::array<std::map<std::size_t, Hyperparameters>, 5> fitted_;  ///< of each form, by tells
};

/// The number of tells, at most `tells`, after which form `form` of so many was last fitted from nothing: intervals
/// grow by an eighth, and forms take turns within them. At least 2.
std::size_t last_fit(std::size_t tells, std::size_t form, std::size_t forms);

}  // namespace hpo
