#include "worker/backends/cpu/blas.hpp"

namespace hpo {

Result<Blas> own_blas() { return load_blas("/System/Library/Frameworks/Accelerate.framework/Accelerate"); }

}  // namespace hpo
