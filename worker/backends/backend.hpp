// The interface between models and the devices that compute them.
//
// A Device provides memory (Buffer) and queues (Stream). A Stream works on one arena, which is the memory of a fused
// group: K models (replicas) that train side by side, laid out by tensor.hpp before the first step. Nothing is
// allocated after that. Every operation does the same for each replica, and a replica's numbers depend on that replica
// alone. Numbers that differ between replicas (learning rate, decay, dropout probability, smoothing, seed, iteration,
// alive) are stored once per replica in the arena: as a 1 x 1 tensor made by Layout::add_per_replica, or as an entry
// (Tensor::at) of a table [1, W] made by Layout::add. A number that all replicas share is a plain argument.
//
// Operations (operations.hpp) are enqueued in order; only `read` and `synchronise` wait. Their shapes are those of one
// replica: B rows of a micro-batch, I inputs, O outputs, C classes, P elements of the parameter block, W iterations of
// a window. Elements are f32 unless another type is given. "Written" means that the old content is never read (it may
// be NaN). Inputs and outputs must not overlap unless this is said. A wrong shape is a bug of the caller and is
// asserted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "hpo/result.hpp"
#include "worker/backends/operations.hpp"
#include "worker/backends/order.hpp"
#include "worker/backends/tensor.hpp"

namespace hpo {

/// Memory of a device, aligned to `alignment` bytes. The destructor frees it. Must not outlive its device.
class Buffer {
   public:
    virtual ~Buffer() = default;
    [[nodiscard]] virtual std::size_t bytes() const = 0;
};

/// Host memory in two parts, for data that a device does not hold: the host fills one part while the other is copied.
/// Must not outlive its stream.
class Stage {
   public:
    virtual ~Stage() = default;
    /// The part that was sent longest ago; waits until its copy is done. Aligned as Buffers are.
    virtual std::span<std::byte> next() = 0;
    /// Copies the beginning of the part that next() returned to `to` (the whole tensor, at replica 0), before any
    /// operation enqueued afterwards. Returns without waiting where the device allows it. Each part has a target of its
    /// own: the copy may happen while the operations enqueued since the last `send` compute, which read the other
    /// target.
    virtual void send(const Tensor& to) = 0;
};

/// A queue of operations on one arena. One thread at a time may use it. Must not outlive its arena.
class Stream {
   public:
    virtual ~Stream() = default;

    [[nodiscard]] virtual int replicas() const = 0;
    /// Operations enqueued from now on work on `count` replicas from `first` on only; `first + count` is at most the
    /// number the stream was made for. Copies from and to the host name their replica, independent of the selection.
    virtual void select_replicas(int first, int count) = 0;

    /// Copies `data` to all of one replica of `to`; `data` may be reused on return.
    virtual void write_bytes(const Tensor& to, int replica, std::span<const std::byte> data) = 0;
    /// Waits for all operations enqueued before, then copies one replica of `from` whole.
    virtual void read_bytes(const Tensor& from, int replica, std::span<std::byte> data) = 0;
    /// Waits for all enqueued operations.
    virtual void synchronise() = 0;

    /// Copies from another arena of the same device, including the bytes between the replicas: same shape, type and
    /// replica stride. The other arena may be freed when this stream has been destroyed or synchronised.
    virtual void copy_from(const Buffer& arena, const Tensor& from, const Tensor& to) = 0;

    /// Has each selected replica do an operation.
    virtual void enqueue(const Operation& operation) = 0;
    /// Returns true if LinearBackward::adamw may be given.
    [[nodiscard]] virtual bool updates_in_backward() const { return false; }
    /// Returns true if Convolve and ConvolveBackward may be enqueued. Otherwise products of unfolded patches are
    /// faster.
    [[nodiscard]] virtual bool convolves() const { return false; }

    /// Host memory in two parts of `bytes` bytes each. Throws std::bad_alloc.
    virtual std::unique_ptr<Stage> stage(std::size_t bytes) = 0;

    /// Runs `operations`, which must enqueue the same operations with the same arguments each time it is given with
    /// this `name` and the same selected replicas: only the content of the arena may differ. It must not copy from or
    /// to the host. A device with graphs records them the second time and replays the recording from then on, without
    /// calling `operations`.
    virtual void repeat(std::uint64_t /*name*/, const std::function<void()>& operations) { operations(); }

