// The default values of well-known libraries for parameters that are known by their names.
#pragma once

#include "hpo/space.hpp"

namespace hpo {

/// Returns a value for each dimension that has the name of a parameter of scikit-learn, XGBoost, LightGBM, PyTorch or
/// Keras: the default of that library, or the end of the range next to it. Ignores case and prefixes before the last
/// '.' or '__' (`optimizer.lr`, `svc__C`). Dimensions with a `prior` or a dependent range have none.
[[nodiscard]] Params usual_values(const Space& space);

}  // namespace hpo
