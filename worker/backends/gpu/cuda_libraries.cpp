#include "worker/backends/gpu/cuda_libraries.hpp"

#include <nlohmann/json.hpp>

#include "worker/backends/gpu/cuda_toolkit.hpp"

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

}  // namespace

std::string libraries_report() {
    const auto driver = Library::open({"libcuda.so.1"});
    Json report{{"cuda", found(driver, "cuInit")}};
    int version = 0;
    int (*ask)(int*) = nullptr;
    if (driver && driver->find("cuDriverGetVersion", ask) && ask(&version) == 0)
        report["cuda"]["version"] = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    report["nvrtc"] = found(open_toolkit_library("nvrtc", version / 1000), "nvrtcVersion");
    report["cublas"] = found(open_toolkit_library("cublas", version / 1000), "cublasCreate_v2");
    return report.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hpo::gpu
