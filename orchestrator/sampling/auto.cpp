// What a study gets that names no sampler.
//
// A Gaussian process finds the best in fewer trials than tpe wherever trials are trained to their end (tests/bench/
// search), but a proposal takes it some 20 ms after 200 trials and more after more, where tpe takes a fraction of one.
// Where stopping rules end trials early, values are of different numbers of steps, and tpe, which looks at their order
// alone, is the safer choice until a bench says otherwise.

#include <algorithm>

#include "orchestrator/sampling/registry.hpp"
#include "orchestrator/sampling/sobol.hpp"

namespace hpo {

namespace {

constexpr std::int64_t fewest = 8;  // trials: with less a model has nothing to learn from
constexpr std::int64_t most_for_gp = 200;
constexpr std::size_t most_dimensions = 40;  // of gp: its priors hold up to some thirty, and each costs time

/// A sampler and why it was taken.
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

Result<std::unique_ptr<Sampler>> choose(const SamplerRow& row, const Params& options, const SamplerSetup& setup,
                                        const std::string& why) {
    auto made = row.make(options, setup);
    if (!made) return made.error();
    return std::unique_ptr<Sampler>(
        std::make_unique<Chosen>(*std::move(made), "auto: " + std::string(row.part.name) + ", as " + why));
}

}  // namespace

constinit const SamplerRow auto_row{
    {"auto",
     "gp for up to 200 trials; tpe for more, for more than 40 parameters, or where stopping rules end trials early; "
     "sobol for fewer than 8; hpo check says which and why",
     {}},
    [](const Params&, const SamplerSetup& setup) -> Result<std::unique_ptr<Sampler>> {
        const std::size_t dimensions = setup.space.size();
        if (setup.trials < fewest)
            return choose(dimensions <= sobol_dimensions ? sobol_row : random_row, {}, setup,
                          std::to_string(setup.trials) + " trials are too few to learn from");
        std::string why;
        if (setup.stops_early)
            why = "stopping rules end trials early";
        else if (setup.trials > most_for_gp)
            why = std::to_string(setup.trials) + " trials are more than gp's " + std::to_string(most_for_gp);
        else if (dimensions > most_dimensions)
            why = std::to_string(dimensions) + " parameters are more than gp's " + std::to_string(most_dimensions);
        else
            return choose(gp_row, {}, setup,
                          "trials are trained to their end and are no more than " + std::to_string(most_for_gp));
        // tpe begins with as many Sobol points as the space asks for and the budget allows, ten at most.
        const auto wish = static_cast<std::int64_t>(2 * dimensions + 2);
        Params options{{"startup", std::max<std::int64_t>(std::min({wish, setup.trials / 4, std::int64_t{10}}), 3)}};
        // Trials that cost a few steps are many: most of them look around (measured by tests/bench/curves).
        if (setup.foretells) options["uniform"] = 0.6;
        return choose(tpe_row, options, setup, why);
    }};

}  // namespace hpo
