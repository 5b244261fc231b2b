// The samplers a study file may name (`sampler: {type: ..., option: ...}`). A new sampler is a file with its row and
// one line in registry.cpp.
#pragma once

#include <memory>
#include <span>

#include "hpo/options.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/sampling/sampler.hpp"

namespace hpo {

/// One row. `make` may count on options that are known and in range; it fails for what the table cannot say.
struct SamplerRow {
    PartOptions part;
    Result<std::unique_ptr<Sampler>> (*make)(const Params& options, const SamplerSetup& setup);
    bool as_declared = false;  ///< its points are not bent by the large-batch policy
    bool quick = false;        ///< a proposal takes microseconds, however many trials there are
    bool believes = false;     ///< it takes notice of preferred values: others refuse them
    bool single = false;       ///< it ranks trials by one loss: several objectives and constraints are refused
};

extern const SamplerRow random_row;
extern const SamplerRow sobol_row;
extern const SamplerRow tpe_row;
extern const SamplerRow gp_row;
extern const SamplerRow cmaes_row;
extern const SamplerRow grid_row;
extern const SamplerRow auto_row;

/// Names, meanings and options of all samplers, for checks, errors and help.
std::span<const PartOptions> sampler_vocabulary();

/// Whether the large-batch policy leaves this sampler's points as they are.
bool samples_as_declared(const PartSpec& spec);

/// Whether a proposal of this sampler takes microseconds: others are computed on another thread.
bool samples_quickly(const PartSpec& spec);

/// Fails for unknown types and options, and where the sampler cannot serve the space.
Result<std::unique_ptr<Sampler>> make_sampler(const PartSpec& spec, const SamplerSetup& setup);

}  // namespace hpo
