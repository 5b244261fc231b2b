// Muon (Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024): the momentum of each hidden
// matrix is replaced by an orthogonal matrix near to it, which five Newton-Schulz iterations find; all other parameters
// are AdamW's. Updates are scaled so that a weight moves by about as much as with AdamW (Liu et al., "Muon is scalable
// for LLM training", 2025): one learning rate and one weight decay serve both.
//
// Muon consists of operations that all devices have. Products are in float32 for every precision of the training.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/backends/backend.hpp"
#include "worker/models/model.hpp"

namespace hpo {

struct GroupPlan;
struct RateRun;

/// A matrix of a parameter in which several lie one below the other.
struct MatrixPart {
    std::int64_t first = 0;  ///< element of the parameter
    std::int64_t rows = 0, columns = 0;
};
std::vector<MatrixPart> matrices_of(const Parameter& parameter);

/// The workspace of the iterations. L is at least the number of elements of the matrix, S its shorter side.
struct NewtonSchulz {
    Tensor product;        ///< [1, L]
    Tensor gram, squared;  ///< [1, S * S]
    Tensor norm, factor;   ///< [1, 1]
    Tensor zero;           ///< per replica: 0
};
/// Replaces `matrix` by one with the same singular vectors, whose singular values are between about 0.7 and 1.2 where
/// they were not tiny. A matrix of zeros stays one.
void make_orthogonal(Stream& stream, const Tensor& matrix, const NewtonSchulz& work);

/// Writes the numbers of Orthogonal that depend on the replica's own model.
void write_orthogonal_divisors(Stream& stream, int replica, const GroupPlan& plan, const Model& model);
/// Updates a hidden matrix and its momentum. `update`: of the whole run.
void update_orthogonally(Stream& stream, const GroupPlan& plan, const RateRun& run, const Update& update);

}  // namespace hpo
