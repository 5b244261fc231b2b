#pragma once

#include <type_traits>
#include <utility>

#include "hpo/result.hpp"

namespace hpo {

/// Returns the value of a result. Throws Fatal with the message of an error.
template <class T>
T or_fail(Result<T> result) {
    if (!result) throw Fatal(result.error().message);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace hpo
