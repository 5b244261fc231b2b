#include "tests/contract/backends/present.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "worker/backends/cpu/cpu_device.hpp"
#include "worker/backends/gpu/cuda_runtime.hpp"
#include "worker/backends/gpu/gpu_device.hpp"
#include "worker/backends/gpu/opencl_runtime.hpp"

namespace hpo::test {
namespace {

struct All {
    std::vector<std::unique_ptr<Device>> owned;
    std::vector<Present> present;

    void add(std::unique_ptr<Device> device, bool same_bits) {
        present.push_back({device.get(), same_bits});
        owned.push_back(std::move(device));
    }
    void add(Result<std::unique_ptr<gpu::Runtime>> runtime, bool same_bits) {
        if (runtime) add(gpu::make_device(*std::move(runtime)), same_bits);
    }

    All() {
        const char* asked = std::getenv("HPO_TEST_BACKEND");
        const auto wanted = [&](std::string_view backend) { return asked == nullptr || backend == asked; };
        if (wanted("cpu"))
            for (const CpuLevel level : cpu_levels()) add(make_cpu_device(level), true);
        if (wanted("cuda")) add(gpu::open_cuda(), false);
        if (wanted("opencl")) {
            add(gpu::open_opencl({}, gpu::Products::kernels), true);
            const auto devices = gpu::opencl_devices();
            const bool has_gpu = devices && std::any_of(devices->begin(), devices->end(),
                                                        [](const gpu::OpenClDevice& device) { return !device.is_cpu; });
            if (has_gpu || std::getenv("HPO_TEST_CLBLAST")) add(gpu::open_opencl({}, gpu::Products::clblast), false);
        }
    }
};

}  // namespace

std::span<const Present> present_devices() {
    static const All all;
    return all.present;
}

}  // namespace hpo::test
