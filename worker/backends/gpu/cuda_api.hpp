// The used parts of CUDA's driver interface, cuBLAS and the management library, declared here so that no header of
// theirs is needed. Names and values are those of cuda.h, cublas_v2.h and nvml.h.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "worker/backends/gpu/cuda_toolkit.hpp"
#include "worker/backends/library.hpp"

namespace hpo::gpu::cuda {

using Device = int;
using Address = unsigned long long;
struct ContextObject;
struct StreamObject;
struct ModuleObject;
struct FunctionObject;
struct EventObject;
struct GraphObject;
struct GraphExecutableObject;
using Context = ContextObject*;
using Stream = StreamObject*;
using Module = ModuleObject*;
using Function = FunctionObject*;
using Event = EventObject*;
using Graph = GraphObject*;
using GraphExecutable = GraphExecutableObject*;

inline constexpr int success = 0;
inline constexpr int out_of_memory = 2;
inline constexpr int no_device = 100;
inline constexpr int attribute_integrated = 18;
inline constexpr int attribute_capability_major = 75;
inline constexpr int attribute_capability_minor = 76;
inline constexpr unsigned stream_non_blocking = 1;
inline constexpr int capture_of_this_thread = 1;
inline constexpr unsigned event_without_timing = 2;

struct Api {
    int (*init)(unsigned) = nullptr;
    int (*driver_version)(int*) = nullptr;
    int (*error_text)(int, const char**) = nullptr;
    int (*count_devices)(int*) = nullptr;
    int (*get_device)(Device*, int) = nullptr;
    int (*device_name)(char*, int, Device) = nullptr;
    int (*device_bus)(char*, int, Device) = nullptr;
    int (*device_attribute)(int*, int, Device) = nullptr;
    int (*retain_context)(Context*, Device) = nullptr;
    int (*release_context)(Device) = nullptr;
    int (*set_context)(Context) = nullptr;
    int (*memory_info)(std::size_t* free, std::size_t* total) = nullptr;
    int (*allocate)(Address*, std::size_t) = nullptr;
    int (*release)(Address) = nullptr;
    int (*fill)(Address, unsigned char, std::size_t, Stream) = nullptr;
    int (*write)(Address, const void*, std::size_t, Stream) = nullptr;
    int (*read)(void*, Address, std::size_t, Stream) = nullptr;
    int (*copy)(Address to, Address from, std::size_t, Stream) = nullptr;
    int (*allocate_host)(void**, std::size_t) = nullptr;
    int (*release_host)(void*) = nullptr;
    int (*create_event)(Event*, unsigned) = nullptr;
    int (*record_event)(Event, Stream) = nullptr;
    int (*wait_for_event)(Event) = nullptr;
    int (*destroy_event)(Event) = nullptr;
    int (*wait_in_stream)(Stream, Event, unsigned) = nullptr;
    int (*create_stream)(Stream*, unsigned) = nullptr;
    int (*destroy_stream)(Stream) = nullptr;
    int (*synchronise)(Stream) = nullptr;
    int (*load_module)(Module*, const void*) = nullptr;
    int (*unload_module)(Module) = nullptr;
    int (*get_function)(Function*, Module, const char*) = nullptr;
    int (*launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**,
                  void**) = nullptr;
    // Graphs; null where the driver has none (before CUDA 11.4).
    int (*begin_capture)(Stream, int) = nullptr;
    int (*end_capture)(Stream, Graph*) = nullptr;
    int (*make_executable)(GraphExecutable*, Graph, unsigned long long) = nullptr;
    int (*launch_graph)(GraphExecutable, Stream) = nullptr;
    int (*destroy_executable)(GraphExecutable) = nullptr;
    int (*destroy_graph)(Graph) = nullptr;

    [[nodiscard]] bool has_graphs() const { return destroy_graph != nullptr; }

