// A function with HPO_VECTORISED is also compiled for CPUs with AVX2. The version for the CPU is selected when the
// program starts. ThreadSanitizer and AddressSanitizer are not initialised that early, so the macro is empty with them.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define HPO_VECTORISED __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define HPO_VECTORISED
#endif
