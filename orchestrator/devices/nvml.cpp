#include "orchestrator/devices/nvml.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

#include "orchestrator/devices/host.hpp"

namespace hpo {

// The interface as the NVML API Reference documents it. NVIDIA keeps it stable: the versions in the names never change.
namespace nvml {
using Device = void*;
enum Code : int {
    success = 0,
    not_supported = 3,
    no_permission = 4,
    insufficient_size = 7,
    driver_not_loaded = 9,
    function_not_found = 13,
    gpu_is_lost = 15,
    reset_required = 16,
    version_mismatch = 18,
};
struct Memory {
    unsigned long long total, free, used;
};
struct PciInfo {
    char legacy_text[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char text[32];
};
struct Utilization {
    unsigned gpu, memory;
};
constexpr int uncorrected_errors = 1, since_reset = 0;
constexpr int core_temperature = 0, multiprocessor_clock = 1, sent = 0, received = 1;
/// Reasons of a lowered clock: the power limit, hardware slowdown, heat (by software, by hardware), the power brake.
/// The others (idle, a clock that the user has set) are no throttling.
constexpr unsigned long long throttle_reasons = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;
constexpr unsigned long long not_available = ~0ULL;
/// nvmlProcessInfo_t: pid, 4 bytes of padding, bytes of memory, two instance numbers.
constexpr std::size_t process_bytes = 24;
/// Drivers 535.43 to 535.98 appended another number to the same version of the structure.
constexpr std::size_t longer_process_bytes = 32;
}  // namespace nvml

struct Nvml::Library {
    std::string path;
    int (*init)();
    const char* (*error_text)(int);
    int (*count)(unsigned*);
    int (*handle)(unsigned, nvml::Device*);
    int (*uuid)(nvml::Device, char*, unsigned);
    int (*name)(nvml::Device, char*, unsigned);
    int (*memory)(nvml::Device, nvml::Memory*);
    // Functions that old drivers lack are null.
    int (*pci)(nvml::Device, nvml::PciInfo*);
    int (*ecc_errors)(nvml::Device, int, int, unsigned long long*);
    int (*processes)(nvml::Device, unsigned*, void*);
    int (*utilization)(nvml::Device, nvml::Utilization*);
    int (*power)(nvml::Device, unsigned* milliwatts);
    int (*power_limit)(nvml::Device, unsigned* milliwatts);
    int (*temperature)(nvml::Device, int sensor, unsigned* celsius);
    int (*clock)(nvml::Device, int domain, unsigned* megahertz);
    int (*throttle_reasons)(nvml::Device, unsigned long long*);
    int (*pcie)(nvml::Device, int direction, unsigned* kilobytes_per_second);

