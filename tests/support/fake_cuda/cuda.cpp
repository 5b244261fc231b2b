// A libcuda.so.1 for tests: a CUDA driver whose device is the CPU. The kernels are the real source, compiled as C++.
// The work-items of a group are fibers that switch at barriers. The environment can request:
//   FAKE_CUDA_INIT=n          cuInit returns n
//   FAKE_CUDA_VERSION=n       the driver's version; default 13990, which no real driver has (its kernels may be cached)
//   FAKE_CUDA_DEVICES=n       the number of devices; default 1
//   FAKE_CUDA_CAPABILITY=n    ten times the compute capability; default 90
//   FAKE_CUDA_MEMORY=bytes    the device's memory; default 1 GiB
//   FAKE_CUDA_OTHERS=file     a file with the bytes that other programs use, for cuMemGetInfo; it may change
//   FAKE_CUDA_LAUNCHES=n      the device fails after n launches; each launch within a graph counts
//   FAKE_CUDA_GRAPHS=0        graphs cannot be instantiated
//   FAKE_CUDA_PINNED=0        no pinned memory can be allocated
//   FAKE_CUDA_WAITS=fifo      the first launch of a graph waits until a writer has opened and closed this FIFO
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

// ---- Keywords and functions of CUDA's language that C++ lacks ----

struct Three {
    unsigned x, y, z;
};
static Three threadIdx;
static Three blockIdx;
static void barrier();

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(items)
#define __syncthreads() barrier()
#define __syncwarp() barrier()

struct alignas(16) float4 {
    float x, y, z, w;
};
static float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

// All work-items of the group take part.
template <class T>
static T of_item(T number, unsigned item) {
    static T numbers[256];
    numbers[threadIdx.x] = number;
    barrier();
    const T wanted = numbers[item];
    barrier();
    return wanted;
}
template <class T>
static T __shfl_down_sync(unsigned, T number, unsigned distance) {
    const unsigned item = threadIdx.x;
    return of_item(number, item % 32 + distance < 32 ? item + distance : item);
}
template <class T>
static T __shfl_sync(unsigned, T number, unsigned lane) {
    return of_item(number, threadIdx.x / 32 * 32 + lane);
}

static unsigned __float_as_uint(float number) {
    unsigned bits;
    std::memcpy(&bits, &number, sizeof bits);
    return bits;
}
static float __uint_as_float(unsigned bits) {
    float number;
    std::memcpy(&number, &bits, sizeof number);
    return number;
}

using std::cos;
using std::exp;
using std::exp2;
using std::expm1;
using std::fabs;
using std::log;
using std::log1p;
using std::round;
using std::sin;
using std::sqrt;

// The kernels need this order.
// clang-format off
#include "worker/backends/gpu/dialect.h"
#include "worker/backends/gpu/arguments.h"
#include "worker/backends/gpu/kernels/common.cl"
#include "worker/backends/gpu/kernels/rounding.cl"
#include "worker/backends/gpu/kernels/samples.cl"
#include "worker/backends/gpu/kernels/activation.cl"
#include "worker/backends/gpu/kernels/layer_norm.cl"
#include "worker/backends/gpu/kernels/batch_norm.cl"
#include "worker/backends/gpu/kernels/columns.cl"
#include "worker/backends/gpu/kernels/images.cl"
#include "worker/backends/gpu/kernels/sequences.cl"
#include "worker/backends/gpu/kernels/recurrent.cl"
#include "worker/backends/gpu/kernels/cross_entropy.cl"
#include "worker/backends/gpu/kernels/squared_error.cl"
#include "worker/backends/gpu/kernels/optimizers.cl"
#include "worker/backends/gpu/kernels/products.cl"
// clang-format on