    static Result<Api> load() {
        const auto library = Library::open({"libcuda.so.1"});
        if (!library) return Error{"there is no CUDA driver: " + library.error().message};
        Api api;
        const Library& from = *library;
        const bool whole =
            from.find("cuInit", api.init) && from.find("cuDriverGetVersion", api.driver_version) &&
            from.find("cuGetErrorString", api.error_text) && from.find("cuDeviceGetCount", api.count_devices) &&
            from.find("cuDeviceGet", api.get_device) && from.find("cuDeviceGetName", api.device_name) &&
            from.find("cuDeviceGetPCIBusId", api.device_bus) &&
            from.find("cuDeviceGetAttribute", api.device_attribute) &&
            from.find("cuDevicePrimaryCtxRetain", api.retain_context) &&
            from.find("cuDevicePrimaryCtxRelease_v2", api.release_context) &&
            from.find("cuCtxSetCurrent", api.set_context) && from.find("cuMemGetInfo_v2", api.memory_info) &&
            from.find("cuMemAlloc_v2", api.allocate) && from.find("cuMemFree_v2", api.release) &&
            from.find("cuMemsetD8Async", api.fill) && from.find("cuMemcpyHtoDAsync_v2", api.write) &&
            from.find("cuMemcpyDtoHAsync_v2", api.read) && from.find("cuMemcpyDtoDAsync_v2", api.copy) &&
            from.find("cuMemAllocHost_v2", api.allocate_host) && from.find("cuMemFreeHost", api.release_host) &&
            from.find("cuEventCreate", api.create_event) && from.find("cuEventRecord", api.record_event) &&
            from.find("cuEventSynchronize", api.wait_for_event) && from.find("cuEventDestroy_v2", api.destroy_event) &&
            from.find("cuStreamWaitEvent", api.wait_in_stream) && from.find("cuStreamCreate", api.create_stream) &&
            from.find("cuStreamDestroy_v2", api.destroy_stream) && from.find("cuStreamSynchronize", api.synchronise) &&
            from.find("cuModuleLoadData", api.load_module) && from.find("cuModuleUnload", api.unload_module) &&
            from.find("cuModuleGetFunction", api.get_function) && from.find("cuLaunchKernel", api.launch);
        if (!whole) return Error{"the CUDA driver is older than version 11"};
        const bool graphs = from.find("cuStreamBeginCapture_v2", api.begin_capture) &&
                            from.find("cuStreamEndCapture", api.end_capture) &&
                            from.find("cuGraphInstantiateWithFlags", api.make_executable) &&
                            from.find("cuGraphLaunch", api.launch_graph) &&
                            from.find("cuGraphExecDestroy", api.destroy_executable) &&
                            from.find("cuGraphDestroy", api.destroy_graph);
        if (!graphs) api.destroy_graph = nullptr;
        return api;
    }
};

inline constexpr int no_transpose = 0;
inline constexpr int transposed = 1;
inline constexpr int type_f32 = 0;
inline constexpr int type_f16 = 2;
inline constexpr int type_bf16 = 14;
inline constexpr int compute_f32 = 68;
inline constexpr int compute_f32_by_tf32 = 77;
inline constexpr int default_algorithm = -1;

struct Blas {
    struct HandleObject;
    using Handle = HandleObject*;

    int (*create)(Handle*) = nullptr;
    int (*destroy)(Handle) = nullptr;
    int (*set_stream)(Handle, Stream) = nullptr;
    int (*set_workspace)(Handle, Address, std::size_t) = nullptr;
    int (*multiply)(Handle, int a_form, int b_form, int m, int n, int k, const void* alpha, Address a, int a_type,
                    int a_ld, long long a_stride, Address b, int b_type, int b_ld, long long b_stride, const void* beta,
                    Address c, int c_type, int c_ld, long long c_stride, int batches, int compute_type,
                    int algorithm) = nullptr;
    std::string file;  ///< from which it was loaded, and its version

