// A libOpenCL.so.1 for tests. It loads the system's library and forwards all calls to it, except for requested
// failures:
//   FAKE_OPENCL_MEMORY=bytes   the device reports this much memory, in total and in one piece
//   FAKE_OPENCL_PIECE=bytes    the device reports this largest size of a buffer
//   FAKE_OPENCL_GPU=1          the device reports to hpo that it is a GPU; workers compute as on a CPU, with kernels
//   that
//                              are compiled already
//   FAKE_OPENCL_GROUP=items    every kernel reports this largest size of a work group
//   FAKE_OPENCL_GIVES=bytes    the device refuses buffers that are larger
//   FAKE_OPENCL_LAUNCHES=n     the device fails after n launches
//   FAKE_OPENCL=file           a script that is read again whenever it changes: tests/support/FAKES.md
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Int = std::int32_t;
using UInt = std::uint32_t;
using Size = std::size_t;

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

// ---- The script ----

struct Line {
    int number = 0;
    std::string call;
    std::string answer;  ///< a status, `hang`, or a text
    long long after = 0;
    long long device = -1;  ///< -1 means any device
    bool once = false;
};

struct Script {
    std::string path;
    timespec written{};
    off_t size = -1;
    std::vector<Line> lines;
    std::map<std::string, long long> calls;  ///< number of calls in this process
    long long device = -1;                   ///< number of the opened device
};
std::mutex reading;
Script script;

Line line_of(const std::string& text, int number) {
    Line line;
    line.number = number;
    std::istringstream words(text);
    words >> line.call;
    if (line.call == "version") return std::getline(words >> std::ws, line.answer), line;
    words >> line.answer;
    for (std::string word; words >> word;) {
        if (word == "after") words >> line.after;
        if (word == "device") words >> line.device;
        if (word == "once") line.once = true;
    }
    return line;
}

void read_again() {
    const char* path = std::getenv("FAKE_OPENCL");
    struct stat now {};
    if (path == nullptr || stat(path, &now) != 0) return script.lines.clear();
    const bool same = script.size == now.st_size && script.written.tv_sec == now.st_mtim.tv_sec &&
                      script.written.tv_nsec == now.st_mtim.tv_nsec;
    if (same) return;
    script.path = path;
    script.written = now.st_mtim;
    script.size = now.st_size;
    script.lines.clear();
    std::ifstream file(path);
    int number = 0;
    for (std::string text; std::getline(file, text); ++number)
        if (!text.empty() && text[0] != '#') script.lines.push_back(line_of(text, number));
}

/// Returns true in the one process that a line with `once` applies to.
bool first(const Line& line) {
    const int made = open((script.path + ".once-" + std::to_string(line.number)).c_str(), O_CREAT | O_EXCL, 0600);
    if (made >= 0) close(made);
    return made >= 0;
}

/// Returns the script's answer to a call, or "" if there is none.
std::string answer_to(const std::string& call) {
    const std::lock_guard lock(reading);
    read_again();
    const long long before = script.calls[call]++;
    for (const Line& line : script.lines) {
        const bool meant = line.call == call && before >= line.after &&
                           (line.device < 0 || script.device < 0 || line.device == script.device);
        if (meant && (!line.once || first(line))) return line.answer;
    }
    return {};
}

/// Returns the status that the script asks for, or 0 to forward the call.
Int failure_of(const char* call) {
    const std::string answer = answer_to(call);
    while (answer == "hang") pause();
    return answer.empty() ? 0 : std::atoi(answer.c_str());
}

/// Returns the number of a device in the order in which hpo counts devices.
long long number_of(void* wanted) {
    using Platforms = Int(UInt, void**, UInt*);
    using Devices = Int(void*, std::uint64_t, UInt, void**, UInt*);
    void* platforms[16];
    UInt count = 0;
    real_function<Platforms>("clGetPlatformIDs")(16, platforms, &count);
    long long number = 0;
    for (UInt i = 0; i < count && i < 16; ++i) {
        void* devices[64];
        UInt here = 0;
        real_function<Devices>("clGetDeviceIDs")(platforms[i], 0xFFFFFFFF, 64, devices, &here);
        for (UInt j = 0; j < here && j < 64; ++j, ++number)
            if (devices[j] == wanted) return number;
    }
    return -1;
}

/// Returns the script's status for a call, or else forwards the call.
template <class... Arguments>
Int played(const char* call, Arguments... arguments) {
    if (const Int failure = failure_of(call)) return failure;
    return real_function<Int(Arguments...)>(call)(arguments...);
}

template <class... Arguments>
void* made(const char* call, Int* status, Arguments... arguments) {
    if (const Int failure = failure_of(call)) return *status = failure, nullptr;
    return real_function<void*(Arguments..., Int*)>(call)(arguments..., status);
}

}  // namespace

using Symbol = void();