    [[nodiscard]] std::string message(int code) const {
        const char* text = error_text(code);
        return std::string(text ? text : "unknown error") + " (code " + std::to_string(code) + ")";
    }
    [[nodiscard]] std::optional<std::vector<DeviceProcess>> processes_of(nvml::Device device) const;
    [[nodiscard]] DeviceActivity activity_of(nvml::Device device) const;
};

namespace {

template <class F>
bool find(void* library, const char* symbol, F& function) {
    function = reinterpret_cast<F>(::dlsym(library, symbol));
    return function != nullptr;
}

const char* cure(int code) {
    switch (code) {
        case nvml::driver_not_loaded:
            return "load the driver (modprobe nvidia) or restart the machine";
        case nvml::version_mismatch:
            return "the driver was updated: restart the machine";
        case nvml::no_permission:
            return "this user may not open /dev/nvidiactl";
        default:
            return "see what nvidia-smi says";
    }
}

/// Returns true if this process is in a pid namespace: there the driver lists no processes, or only those of the
/// namespace.
bool own_process_numbers() {
    char name[64] = {};
    return ::readlink("/proc/self/ns/pid", name, sizeof name - 1) > 0 && std::strcmp(name, "pid:[4026531836]") != 0;
}

}  // namespace

bool nvidia_driver_expected() {
    const char* named = std::getenv(nvml_variable);
    if (named && *named) return true;
    return ::access("/proc/driver/nvidia/version", F_OK) == 0 || ::access("/dev/nvidiactl", F_OK) == 0 ||
           ::access("/usr/lib/wsl/lib/libnvidia-ml.so.1", F_OK) == 0;
}

std::string gpu_without_driver(const std::filesystem::path& root) {
    if (std::filesystem::exists(root / "proc/driver/nvidia/version")) return {};
    const auto word_in = [](const std::filesystem::path& file) {
        std::string word;
        std::ifstream(file) >> word;
        return word;
    };
    std::error_code none;
    for (const auto& device : std::filesystem::directory_iterator(root / "sys/bus/pci/devices", none)) {
        const bool display = word_in(device.path() / "class").starts_with("0x03");
        if (display && word_in(device.path() / "vendor") == "0x10de")
            return "the NVIDIA GPU at " + device.path().filename().string() +
                   " has no NVIDIA driver: install it, or load it (modprobe nvidia)";
    }
    return {};
}

Result<Nvml> Nvml::load() {
    const char* named = std::getenv(nvml_variable);
    const bool chosen = named && *named;
    std::string path = chosen ? named : "libnvidia-ml.so.1";
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle && !chosen) handle = ::dlopen("/usr/lib/wsl/lib/libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char* why = ::dlerror();
        return Error{"NVIDIA's management library cannot be loaded (" + std::string(why ? why : path) + "): " +
                     (chosen ? std::string("correct ") + nvml_variable
                             : std::string("install the driver's libraries, or name it in ") + nvml_variable)};
    }
    auto library = std::make_unique<Library>();
    library->path = path;
    Library& l = *library;
    if (!find(handle, "nvmlInit_v2", l.init) || !find(handle, "nvmlErrorString", l.error_text) ||
        !find(handle, "nvmlDeviceGetCount_v2", l.count) || !find(handle, "nvmlDeviceGetHandleByIndex_v2", l.handle) ||
        !find(handle, "nvmlDeviceGetUUID", l.uuid) || !find(handle, "nvmlDeviceGetName", l.name) ||
        !find(handle, "nvmlDeviceGetMemoryInfo", l.memory))
        return Error{path + " is not the management library of a supported NVIDIA driver: " +
                     (chosen ? std::string("correct ") + nvml_variable : "update the driver")};
    find(handle, "nvmlDeviceGetPciInfo_v3", l.pci);
    find(handle, "nvmlDeviceGetTotalEccErrors", l.ecc_errors);
    find(handle, "nvmlDeviceGetUtilizationRates", l.utilization);
    find(handle, "nvmlDeviceGetPowerUsage", l.power);
    find(handle, "nvmlDeviceGetEnforcedPowerLimit", l.power_limit);
    find(handle, "nvmlDeviceGetTemperature", l.temperature);
    find(handle, "nvmlDeviceGetClockInfo", l.clock);
    if (!find(handle, "nvmlDeviceGetCurrentClocksEventReasons", l.throttle_reasons))
        find(handle, "nvmlDeviceGetCurrentClocksThrottleReasons", l.throttle_reasons);
    find(handle, "nvmlDeviceGetPcieThroughput", l.pcie);
    if (!find(handle, "nvmlDeviceGetComputeRunningProcesses_v3", l.processes))
        find(handle, "nvmlDeviceGetComputeRunningProcesses_v2", l.processes);
    return Nvml(library.release());
}

std::optional<std::vector<DeviceProcess>> Nvml::Library::processes_of(nvml::Device device) const {
    if (!processes) return std::nullopt;
    std::vector<unsigned char> buffer;
    unsigned found = 0;
    int code = nvml::insufficient_size;
    for (unsigned room = 64; code == nvml::insufficient_size && room <= 65536; room *= 4) {
        buffer.assign(room * nvml::longer_process_bytes, 0xa5);
        found = room;
        code = processes(device, &found, buffer.data());
    }
    if (code != nvml::success) return std::nullopt;
    bool longer = false;
    for (std::size_t i = found * nvml::process_bytes; i < found * nvml::longer_process_bytes; ++i)
        longer = longer || buffer[i] != 0xa5;
    std::vector<DeviceProcess> all;
    for (unsigned i = 0; i < found; ++i) {
        const unsigned char* at = buffer.data() + i * (longer ? nvml::longer_process_bytes : nvml::process_bytes);
        unsigned pid;
        unsigned long long bytes;
        std::memcpy(&pid, at, sizeof pid);
        std::memcpy(&bytes, at + 8, sizeof bytes);
        if (bytes == nvml::not_available) return std::nullopt;
        all.push_back({pid, static_cast<std::int64_t>(bytes)});
    }
    if (all.empty() && own_process_numbers()) return std::nullopt;
    return all;
}

DeviceActivity Nvml::Library::activity_of(nvml::Device device) const {
    DeviceActivity activity;
    if (nvml::Utilization busy{}; utilization && utilization(device, &busy) == nvml::success) {
        activity.utilization = busy.gpu;
        activity.memory_utilization = busy.memory;
    }
    const auto read = [&](std::optional<double>& value, double unit, auto function, auto... arguments) {
        if (unsigned number = 0; function && function(device, arguments..., &number) == nvml::success)
            value = unit * number;
    };
    read(activity.power, 1e-3, power);
    read(activity.power_limit, 1e-3, power_limit);
    read(activity.temperature, 1, temperature, nvml::core_temperature);
    read(activity.clock, 1, clock, nvml::multiprocessor_clock);
    read(activity.received, 1000, pcie, nvml::received);
    read(activity.sent, 1000, pcie, nvml::sent);
    if (unsigned long long reasons = 0; throttle_reasons && throttle_reasons(device, &reasons) == nvml::success)
        activity.throttled = (reasons & nvml::throttle_reasons) != 0;
    return activity;
}

DeviceReadings Nvml::read() {
    DeviceReadings readings;
    const auto failed = [&](int code) {
        ready_ = false;
        readings.problem = "the NVIDIA driver reports: " + library_->message(code) + "; " + cure(code);
        return readings;
    };
    if (!ready_)
        if (const int code = library_->init(); code != nvml::success) return failed(code);
    ready_ = true;
    unsigned count = 0;
    if (const int code = library_->count(&count); code != nvml::success) return failed(code);
    for (unsigned index = 0; index < count; ++index) {
        DeviceReading device = read_device(index);
        const bool forbidden = device.id.empty() && !device.lost;
        if (!forbidden) readings.devices.push_back(std::move(device));
    }
    return readings;
}

DeviceReading Nvml::read_device(unsigned index) {
    DeviceReading device;
    device.index = index;
    const auto failed = [&](int code) {
        device.lost = true;
        device.reason = code == nvml::reset_required ? "it needs a reset (nvidia-smi --gpu-reset)"
                                                     : "the driver reports: " + library_->message(code);
        return device;
    };
    nvml::Device handle = nullptr;
    if (const int code = library_->handle(index, &handle); code == nvml::no_permission)
        return device;
    else if (code != nvml::success)
        return failed(code);

    char text[128] = {};
    if (const int code = library_->uuid(handle, text, sizeof text); code != nvml::success) return failed(code);
    device.id = text;
    device.name = library_->name(handle, text, sizeof text) == nvml::success ? text : "NVIDIA GPU";
    nvml::PciInfo pci{};
    if (library_->pci && library_->pci(handle, &pci) == nvml::success) {
        std::snprintf(text, sizeof text, "%08x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
        device.pci = text;
    }

    nvml::Memory memory{};
    if (const int code = library_->memory(handle, &memory); code == nvml::success) {
        device.memory = static_cast<std::int64_t>(memory.total);
        device.used = static_cast<std::int64_t>(memory.total - memory.free);
    } else if (code == nvml::not_supported) {
        device.unified = true;  // the GPU has no memory of its own
        device.memory = read_host().memory;
        device.used = device.memory - available_memory();
    } else {
        return failed(code);
    }
    device.processes = library_->processes_of(handle);
    device.activity = library_->activity_of(handle);
    unsigned long long errors = 0;
    if (library_->ecc_errors && library_->ecc_errors(handle, nvml::uncorrected_errors, nvml::since_reset, &errors) == 0)
        device.ecc_errors = static_cast<std::int64_t>(errors);
    return device;
}

}  // namespace hpo