    static Result<Blas> load(int driver_major) {
        const auto library = open_toolkit_library("cublas", driver_major);
        if (!library) return library.error();
        Blas blas;
        const bool whole = library->find("cublasCreate_v2", blas.create) &&
                           library->find("cublasDestroy_v2", blas.destroy) &&
                           library->find("cublasSetStream_v2", blas.set_stream) &&
                           library->find("cublasSetWorkspace_v2", blas.set_workspace) &&
                           library->find("cublasGemmStridedBatchedEx", blas.multiply);
        if (!whole) return Error{"cuBLAS is older than version 11"};
        // Without a handle, the numbers are asked for one by one: major, minor and patch level.
        int (*property)(int, int*) = nullptr;
        std::string version;
        if (library->find("cublasGetProperty", property))
            for (int part = 0, number = 0; part < 3 && property(part, &number) == 0; ++part)
                version += (part == 0 ? " " : ".") + std::to_string(number);
        blas.file = "cuBLAS" + version + " of " + library->file("cublasCreate_v2").string();
        return blas;
    }
};

/// Bytes in use on a device; 0: unknown.
struct Used {
    std::size_t by_all = 0;           ///< programs
    std::size_t by_this_process = 0;  ///< its context and all that it allocated
};

/// The management library (NVML), which comes with the driver.
inline Result<Library> management_library() {
    const char* named = std::getenv("HPO_NVML_LIBRARY");
    return Library::open({named && *named ? named : "libnvidia-ml.so.1"});
}

/// Returns the version of the driver, such as 580.65.06. CUDA itself only tells which interface the driver has. Returns
/// an empty text if the management library is not there.
inline std::string driver_version() {
    int (*init)() = nullptr;
    int (*ask)(char*, unsigned) = nullptr;
    char version[96] = {};
    const auto library = management_library();
    const bool told = library && library->find("nvmlInit_v2", init) &&
                      library->find("nvmlSystemGetDriverVersion", ask) && init() == 0 &&
                      ask(version, sizeof version - 1) == 0;
    return told ? version : "";
}

/// Returns the used bytes as the management library (NVML) reports them without a context. In a container with process
/// numbers of its own, the driver does not find this process.
inline Used used_on(const std::string& bus) {
    struct Numbers {
        unsigned long long total, free, used;
    };
    struct Process {
        unsigned pid;
        unsigned long long bytes;
        unsigned gpu_instance, compute_instance;
    };
    constexpr int insufficient_size = 7;
    int (*init)() = nullptr;
    int (*by_bus)(const char*, void**) = nullptr;
    int (*memory)(void*, Numbers*) = nullptr;
    int (*processes)(void*, unsigned*, Process*) = nullptr;
    void* device = nullptr;
    Numbers numbers{};
    const auto library = management_library();
    Used used;
    const bool initialised = library && library->find("nvmlInit_v2", init) &&
                             library->find("nvmlDeviceGetHandleByPciBusId_v2", by_bus) &&
                             library->find("nvmlDeviceGetMemoryInfo", memory) && init() == 0 &&
                             by_bus(bus.c_str(), &device) == 0 && memory(device, &numbers) == 0;
    if (!initialised) return used;
    used.by_all = numbers.used;
    if (!library->find("nvmlDeviceGetComputeRunningProcesses_v3", processes)) return used;
    std::vector<Process> all;
    int status = insufficient_size;
    unsigned count = 0;
    for (unsigned room = 64; status == insufficient_size && room <= 4096; room *= 4) {
        all.resize(2 * std::size_t{room});  // some drivers' entries are longer
        count = room;
        status = processes(device, &count, all.data());
    }
    if (status != 0) return used;
    for (unsigned i = 0; i < count; ++i)
        if (all[i].pid == static_cast<unsigned>(getpid()) && all[i].bytes <= numbers.total)
            used.by_this_process = all[i].bytes;
    return used;
}

}  // namespace hpo::gpu::cuda
