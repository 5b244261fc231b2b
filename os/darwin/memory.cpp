#include "os/memory.hpp"

namespace hpo::os {

void prefer_large_pages(void*, std::size_t) {}

}  // namespace hpo::os
