// The sampler of a study that names none.
//
// A Gaussian process finds the best in fewer trials than tpe wherever trials are trained to their end (tests/bench/
// search). However, a proposal takes about 20 ms after 200 trials and longer after more, while tpe needs a fraction of
// 1 ms. If stopping rules end trials early, values belong to different numbers of steps. tpe is then the safer choice,
// since it uses only their order. If such rules predict the ends of trials, the process learns from the predictions and
// their uncertainty. Since there are many trials of a few steps, six in ten of them explore (tests/bench/curves).
//
// The first trial is the middle of the search space, as in Vizier (Song and others: "The Vizier Gaussian process bandit
// algorithm", arXiv 2408.11527, 2024). People choose ranges around values that they think are good, so the middle is
// usually a fair configuration, and a study has a result to build on as soon as its first trial ends. The second trial
// has the defaults of well-known libraries where parameters have the names that they have there (usual_values.hpp).

#include <algorithm>

#include "hpo/text.hpp"
#include "orchestrator/sampling/allowed.hpp"
#include "orchestrator/sampling/beliefs.hpp"
#include "orchestrator/sampling/registry.hpp"
#include "orchestrator/sampling/sobol.hpp"

namespace hpo {

namespace {

constexpr std::int64_t fewest = 6;  // trials: gp learns from four
constexpr std::int64_t most_for_gp = 400;
constexpr std::int64_t many_trials = 2000;   // of more trials, each likely takes only moments
constexpr std::size_t most_dimensions = 40;  // of gp: its priors hold up to some thirty, and each costs time

/// A sampler with the reason for its choice.
class Chosen final : public Sampler {
   public:
    Chosen(std::unique_ptr<Sampler> sampler, std::string about)
        : sampler_(std::move(sampler)), about_(std::move(about)) {}
    Point propose(std::int64_t trial, std::span<const Site> pending, int retry) override {
        return sampler_->propose(trial, pending, retry);
    }
    void tell(const Observation& observation) override { sampler_->tell(observation); }
    [[nodiscard]] std::string about() const override { return about_; }

   private:
    std::unique_ptr<Sampler> sampler_;
    std::string about_;
};

/// The middle of the search space for one of the first trials, the usual values for the second, and a sampler for all
/// others.
class MiddleFirst final : public Sampler {
   public:
    MiddleFirst(const SamplerSetup& setup, std::unique_ptr<Sampler> sampler)
        : at_(setup.middle_at), middle_(middle_of(setup)), sampler_(std::move(sampler)) {
        // Where others' trials come first, their best say more than defaults do.
        if (at_ != 1 || setup.trials < 2 || !setup.usual) return;
        Point usual = setup.usual(middle_);
        if (usual != setup.canonical(middle_) && (!setup.allowed || setup.allowed->contains(usual)))
            usual_ = std::move(usual);
    }
    Point propose(std::int64_t trial, std::span<const Site> pending, int retry) override {
        if (retry == 0 && trial == at_) return middle_;
        if (retry == 0 && trial == 2 && usual_) return *usual_;
        return sampler_->propose(trial, pending, retry);
    }
    void tell(const Observation& observation) override { sampler_->tell(observation); }
    [[nodiscard]] std::string about() const override {
        return sampler_->about() + "; the " + (at_ == 1 ? "first" : "second") + " trial is the middle of the space" +
               (usual_ ? ", the second has the defaults of libraries for parameters with known names" : "");
    }

   private:
    /// Returns the point of the preferred values, of the first choices, and of the medians of all other priors.
    static Point middle_of(const SamplerSetup& setup) {
        const std::size_t dimensions = setup.space.size();
        Point point = setup.beliefs ? setup.beliefs->preferred(dimensions) : Point(dimensions, 0.5);
        for (std::size_t d = 0; d < dimensions; ++d)
            if (const Dimension& dimension = setup.space[d]; !dimension.choices.empty() && !dimension.prior)
                point[d] = 0.5 / static_cast<double>(dimension.choices.size());
        if (setup.allowed) return setup.allowed->near(point);
        return point;
    }

    std::int64_t at_;  ///< number of the trial
    Point middle_;
    std::optional<Point> usual_;
    std::unique_ptr<Sampler> sampler_;
};

/// One sampler for the first trials and another for later ones. The second learns from all trials.
class InTurn final : public Sampler {
   public:
    InTurn(std::unique_ptr<Sampler> first, std::int64_t last_of_first, std::unique_ptr<Sampler> second)
        : first_(std::move(first)), last_of_first_(last_of_first), second_(std::move(second)) {}
    Point propose(std::int64_t trial, std::span<const Site> pending, int retry) override {
        return (first_ && trial <= last_of_first_ ? first_ : second_)->propose(trial, pending, retry);
    }
    void tell(const Observation& observation) override {
        if (first_) first_->tell(observation);
        second_->tell(observation);
        if (observation.trial > last_of_first_) first_.reset();  // trials are numbered as they are proposed
    }

