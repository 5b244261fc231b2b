#include "worker/backends/gpu/cuda_runtime.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>

#include "worker/backends/backend.hpp"
#include "worker/backends/gpu/cuda_api.hpp"
#include "worker/backends/gpu/cuda_compiler.hpp"
#include "worker/backends/gpu/cuda_ring.hpp"

namespace hpo::gpu {
namespace {

/// The workspace that NVIDIA recommends for its largest devices. cuBLAS gets it once, so that it allocates nothing
/// while it computes.
constexpr std::size_t blas_workspace_bytes = std::size_t{32} << 20;

/// A context with its libraries takes a third to a half of this. If the use of the device by all programs has grown by
/// more, another program has allocated memory at the same moment.
constexpr std::size_t most_context_bytes = std::size_t{2} << 30;

/// The granularity of cuMemAlloc: larger allocations take a multiple of this size (observed on every GPU since Volta).
constexpr std::size_t granularity_of_allocations = std::size_t{2} << 20;

std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string megabytes(std::size_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

struct CudaRecording : Recording {
    CudaRecording(const cuda::Api& from, cuda::GraphExecutable made) : api(from), executable(made) {}
    ~CudaRecording() override { api.destroy_executable(executable); }
    CudaRecording(const CudaRecording&) = delete;
    CudaRecording& operator=(const CudaRecording&) = delete;

    const cuda::Api& api;
    cuda::GraphExecutable executable;
};

class CudaRuntime : public Runtime {
   public:
    explicit CudaRuntime(const cuda::Api& api) : api_(api) {}
    ~CudaRuntime() override;
    CudaRuntime(const CudaRuntime&) = delete;
    CudaRuntime& operator=(const CudaRuntime&) = delete;

    /// Opens the device. The error is that of the first step that fails.
    Result<void> open(std::optional<std::size_t> number);

    [[nodiscard]] std::string_view backend() const override { return "cuda"; }
    [[nodiscard]] std::string name() const override {
        return "cuda, " + name_ + (blas_handle_ ? ", cuBLAS" : ", own products");
    }
    [[nodiscard]] std::string driver() const override { return cuda::driver_version(); }
    [[nodiscard]] std::string remark() const override { return without_blas_; }
    [[nodiscard]] std::string products() const override {
        return blas_handle_ ? "matrix products by " + blas_.file : without_blas_;
    }
    [[nodiscard]] bool shares_host_memory() const override { return integrated_; }
    [[nodiscard]] std::size_t total_bytes() const override { return total_bytes_; }
    [[nodiscard]] std::size_t context_bytes() const override { return context_bytes_; }
    void measure_context() override;
    [[nodiscard]] std::size_t granularity() const override { return granularity_of_allocations; }

    [[nodiscard]] Result<void> computes_in(Precision precision) const override;

    bool memory_left(std::size_t& free, std::size_t& total) override {
        enter();
        return api_.memory_info(&free, &total) == cuda::success;
    }

    Result<Memory> allocate(std::size_t bytes) override;
    void release(Memory memory) override;
    void write(Memory to, std::size_t offset, const void* data, std::size_t bytes) override;
    std::byte* allocate_host(std::size_t bytes) override;
    void release_host(std::byte* data) override;
    Fence mark() override;
    Fence send(Memory to, std::size_t offset, const std::byte* data, std::size_t bytes, Fence after) override;
    void wait(Fence fence) override;
    void forget(Fence fence) noexcept override;
    void read(Memory from, std::size_t offset, void* data, std::size_t bytes) override;
    void copy(Memory from, std::size_t start, Memory to, std::size_t offset, std::size_t bytes) override;
    void launch(const Launch& launch) override;
    bool multiply(Memory arena, Form form, const MultiplyArguments& arguments, int replicas) override;
    void flush() override {}  // CUDA starts at once
    void synchronise() override {
        enter();
        expect(api_.synchronise(stream_), "cuStreamSynchronize");
    }
    bool begin_recording() override;
    std::unique_ptr<Recording> end_recording() override;
    void replay(const Recording& recording) override;
    [[nodiscard]] u64 launches() const override { return launches_; }

   private:
    Result<void> find_device(std::optional<std::size_t> number);
    Result<void> load_kernels();
    void load_products();
    [[nodiscard]] std::string error_text(int status) const {
        const char* text = nullptr;
        api_.error_text(status, &text);
        return "CUDA error " + std::to_string(status) + (text ? std::string(", ") + text : "");
    }
    void expect(int status, const char* what) const {
        if (status == cuda::success) return;
        // A failure during a recording makes the stream unusable.
        if (status == cuda::out_of_memory && !recording_)
            throw DeviceFull("not enough memory on " + name_ + " for " + what + ": " + error_text(status));
        throw DeviceLost(name_ + " failed: " + what + ": " + error_text(status));
    }
    Fence mark(cuda::Stream stream);
    void count_launch() { launches_ += recording_ ? 0 : 1; }
    /// Makes the context current for the calling thread.
    void enter() { expect(api_.set_context(context_), "cuCtxSetCurrent"); }

    cuda::Api api_;
    cuda::Blas blas_;
    int driver_version_ = 0;
    cuda::Device device_ = 0;
    std::string name_ = "the CUDA device";
    int capability_ = 0;
    bool integrated_ = false;
    std::size_t context_bytes_ = 0;
    std::size_t least_context_bytes_ = 0;  ///< the estimate where nothing can be measured
    std::size_t before_ = 0;               ///< in use on the device before it was opened, by all programs; 0: unknown
    std::string bus_;
    cuda::Ring ring_;
    std::map<Memory, std::size_t> taken_;  ///< bytes by allocation, rounded up to the granularity
    std::mutex counting_;
    std::size_t total_bytes_ = 0;
    cuda::Context context_ = nullptr;
    cuda::Stream stream_ = nullptr;
    cuda::Stream copies_ = nullptr;  ///< for copies while `stream_` computes; null until the first
    cuda::Module module_ = nullptr;
    std::array<cuda::Function, kernel_count> kernels_{};
    bool recording_ = false;
    std::atomic<u64> launches_ = 0;
    cuda::Blas::Handle blas_handle_ = nullptr;
    std::string without_blas_;  ///< the reason why cuBLAS cannot be used; empty: it can
    cuda::Address blas_workspace_ = 0;
};

Result<void> CudaRuntime::find_device(std::optional<std::size_t> number) {
    if (const int status = api_.init(0); status == cuda::no_device)
        return Error{"the CUDA driver finds no device (CUDA_VISIBLE_DEVICES may hide it)"};
    else if (status != cuda::success)
        return Error{"the CUDA driver does not start: " + error_text(status)};
    api_.driver_version(&driver_version_);
    if (driver_version_ < 11020)
        return Error{"the CUDA driver is for CUDA " + version_text(driver_version_) + "; 11.2 or later is needed"};
    int count = 0;
    if (api_.count_devices(&count) != cuda::success || count == 0)
        return Error{"the CUDA driver finds no device (CUDA_VISIBLE_DEVICES may hide it)"};
    const std::size_t chosen = number.value_or(0);
    if (chosen >= static_cast<std::size_t>(count))
        return Error{"there is no CUDA device " + std::to_string(chosen) + ": they are numbered 0 to " +
                     std::to_string(count - 1)};
    if (const int status = api_.get_device(&device_, static_cast<int>(chosen)); status != cuda::success)
        return Error{"CUDA device " + std::to_string(chosen) + ": " + error_text(status)};
    char name[256] = "";
    if (api_.device_name(name, sizeof name, device_) == cuda::success) name_ = name;
    int major = 0;
    int minor = 0;
    int integrated = 0;
    if (api_.device_attribute(&major, cuda::attribute_capability_major, device_) != cuda::success ||
        api_.device_attribute(&minor, cuda::attribute_capability_minor, device_) != cuda::success)
        return Error{name_ + " does not say its compute capability"};
    api_.device_attribute(&integrated, cuda::attribute_integrated, device_);
    capability_ = 10 * major + minor;
    integrated_ = integrated != 0;
    return {};
}

Result<void> CudaRuntime::load_kernels() {
    auto code = cached_for_cuda(capability_, driver_version_);
    if (!code) return code.error();
    int status = api_.load_module(&module_, code->c_str());
    if (status != cuda::success) {  // the file may be damaged
        code = cached_for_cuda(capability_, driver_version_, true);
        if (!code) return code.error();
        status = api_.load_module(&module_, code->c_str());
    }
    if (status != cuda::success)
        return Error{"the CUDA driver (" + version_text(driver_version_) + ") does not load the kernels: " +
                     error_text(status) + "; it may be older than the CUDA toolkit's libraries: update it"};
    for (std::size_t i = 0; i < kernel_count; ++i)
        if (status = api_.get_function(&kernels_[i], module_, kernel_names[i]); status != cuda::success)
            return Error{name_ + " has no kernel " + std::string(kernel_names[i]) + ": " + error_text(status)};
    return {};
}

/// Starts cuBLAS. Where that fails, the kernels compute the products.
void CudaRuntime::load_products() {
    const auto without = [&](const std::string& why) {
        without_blas_ = name_ + " multiplies by hpo's own kernels, several times slower than cuBLAS: " + why;
    };
    const auto blas = cuda::Blas::load(driver_version_ / 1000);
    if (!blas) return without(blas.error().message);
    blas_ = *blas;
    if (const int status = blas_.create(&blas_handle_); status != 0) {
        blas_handle_ = nullptr;
        return without("cublasCreate fails with error " + std::to_string(status));
    }
    if (const int status = api_.allocate(&blas_workspace_, blas_workspace_bytes); status != cuda::success)
        without("it has no " + megabytes(blas_workspace_bytes) + " for its workspace: " + error_text(status));
    else if (blas_.set_stream(blas_handle_, stream_) != 0 ||
             blas_.set_workspace(blas_handle_, blas_workspace_, blas_workspace_bytes) != 0)
        without("it takes neither stream nor workspace");
    else
        return;
    blas_.destroy(blas_handle_);
    blas_handle_ = nullptr;
}

Result<void> CudaRuntime::open(std::optional<std::size_t> number) {
    if (auto found = find_device(number); !found) return found;
    char bus[64] = "";
    api_.device_bus(bus, sizeof bus, device_);
    bus_ = bus;
    before_ = cuda::used_on(bus_).by_all;
    const auto failed = [&](const char* what, int status) {
        return Error{name_ + " cannot be opened: " + what + ": " + error_text(status)};
    };
    if (const int status = api_.retain_context(&context_, device_); status != cuda::success)
        return failed("cuDevicePrimaryCtxRetain", status);
    if (const int status = api_.set_context(context_); status != cuda::success)
        return failed("cuCtxSetCurrent", status);
    std::size_t free = 0;
    api_.memory_info(&free, &total_bytes_);
    if (const int status = api_.create_stream(&stream_, cuda::stream_non_blocking); status != cuda::success)
        return failed("cuStreamCreate", status);
    if (auto loaded = load_kernels(); !loaded) return loaded;
    load_products();
    if (blas_handle_) least_context_bytes_ = blas_workspace_bytes;
    measure_context();
    return {};
}

/// Measures the memory of this process where the driver reports it per process. Otherwise it is the increase since the
/// device was opened, which for workers that start together includes part of the others' memory. The result never
/// falls, since the driver does not return this memory.
void CudaRuntime::measure_context() {
    const std::lock_guard lock(counting_);
    std::size_t allocated = 0;
    for (const auto& [memory, bytes] : taken_) allocated += bytes;
    const cuda::Used used = cuda::used_on(bus_);
    const std::size_t more_by_all = before_ > 0 && used.by_all > before_ ? used.by_all - before_ : 0;
    const std::size_t mine =
        used.by_this_process > 0 ? used.by_this_process : std::min(more_by_all, allocated + most_context_bytes);
    const std::size_t measured = mine > allocated ? mine - allocated : 0;
    context_bytes_ = std::max({context_bytes_, least_context_bytes_, measured});
}

CudaRuntime::~CudaRuntime() {
    if (!context_) return;
    api_.set_context(context_);
    if (blas_handle_) blas_.destroy(blas_handle_);
    if (blas_workspace_ != 0) api_.release(blas_workspace_);
    if (module_) api_.unload_module(module_);
    if (stream_) api_.synchronise(stream_);
    ring_.give_back(api_);
    for (cuda::Stream stream : {copies_, stream_})
        if (stream) api_.destroy_stream(stream);
    api_.release_context(device_);
}

Result<void> CudaRuntime::computes_in(Precision precision) const {
    const auto needs = [&](const char* what, int capability) -> Result<void> {
        if (capability_ >= capability) return {};
        return Error{std::string(what) + " needs a GPU of compute capability " + std::to_string(capability / 10) + "." +
                     std::to_string(capability % 10) + " or later; " + name_ + " has " +
                     std::to_string(capability_ / 10) + "." + std::to_string(capability_ % 10)};
    };
    switch (precision) {
        case Precision::float32:
            return {};
        case Precision::tf32:
            if (!blas_handle_) return Error{"tf32 needs cuBLAS: " + without_blas_};
            return needs("tf32", 80);
        case Precision::bfloat16:
            return blas_handle_ ? needs("bfloat16", 80) : Result<void>{};
        case Precision::float16:
            return blas_handle_ ? needs("float16", 70) : Result<void>{};
    }
    return {};
}

Result<Memory> CudaRuntime::allocate(std::size_t bytes) {
    if (bytes == 0) return Memory{0};
    enter();
    cuda::Address address = 0;
    const int status = api_.allocate(&address, bytes);
    if (status == cuda::out_of_memory) {
        std::size_t free = 0;
        std::size_t total = 0;
        api_.memory_info(&free, &total);
        return Error{"not enough memory on " + name_ + " for " + std::to_string(bytes) + " bytes: " + megabytes(free) +
                     " of its " + megabytes(total) + " are free"};
    }
    expect(status, "cuMemAlloc");
    {
        const std::lock_guard lock(counting_);
        taken_[static_cast<Memory>(address)] =
            (bytes + granularity_of_allocations - 1) / granularity_of_allocations * granularity_of_allocations;
    }
    expect(api_.fill(address, 0, bytes, stream_), "cuMemsetD8Async");
    return static_cast<Memory>(address);
}

void CudaRuntime::release(Memory memory) {
    // The buffer may be freed because the device is lost, so that a failure is ignored here.
    if (memory == 0 || api_.set_context(context_) != cuda::success) return;
    api_.release(memory);
    const std::lock_guard lock(counting_);
    taken_.erase(memory);
}

void CudaRuntime::write(Memory to, std::size_t offset, const void* data, std::size_t bytes) {
    enter();
    expect(ring_.write(api_, stream_, to + offset, static_cast<const std::byte*>(data), bytes), "cuMemcpyHtoDAsync");
}

std::byte* CudaRuntime::allocate_host(std::size_t bytes) {
    enter();
    void* data = nullptr;
    return api_.allocate_host(&data, bytes) == cuda::success ? static_cast<std::byte*>(data) : nullptr;
}

void CudaRuntime::release_host(std::byte* data) {
    if (api_.set_context(context_) == cuda::success) api_.release_host(data);
}

/// Records an event behind all work of `stream` so far.
Fence CudaRuntime::mark(cuda::Stream stream) {
    cuda::Event event = nullptr;
    expect(api_.create_event(&event, cuda::event_without_timing), "cuEventCreate");
    expect(api_.record_event(event, stream), "cuEventRecord");
    return reinterpret_cast<Fence>(event);
}

Fence CudaRuntime::mark() {
    enter();
    return mark(stream_);
}

Fence CudaRuntime::send(Memory to, std::size_t offset, const std::byte* data, std::size_t bytes, Fence after) {
    enter();
    if (!copies_) expect(api_.create_stream(&copies_, cuda::stream_non_blocking), "cuStreamCreate");
    expect(api_.wait_in_stream(copies_, reinterpret_cast<cuda::Event>(after), 0), "cuStreamWaitEvent");
    expect(api_.write(to + offset, data, bytes, copies_), "cuMemcpyHtoDAsync");
    const Fence sent = mark(copies_);
    expect(api_.wait_in_stream(stream_, reinterpret_cast<cuda::Event>(sent), 0), "cuStreamWaitEvent");
    return sent;
}

void CudaRuntime::wait(Fence fence) {
    enter();
    const auto event = reinterpret_cast<cuda::Event>(fence);
    const int status = api_.wait_for_event(event);
    api_.destroy_event(event);
    expect(status, "cuEventSynchronize");
}

void CudaRuntime::forget(Fence fence) noexcept {
    const auto event = reinterpret_cast<cuda::Event>(fence);
    if (api_.set_context(context_) != cuda::success) return;
    api_.wait_for_event(event);
    api_.destroy_event(event);
}

void CudaRuntime::read(Memory from, std::size_t offset, void* data, std::size_t bytes) {
    enter();
    expect(ring_.read(api_, stream_, from + offset, static_cast<std::byte*>(data), bytes), "cuMemcpyDtoHAsync");
}

void CudaRuntime::copy(Memory from, std::size_t start, Memory to, std::size_t offset, std::size_t bytes) {
    enter();
    expect(api_.copy(to + offset, from + start, bytes, stream_), "cuMemcpyDtoDAsync");
}

void CudaRuntime::launch(const Launch& launch) {
    enter();
    const auto index = static_cast<std::size_t>(launch.kernel);
    cuda::Address arena = launch.arena;
    cuda::Address other = launch.other;
    void* arguments[] = {&arena, &other, const_cast<void*>(launch.arguments)};
    count_launch();
    expect(api_.launch(kernels_[index], launch.groups, launch.replicas, 1, WORK_GROUP_SIZE, 1, 1, 0, stream_, arguments,
                       nullptr),
           kernel_names[index]);
}

bool CudaRuntime::multiply(Memory arena, Form form, const MultiplyArguments& a, int replicas) {
    constexpr u32 most = std::numeric_limits<int>::max();
    if (!blas_handle_ || a.m > most || a.n > most || a.k > most) return false;
    enter();
    const bool a_turned = form == Form::transposed;
    const bool b_turned = form == Form::by_transposed;
    const auto precision = static_cast<Precision>(a.precision);
    const Type operand = operand_type(precision);
    const int type = operand == Type::bf16 ? cuda::type_bf16 : operand == Type::f16 ? cuda::type_f16 : cuda::type_f32;
    const float one = 1;
    const float beta = a.add ? 1.0F : 0.0F;
    const auto number = [](u32 value) { return static_cast<int>(value); };
    const auto stride = [](const TensorRef& ref, Type of) { return static_cast<long long>(ref.stride / size_of(of)); };
    count_launch();
    // cuBLAS stores matrices by columns, so that it computes the transposed product, with B first.
    const int status = blas_.multiply(
        blas_handle_, b_turned ? cuda::transposed : cuda::no_transpose,
        a_turned ? cuda::transposed : cuda::no_transpose, number(a.n), number(a.m), number(a.k), &one,
        arena + a.b.offset, type, number(b_turned ? a.k : a.n), stride(a.b, operand), arena + a.a.offset, type,
        number(a_turned ? a.m : a.k), stride(a.a, operand), &beta, arena + a.c.offset, cuda::type_f32, number(a.n),
        stride(a.c, Type::f32), replicas, precision == Precision::tf32 ? cuda::compute_f32_by_tf32 : cuda::compute_f32,
        cuda::default_algorithm);
    if (status != 0) throw DeviceLost(name_ + " failed: cuBLAS error " + std::to_string(status));
    return true;
}

bool CudaRuntime::begin_recording() {
    if (!api_.has_graphs()) return false;
    enter();
    recording_ = api_.begin_capture(stream_, cuda::capture_of_this_thread) == cuda::success;
    return recording_;
}

std::unique_ptr<Recording> CudaRuntime::end_recording() {
    enter();
    recording_ = false;
    cuda::Graph graph = nullptr;
    cuda::GraphExecutable executable = nullptr;
    if (api_.end_capture(stream_, &graph) != cuda::success || !graph) return nullptr;
    const int status = api_.make_executable(&executable, graph, 0);
    api_.destroy_graph(graph);
    if (status != cuda::success) return nullptr;  // for example because memory is short
    return std::make_unique<CudaRecording>(api_, executable);
}

void CudaRuntime::replay(const Recording& recording) {
    enter();
    count_launch();
    expect(api_.launch_graph(static_cast<const CudaRecording&>(recording).executable, stream_), "cuGraphLaunch");
}

}  // namespace

Result<std::unique_ptr<Runtime>> open_cuda(std::optional<std::size_t> device) {
    const auto api = cuda::Api::load();
    if (!api) return api.error();
    auto runtime = std::make_unique<CudaRuntime>(*api);
    if (const auto opened = runtime->open(device); !opened) return opened.error();
    return std::unique_ptr<Runtime>(std::move(runtime));
}

}  // namespace hpo::gpu
