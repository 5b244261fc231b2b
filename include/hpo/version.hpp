#pragma once

namespace hpo {
inline constexpr const char* version = "0.2.0";
}  // namespace hpo
