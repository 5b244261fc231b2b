// Asks IOKit for the properties of the GPUs. Both frameworks are loaded at run time, and the few functions that are
// used are declared here, so that the headers of Apple's SDK are not needed to build.
#include <dlfcn.h>
#include <mach/mach.h>

#include <cstdint>
#include <string>

#include "orchestrator/devices/darwin/system.hpp"
#include "orchestrator/devices/metal.hpp"

namespace hpo {
namespace {

using Object = mach_port_t;     // io_object_t
using Reference = const void*;  // CFTypeRef

/// Functions of IOKit and CoreFoundation.
struct IoKit {
    Reference (*matching)(const char* name) = nullptr;                              ///< the caller owns it
    kern_return_t (*services)(mach_port_t, Reference, Object* iterator) = nullptr;  ///< takes the matching
    Object (*next)(Object iterator) = nullptr;
    kern_return_t (*properties)(Object, Reference* dictionary, Reference allocator, std::uint32_t) = nullptr;
    kern_return_t (*release_object)(Object) = nullptr;
    Reference (*xml)(Reference allocator, Reference value, std::intptr_t format, std::uintptr_t, Reference*) = nullptr;
    const std::uint8_t* (*bytes)(Reference data) = nullptr;
    std::intptr_t (*length)(Reference data) = nullptr;
    void (*release)(Reference) = nullptr;

    explicit operator bool() const {
        return matching && services && next && properties && release_object && xml && bytes && length && release;
    }

    static IoKit load() {
        IoKit found;
        void* io = ::dlopen("/System/Library/Frameworks/IOKit.framework/IOKit", RTLD_NOW | RTLD_LOCAL);
        void* core =
            ::dlopen("/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation", RTLD_NOW | RTLD_LOCAL);
        if (!io || !core) return found;
        const auto find = [](void* library, const char* name, auto& function) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
        };
        find(io, "IOServiceMatching", found.matching);
        find(io, "IOServiceGetMatchingServices", found.services);
        find(io, "IOIteratorNext", found.next);
        find(io, "IORegistryEntryCreateCFProperties", found.properties);
        find(io, "IOObjectRelease", found.release_object);
        find(core, "CFPropertyListCreateData", found.xml);
        find(core, "CFDataGetBytePtr", found.bytes);
        find(core, "CFDataGetLength", found.length);
        find(core, "CFRelease", found.release);
        return found;
    }
};

constexpr std::intptr_t xml_format = 100;  // kCFPropertyListXMLFormat_v1_0

/// Appends the XML of a value, without the lines around it.
void append_xml(const IoKit& kit, Reference value, std::string& all) {
    Reference data = kit.xml(nullptr, value, xml_format, 0, nullptr);
    if (!data) return;
    const std::string text(reinterpret_cast<const char*>(kit.bytes(data)), static_cast<std::size_t>(kit.length(data)));
    kit.release(data);
    const auto begin = text.find("<dict"), end = text.rfind("</plist>");
    if (begin != std::string::npos && end != std::string::npos && begin < end) all += text.substr(begin, end - begin);
}

}  // namespace

std::optional<std::string> accelerator_properties() {
    static const IoKit kit = IoKit::load();
    if (!kit) return std::nullopt;
    Object iterator = 0;
    if (kit.services(0, kit.matching("IOAccelerator"), &iterator) != KERN_SUCCESS) return std::nullopt;
    std::string all = "<plist><array>";
    while (const Object accelerator = kit.next(iterator)) {
        Reference dictionary = nullptr;
        if (kit.properties(accelerator, &dictionary, nullptr, 0) == KERN_SUCCESS && dictionary) {
            append_xml(kit, dictionary, all);
            kit.release(dictionary);
        }
        kit.release_object(accelerator);
    }
    kit.release_object(iterator);
    return all + "</array></plist>";
}

std::optional<std::int64_t> gpu_wired_limit() { return darwin::number_of("iogpu.wired_limit_mb"); }

bool has_io_kit() { return true; }

}  // namespace hpo
