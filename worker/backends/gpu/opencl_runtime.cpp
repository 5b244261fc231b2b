#include "worker/backends/gpu/opencl_runtime.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <new>

#include "worker/backends/backend.hpp"
#include "worker/backends/gpu/opencl_api.hpp"

namespace hpo::gpu {
namespace {

std::string code(cl_int status) {
    const char* name = cl::name_of(status);
    return "OpenCL error " + std::to_string(status) + (name ? std::string(" (") + name + ")" : "");
}

std::string in_megabytes(std::size_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

template <class T>
T number_of(const cl::Api& api, cl_device_id device, cl_uint what) {
    T value{};
    return api.clGetDeviceInfo(device, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : T{};
}

template <class Get>
std::string text_from(Get&& get) {
    std::size_t size = 0;
    if (get(0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
    std::string text(size, '\0');
    if (get(size, text.data(), nullptr) != CL_SUCCESS) return {};
    while (!text.empty() && (text.back() == '\0' || text.back() == ' ' || text.back() == '\n')) text.pop_back();
    return text;
}

std::string text_of(const cl::Api& api, cl_device_id device, cl_uint what) {
    return text_from([&](std::size_t size, void* to, std::size_t* needed) {
        return api.clGetDeviceInfo(device, what, size, to, needed);
    });
}

struct Found {
    cl_device_id id;
    cl_ulong type;
};

Result<std::vector<Found>> find_devices(const cl::Api& api) {
    cl_uint count = 0;
    const cl_int status = api.clGetPlatformIDs(0, nullptr, &count);
    if (status != CL_SUCCESS && status != cl::platform_not_found) return Error{"OpenCL's platforms: " + code(status)};
    std::vector<cl_platform_id> platforms(count);
    if (count > 0 && api.clGetPlatformIDs(count, platforms.data(), nullptr) != CL_SUCCESS) platforms.clear();
    std::vector<Found> found;
    for (cl_platform_id platform : platforms) {
        cl_uint here = 0;
        if (api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &here) != CL_SUCCESS) continue;
        std::vector<cl_device_id> devices(here);
        if (api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, here, devices.data(), nullptr) != CL_SUCCESS) continue;
        for (cl_device_id device : devices) found.push_back({device, number_of<cl_ulong>(api, device, CL_DEVICE_TYPE)});
    }
    if (found.empty())
        return Error{
            "OpenCL finds no device: a GPU's driver comes with its vendor's OpenCL package (on Debian "
            "mesa-opencl-icd, intel-opencl-icd or nvidia-opencl-icd; pocl-opencl-icd computes on the CPU)"};
    return found;
}

class OpenClRuntime : public Runtime {
   public:
    OpenClRuntime(const cl::Api& api, const Found& device)
        : api_(api),
          device_(device.id),
          is_cpu_((device.type & CL_DEVICE_TYPE_CPU) != 0),
          unified_(is_cpu_ || number_of<cl_uint>(api, device.id, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0),
          memory_bytes_(number_of<cl_ulong>(api, device.id, CL_DEVICE_GLOBAL_MEM_SIZE)),
          largest_piece_(number_of<cl_ulong>(api, device.id, CL_DEVICE_MAX_MEM_ALLOC_SIZE)),
          name_(text_of(api, device.id, CL_DEVICE_NAME)) {}
    ~OpenClRuntime() override;
    OpenClRuntime(const OpenClRuntime&) = delete;
    OpenClRuntime& operator=(const OpenClRuntime&) = delete;

    /// Opens the device. The error is that of the first step that fails.
    Result<void> open(Products products);

    [[nodiscard]] std::string_view backend() const override { return "opencl"; }
    [[nodiscard]] std::string name() const override {
        return "opencl, " + name_ + (blast_.multiply ? ", CLBlast" : ", own products");
    }
    [[nodiscard]] std::string driver() const override { return text_of(api_, device_, CL_DRIVER_VERSION); }
    [[nodiscard]] bool shares_host_memory() const override { return unified_; }
    [[nodiscard]] bool is_cpu() const override { return is_cpu_; }
    [[nodiscard]] std::size_t total_bytes() const override { return memory_bytes_; }
    [[nodiscard]] std::size_t largest_piece() const override { return largest_piece_; }
    // OpenCL cannot report free memory.
    [[nodiscard]] std::size_t context_bytes() const override { return 0; }

    // CLBlast would also sum in 16 bits, so that the kernels multiply in these precisions.
    [[nodiscard]] Result<void> computes_in(Precision precision) const override {
        if (precision == Precision::tf32)
            return Error{"tf32 needs an NVIDIA GPU of compute capability 8.0 or later, through CUDA; " + name() +
                         " does not"};
        return {};
    }

    Result<Memory> allocate(std::size_t bytes) override;
    void release(Memory memory) override;
    void write(Memory to, std::size_t offset, const void* data, std::size_t bytes) override;
    std::byte* allocate_host(std::size_t bytes) override {
        return static_cast<std::byte*>(::operator new (bytes, std::align_val_t{alignment}, std::nothrow));
    }
    void release_host(std::byte* data) override { ::operator delete (data, std::align_val_t{alignment}); }
    Fence send(Memory to, std::size_t offset, const std::byte* data, std::size_t bytes, Fence after) override;
    void wait(Fence fence) override;
    void forget(Fence fence) noexcept override;
    void read(Memory from, std::size_t offset, void* data, std::size_t bytes) override;
    void copy(Memory from, std::size_t start, Memory to, std::size_t offset, std::size_t bytes) override;
    void launch(const Launch& launch) override;
    bool multiply(Memory arena, Form form, const MultiplyArguments& arguments, int replicas) override;
    void flush() override { expect(api_.clFlush(queue_), "clFlush"); }
    void synchronise() override { expect(api_.clFinish(queue_), "clFinish"); }
    [[nodiscard]] u64 launches() const override { return launches_; }

   private:
    static cl_mem buffer(Memory memory) { return reinterpret_cast<cl_mem>(memory); }
    Result<void> build();
    Result<void> load_products();
    void expect(cl_int status, const char* what) const {
        if (status == CL_SUCCESS) return;
        if (status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_HOST_MEMORY)
            throw DeviceFull("not enough memory on " + name_ + " for " + what + ": " + code(status));
        throw DeviceLost(name_ + " failed: " + what + ": " + code(status));
    }

    cl::Api api_;
    cl::Blast blast_;
    cl_device_id device_;
    bool is_cpu_;
    bool unified_;
    std::size_t memory_bytes_;
    std::size_t largest_piece_;
    std::string name_;
    cl_context context_ = nullptr;
    cl_command_queue queue_ = nullptr;
    cl_program program_ = nullptr;
    std::array<cl_kernel, kernel_count> kernels_{};
    std::mutex launching_;  ///< a kernel's arguments belong to the kernel until it is enqueued
    std::atomic<u64> launches_ = 0;
    std::mutex counting_;
    std::vector<std::pair<Memory, std::size_t>> taken_;
    std::size_t taken_bytes_ = 0;
};

Result<void> OpenClRuntime::open(Products products) {
    if (number_of<cl_uint>(api_, device_, CL_DEVICE_AVAILABLE) == 0) return Error{name_ + " is not available"};
    // The text is "OpenCL 1.2" and an addition of the vendor.
    const std::string version = text_of(api_, device_, CL_DEVICE_VERSION);
    int major = 0;
    int minor = 0;
    if (std::sscanf(version.c_str(), "OpenCL %d.%d", &major, &minor) != 2 || major < 1 || (major == 1 && minor < 2))
        return Error{name_ + " speaks " + (version.empty() ? "no OpenCL that it names" : version) +
                     "; OpenCL 1.2 or later is needed: update its driver"};
    if (number_of<cl_uint>(api_, device_, CL_DEVICE_COMPILER_AVAILABLE) == 0)
        return Error{name_ + " comes without a compiler for its kernels: install its vendor's whole OpenCL package"};
    if (number_of<std::size_t>(api_, device_, CL_DEVICE_MAX_WORK_GROUP_SIZE) < WORK_GROUP_SIZE)
        return Error{name_ + " runs work groups of at most " +
                     std::to_string(number_of<std::size_t>(api_, device_, CL_DEVICE_MAX_WORK_GROUP_SIZE)) + " items; " +
                     std::to_string(WORK_GROUP_SIZE) + " are needed"};
    cl_int status = CL_SUCCESS;
    context_ = api_.clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
    if (status != CL_SUCCESS) return Error{name_ + " cannot be opened: " + code(status)};
    queue_ = api_.clCreateCommandQueue(context_, device_, 0, &status);
    if (status != CL_SUCCESS) return Error{name_ + " gives no queue: " + code(status)};
    if (auto built = build(); !built) return built;
    if (products == Products::kernels || (products == Products::automatic && is_cpu_)) return {};
    const auto loaded = load_products();
    return products == Products::clblast ? loaded : Result<void>();
}

Result<void> OpenClRuntime::build() {
    cl_int status = CL_SUCCESS;
    const char* source = kernel_source;
    program_ = api_.clCreateProgramWithSource(context_, 1, &source, nullptr, &status);
    if (status != CL_SUCCESS) return Error{name_ + " takes no program: " + code(status)};
    status = api_.clBuildProgram(program_, 1, &device_, "-cl-std=CL1.2 -cl-denorms-are-zero", nullptr, nullptr);
    if (status != CL_SUCCESS)
        return Error{name_ + " does not compile the kernels: " + code(status) + "\n" +
                     text_from([&](std::size_t size, void* to, std::size_t* needed) {
                         return api_.clGetProgramBuildInfo(program_, device_, CL_PROGRAM_BUILD_LOG, size, to, needed);
                     })};
    for (std::size_t i = 0; i < kernel_count; ++i) {
        kernels_[i] = api_.clCreateKernel(program_, kernel_names[i], &status);
        if (status != CL_SUCCESS)
            return Error{name_ + " has no kernel " + std::string(kernel_names[i]) + ": " + code(status)};
        // A kernel's registers and local memory may limit it to smaller groups than the device allows.
        std::size_t most = 0;
        status =
            api_.clGetKernelWorkGroupInfo(kernels_[i], device_, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, nullptr);
        if (status == CL_SUCCESS && most < WORK_GROUP_SIZE)
            return Error{name_ + " runs the kernel " + std::string(kernel_names[i]) + " in work groups of at most " +
                         std::to_string(most) + " items; " + std::to_string(WORK_GROUP_SIZE) + " are needed"};
    }
    return {};
}

/// Loads CLBlast and computes one product with it, since it compiles its kernels then and some drivers fail to.
Result<void> OpenClRuntime::load_products() {
    auto blast = cl::Blast::load();
    if (!blast) return blast.error();
    // CLBlast's indirect kernels copy the matrices to memory of its own; the direct ones work in place, so that the
    // arena is all the memory there is.
    const char* names[] = {"XGEMM_MIN_INDIRECT_SIZE"};
    const std::size_t values[] = {std::size_t{1} << 20};
    int status = blast->override_parameters(device_, "GemmRoutine", cl::single_precision, 1, names, values);
    cl_mem three = nullptr;
    if (status == CL_SUCCESS)
        three = api_.clCreateBuffer(context_, CL_MEM_READ_WRITE, 3 * sizeof(float), nullptr, &status);
    if (status == CL_SUCCESS)
        status = blast->multiply(cl::row_major, cl::no_transpose, cl::no_transpose, 1, 1, 1, 1, three, 0, 1, 1, three,
                                 1, 1, 1, 0, three, 2, 1, 1, 1, &queue_, nullptr);
    if (status == CL_SUCCESS) status = api_.clFinish(queue_);
    if (three) api_.clReleaseMemObject(three);
    if (status != CL_SUCCESS) return Error{"CLBlast does not compute on " + name_ + ": " + code(status)};
    blast_ = *blast;
    return {};
}

OpenClRuntime::~OpenClRuntime() {
    if (queue_) api_.clFinish(queue_);
    for (cl_kernel kernel : kernels_)
        if (kernel) api_.clReleaseKernel(kernel);
    if (program_) api_.clReleaseProgram(program_);
    if (queue_) api_.clReleaseCommandQueue(queue_);
    if (context_) api_.clReleaseContext(context_);
}

Result<Memory> OpenClRuntime::allocate(std::size_t bytes) {
    if (bytes == 0) return Memory{0};
    const std::lock_guard lock(counting_);
    const std::string wanted = "not enough memory on " + name_ + " for " + std::to_string(bytes) + " bytes: ";
    if (bytes > memory_bytes_ || taken_bytes_ > memory_bytes_ - bytes)
        return Error{wanted + "it has " + in_megabytes(memory_bytes_) + ", of which this process holds " +
                     in_megabytes(taken_bytes_)};
    if (bytes > largest_piece_)
        return Error{wanted + "it gives at most " + in_megabytes(largest_piece_) + " in one piece"};
    cl_int status = CL_SUCCESS;
    cl_mem made = api_.clCreateBuffer(context_, CL_MEM_READ_WRITE, bytes, nullptr, &status);
    if (status == CL_SUCCESS) {
        // Many drivers allocate memory only at its first use, so that it is used here, where a failure is an error.
        const std::array<std::uint32_t, 4> zero{};
        const std::size_t pattern = bytes % sizeof zero == 0 ? sizeof zero : 1;
        status = api_.clEnqueueFillBuffer(queue_, made, zero.data(), pattern, 0, bytes, 0, nullptr, nullptr);
        if (status == CL_SUCCESS) status = api_.clFinish(queue_);
        if (status != CL_SUCCESS) api_.clReleaseMemObject(made);
    }
    switch (status) {
        case CL_SUCCESS:
            break;
        case CL_MEM_OBJECT_ALLOCATION_FAILURE:
        case CL_OUT_OF_RESOURCES:
        case CL_OUT_OF_HOST_MEMORY:
        case CL_INVALID_BUFFER_SIZE:
            return Error{wanted + code(status)};
        default:
            expect(status, "clCreateBuffer");
    }
    const auto memory = reinterpret_cast<Memory>(made);
    taken_.emplace_back(memory, bytes);
    taken_bytes_ += bytes;
    return memory;
}

void OpenClRuntime::release(Memory memory) {
    if (memory == 0) return;
    const std::lock_guard lock(counting_);
    const auto found = std::find_if(taken_.begin(), taken_.end(), [&](const auto& one) { return one.first == memory; });
    taken_bytes_ -= found->second;
    taken_.erase(found);
    api_.clReleaseMemObject(buffer(memory));
}

void OpenClRuntime::write(Memory to, std::size_t offset, const void* data, std::size_t bytes) {
    expect(api_.clEnqueueWriteBuffer(queue_, buffer(to), 1, offset, bytes, data, 0, nullptr, nullptr),
           "clEnqueueWriteBuffer");
}

/// Copies in the one queue of the stream, after earlier operations. OpenCL leaves the result undefined if one queue
/// changes a buffer while another one uses it, even if the bytes differ, and the sent bytes lie in the arena, which all
/// kernels use. A separate queue would need separate buffers, twice the staged bytes, and a further copy from them to
/// the arena, which only costs time where host and device share their memory, as with PoCL. No gain has been measured
/// on a GPU.
Fence OpenClRuntime::send(Memory to, std::size_t offset, const std::byte* data, std::size_t bytes, Fence /*after*/) {
    cl_event event = nullptr;
    expect(api_.clEnqueueWriteBuffer(queue_, buffer(to), 0, offset, bytes, data, 0, nullptr, &event),
           "clEnqueueWriteBuffer");
    return reinterpret_cast<Fence>(event);
}

void OpenClRuntime::wait(Fence fence) {
    const auto event = reinterpret_cast<cl_event>(fence);
    const cl_int status = api_.clWaitForEvents(1, &event);
    api_.clReleaseEvent(event);
    expect(status, "clWaitForEvents");
}

void OpenClRuntime::forget(Fence fence) noexcept {
    const auto event = reinterpret_cast<cl_event>(fence);
    api_.clWaitForEvents(1, &event);
    api_.clReleaseEvent(event);
}

void OpenClRuntime::read(Memory from, std::size_t offset, void* data, std::size_t bytes) {
    expect(api_.clEnqueueReadBuffer(queue_, buffer(from), 1, offset, bytes, data, 0, nullptr, nullptr),
           "clEnqueueReadBuffer");
}

void OpenClRuntime::copy(Memory from, std::size_t start, Memory to, std::size_t offset, std::size_t bytes) {
    expect(api_.clEnqueueCopyBuffer(queue_, buffer(from), buffer(to), start, offset, bytes, 0, nullptr, nullptr),
           "clEnqueueCopyBuffer");
}

void OpenClRuntime::launch(const Launch& launch) {
    const std::lock_guard lock(launching_);
    const auto index = static_cast<std::size_t>(launch.kernel);
    cl_kernel kernel = kernels_[index];
    const cl_mem arena = buffer(launch.arena);
    const cl_mem other = buffer(launch.other);
    expect(api_.clSetKernelArg(kernel, 0, sizeof arena, &arena), kernel_names[index]);
    expect(api_.clSetKernelArg(kernel, 1, sizeof other, &other), kernel_names[index]);
    expect(api_.clSetKernelArg(kernel, 2, launch.argument_bytes, launch.arguments), kernel_names[index]);
    const std::size_t items[] = {std::size_t{launch.groups} * WORK_GROUP_SIZE, launch.replicas};
    const std::size_t group[] = {WORK_GROUP_SIZE, 1};
    ++launches_;
    expect(api_.clEnqueueNDRangeKernel(queue_, kernel, 2, nullptr, items, group, 0, nullptr, nullptr),
           kernel_names[index]);
}

bool OpenClRuntime::multiply(Memory arena, Form form, const MultiplyArguments& a, int replicas) {
    if (!blast_.multiply || a.precision != static_cast<u32>(Precision::float32)) return false;
    const bool a_turned = form == Form::transposed;
    const bool b_turned = form == Form::by_transposed;
    const cl_mem memory = buffer(arena);
    const std::lock_guard lock(launching_);
    ++launches_;
    const int status = blast_.multiply(
        cl::row_major, a_turned ? cl::transposed : cl::no_transpose, b_turned ? cl::transposed : cl::no_transpose, a.m,
        a.n, a.k, 1, memory, a.a.offset / 4, a_turned ? a.m : a.k, a.a.stride / 4, memory, a.b.offset / 4,
        b_turned ? a.k : a.n, a.b.stride / 4, a.add ? 1.0F : 0.0F, memory, a.c.offset / 4, a.n, a.c.stride / 4,
        static_cast<std::size_t>(replicas), &queue_, nullptr);
    expect(status, "CLBlastSgemmStridedBatched");
    return true;
}

}  // namespace

Result<std::vector<OpenClDevice>> opencl_devices() {
    const auto api = cl::Api::load();
    if (!api) return api.error();
    const auto found = find_devices(*api);
    if (!found) return found.error();
    std::vector<OpenClDevice> devices;
    for (const Found& one : *found)
        devices.push_back({text_of(*api, one.id, CL_DEVICE_NAME), (one.type & CL_DEVICE_TYPE_CPU) != 0,
                           number_of<cl_ulong>(*api, one.id, CL_DEVICE_GLOBAL_MEM_SIZE)});
    return devices;
}

Result<std::unique_ptr<Runtime>> open_opencl(std::optional<std::size_t> device, Products products) {
    const auto api = cl::Api::load();
    if (!api) return api.error();
    const auto found = find_devices(*api);
    if (!found) return found.error();
    const Found* chosen = &found->front();
    if (device && *device >= found->size())
        return Error{"there is no OpenCL device " + std::to_string(*device) + ": they are numbered 0 to " +
                     std::to_string(found->size() - 1)};
    if (device) {
        chosen = &(*found)[*device];
    } else {
        for (const cl_ulong wanted : {CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_GPU}) {
            const auto one =
                std::find_if(found->begin(), found->end(), [&](const Found& f) { return (f.type & wanted) != 0; });
            if (one != found->end()) chosen = &*one;
        }
    }
    auto runtime = std::make_unique<OpenClRuntime>(*api, *chosen);
    if (const auto opened = runtime->open(products); !opened) return opened.error();
    return std::unique_ptr<Runtime>(std::move(runtime));
}

}  // namespace hpo::gpu