// Returns the system's function.
#define FORWARD(name)                                                            \
    extern "C" Symbol* resolve_##name() { return real_function<Symbol>(#name); } \
    extern "C" void name() __attribute__((ifunc("resolve_" #name)))

FORWARD(clGetPlatformInfo);
FORWARD(clReleaseContext);
FORWARD(clReleaseCommandQueue);
FORWARD(clReleaseMemObject);
FORWARD(clCreateProgramWithSource);
FORWARD(clGetProgramBuildInfo);
FORWARD(clReleaseProgram);
FORWARD(clReleaseKernel);
FORWARD(clSetKernelArg);
FORWARD(clWaitForEvents);
FORWARD(clReleaseEvent);

extern "C" {

Int clGetPlatformIDs(UInt size, void** platforms, UInt* count) {
    return played("clGetPlatformIDs", size, platforms, count);
}
Int clGetDeviceIDs(void* platform, std::uint64_t type, UInt size, void** devices, UInt* count) {
    return played("clGetDeviceIDs", platform, type, size, devices, count);
}
Int clGetDeviceInfo(void* device, UInt what, Size size, void* value, Size* needed) {
    const Int status =
        real_function<Int(void*, UInt, Size, void*, Size*)>("clGetDeviceInfo")(device, what, size, value, needed);
    const std::uint64_t memory = static_cast<std::uint64_t>(asked("FAKE_OPENCL_MEMORY"));
    const bool about_memory = what == 0x101F || what == 0x1010;  // total memory, largest buffer
    if (about_memory && value != nullptr && asked("FAKE_OPENCL_MEMORY") >= 0)
        std::memcpy(value, &memory, sizeof memory);
    const std::uint64_t piece = static_cast<std::uint64_t>(asked("FAKE_OPENCL_PIECE"));
    if (what == 0x1010 && value != nullptr && asked("FAKE_OPENCL_PIECE") >= 0) std::memcpy(value, &piece, sizeof piece);
    if (const std::string version = what == 0x102F ? answer_to("version") : ""; !version.empty()) {
        if (needed != nullptr) *needed = version.size() + 1;
        if (value != nullptr) std::memcpy(value, version.c_str(), std::min(size, version.size() + 1));
        return 0;
    }
    const std::uint64_t gpu = 4;
    if (what == 0x1000 && value != nullptr && asked("FAKE_OPENCL_GPU") == 1 && std::getenv("HPO_ENDPOINT") == nullptr)
        std::memcpy(value, &gpu, sizeof gpu);
    if (what == 0x1027 && value != nullptr && !answer_to("unavailable").empty()) std::memset(value, 0, size);
    return status;
}
void* clCreateContext(const void* properties, UInt count, void* const* devices, void* notify, void* data, Int* status) {
    if (count > 0) script.device = number_of(devices[0]);
    return made("clCreateContext", status, properties, count, devices, notify, data);
}
void* clCreateCommandQueue(void* context, void* device, std::uint64_t properties, Int* status) {
    return made("clCreateCommandQueue", status, context, device, properties);
}
void* clCreateBuffer(void* context, std::uint64_t flags, Size bytes, void* host, Int* status) {
    const long long most = asked("FAKE_OPENCL_GIVES");
    if (most >= 0 && bytes > static_cast<Size>(most)) return *status = -4, nullptr;
    return made("clCreateBuffer", status, context, flags, bytes, host);
}
Int clGetKernelWorkGroupInfo(void* kernel, void* device, UInt what, Size size, void* value, Size* needed) {
    const Int status = real_function<Int(void*, void*, UInt, Size, void*, Size*)>("clGetKernelWorkGroupInfo")(
        kernel, device, what, size, value, needed);
    const Size items = static_cast<Size>(asked("FAKE_OPENCL_GROUP"));
    if (what == 0x11B0 && value != nullptr && asked("FAKE_OPENCL_GROUP") >= 0) std::memcpy(value, &items, sizeof items);
    return status;
}
Int clBuildProgram(void* program, UInt count, void* const* devices, const char* options, void* notify, void* data) {
    return played("clBuildProgram", program, count, devices, options, notify, data);
}
void* clCreateKernel(void* program, const char* name, Int* status) {
    return made("clCreateKernel", status, program, name);
}
Int clEnqueueWriteBuffer(void* queue, void* buffer, UInt blocks, Size offset, Size bytes, const void* from, UInt events,
                         const void* waits, void* event) {
    return played("clEnqueueWriteBuffer", queue, buffer, blocks, offset, bytes, from, events, waits, event);
}
Int clEnqueueReadBuffer(void* queue, void* buffer, UInt blocks, Size offset, Size bytes, void* to, UInt events,
                        const void* waits, void* event) {
    return played("clEnqueueReadBuffer", queue, buffer, blocks, offset, bytes, to, events, waits, event);
}
Int clEnqueueCopyBuffer(void* queue, void* from, void* to, Size from_offset, Size to_offset, Size bytes, UInt events,
                        const void* waits, void* event) {
    return played("clEnqueueCopyBuffer", queue, from, to, from_offset, to_offset, bytes, events, waits, event);
}
Int clEnqueueFillBuffer(void* queue, void* buffer, const void* pattern, Size pattern_bytes, Size offset, Size bytes,
                        UInt events, const void* waits, void* event) {
    return played("clEnqueueFillBuffer", queue, buffer, pattern, pattern_bytes, offset, bytes, events, waits, event);
}
Int clEnqueueNDRangeKernel(void* queue, void* kernel, UInt dimensions, const Size* offset, const Size* items,
                           const Size* group, UInt events, const void* waits, void* event) {
    static long long launches = 0;
    const long long most = asked("FAKE_OPENCL_LAUNCHES");
    if (most >= 0 && launches++ >= most) return -5;
    return played("clEnqueueNDRangeKernel", queue, kernel, dimensions, offset, items, group, events, waits, event);
}
Int clFlush(void* queue) { return played("clFlush", queue); }
Int clFinish(void* queue) { return played("clFinish", queue); }

}  // extern "C"