// Saves the position of this stack and switches to the one saved at `to` (the caller saves all other registers).
// swapcontext() does the same, but with two system calls. A stack that waits ends with `saved_words` words, of which
// `return_word` is the address at which it goes on.
extern "C" void fake_cuda_switch(void** from, void* to);
#if defined(__x86_64__)
constexpr int saved_words = 8, return_word = 6;
asm(R"(
    .text
    .globl fake_cuda_switch
    .type fake_cuda_switch, @function
fake_cuda_switch:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
    .size fake_cuda_switch, .-fake_cuda_switch
)");
#elif defined(__aarch64__)
constexpr int saved_words = 20, return_word = 1;
asm(R"(
    .text
    .globl fake_cuda_switch
    .type fake_cuda_switch, %function
fake_cuda_switch:
    stp x29, x30, [sp, -160]!
    stp x19, x20, [sp, 16]
    stp x21, x22, [sp, 32]
    stp x23, x24, [sp, 48]
    stp x25, x26, [sp, 64]
    stp x27, x28, [sp, 80]
    stp d8, d9, [sp, 96]
    stp d10, d11, [sp, 112]
    stp d12, d13, [sp, 128]
    stp d14, d15, [sp, 144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, 16]
    ldp x21, x22, [sp, 32]
    ldp x23, x24, [sp, 48]
    ldp x25, x26, [sp, 64]
    ldp x27, x28, [sp, 80]
    ldp d8, d9, [sp, 96]
    ldp d10, d11, [sp, 112]
    ldp d12, d13, [sp, 128]
    ldp d14, d15, [sp, 144]
    ldp x29, x30, [sp], 160
    ret
    .size fake_cuda_switch, .-fake_cuda_switch
)");
#endif

namespace {

// ---- Groups of work items ----

constexpr unsigned items = WORK_GROUP_SIZE;
constexpr std::size_t stack_bytes = 64 << 10;

/// The stack of a work-item, and the position at which it waits.
struct Fiber {
    std::vector<char> stack = std::vector<char>(stack_bytes);
    void* waits = nullptr;
    bool ended = false;
};
std::vector<Fiber> fibers;
void* scheduler = nullptr;  ///< the position of the stack that runs the items
unsigned current = 0;
bool with_barriers = false;  ///< true once the running kernel has reached a barrier

using Call = void (*)(u8* arena, u8* other, const void* arguments);
struct Work {
    Call call;
    u8* arena;
    u8* other;
    const void* arguments;
};
Work work;

void item();

void step(unsigned index) {
    current = index;
    threadIdx = {index, 0, 0};
    fake_cuda_switch(&scheduler, fibers[index].waits);
}

void item() {
    work.call(work.arena, work.other, work.arguments);
    fibers[current].ended = true;
    static void* nobody;  // never resumed; static, since a sanitizer would guard a local for ever
    fake_cuda_switch(&nobody, scheduler);
}

void begin(unsigned index) {
    Fiber& fiber = fibers[index];
    fiber.ended = false;
    // The stack looks as if `item` had been called, with the alignment of a call, and had switched.
    auto top = reinterpret_cast<std::uintptr_t>(fiber.stack.data() + stack_bytes) / 16 * 16;
    auto* words = reinterpret_cast<std::uintptr_t*>(top) - saved_words;
    std::fill(words, words + saved_words, 0);
    words[return_word] = reinterpret_cast<std::uintptr_t>(&item);
    fiber.waits = words;
    step(index);
}

void run_group() {
    with_barriers = false;
    begin(0);
    if (!with_barriers) {
        for (unsigned i = 1; i < items; ++i) {
            threadIdx = {i, 0, 0};
            work.call(work.arena, work.other, work.arguments);
        }
        return;
    }
    for (unsigned i = 1; i < items; ++i) begin(i);
    while (!fibers[0].ended) {
        for (unsigned i = 0; i < items; ++i) {
            if (fibers[i].ended) std::abort();  // an item ended before a barrier that others reached
            step(i);
        }
    }
    for (const Fiber& fiber : fibers)
        if (!fiber.ended) std::abort();
}

struct Entry {
    Call call;
    std::size_t argument_bytes;
};
#define ENTRY(name, Arguments)                          \
    {#name,                                             \
     {[](u8* arena, u8* other, const void* arguments) { \
          Arguments copy;                               \
          std::memcpy(&copy, arguments, sizeof copy);   \
          name(arena, other, copy);                     \
      },                                                \
      sizeof(Arguments)}},
const std::map<std::string, Entry> kernels{HPO_GPU_KERNELS(ENTRY)};

// ---- The device ----

long long asked(const char* name, long long otherwise) {
    const char* value = std::getenv(name);
    return value == nullptr ? otherwise : std::atoll(value);
}

constexpr int success = 0;
constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;
constexpr int no_context = 201;
constexpr int not_found = 500;
constexpr int launch_failed = 719;

int the_context, the_module;
bool in_context = false;

/// A stream whose copies from and to the host are done when something waits for them, or when the stream does other
/// work, so that code that changes or reads host memory too early is found out.
struct FakeStream {
    std::deque<std::function<void()>> waiting;
    long long done = 0;  ///< of all that were enqueued

