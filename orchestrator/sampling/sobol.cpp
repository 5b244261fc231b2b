// Sobol's sequence with the direction numbers of Joe and Kuo ("Constructing Sobol sequences with better two-dimensional
// projections", SIAM J. Sci. Comput. 2008; Boost's table), shifted modulo 1 by the seed (Cranley and Patterson:
// "Randomization of number theoretic methods for multiple integration", SIAM J. Numer. Anal. 1976). Trial n takes the
// n-th point, so that proposals depend only on the seed and the number.

#include "orchestrator/sampling/sobol.hpp"

#include <boost/random/sobol.hpp>
#include <cmath>

#include "hpo/random.hpp"
#include "orchestrator/sampling/registry.hpp"
#include "orchestrator/sampling/start_points.hpp"

namespace hpo {

namespace {

class SobolSampler final : public Sampler {
   public:
    explicit SobolSampler(const SamplerSetup& setup) : seed_(setup.seed), points_(setup) {}

    [[nodiscard]] bool reads_pending() const override { return false; }
    Point propose(std::int64_t trial, std::span<const Site>, int retry) override {
        const auto number = static_cast<std::uint64_t>(trial);
        std::uint64_t element = static_cast<std::uint64_t>(retry) << 24;
        return points_.at(number, retry, [&] { return draw_unit(seed_, Purpose::sampler, number, element++); });
    }

    void tell(const Observation&) override {}

   private:
    std::uint64_t seed_;
    EvenPoints points_;
};

}  // namespace

Point sobol_point(std::uint64_t seed, std::uint64_t number, std::size_t dimensions, int retry) {
    Point point(dimensions);
    if (dimensions == 0) return point;
    boost::random::sobol engine(dimensions);
    engine.seed(number);
    const double scale = std::ldexp(1.0, -64);
    for (std::size_t d = 0; d < dimensions; ++d) {
        // A retry shifts the same point differently, since other points of the sequence belong to other trials.
        const double shift = draw_unit(seed, Purpose::startup, static_cast<std::uint64_t>(retry), d);
        const double shifted = static_cast<double>(engine()) * scale + shift;
        point[d] = shifted >= 1 ? shifted - 1 : shifted;
    }
    return point;
}

constinit const SamplerRow sobol_row{{"sobol", "evenly spread points (quasi-random)", {}},
                                     [](const Params&, const SamplerSetup& setup) -> Result<std::unique_ptr<Sampler>> {
                                         if (setup.space.size() > sobol_dimensions)
                                             return Error{"sampler sobol serves " + std::to_string(sobol_dimensions) +
                                                          " parameters at most, the space has " +
                                                          std::to_string(setup.space.size())};
                                         return std::unique_ptr<Sampler>(std::make_unique<SobolSampler>(setup));
                                     },
                                     false,
                                     true};

}  // namespace hpo
