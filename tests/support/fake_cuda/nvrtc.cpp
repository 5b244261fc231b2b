// A libnvrtc.so.13 for tests: its code is the name of the architecture, which the fake driver knows what to do with.
#include <cstddef>
#include <cstring>
#include <string>

namespace {

std::string code;

int give(const std::string& text, char* to) {
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
int nvrtcCompileProgram(void*, int count, const char* const* options) {
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
int nvrtcGetCUBIN(void*, char* to) { return give(code, to); }
int nvrtcGetPTXSize(void*, std::size_t* size) {
    *size = code.size();
    return 0;
}
int nvrtcGetPTX(void*, char* to) { return give(code, to); }
int nvrtcGetNumSupportedArchs(int* count) {
    *count = 1;
    return 0;
}
int nvrtcGetSupportedArchs(int* architectures) {
    architectures[0] = 90;
    return 0;
}

}  // extern "C"