    void run(long long until) {
        for (; done < until && !waiting.empty(); ++done) {
            const std::function<void()> copy = std::move(waiting.front());
            waiting.pop_front();
            copy();
        }
    }
    [[nodiscard]] long long enqueued() const { return done + static_cast<long long>(waiting.size()); }
    void run() { run(enqueued()); }
};
std::set<FakeStream*> streams;
FakeStream* stream_of(void* handle) {
    auto* stream = static_cast<FakeStream*>(handle);
    return streams.contains(stream) ? stream : nullptr;
}

struct FakeEvent {
    FakeStream* stream = nullptr;  ///< null: not recorded
    long long after = 0;
};
std::map<unsigned long long, std::size_t> taken;

// ---- Enqueued work, which is recorded while the stream is captured ----

using Done = std::function<int()>;
struct Graph {
    std::vector<Done> nodes;
};
std::unique_ptr<Graph> captured;

int enqueue(Done todo) {
    if (!captured) return todo();
    captured->nodes.push_back(std::move(todo));
    return success;
}

/// Memory is allocated in whole units, like by the real driver.
std::size_t in_pieces(std::size_t bytes) {
    constexpr std::size_t piece = std::size_t{2} << 20;
    return bytes > std::size_t{1} << 50 ? bytes : (bytes + piece - 1) / piece * piece;
}

std::size_t taken_bytes() {
    std::size_t sum = 0;
    for (const auto& [address, bytes] : taken) sum += in_pieces(bytes);
    return sum;
}
std::size_t of_others() {
    const char* path = std::getenv("FAKE_CUDA_OTHERS");
    std::size_t bytes = 0;
    if (path != nullptr) std::ifstream(path) >> bytes;
    return bytes;
}
std::size_t memory_bytes() { return static_cast<std::size_t>(asked("FAKE_CUDA_MEMORY", 1LL << 30)); }

/// Returns true if the whole range is within one allocation.
bool is_taken(unsigned long long address, std::size_t bytes) {
    auto after = taken.upper_bound(address);
    return after != taken.begin() && (--after, address + bytes <= after->first + after->second);
}

}  // namespace

static void barrier() {
    with_barriers = true;
    fake_cuda_switch(&fibers[current].waits, scheduler);
}

