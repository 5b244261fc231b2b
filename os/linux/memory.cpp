#include "os/memory.hpp"

#include <sys/mman.h>

namespace hpo::os {

void prefer_large_pages(void* first, std::size_t bytes) { (void)::madvise(first, bytes, MADV_HUGEPAGE); }

}  // namespace hpo::os
