#pragma once

#include <cstddef>

namespace hpo::os {

/// Asks for large pages in whole pages of memory, where the system can be asked.
void prefer_large_pages(void* first, std::size_t bytes);

}  // namespace hpo::os