extern "C" {

int cuInit(unsigned) { return static_cast<int>(asked("FAKE_CUDA_INIT", success)); }
int cuDriverGetVersion(int* version) {
    *version = static_cast<int>(asked("FAKE_CUDA_VERSION", 13990));
    return success;
}
int cuGetErrorString(int, const char** text) {
    *text = "as the test asked";
    return success;
}
int cuDeviceGetCount(int* count) {
    *count = static_cast<int>(asked("FAKE_CUDA_DEVICES", 1));
    return success;
}
int cuDeviceGet(int* device, int number) {
    *device = number;
    return success;
}
int cuDeviceGetName(char* name, int size, int) {
    std::strncpy(name, "fake CUDA device", static_cast<std::size_t>(size));
    return success;
}
int cuDeviceGetPCIBusId(char* bus, int size, int) {
    std::strncpy(bus, "FFFFFFFF:FF:1F.0", static_cast<std::size_t>(size));
    return success;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
    const int capability = static_cast<int>(asked("FAKE_CUDA_CAPABILITY", 90));
    *value = attribute == 75   ? capability / 10
             : attribute == 76 ? capability % 10
                               : 0;  // the device has memory of its own
    return success;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
    *context = &the_context;
    return success;
}
int cuDevicePrimaryCtxRelease_v2(int) { return success; }
int cuCtxSetCurrent(void* context) {
    in_context = context == &the_context;
    return in_context ? success : no_context;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    *total = memory_bytes();
    *free = *total - std::min(*total, taken_bytes() + of_others());
    return success;
}
int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
    if (!in_context) return no_context;
    if (bytes == 0) return invalid_value;
    if (in_pieces(bytes) > memory_bytes() - taken_bytes()) return out_of_memory;
    void* memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
    std::memset(memory, 0xCD, bytes);
    *address = reinterpret_cast<unsigned long long>(memory);
    taken[*address] = bytes;
    return success;
}
int cuMemFree_v2(unsigned long long address) {
    for (FakeStream* stream : streams) stream->run();
    if (taken.erase(address) == 0) return invalid_value;
    std::free(reinterpret_cast<void*>(address));
    return success;
}
int cuMemsetD8Async(unsigned long long address, unsigned char value, std::size_t bytes, void* handle) {
    FakeStream* const stream = stream_of(handle);
    if (!stream || !is_taken(address, bytes)) return invalid_value;
    stream->run();
    std::memset(reinterpret_cast<void*>(address), value, bytes);
    return success;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void* handle) {
    FakeStream* const stream = stream_of(handle);
    if (!stream || !is_taken(to, bytes) || captured) return invalid_value;
    stream->waiting.push_back([=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
    return success;
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, void* handle) {
    FakeStream* const stream = stream_of(handle);
    if (!stream || !is_taken(from, bytes) || captured) return invalid_value;
    stream->waiting.push_back([=] { std::memcpy(to, reinterpret_cast<void*>(from), bytes); });
    return success;
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, std::size_t bytes, void* handle) {
    FakeStream* const stream = stream_of(handle);
    if (!stream || !is_taken(from, bytes) || !is_taken(to, bytes)) return invalid_value;
    return enqueue([=] {
        stream->run();
        std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
        return success;
    });
}
int cuMemAllocHost_v2(void** data, std::size_t bytes) {
    if (!in_context) return no_context;
    if (asked("FAKE_CUDA_PINNED", 1) == 0) return out_of_memory;
    *data = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    return success;
}
int cuMemFreeHost(void* data) {
    std::free(data);
    return success;
}
int cuEventCreate(void** event, unsigned) {
    *event = new FakeEvent;
    return success;
}
int cuEventRecord(void* event, void* handle) {
    FakeStream* const stream = stream_of(handle);
    if (!stream) return invalid_value;
    *static_cast<FakeEvent*>(event) = {stream, stream->enqueued()};
    return success;
}
int cuEventSynchronize(void* handle) {
    const auto* event = static_cast<FakeEvent*>(handle);
    if (!event->stream) return invalid_value;
    event->stream->run(event->after);
    return success;
}
int cuEventDestroy_v2(void* event) {
    delete static_cast<FakeEvent*>(event);
    return success;
}
/// Lets the stream's next work wait for the event: at that moment, the other stream's copies up to it are done.
int cuStreamWaitEvent(void* handle, void* event, unsigned) {
    FakeStream* const stream = stream_of(handle);
    if (!stream || captured) return invalid_value;
    stream->waiting.push_back([on = *static_cast<FakeEvent*>(event)] {
        if (on.stream) on.stream->run(on.after);
    });
    return success;
}
int cuStreamCreate(void** handle, unsigned) {
    auto* const stream = new FakeStream;
    streams.insert(stream);
    *handle = stream;
    return success;
}
int cuStreamDestroy_v2(void* handle) {
    FakeStream* const stream = stream_of(handle);
    if (!stream) return invalid_value;
    stream->run();
    streams.erase(stream);
    delete stream;
    return success;
}
int cuStreamSynchronize(void* handle) {
    FakeStream* const stream = stream_of(handle);
    if (!stream || captured) return invalid_value;
    stream->run();
    return success;
}
int cuModuleLoadData(void** module, const void* code) {
    if (std::strncmp(static_cast<const char*>(code), "code for sm_90", 14) != 0) return 218;
    *module = &the_module;
    return success;
}
int cuModuleUnload(void*) { return success; }
int cuModuleGetFunction(const Entry** function, void*, const char* name) {
    const auto found = kernels.find(name);
    if (found == kernels.end()) return not_found;
    *function = &found->second;
    return success;
}
int cuLaunchKernel(const Entry* kernel, unsigned groups, unsigned replicas, unsigned depth, unsigned group_x,
                   unsigned group_y, unsigned group_z, unsigned, void* handle, void** arguments, void** extra) {
    FakeStream* const stream = stream_of(handle);
    if (!in_context || !stream || group_x != items || group_y != 1 || group_z != 1 || depth != 1 || extra)
        return invalid_value;
    if (fibers.empty()) fibers.resize(items);
    u8* arena = *static_cast<u8**>(arguments[0]);
    u8* other = *static_cast<u8**>(arguments[1]);
    const auto* told = static_cast<const char*>(arguments[2]);
    return enqueue([=, own = std::vector<char>(told, told + kernel->argument_bytes)] {
        stream->run();
        static long long launches = 0;
        if (const long long most = asked("FAKE_CUDA_LAUNCHES", -1); most >= 0 && launches++ >= most)
            return launch_failed;
        work = {kernel->call, arena, other, own.data()};
        for (unsigned replica = 0; replica < replicas; ++replica)
            for (unsigned group = 0; group < groups; ++group) {
                blockIdx = {group, replica, 0};
                run_group();
            }
        return success;
    });
}

/// Enqueues the work of the fake cuBLAS.
int fake_cuda_enqueue(void (*product)(const void*), const void* arguments, std::size_t bytes) {
    if (!captured)
        for (FakeStream* stream : streams) stream->run();
    const auto* told = static_cast<const char*>(arguments);
    return enqueue([product, own = std::vector<char>(told, told + bytes)] {
        product(own.data());
        return success;
    });
}

int cuStreamBeginCapture_v2(void* handle, int) {
    FakeStream* const stream = stream_of(handle);
    if (!stream || captured) return invalid_value;
    stream->run();
    captured = std::make_unique<Graph>();
    return success;
}
int cuStreamEndCapture(void*, Graph** graph) {
    if (!captured) return invalid_value;
    *graph = captured.release();
    return success;
}
int cuGraphInstantiateWithFlags(Graph** executable, const Graph* graph, unsigned long long) {
    if (asked("FAKE_CUDA_GRAPHS", 1) == 0) return out_of_memory;
    *executable = new Graph(*graph);
    return success;
}
int cuGraphLaunch(const Graph* executable, void* handle) {
    FakeStream* const stream = stream_of(handle);
    if (!in_context || !stream || captured) return invalid_value;
    static bool first = true;
    if (const char* fifo = std::getenv("FAKE_CUDA_WAITS"); fifo && std::exchange(first, false))
        std::ifstream(fifo).get();
    stream->run();
    for (const Done& node : executable->nodes)
        if (const int status = node(); status != success) return status;
    return success;
}
int cuGraphExecDestroy(Graph* executable) {
    delete executable;
    return success;
}
int cuGraphDestroy(Graph* graph) {
    delete graph;
    return success;
}

}  // extern "C"
