// The failure of a study's store.
#pragma once

#include <stdexcept>

namespace hpo {

/// Thrown when the store fails (a full disk, an I/O error). The session then ends at once, before anyone acts on an
/// event that was not stored.
struct StoreFailed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace hpo
