#include "orchestrator/sampling/study_cube.hpp"

#include <utility>

#include "orchestrator/sampling/registry.hpp"

namespace hpo {

Result<std::shared_ptr<const CubeMap>> cube_of(const Study& study) {
    Policy policy = study.policy;
    if (samples_as_declared(study.sampler)) policy.scaled = false;
    auto map = CubeMap::make(study.space, policy, study.fixed, study.where);
    if (!map) return map.error();
    return std::make_shared<const CubeMap>(*std::move(map));
}

SamplerSetup setup_in(const std::shared_ptr<const CubeMap>& cube, const Study& study) {
    SamplerSetup setup;
    setup.seed = study.seed;
    setup.space = study.space;
    setup.active = [cube](const Point& point) { return cube->active(point); };
    setup.canonical = [cube](const Point& point) { return cube->canonical(point); };
    setup.values = [cube](std::size_t dimension) { return cube->values(dimension); };
    setup.middle = [cube](std::size_t dimension, std::uint64_t index) { return cube->middle(dimension, index); };
    return setup;
}

}  // namespace hpo