    // Copies of numbers; T must be the tensor's type.
    template <class T>
    void write(const Tensor& to, int replica, std::span<const T> values) {
        assert(to.type == type_of<T>());
        write_bytes(to, replica, std::as_bytes(values));
    }
    template <class T>
    void write(const Tensor& to, int replica, T value) {
        write(to, replica, std::span<const T>(&value, 1));
    }
    template <class T>
    void read(const Tensor& from, int replica, std::span<T> values) {
        assert(from.type == type_of<T>());
        read_bytes(from, replica, std::as_writable_bytes(values));
    }
    template <class T>
    T read(const Tensor& from, int replica) {
        T value{};
        read(from, replica, std::span<T>(&value, 1));
        return value;
    }
};

/// Thrown when a device failed while it computed. Nothing on it can be trusted any more: the process must end, so that
/// its trials are tried again by another.
class DeviceLost : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Thrown when a device has less free memory than an operation needs. The trial does not fit now; the device is fine.
class DeviceFull : public std::bad_alloc {
   public:
    explicit DeviceFull(const std::string& message) : message_(message) {}
    [[nodiscard]] const char* what() const noexcept override { return message_.what(); }

   private:
    std::runtime_error message_;  ///< its copies do not throw
};

/// The memory that holds a device's buffers.
struct DeviceMemory {
    bool of_its_own = false;        ///< the device's; otherwise the process's
    bool shared_with_host = false;  ///< the device's, which is the host's too: integrated GPUs, PoCL
    std::size_t total_bytes = 0;    ///< of the device, for all programs; 0: not known
    std::size_t context_bytes = 0;  ///< of the device, taken already by context, code and libraries, as measured
    std::size_t granularity = 1;    ///< an allocation takes a multiple of this number of bytes
    std::size_t largest_piece = 0;  ///< bytes of one allocation at most; 0: no limit

    /// Bytes that an allocation of `bytes` takes.
    [[nodiscard]] std::size_t taken_by(std::size_t bytes) const {
        return (bytes + granularity - 1) / granularity * granularity;
    }
};

/// A device's memory at this moment, over all programs. Bytes.
struct MemoryLeft {
    std::size_t free = 0;
    std::size_t total = 0;
};

/// A processor that trains. Any thread may call its methods.
class Device {
   public:
    virtual ~Device() = default;

    [[nodiscard]] virtual std::string_view backend() const = 0;  ///< cpu, opencl or cuda
    [[nodiscard]] virtual std::string name() const = 0;          ///< backend and processor: "cpu, x86-64-v4, SkylakeX"
    /// The version of the device's driver. Empty: it has none, or the driver does not tell.
    [[nodiscard]] virtual std::string driver() const { return {}; }
    /// A warning: why the device is slower than it could be, and the cure. Empty: nothing is wrong.
    [[nodiscard]] virtual std::string remark() const { return {}; }
    /// The library that multiplies matrices, with its version and file, or why it is not the usual library. Empty:
    /// `name` says it.
    [[nodiscard]] virtual std::string products() const { return {}; }
    [[nodiscard]] virtual DeviceMemory memory() const { return {}; }
    /// Measures context_bytes again: drivers load code and take workspaces when these are first used.
    virtual void measure_context() {}
    /// The maximum number of trials side by side; 1 where more gain nothing.
    [[nodiscard]] virtual int slots() const { return 1; }
    /// Free memory of the device; nothing where its driver does not report it.
    [[nodiscard]] virtual std::optional<MemoryLeft> memory_left() { return {}; }
    /// Computes on these cores of the host from now on, with a thread each, to the same results: see ThreadPool. Not
    /// while an operation runs. Devices that compute elsewhere ignore it.
    virtual void use_cores(std::span<const int> /*cores*/) {}
    /// Number of launches handed to the driver so far (a graph counts as one); 0: they are not counted.
    [[nodiscard]] virtual std::uint64_t launches() const { return 0; }
    /// Bytes that the device writes and reads again soon at full speed: operations that need much temporary memory work
    /// on parts of this size. Half of a usual second-level cache; on a GPU, enough to keep all its cores busy.
    [[nodiscard]] virtual std::int64_t part_bytes() const { return std::int64_t{1} << 19; }
    /// Bytes of the device's memory that a stream takes in addition to its arena.
    [[nodiscard]] virtual std::size_t stream_bytes(int /*replicas*/) const { return 0; }
    /// Returns the reason as an error if the device does not multiply in this precision.
    [[nodiscard]] virtual Result<void> computes_in(Precision precision) const = 0;
    /// Zeroed memory of exactly this many bytes. The error tells the missing bytes.
    virtual Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) = 0;
    /// `arena` and the tensors of every operation must come from one Layout of `replicas` replicas. Throws DeviceFull
    /// where stream_bytes cannot be allocated.
    virtual std::unique_ptr<Stream> stream(Buffer& arena, int replicas) = 0;
};

}  // namespace hpo
