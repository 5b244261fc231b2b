#include "worker/backends/gpu/cuda_compiler.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "worker/backends/gpu/cuda_toolkit.hpp"
#include "worker/backends/gpu/gpu_runtime.hpp"

namespace hpo::gpu {
namespace {

namespace fs = std::filesystem;

struct ProgramObject;
using Program = ProgramObject*;

/// The functions of nvrtc.h that are used here; 0 means success.
struct Nvrtc {
    int (*create)(Program*, const char* source, const char* name, int headers, const char* const*,
                  const char* const*) = nullptr;
    int (*destroy)(Program*) = nullptr;
    int (*compile)(Program, int options, const char* const*) = nullptr;
    int (*log_size)(Program, std::size_t*) = nullptr;
    int (*log)(Program, char*) = nullptr;
    int (*cubin_size)(Program, std::size_t*) = nullptr;
    int (*cubin)(Program, char*) = nullptr;
    int (*ptx_size)(Program, std::size_t*) = nullptr;
    int (*ptx)(Program, char*) = nullptr;
    int (*count_architectures)(int*) = nullptr;
    int (*architectures)(int*) = nullptr;
    int (*version_of)(int*, int*) = nullptr;

    [[nodiscard]] std::string version() const {
        int major = 0, minor = 0;
        version_of(&major, &minor);
        return std::to_string(major) + "." + std::to_string(minor);
    }

    static Result<Nvrtc> load(int driver_major) {
        const auto library = open_toolkit_library("nvrtc", driver_major);
        if (!library) return library.error();
        Nvrtc api;
        const Library& from = *library;
        const bool whole =
            from.find("nvrtcCreateProgram", api.create) && from.find("nvrtcDestroyProgram", api.destroy) &&
            from.find("nvrtcCompileProgram", api.compile) && from.find("nvrtcGetProgramLogSize", api.log_size) &&
            from.find("nvrtcGetProgramLog", api.log) && from.find("nvrtcGetCUBINSize", api.cubin_size) &&
            from.find("nvrtcGetCUBIN", api.cubin) && from.find("nvrtcGetPTXSize", api.ptx_size) &&
            from.find("nvrtcGetPTX", api.ptx) && from.find("nvrtcGetNumSupportedArchs", api.count_architectures) &&
            from.find("nvrtcGetSupportedArchs", api.architectures) && from.find("nvrtcVersion", api.version_of);
        if (!whole) return Error{"CUDA's compiler (NVRTC) is older than version 11.2"};
        return api;
    }
};

std::string text_of(int (*size_of)(Program, std::size_t*), int (*get)(Program, char*), Program program) {
    std::size_t size = 0;
    if (size_of(program, &size) != 0 || size == 0) return {};
    std::string text(size, '\0');
    if (get(program, text.data()) != 0) return {};
    return text;
}

fs::path cache_folder() {
    if (const char* given = std::getenv("XDG_CACHE_HOME"); given && *given == '/') return fs::path(given) / "hpo";
    if (const char* home = std::getenv("HOME"); home && *home == '/') return fs::path(home) / ".cache" / "hpo";
    return {};
}

/// The FNV-1a hash, which names a file of the cache.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    return hash;
}

std::string contents_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    if (in) text << in.rdbuf();
    return text.str();
}

/// Writes the file atomically, since another process may read or write it at the same time.
void keep(const fs::path& file, const std::string& code) {
    std::error_code failed;
    fs::create_directories(file.parent_path(), failed);
    const fs::path unfinished = file.string() + "." + std::to_string(getpid());
    std::ofstream out(unfinished, std::ios::binary);
    out << code;
    out.close();
    if (out) fs::rename(unfinished, file, failed);
    if (!out || failed) fs::remove(unfinished, failed);
}

/// The architecture for which the kernels are compiled.
struct Target {
    std::vector<std::string> options;
    bool machine_code = false;  ///< otherwise PTX, which the driver translates
};

Result<Target> target_of(const Nvrtc& nvrtc, int capability) {
    int count = 0;
    nvrtc.count_architectures(&count);
    std::vector<int> known(static_cast<std::size_t>(count));
    if (count > 0) nvrtc.architectures(known.data());
    const bool exact = std::find(known.begin(), known.end(), capability) != known.end();
    int best = 0;
    for (const int one : known)
        if (one <= capability) best = std::max(best, one);
    if (best == 0)
        return Error{"CUDA's compiler no longer knows devices of compute capability " +
                     std::to_string(capability / 10) + "." + std::to_string(capability % 10) +
                     ": install an older CUDA toolkit's libraries beside it"};
    return Target{{"--gpu-architecture=" + std::string(exact ? "sm_" : "compute_") + std::to_string(best),
                   "--std=c++14", "--ftz=true"},
                  exact};
}

