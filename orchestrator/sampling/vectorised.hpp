// HPO_VECTORISED before a function: it is compiled for CPUs with AVX2 as well, and the one that the CPU has is chosen
// when the program starts. Sanitizers of threads and addresses are not ready for that choice so early, and do without.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define HPO_VECTORISED __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define HPO_VECTORISED
#endif
