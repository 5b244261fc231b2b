// Matches a message by the things that it names: numbers, keys, places, quoted texts. The words around them are free to
// become better English.
#pragma once

#include <gmock/gmock.h>

namespace hpo {

/// Matches a text that contains all parts, in any order.
template <class... Parts>
auto Mentions(const Parts&... parts) {
    return ::testing::AllOf(::testing::HasSubstr(parts)...);
}

}  // namespace hpo
