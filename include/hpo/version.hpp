#pragma once

namespace hpo {
inline constexpr const char* version = "0.1.0";
}  // namespace hpo
