// Independent uniform points (Bergstra and Bengio: "Random search for hyper-parameter optimization", JMLR 2012).

#include "hpo/random.hpp"

#include "orchestrator/sampling/registry.hpp"

namespace hpo {

namespace {

class RandomSampler final : public Sampler {
   public:
    explicit RandomSampler(const SamplerSetup& setup) : seed_(setup.seed), dimensions_(setup.space.size()) {}

    Point propose(std::int64_t trial, std::span<const Site>, int retry) override {
        Point point(dimensions_);
        for (std::size_t d = 0; d < dimensions_; ++d)
            point[d] = draw_unit(seed_, Purpose::sampler, static_cast<std::uint64_t>(trial),
                                 static_cast<std::uint64_t>(retry) * dimensions_ + d);
        return point;
    }

    void tell(const Observation&) override {}

   private:
    std::uint64_t seed_;
    std::size_t dimensions_;
};

}  // namespace

constinit const SamplerRow random_row{{"random", "independent draws from the priors", {}},
                                      [](const Params&, const SamplerSetup& setup) -> Result<std::unique_ptr<Sampler>> {
                                          return std::unique_ptr<Sampler>(std::make_unique<RandomSampler>(setup));
                                      },
                                      false,
                                      true};

}  // namespace hpo
