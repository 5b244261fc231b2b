#include "worker/backends/backends.hpp"

#include <algorithm>

#include "worker/backends/cpu/blas.hpp"
#include "worker/backends/cpu/cpu_device.hpp"
#include "worker/backends/gpu/cuda_runtime.hpp"
#include "worker/backends/gpu/gpu_device.hpp"
#include "worker/backends/gpu/opencl_runtime.hpp"

namespace hpo {
namespace {

using Made = Result<std::unique_ptr<Device>>;
using Number = std::optional<std::size_t>;

Made on_gpu(Result<std::unique_ptr<gpu::Runtime>> runtime) {
    if (!runtime) return runtime.error();
    return gpu::make_device(*std::move(runtime));
}

Made make_cpu(Number number) {
    if (number)
        return Error{"the backend cpu has no devices to choose from; it was given device " + std::to_string(*number)};
    if (!blas()) return blas().error();
    return make_cpu_device();
}
Made make_cuda(Number number) { return on_gpu(gpu::open_cuda(number)); }
Made make_opencl(Number number) { return on_gpu(gpu::open_opencl(number)); }

/// The first that works. A CPU seen through OpenCL is slower than the backend for CPUs.
Made make_auto(Number number) {
    if (auto cuda = make_cuda(number)) return cuda;
    const auto devices = gpu::opencl_devices();
    const bool has_gpu =
        devices && std::any_of(devices->begin(), devices->end(), [](const auto& device) { return !device.is_cpu; });
    if (has_gpu)
        if (auto opencl = make_opencl(number)) return opencl;
    return make_cpu({});
}

struct Entry {
    const char* name;
    Made (*make)(Number);
};
constexpr Entry entries[] = {{"auto", make_auto}, {"cpu", make_cpu}, {"cuda", make_cuda}, {"opencl", make_opencl}};

}  // namespace

Result<std::unique_ptr<Device>> make_device(const BackendChoice& choice) {
    for (const Entry& entry : entries)
        if (choice.backend == entry.name) return entry.make(choice.device);
    return Error{"there is no backend " + choice.backend + ": it is auto, cpu, cuda or opencl"};
}

}  // namespace hpo
