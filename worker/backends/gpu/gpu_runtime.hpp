// The interface of a GPU backend to OpenCL or CUDA: memory, copies, launches of the shared kernels, matrix products.
// One file implements it for each of the two. GpuDevice and GpuStream (gpu_device.hpp) use this interface alone.
//
// A runtime is one device with one in-order queue: operations are executed in the order of the calls, and only `read`
// and `synchronise` wait. Any thread may call its methods. After the allocation, a method throws DeviceLost when the
// device has failed, and DeviceFull when it lacks memory for an operation but works otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "hpo/result.hpp"
#include "worker/backends/backend.hpp"

namespace hpo::gpu {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

#include "worker/backends/gpu/arguments.h"

enum class Kernel : std::uint8_t {
#define HPO_KERNEL_VALUE(name, Arguments) name,
    HPO_GPU_KERNELS(HPO_KERNEL_VALUE)
#undef HPO_KERNEL_VALUE
};
/// In the order of Kernel.
inline constexpr const char* kernel_names[] = {
#define HPO_KERNEL_NAME(name, Arguments) #name,
    HPO_GPU_KERNELS(HPO_KERNEL_NAME)
#undef HPO_KERNEL_NAME
};
inline constexpr std::size_t kernel_count = std::size(kernel_names);

/// The source of all kernels: dialect.h, arguments.h and the files of kernels/, as the build found them.
extern const char* const kernel_source;

/// A piece of the device's memory: a cl_mem or a CUdeviceptr. 0: none.
using Memory = std::uintptr_t;

/// A copy that is on its way: an event. 0: none.
using Fence = std::uintptr_t;

/// The three products there are: forward, the weights' gradient, the input's gradient.
enum class Form : std::uint8_t { plain, by_transposed, transposed };

struct Launch {
    Kernel kernel;
    u32 groups = 1;  ///< of WORK_GROUP_SIZE work items
    u32 replicas = 1;
    Memory arena = 0;
    Memory other = 0;
    const void* arguments = nullptr;
    std::size_t argument_bytes = 0;
};

/// Launches, products and copies kept to be done as one: a CUDA graph. Must not outlive its runtime.
class Recording {
   public:
    virtual ~Recording() = default;
};

class Runtime {
   public:
    virtual ~Runtime() = default;

    [[nodiscard]] virtual std::string_view backend() const = 0;  ///< opencl or cuda
    [[nodiscard]] virtual std::string name() const = 0;          ///< "opencl, NVIDIA H100, CLBlast"
    /// Returns the text of Device::driver.
    [[nodiscard]] virtual std::string driver() const { return {}; }
    /// Returns the text of Device::remark.
    [[nodiscard]] virtual std::string remark() const { return {}; }
    [[nodiscard]] virtual std::string products() const { return {}; }  ///< as Device::products
    /// Returns true if the device's memory is the host's memory, so that an allocation counts for both.
    [[nodiscard]] virtual bool shares_host_memory() const = 0;
    [[nodiscard]] virtual bool is_cpu() const { return false; }  ///< an OpenCL device may be one
    /// The size of the device's memory.
    [[nodiscard]] virtual std::size_t total_bytes() const = 0;
    /// Bytes of the device's memory that the context, the code and the libraries take, as measured last.
    [[nodiscard]] virtual std::size_t context_bytes() const = 0;
    virtual void measure_context() {}
    // The next two are as in DeviceMemory.
    [[nodiscard]] virtual std::size_t granularity() const { return 1; }
    [[nodiscard]] virtual std::size_t largest_piece() const { return 0; }

    /// Returns the reason as an error if the device does not multiply in this precision, neither with a library nor
    /// with the kernels.
    [[nodiscard]] virtual Result<void> computes_in(Precision precision) const = 0;

    /// Sets the bytes of the device's memory that no program uses, and its size. False: the driver does not report it.
    virtual bool memory_left(std::size_t& /*free*/, std::size_t& /*total*/) { return false; }

    /// Allocates zeroed memory. The error gives the requested and the available bytes.
    virtual Result<Memory> allocate(std::size_t bytes) = 0;
    virtual void release(Memory memory) = 0;

    /// Copies from the host; `data` may be reused on return.
    virtual void write(Memory to, std::size_t offset, const void* data, std::size_t bytes) = 0;
    /// Allocates host memory from which `send` can copy while the host continues; null: the allocation failed.
    virtual std::byte* allocate_host(std::size_t bytes) = 0;
    virtual void release_host(std::byte* data) = 0;
    /// A fence behind everything that was enqueued so far.
    virtual Fence mark() { return 0; }
    /// Writes as `write` does, but `data` (from allocate_host) must not change until `wait`. Operations enqueued
    /// afterwards wait for the copy. The copy itself waits for `after` only, where the device copies while it computes.
    virtual Fence send(Memory to, std::size_t offset, const std::byte* data, std::size_t bytes, Fence after) = 0;
    virtual void wait(Fence fence) = 0;             ///< also releases the fence
    virtual void forget(Fence fence) noexcept = 0;  ///< as `wait`, but also for a device that has failed

    /// Copies to the host, after everything that was enqueued before.
    virtual void read(Memory from, std::size_t offset, void* data, std::size_t bytes) = 0;
    virtual void copy(Memory from, std::size_t start, Memory to, std::size_t offset, std::size_t bytes) = 0;
    virtual void launch(const Launch& launch) = 0;
    /// Multiplies with a library. False: there is none, and the caller must launch a kernel.
    virtual bool multiply(Memory arena, Form form, const MultiplyArguments& arguments, int replicas) = 0;
    virtual void flush() = 0;  ///< makes the device start with the enqueued work

    /// Records operations from now on, without executing them, until `end_recording`. Reads and writes are not allowed
    /// in between. False: the runtime cannot record.
    virtual bool begin_recording() { return false; }
    /// Null: the recording failed, and the operations must be enqueued again.
    virtual std::unique_ptr<Recording> end_recording() { return nullptr; }
    virtual void replay(const Recording& /*recording*/) {}

    /// The number of launches and products handed to the driver so far; a replayed recording counts as one.
    [[nodiscard]] virtual u64 launches() const = 0;
    virtual void synchronise() = 0;
};

}  // namespace hpo::gpu
