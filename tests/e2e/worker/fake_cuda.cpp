// A libcuda.so.1 for tests: a driver that starts as FAKE_CUDA_INIT says (an error number) and has the version
// FAKE_CUDA_VERSION, but no device.
#include <cstdlib>

namespace {

int asked(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? 0 : std::atoi(value);
}

}  // namespace

#define ABSENT(name) \
    extern "C" int name() { return 999; }

extern "C" int cuInit(unsigned) { return asked("FAKE_CUDA_INIT"); }
extern "C" int cuDriverGetVersion(int* version) {
    *version = asked("FAKE_CUDA_VERSION");
    return 0;
}
extern "C" int cuGetErrorString(int, const char** text) {
    *text = "as the test asked";
    return 0;
}
extern "C" int cuDeviceGetCount(int* count) {
    *count = 0;
    return 0;
}
ABSENT(cuDeviceGet)
ABSENT(cuDeviceGetName)
ABSENT(cuDeviceGetPCIBusId)
ABSENT(cuDeviceGetAttribute)
ABSENT(cuDevicePrimaryCtxRetain)
ABSENT(cuDevicePrimaryCtxRelease_v2)
ABSENT(cuCtxSetCurrent)
ABSENT(cuMemGetInfo_v2)
ABSENT(cuMemAlloc_v2)
ABSENT(cuMemFree_v2)
ABSENT(cuMemsetD8Async)
ABSENT(cuMemcpyHtoDAsync_v2)
ABSENT(cuMemcpyDtoHAsync_v2)
ABSENT(cuMemcpyDtoDAsync_v2)
ABSENT(cuStreamCreate)
ABSENT(cuStreamDestroy_v2)
ABSENT(cuStreamSynchronize)
ABSENT(cuModuleLoadData)
ABSENT(cuModuleUnload)
ABSENT(cuModuleGetFunction)
ABSENT(cuLaunchKernel)