/// `said`, if there is one, gets the compiler's remarks about the kernels.
Result<std::string> compile(const Nvrtc& nvrtc, const Target& target, std::string* said = nullptr) {
    Program program = nullptr;
    if (nvrtc.create(&program, kernel_source, "hpo", 0, nullptr, nullptr) != 0)
        return Error{"CUDA's compiler does not accept the kernels"};
    std::vector<const char*> options;
    for (const std::string& option : target.options) options.push_back(option.c_str());
    const int status = nvrtc.compile(program, static_cast<int>(options.size()), options.data());
    const std::string log = status == 0 && !said ? "" : text_of(nvrtc.log_size, nvrtc.log, program);
    if (said) *said = log;
    std::string code;
    if (status == 0)
        code = target.machine_code ? text_of(nvrtc.cubin_size, nvrtc.cubin, program)
                                   : text_of(nvrtc.ptx_size, nvrtc.ptx, program);
    nvrtc.destroy(&program);
    if (code.empty())
        return Error{"CUDA's compiler " + nvrtc.version() + " fails on the kernels (" + target.options.front() +
                     ", error " + std::to_string(status) + "):\n" + log};
    return code;
}

}  // namespace

Result<std::string> compile_for_cuda(int capability, int driver_major) {
    const auto loaded = Nvrtc::load(driver_major);
    if (!loaded) return loaded.error();
    const auto target = target_of(*loaded, capability);
    if (!target) return target.error();
    return compile(*loaded, *target);
}

Result<std::string> cached_for_cuda(int capability, int driver_version, bool renew) {
    const auto loaded = Nvrtc::load(driver_version / 1000);
    if (!loaded) return loaded.error();
    const auto target = target_of(*loaded, capability);
    if (!target) return target.error();
    std::string inputs = kernel_source;
    for (const std::string& option : target->options) inputs += '\0' + option;
    const fs::path folder = cache_folder();
    char name[96];
    std::snprintf(name, sizeof name, "kernels-%016llx-%d-%d-%s", static_cast<unsigned long long>(hash_of(inputs)),
                  capability, driver_version, loaded->version().c_str());
    if (!folder.empty() && !renew)
        if (std::string code = contents_of(folder / name); !code.empty()) return code;
    auto code = compile(*loaded, *target);
    if (code && !folder.empty()) keep(folder / name, *code);
    return code;
}

std::vector<KernelResources> read_ptxas(const std::string& text) {
    std::vector<KernelResources> kernels;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const auto number_before = [&](const char* words) -> std::int64_t {
            const std::size_t end = line.find(words);
            if (end == std::string::npos) return 0;
            const std::size_t begin = line.find_last_not_of("0123456789", end - 1) + 1;
            return begin < end ? std::stoll(line.substr(begin, end - begin)) : 0;
        };
        const std::string entry = "entry function '";
        if (const std::size_t at = line.find(entry); at != std::string::npos) {
            const std::size_t name = at + entry.size();
            kernels.push_back({line.substr(name, line.find('\'', name) - name), 0, 0, 0});
        } else if (!kernels.empty()) {
            kernels.back().spilled += number_before(" bytes spill stores");
            kernels.back().registers += static_cast<int>(number_before(" registers"));
            kernels.back().shared_bytes += static_cast<int>(number_before(" bytes smem"));
        }
    }
    return kernels;
}

Result<std::vector<KernelResources>> kernel_resources(int capability) {
    const auto loaded = Nvrtc::load(0);
    if (!loaded) return loaded.error();
    auto target = target_of(*loaded, capability);
    if (!target) return target.error();
    if (!target->machine_code)
        return Error{"CUDA's compiler " + loaded->version() +
                     " makes no machine code for devices of compute capability " + std::to_string(capability / 10) +
                     "." + std::to_string(capability % 10)};
    target->options.emplace_back("--ptxas-options=-v");
    std::string said;
    if (const auto code = compile(*loaded, *target, &said); !code) return code.error();
    std::vector<KernelResources> kernels = read_ptxas(said);
    if (kernels.empty())
        return Error{"CUDA's compiler " + loaded->version() + " says nothing of the kernels' registers"};
    return kernels;
}

}  // namespace hpo::gpu
