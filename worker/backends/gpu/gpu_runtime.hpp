// What a GPU backend asks of OpenCL or CUDA: memory, copies, launches of the kernels both share, matrix products. One
// file implements it for each; GpuDevice and GpuStream (gpu_device.hpp) stand on it and know neither.
//
// A runtime is one device with one in-order queue: everything happens in the order it was asked for, and only `read`
// and `synchronise` wait. Its methods may be called by any thread. A device that fails once its memory is there throws
// DeviceLost; one that lacks memory for what it is to do, and is well otherwise, DeviceFull.
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

/// All kernels, once: the enumeration and the names are made from this list.
#define HPO_GPU_KERNELS(K)            \
    K(fill)                           \
    K(initialise)                     \
    K(gather_f32)                     \
    K(gather_u8)                      \
    K(activate)                       \
    K(activate_backward)              \
    K(layer_norm)                     \
    K(layer_norm_backward_columns)    \
    K(layer_norm_backward_rows)       \
    K(cross_entropy_rows)             \
    K(cross_entropy_total)            \
    K(squared_error_parts)            \
    K(squared_error_total)            \
    K(norm_parts)                     \
    K(norm_total)                     \
    K(adamw)                          \
    K(sgd)                            \
    K(advance)                        \
    K(multiply)                       \
    K(multiply_by_transposed)         \
    K(multiply_transposed)            \
    K(multiply_rounded)               \
    K(multiply_by_transposed_rounded) \
    K(multiply_transposed_rounded)    \
    K(round_operand)

enum class Kernel : std::uint8_t {
#define HPO_KERNEL_VALUE(name) name,
    HPO_GPU_KERNELS(HPO_KERNEL_VALUE)
#undef HPO_KERNEL_VALUE
};
/// In the order of Kernel.
inline constexpr const char* kernel_names[] = {
#define HPO_KERNEL_NAME(name) #name,
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
    /// Why it is slower than it could be, and the cure, as Device::remark; empty: it is not.
    [[nodiscard]] virtual std::string remark() const { return {}; }
    /// Whether its memory is the host's too: what is taken of the one is taken of the other.
    [[nodiscard]] virtual bool shares_host_memory() const = 0;
    [[nodiscard]] virtual bool is_cpu() const { return false; }  ///< an OpenCL device may be one
    /// Of all its memory, of all programs.
    [[nodiscard]] virtual std::size_t total_bytes() const = 0;
    /// Bytes of its memory that it takes besides what was allocated: context, code, libraries. As measured last.
    [[nodiscard]] virtual std::size_t context_bytes() const = 0;
    virtual void measure_context() {}
    /// As DeviceMemory's.
    [[nodiscard]] virtual std::size_t granularity() const { return 1; }
    [[nodiscard]] virtual std::size_t largest_piece() const { return 0; }

    /// Whether it multiplies in this precision, by a library or the kernels. An error says why not.
    [[nodiscard]] virtual Result<void> computes_in(Precision precision) const = 0;

    /// Bytes of its memory that no program uses, and all; false: the driver does not tell.
    virtual bool memory_left(std::size_t& /*free*/, std::size_t& /*total*/) { return false; }

    /// Zeroed. An error says what was asked for and what there is.
    virtual Result<Memory> allocate(std::size_t bytes) = 0;
    virtual void release(Memory memory) = 0;

    /// `data` may be reused on return.
    virtual void write(Memory to, std::size_t offset, const void* data, std::size_t bytes) = 0;
    /// Memory of the host that copies read from while the host goes on; null: there is none.
    virtual std::byte* allocate_host(std::size_t bytes) = 0;
    virtual void release_host(std::byte* data) = 0;
    /// As `write`, but `data`, of allocate_host, is read later: until `wait`, which forgets the fence, too.
    virtual Fence send(Memory to, std::size_t offset, const std::byte* data, std::size_t bytes) = 0;
    virtual void wait(Fence fence) = 0;
    virtual void forget(Fence fence) noexcept = 0;  ///< waits where it can, whatever befell the device

    /// Waits for everything before it.
    virtual void read(Memory from, std::size_t offset, void* data, std::size_t bytes) = 0;
    virtual void copy(Memory memory, std::size_t from, std::size_t to, std::size_t bytes) = 0;
    virtual void launch(const Launch& launch) = 0;
    /// By a library; false: there is none, the kernels are to do it.
    virtual bool multiply(Memory arena, Form form, const MultiplyArguments& arguments, int replicas) = 0;
    virtual void flush() = 0;  ///< the queue begins with what it holds

    /// What is asked for from now on is not done but kept, until `end_recording`; no reads and writes in between.
    /// False: there are no recordings here.
    virtual bool begin_recording() { return false; }
    /// Null: it could not be kept, and is to be asked for again.
    virtual std::unique_ptr<Recording> end_recording() { return nullptr; }
    virtual void replay(const Recording& /*recording*/) {}

    /// Launches and products handed to the driver so far; a recording is one.
    [[nodiscard]] virtual u64 launches() const = 0;
    virtual void synchronise() = 0;
};

}  // namespace hpo::gpu
