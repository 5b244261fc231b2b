// Independent uniform points (Bergstra and Bengio: "Random search for hyper-parameter optimization", JMLR 2012).

#include "hpo/random.hpp"

#include "orchestrator/sampling/registry.hpp"
#include "orchestrator/sampling/start_points.hpp"

namespace hpo {

namespace {

class RandomSampler final : public Sampler {
   public:
    explicit RandomSampler(const SamplerSetup& setup)
        : setup_(setup), seed_(setup.seed), dimensions_(setup.space.size()) {}

    [[nodiscard]] bool reads_pending() const override { return false; }
    Point propose(std::int64_t trial, std::span<const Site>, int retry) override {
        if (setup_.beliefs || setup_.allowed) {
            std::uint64_t element = static_cast<std::uint64_t>(retry) << 24;
            return draw_from_priors(setup_, [&] {
                return draw_unit(seed_, Purpose::sampler, static_cast<std::uint64_t>(trial), element++);
            });
        }
        Point point(dimensions_);
        for (std::size_t d = 0; d < dimensions_; ++d)
            point[d] = draw_unit(seed_, Purpose::sampler, static_cast<std::uint64_t>(trial),
                                 static_cast<std::uint64_t>(retry) * dimensions_ + d);
        return point;
    }

    void tell(const Observation&) override {}

   private:
    SamplerSetup setup_;
    std::uint64_t seed_;
    std::size_t dimensions_;
};

}  // namespace

constinit const SamplerRow random_row{
    {"random", "independent draws from the ranges, or from priors where parameters have them", {}},
    [](const Params&, const SamplerSetup& setup) -> Result<std::unique_ptr<Sampler>> {
        return std::unique_ptr<Sampler>(std::make_unique<RandomSampler>(setup));
    },
    false,
    true,
    true};

}  // namespace hpo
