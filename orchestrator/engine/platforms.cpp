#include "orchestrator/engine/platforms.hpp"

#include <array>

namespace hpo {

namespace {
constexpr std::array rows{&local_platform};
}

const Platform& platform_of(const Study&) { return *rows.front(); }

}  // namespace hpo
