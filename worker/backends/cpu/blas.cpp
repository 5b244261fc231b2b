#include "worker/backends/cpu/blas.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <type_traits>

namespace hpo {
namespace {

const char* named_file() {
    const char* file = std::getenv("HPO_BLAS");
    return file && *file ? file : nullptr;
}

/// Some libraries use all cores for a product. A trial has threads of its own for that, on the cores that are its
/// share.
void keep_to_one_thread(void* library) {
    if (auto* set = reinterpret_cast<void (*)(int)>(::dlsym(library, "openblas_set_num_threads"))) set(1);
    constexpr int single_threaded = 1;  // BLAS_THREADING_SINGLE_THREADED of Accelerate, since macOS 15
    if (auto* set = reinterpret_cast<int (*)(int)>(::dlsym(library, "BLASSetThreading"))) set(single_threaded);
}

}  // namespace

Result<Blas> load_blas(const std::string& file) {
    ::setenv("VECLIB_MAXIMUM_THREADS", "1", 0);  // read by Accelerate at its first product, before macOS 15
    void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: it may have threads
    if (!library) {
        const char* why = ::dlerror();
        return Error{"the library of matrix products cannot be loaded: " + std::string(why ? why : file)};
    }
    Blas found;
    found.sgemm = reinterpret_cast<Blas::Sgemm*>(::dlsym(library, "cblas_sgemm"));
    if (!found.sgemm) return Error{file + " has no cblas_sgemm, by which matrices are multiplied"};
    keep_to_one_thread(library);
    found.name = std::filesystem::path(file).filename().string();
    if (auto* core = reinterpret_cast<const char* (*)()>(::dlsym(library, "openblas_get_corename")))
        found.name = std::string("OpenBLAS ") + core();
    return found;
}

bool blas_is_named() { return named_file() != nullptr; }

const Result<Blas>& blas() {
    static const Result<Blas> chosen = [] {
        const char* file = named_file();
        if (!file) return own_blas();
        auto loaded = load_blas(file);
        return loaded ? loaded : Error{"HPO_BLAS: " + loaded.error().message};
    }();
    return chosen;
}

}  // namespace hpo
