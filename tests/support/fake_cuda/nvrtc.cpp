// A libnvrtc.so.13 for tests. The code that it compiles is the name of the architecture, which the fake driver accepts.
// Like the real library, it loads its builtins by name when it first compiles, without a path to find them by.
//   FAKE_NVRTC_VERSION=n   the version is 13.n; default 990
#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string code;

int copy(const std::string& text, char* to) {
    std::memcpy(to, text.data(), text.size());
    return 0;
}

}  // namespace

extern "C" {

int nvrtcCreateProgram(void** program, const char* source, const char*, int, const char* const*, const char* const*) {
    *program = &code;
    return std::strstr(source, "KERNEL adamw") == nullptr;
}
int nvrtcDestroyProgram(void**) { return 0; }
int nvrtcVersion(int* major, int* minor) {
    const char* asked = std::getenv("FAKE_NVRTC_VERSION");
    *major = 13;
    *minor = asked == nullptr ? 990 : std::atoi(asked);
    return 0;
}
int nvrtcCompileProgram(void*, int count, const char* const* options) {
    constexpr int no_builtins = 7;
    if (dlopen("libnvrtc-builtins.so.13.990", RTLD_NOW | RTLD_LOCAL) == nullptr) return no_builtins;
    for (int i = 0; i < count; ++i)
        if (std::strncmp(options[i], "--gpu-architecture=", 19) == 0) code = "code for " + std::string(options[i] + 19);
    return 0;
}
int nvrtcGetProgramLogSize(void*, std::size_t* size) {
    *size = 0;
    return 0;
}
int nvrtcGetProgramLog(void*, char*) { return 0; }
int nvrtcGetCUBINSize(void*, std::size_t* size) {
    *size = code.size();
    return 0;
}
int nvrtcGetCUBIN(void*, char* to) { return copy(code, to); }
int nvrtcGetPTXSize(void*, std::size_t* size) {
    *size = code.size();
    return 0;
}
int nvrtcGetPTX(void*, char* to) { return copy(code, to); }
int nvrtcGetNumSupportedArchs(int* count) {
    *count = 1;
    return 0;
}
int nvrtcGetSupportedArchs(int* architectures) {
    architectures[0] = 90;
    return 0;
}

}  // extern "C"
