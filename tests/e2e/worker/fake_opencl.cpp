// A libOpenCL.so.1 for tests: the system's, which it loads itself, but for what the environment asks to go wrong.
//   FAKE_OPENCL_MEMORY=bytes   the device says that it has so much memory, in all and in one piece
//   FAKE_OPENCL_GIVES=bytes    the device fails at the first buffer that is larger
//   FAKE_OPENCL_LAUNCHES=n     the device fails at the launch after n
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

void* real() {
    static void* const library = [] {
        for (const char* path :
             {"/usr/lib/x86_64-linux-gnu/libOpenCL.so.1", "/usr/lib/aarch64-linux-gnu/libOpenCL.so.1",
              "/usr/lib64/libOpenCL.so.1", "/usr/lib/libOpenCL.so.1"})
            if (void* found = dlopen(path, RTLD_NOW | RTLD_LOCAL)) return found;
        std::abort();
    }();
    return library;
}

template <class F>
F* real_function(const char* name) {
    return reinterpret_cast<F*>(dlsym(real(), name));
}

long long asked(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? -1 : std::atoll(value);
}

}  // namespace

using Symbol = void();

// The symbol is the system's own: asked for here, answered there.
#define FORWARD(name)                                                            \
    extern "C" Symbol* resolve_##name() { return real_function<Symbol>(#name); } \
    extern "C" void name() __attribute__((ifunc("resolve_" #name)))

FORWARD(clGetPlatformIDs);
FORWARD(clGetPlatformInfo);
FORWARD(clGetDeviceIDs);
FORWARD(clCreateContext);
FORWARD(clReleaseContext);
FORWARD(clCreateCommandQueue);
FORWARD(clReleaseCommandQueue);
FORWARD(clReleaseMemObject);
FORWARD(clEnqueueWriteBuffer);
FORWARD(clEnqueueReadBuffer);
FORWARD(clEnqueueCopyBuffer);
FORWARD(clEnqueueFillBuffer);
FORWARD(clCreateProgramWithSource);
FORWARD(clBuildProgram);
FORWARD(clGetProgramBuildInfo);
FORWARD(clReleaseProgram);
FORWARD(clCreateKernel);
FORWARD(clReleaseKernel);
FORWARD(clSetKernelArg);
FORWARD(clFlush);
FORWARD(clFinish);

extern "C" std::int32_t clGetDeviceInfo(void* device, std::uint32_t what, std::size_t size, void* value,
                                        std::size_t* needed) {
    using Function = std::int32_t(void*, std::uint32_t, std::size_t, void*, std::size_t*);
    const auto status = real_function<Function>("clGetDeviceInfo")(device, what, size, value, needed);
    const std::uint64_t memory = static_cast<std::uint64_t>(asked("FAKE_OPENCL_MEMORY"));
    const bool about_memory = what == 0x101F || what == 0x1010;  // in all, and in one piece
    if (about_memory && value != nullptr && asked("FAKE_OPENCL_MEMORY") >= 0)
        std::memcpy(value, &memory, sizeof memory);
    return status;
}

extern "C" std::int32_t clEnqueueNDRangeKernel(void* queue, void* kernel, std::uint32_t dimensions,
                                               const std::size_t* offset, const std::size_t* items,
                                               const std::size_t* group, std::uint32_t events, const void* waits,
                                               void* event) {
    static std::atomic<long long> launches{0};
    const long long most = asked("FAKE_OPENCL_LAUNCHES");
    if (most >= 0 && launches++ >= most) return -5;
    using Function = std::int32_t(void*, void*, std::uint32_t, const std::size_t*, const std::size_t*,
                                  const std::size_t*, std::uint32_t, const void*, void*);
    return real_function<Function>("clEnqueueNDRangeKernel")(queue, kernel, dimensions, offset, items, group, events,
                                                             waits, event);
}

extern "C" void* clCreateBuffer(void* context, std::uint64_t flags, std::size_t bytes, void* host,
                                std::int32_t* status) {
    if (const long long most = asked("FAKE_OPENCL_GIVES"); most >= 0 && bytes > static_cast<std::size_t>(most)) {
        *status = -4;
        return nullptr;
    }
    using Function = void*(void*, std::uint64_t, std::size_t, void*, std::int32_t*);
    return real_function<Function>("clCreateBuffer")(context, flags, bytes, host, status);
}
