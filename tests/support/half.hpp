// The compiler's float16, whose name depends on the architecture: GCC 12 has _Float16 in C++ on x86-64 alone.
#pragma once

namespace hpo::testing {

#if defined(__aarch64__)
using Half = __fp16;
#else
using Half = _Float16;
#endif

}  // namespace hpo::testing
