#include "orchestrator/devices/opencl.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

namespace hpo {
namespace {

// The interface as Khronos documents it (The OpenCL Specification, and the extensions cl_khr_device_uuid,
// cl_khr_pci_bus_info, cl_nv_device_attribute_query and cl_amd_device_attribute_query).
using Handle = void*;
constexpr std::int32_t success = 0;
constexpr std::uint64_t type_cpu = 1 << 1, all_types = 0xffffffff;
enum Info : std::uint32_t {
    platform_name = 0x0902,
    device_type = 0x1000,
    global_memory = 0x101f,
    device_name = 0x102b,
    host_unified_memory = 0x1035,
    device_uuid = 0x106a,
    nv_pci_bus = 0x4008,
    nv_pci_slot = 0x4009,
    nv_pci_domain = 0x400a,
    amd_board_name = 0x4038,
    pci_bus_info = 0x410f,
};
using GetInfo = std::int32_t (*)(Handle, std::uint32_t, std::size_t, void*, std::size_t*);

struct OpenCl {
    std::int32_t (*platforms)(std::uint32_t, Handle*, std::uint32_t*);
    std::int32_t (*devices)(Handle, std::uint64_t, std::uint32_t, Handle*, std::uint32_t*);
    GetInfo platform_info;
    GetInfo device_info;
};

template <class T>
bool value(GetInfo info, Handle of, Info what, T& value) {
    return info(of, what, sizeof value, &value, nullptr) == success;
}

std::string text(GetInfo info, Handle of, Info what) {
    char buffer[512] = {};
    std::size_t size = 0;
    if (info(of, what, sizeof buffer - 1, buffer, &size) != success) return {};
    std::string found(buffer);
    found.erase(0, found.find_first_not_of(' '));
    return found.substr(0, found.find_last_not_of(' ') + 1);
}

std::string uuid_text(const std::array<std::uint8_t, 16>& bytes) {
    std::string written = "GPU-";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        char hex[4];
        std::snprintf(hex, sizeof hex, "%02x", bytes[i]);
        written += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(hex);
    }
    return written;
}

std::string pci_of(GetInfo info, Handle device) {
    std::array<std::uint32_t, 4> address{};  // domain, bus, device, function
    if (!value(info, device, pci_bus_info, address)) {
        std::uint32_t slot = 0;
        if (!value(info, device, nv_pci_bus, address[1]) || !value(info, device, nv_pci_slot, slot)) return {};
        (void)value(info, device, nv_pci_domain, address[0]);
        address[2] = slot >> 3;
    }
    char written[32];
    std::snprintf(written, sizeof written, "%08x:%02x:%02x.0", address[0], address[1], address[2]);
    return written;
}

/// FNV-1a, 64 bits, in hex.
std::string short_hash(const std::string& text) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 1099511628211ULL;
    char written[17];
    std::snprintf(written, sizeof written, "%016llx", static_cast<unsigned long long>(hash));
    return written;
}

DeviceReading read_device(const OpenCl& opencl, Handle handle, const std::string& platform) {
    DeviceReading device;
    device.kind = DeviceKind::opencl;
    device.platform = platform;
    device.name = text(opencl.device_info, handle, amd_board_name);  // AMD's device name is that of the chip
    if (device.name.empty()) device.name = text(opencl.device_info, handle, device_name);
    if (device.name.empty()) device.name = "OpenCL device";
    std::uint64_t type = 0, memory = 0;
    std::uint32_t unified = 0;
    (void)value(opencl.device_info, handle, device_type, type);
    (void)value(opencl.device_info, handle, global_memory, memory);
    (void)value(opencl.device_info, handle, host_unified_memory, unified);
    device.cpu = (type & type_cpu) != 0;
    device.memory = static_cast<std::int64_t>(memory);
    device.unified = device.cpu || unified != 0;
    device.pci = pci_of(opencl.device_info, handle);
    std::array<std::uint8_t, 16> uuid{};
    device.id = !device.cpu && value(opencl.device_info, handle, device_uuid, uuid)
                    ? uuid_text(uuid)
                    : "OCL-" + short_hash(platform + '\n' + device.name + '\n' + device.pci);
    return device;
}

}  // namespace

DeviceReadings read_opencl() {
    DeviceReadings readings;
    const char* named = std::getenv(opencl_variable);
    const bool chosen = named && *named;
    void* library = ::dlopen(chosen ? named : "libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char* why = ::dlerror();
        if (chosen)
            readings.problem =
                "OpenCL's loader cannot be loaded (" + std::string(why ? why : named) + "): correct " + opencl_variable;
        return readings;
    }
    OpenCl opencl{};
    const auto find = [&](const char* symbol, auto& function) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
        return function != nullptr;
    };
    if (!find("clGetPlatformIDs", opencl.platforms) || !find("clGetDeviceIDs", opencl.devices) ||
        !find("clGetPlatformInfo", opencl.platform_info) || !find("clGetDeviceInfo", opencl.device_info)) {
        readings.problem = std::string(chosen ? named : "libOpenCL.so.1") + " is not an OpenCL loader";
        return readings;
    }
    std::uint32_t count = 0;
    if (opencl.platforms(0, nullptr, &count) != success) return readings;  // also where no driver is installed
    std::vector<Handle> platforms(count);
    if (count == 0 || opencl.platforms(count, platforms.data(), nullptr) != success) return readings;
    std::set<std::string> known;
    for (Handle platform : platforms) {
        const std::string name = text(opencl.platform_info, platform, platform_name);
        std::uint32_t size = 0;
        if (opencl.devices(platform, all_types, 0, nullptr, &size) != success || size == 0) continue;
        std::vector<Handle> devices(size);
        if (opencl.devices(platform, all_types, size, devices.data(), nullptr) != success) continue;
        for (Handle handle : devices) {
            DeviceReading device = read_device(opencl, handle, name);
            const std::string id = device.id;  // devices with equal properties are numbered
            for (int n = 2; !known.insert(device.id).second; ++n) device.id = id + '-' + std::to_string(n);
            device.index = device.opencl = static_cast<std::int64_t>(readings.devices.size());
            readings.devices.push_back(std::move(device));
        }
    }
    return readings;
}

}  // namespace hpo
