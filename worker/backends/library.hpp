// A shared library that is loaded at run time, so that the programs start without it.
#pragma once

#include <dlfcn.h>

#include <filesystem>
#include <initializer_list>
#include <string>

#include "hpo/result.hpp"

namespace hpo {

/// A shared library that is loaded at run time. It is never unloaded, since drivers keep threads and exit handlers.
class Library {
   public:
    Library() = default;
    /// Loads the first of `names` that can be loaded.
    static Result<Library> open(std::initializer_list<std::string> names) {
        std::string why;
        for (const std::string& name : names) {
            if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return Library(handle);
            const char* error = dlerror();
            why += (why.empty() ? "" : "; ") + std::string(error ? error : name);
        }
        return Error{why};
    }

    explicit operator bool() const { return handle_ != nullptr; }

    /// Sets `function` to the symbol `name`; false if the library has none.
    template <class F>
    bool find(const char* name, F*& function) const {
        function = reinterpret_cast<F*>(dlsym(handle_, name));
        return function != nullptr;
    }

    /// The file from which the library with the function `name` was loaded; empty: unknown.
    [[nodiscard]] std::filesystem::path file(const char* name) const {
        Dl_info found{};
        void* function = dlsym(handle_, name);
        if (!function || dladdr(function, &found) == 0 || !found.dli_fname) return {};
        return found.dli_fname;
    }

   private:
    explicit Library(void* handle) : handle_(handle) {}
    void* handle_ = nullptr;
};

}  // namespace hpo