   private:
    std::unique_ptr<Sampler> first_;
    std::int64_t last_of_first_;
    std::unique_ptr<Sampler> second_;
};

/// One sampler while trials report one step each, so that none can pause, and another from the first curve on.
class OnceCurves final : public Sampler {
   public:
    OnceCurves(std::unique_ptr<Sampler> before, std::unique_ptr<Sampler> after)
        : before_(std::move(before)), after_(std::move(after)) {}
    Point propose(std::int64_t trial, std::span<const Site> pending, int retry) override {
        return (before_ ? before_ : after_)->propose(trial, pending, retry);
    }
    void tell(const Observation& observation) override {
        if (observation.has_curve || observation.deviation) before_.reset();
        if (before_) before_->tell(observation);
        after_->tell(observation);
    }

   private:
    std::unique_ptr<Sampler> before_, after_;
};

Result<std::unique_ptr<Sampler>> chosen(Result<std::unique_ptr<Sampler>> made, const std::string& about) {
    if (!made) return made.error();
    return std::unique_ptr<Sampler>(std::make_unique<Chosen>(*std::move(made), "auto: " + about));
}

Result<std::unique_ptr<Sampler>> choose(const SamplerRow& row, const Params& options, const SamplerSetup& setup,
                                        const std::string& why) {
    return chosen(row.make(options, setup), std::string(row.part.name) + ", as " + why);
}

/// gp for the first trials, and tpe for later ones.
Result<std::unique_ptr<Sampler>> gp_then_tpe(const Params& gp, std::int64_t last_of_gp, const Params& tpe,
                                             const SamplerSetup& setup) {
    auto first = gp_row.make(gp, setup);
    auto second = tpe_row.make(tpe, setup);
    if (!first || !second) return first ? second.error() : first.error();
    return std::unique_ptr<Sampler>(std::make_unique<InTurn>(*std::move(first), last_of_gp, *std::move(second)));
}

/// Returns a clause about the time of trials, which gp counts where the time budget ends a study.
std::string per_second(const SamplerSetup& setup) {
    if (!setup.seconds || setup.objectives > 1 || setup.constraints > 0) return {};
    return "; improvement counts per second, if the time budget ends the study";
}

/// Chooses the sampler of a study.
Result<std::unique_ptr<Sampler>> choose(const SamplerSetup& setup) {
    const std::size_t dimensions = setup.space.size();
    if (setup.trials < fewest)
        return choose(dimensions <= sobol_dimensions && !setup.beliefs ? sobol_row : random_row, {}, setup,
                      counted(setup.trials, "trial is", "trials are") + " too few to learn from");
    if (setup.foretells && dimensions <= most_dimensions) {
        auto before = gp_then_tpe({}, most_for_gp, {}, setup);
        auto after = gp_then_tpe({{"uniform", 0.5}}, most_for_gp, {{"uniform", 0.6}}, setup);
        if (!before || !after) return before ? after.error() : before.error();
        return chosen(std::unique_ptr<Sampler>(std::make_unique<OnceCurves>(*std::move(before), *std::move(after))),
                      "gp, and every second trial at random where trials report several steps and pause, as predicted "
                      "ends show their values" +
                          (setup.trials > most_for_gp ? "; tpe after " + std::to_string(most_for_gp) + " trials"
                                                      : std::string()) +
                          per_second(setup));
    }
    std::string why;
    if (setup.stops_early)
        why = "stopping rules end trials early";
    else if (dimensions > most_dimensions)
        why = std::to_string(dimensions) + " parameters are more than gp's " + std::to_string(most_dimensions);
    else if (const auto last = setup.trials > many_trials && !setup.open_ended ? most_for_gp / 2 : most_for_gp;
             setup.trials > last)
        return chosen(gp_then_tpe({}, last, {}, setup), "gp for the first " + std::to_string(last) +
                                                            " trials, then tpe, whose proposals take less time" +
                                                            per_second(setup));
    else
        return choose(gp_row, {}, setup,
                      (setup.objectives > 1 ? "it looks for the Pareto front, " : std::string()) +
                          "trials are trained to their end and are no more than " + std::to_string(most_for_gp) +
                          per_second(setup));
    // tpe begins with a number of Sobol points that suits the space and the budget, ten at most.
    const auto wish = static_cast<std::int64_t>(2 * dimensions + 2);
    Params options{{"startup", std::max<std::int64_t>(std::min({wish, setup.trials / 4, std::int64_t{10}}), 3)}};
    // Since there are many trials of a few steps, most of them explore (measured by tests/bench/curves).
    if (setup.foretells) options["uniform"] = 0.6;
    return choose(tpe_row, options, setup, why);
}

}  // namespace

constinit const SamplerRow auto_row{
    {"auto",
     "the middle of the space, then gp, after 400 trials tpe; sobol for fewer than 6 trials; hpo check says why",
     {}},
    [](const Params&, const SamplerSetup& setup) -> Result<std::unique_ptr<Sampler>> {
        auto chosen = choose(setup);
        if (!chosen || setup.middle_at == 0) return chosen;
        return std::unique_ptr<Sampler>(std::make_unique<MiddleFirst>(setup, *std::move(chosen)));
    },
    false,
    false,
    true};

}  // namespace hpo
