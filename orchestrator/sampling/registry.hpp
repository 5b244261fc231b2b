// The samplers that a study file may name (`sampler: {type: ..., option: ...}`). A new sampler needs a file with its
// row and one line in registry.cpp.
#pragma once

#include <memory>
#include <span>

#include "hpo/options.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/sampling/sampler.hpp"

namespace hpo {

/// The row of a sampler. `make` is called with options that are known and in range. It fails for requirements that the
/// table cannot express.
struct SamplerRow {
    PartOptions part;
    Result<std::unique_ptr<Sampler>> (*make)(const Params& options, const SamplerSetup& setup);
    bool as_declared = false;  ///< true if the large-batch policy does not bend its points
    bool quick = false;        ///< true if a proposal takes microseconds for any number of trials
    bool believes = false;     ///< true if it uses preferred values; other samplers refuse them
    bool single = false;       ///< true if it ranks trials by one loss, and refuses further objectives and constraints
};

extern const SamplerRow random_row;
extern const SamplerRow sobol_row;
extern const SamplerRow tpe_row;
extern const SamplerRow gp_row;
extern const SamplerRow cmaes_row;
extern const SamplerRow grid_row;
extern const SamplerRow auto_row;

/// Returns the names, meanings and options of all samplers, for checks, errors and help.
std::span<const PartOptions> sampler_vocabulary();

/// Returns true if the large-batch policy does not bend the points of this sampler.
bool samples_as_declared(const PartSpec& spec);

/// Returns true if a proposal of this sampler takes microseconds. Other samplers run on a separate thread.
bool samples_quickly(const PartSpec& spec);

/// Makes the sampler. Fails for unknown types and options, and if the sampler cannot serve the space.
Result<std::unique_ptr<Sampler>> make_sampler(const PartSpec& spec, const SamplerSetup& setup);

}  // namespace hpo
