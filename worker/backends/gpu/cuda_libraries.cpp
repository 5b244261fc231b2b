#include "worker/backends/gpu/cuda_libraries.hpp"

#include <string>

#include "worker/backends/gpu/cuda_api.hpp"
#include "worker/backends/gpu/cuda_toolkit.hpp"
#include "worker/backends/gpu/opencl_api.hpp"

namespace hpo::gpu {
namespace {

using Json = nlohmann::json;

Json found(const Result<Library>& library, const char* function) {
    if (!library) return {{"problem", library.error().message}};
    std::error_code none;
    const std::filesystem::path path = library->file(function);
    const std::filesystem::path followed = std::filesystem::canonical(path, none);
    return {{"path", (none ? path : followed).string()}};
}

/// NVRTC loads its builtins by name when it compiles. They are found if they are loaded already, as they are with an
/// NVRTC from a toolkit's folder, or if the loader finds them.
Json found_builtins(const Result<Library>& nvrtc) {
    int major = 0, minor = 0;
    int (*version)(int*, int*) = nullptr;
    if (!nvrtc || !nvrtc->find("nvrtcVersion", version) || version(&major, &minor) != 0)
        return {{"problem", "NVRTC is not there"}};
    const std::string name = "libnvrtc-builtins.so." + std::to_string(major) + "." + std::to_string(minor);
    const auto builtins = Library::open({name});
    if (!builtins) return {{"problem", name + " is neither next to NVRTC nor where the loader looks"}};
    return {{"path", name}};
}

Json cuda_libraries() {
    const auto driver = Library::open({"libcuda.so.1"});
    Json report{{"cuda", found(driver, "cuInit")}};
    int version = 0;
    int (*ask)(int*) = nullptr;
    if (driver && driver->find("cuDriverGetVersion", ask) && ask(&version) == 0)
        report["cuda"]["version"] = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    report["nvrtc"] = found(open_toolkit_library("nvrtc", version / 1000), "nvrtcVersion");
    report["cublas"] = found(open_toolkit_library("cublas", version / 1000), "cublasCreate_v2");
    // An installed library may lack functions that the backend calls.
    if (const auto whole = cuda::Api::load(); driver && !whole) report["cuda"]["problem"] = whole.error().message;
    if (const auto whole = cuda::Blas::load(version / 1000); !whole)
        report["cublas"] = {{"problem", whole.error().message}};
    return report;
}

}  // namespace

std::string libraries_report() { return cuda_libraries().dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json all_gpu_libraries() {
    Json report = cuda_libraries();
    int version = 0;
    int (*ask)(int*) = nullptr;
    const auto driver = Library::open({"libcuda.so.1"});
    if (!driver || !driver->find("cuDriverGetVersion", ask) || ask(&version) != 0) version = 0;
    report["nvrtc_builtins"] = found_builtins(open_toolkit_library("nvrtc", version / 1000));
    report["opencl"] = found(cl::library(), "clGetPlatformIDs");
    const auto blast = cl::Blast::load();
    report["clblast"] = found(cl::Blast::library(), "CLBlastSgemmStridedBatched");
    if (!blast) report["clblast"] = {{"problem", blast.error().message}};
    return report;
}

}  // namespace hpo::gpu
