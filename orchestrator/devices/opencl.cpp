#include "orchestrator/devices/opencl.hpp"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "hpo/short_hash.hpp"

namespace hpo {
namespace {

// cl_nv_device_attribute_query, which the headers of Khronos lack.
constexpr cl_uint CL_DEVICE_PCI_BUS_ID_NV = 0x4008, CL_DEVICE_PCI_SLOT_ID_NV = 0x4009,
                  CL_DEVICE_PCI_DOMAIN_ID_NV = 0x400A;

struct OpenCl {
    decltype(&clGetPlatformIDs) platforms;
    decltype(&clGetDeviceIDs) devices;
    decltype(&clGetPlatformInfo) platform_info;
    decltype(&clGetDeviceInfo) device_info;
};

using DeviceInfo = decltype(&clGetDeviceInfo);

template <class T>
bool value(DeviceInfo info, cl_device_id of, cl_uint what, T& value) {
    return info(of, what, sizeof value, &value, nullptr) == CL_SUCCESS;
}

template <class Object>
std::string text(cl_int (*info)(Object, cl_uint, std::size_t, void*, std::size_t*), Object of, cl_uint what) {
    char buffer[512] = {};
    std::size_t size = 0;
    if (info(of, what, sizeof buffer - 1, buffer, &size) != CL_SUCCESS) return {};
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

std::string pci_of(DeviceInfo info, cl_device_id device) {
    std::array<std::uint32_t, 4> address{};  // domain, bus, device, function
    if (!value(info, device, CL_DEVICE_PCI_BUS_INFO_KHR, address)) {
        std::uint32_t slot = 0;
        if (!value(info, device, CL_DEVICE_PCI_BUS_ID_NV, address[1]) ||
            !value(info, device, CL_DEVICE_PCI_SLOT_ID_NV, slot))
            return {};
        (void)value(info, device, CL_DEVICE_PCI_DOMAIN_ID_NV, address[0]);
        address[2] = slot >> 3;
    }
    char written[32];
    std::snprintf(written, sizeof written, "%08x:%02x:%02x.0", address[0], address[1], address[2]);
    return written;
}

DeviceReading read_device(const OpenCl& opencl, cl_device_id handle, const std::string& platform) {
    DeviceReading device;
    device.kind = DeviceKind::opencl;
    device.platform = platform;
    device.name = text(opencl.device_info, handle, CL_DEVICE_BOARD_NAME_AMD);  // AMD's device name is that of the chip
    if (device.name.empty()) device.name = text(opencl.device_info, handle, CL_DEVICE_NAME);
    if (device.name.empty()) device.name = "OpenCL device";
    std::uint64_t type = 0, memory = 0;
    std::uint32_t unified = 0;
    (void)value(opencl.device_info, handle, CL_DEVICE_TYPE, type);
    (void)value(opencl.device_info, handle, CL_DEVICE_GLOBAL_MEM_SIZE, memory);
    (void)value(opencl.device_info, handle, CL_DEVICE_HOST_UNIFIED_MEMORY, unified);
    device.cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
    device.memory = static_cast<std::int64_t>(memory);
    device.unified = device.cpu || unified != 0;
    device.pci = pci_of(opencl.device_info, handle);
    std::array<std::uint8_t, 16> uuid{};
    device.id = !device.cpu && value(opencl.device_info, handle, CL_DEVICE_UUID_KHR, uuid)
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
    if (opencl.platforms(0, nullptr, &count) != CL_SUCCESS) return readings;  // also where no driver is installed
    std::vector<cl_platform_id> platforms(count);
    if (count == 0 || opencl.platforms(count, platforms.data(), nullptr) != CL_SUCCESS) return readings;
    std::set<std::string> known;
    for (cl_platform_id platform : platforms) {
        const std::string name = text(opencl.platform_info, platform, CL_PLATFORM_NAME);
        std::uint32_t size = 0;
        if (opencl.devices(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &size) != CL_SUCCESS || size == 0) continue;
        std::vector<cl_device_id> devices(size);
        if (opencl.devices(platform, CL_DEVICE_TYPE_ALL, size, devices.data(), nullptr) != CL_SUCCESS) continue;
        for (cl_device_id handle : devices) {
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
