// What is used of OpenCL's and CLBlast's C interfaces, declared here so that no header of theirs is needed. Names and
// values are those of CL/cl.h and clblast_c.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "worker/backends/gpu/library.hpp"

namespace hpo::gpu::cl {

using Int = std::int32_t;
using UInt = std::uint32_t;
using ULong = std::uint64_t;
struct PlatformObject;
struct DeviceObject;
struct ContextObject;
struct QueueObject;
struct MemoryObject;
struct ProgramObject;
struct KernelObject;
struct EventObject;
using Platform = PlatformObject*;
using Device = DeviceObject*;
using Context = ContextObject*;
using Queue = QueueObject*;
using Buffer = MemoryObject*;
using Program = ProgramObject*;
using Kernel = KernelObject*;
using Event = EventObject*;

inline constexpr Int success = 0;
inline constexpr Int device_not_found = -1;
inline constexpr Int memory_allocation_failure = -4;
inline constexpr Int out_of_resources = -5;
inline constexpr Int out_of_host_memory = -6;
inline constexpr Int invalid_buffer_size = -61;
inline constexpr Int platform_not_found = -1001;

/// The name of the errors that a device may answer with on its own account; null: another one.
constexpr const char* name_of(Int status) {
    switch (status) {
        case device_not_found:
            return "CL_DEVICE_NOT_FOUND";
        case -2:
            return "CL_DEVICE_NOT_AVAILABLE";
        case -3:
            return "CL_COMPILER_NOT_AVAILABLE";
        case memory_allocation_failure:
            return "CL_MEM_OBJECT_ALLOCATION_FAILURE";
        case out_of_resources:
            return "CL_OUT_OF_RESOURCES";
        case out_of_host_memory:
            return "CL_OUT_OF_HOST_MEMORY";
        case -11:
            return "CL_BUILD_PROGRAM_FAILURE";
        case -14:
            return "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST";
        case -36:
            return "CL_INVALID_COMMAND_QUEUE";
        case -54:
            return "CL_INVALID_WORK_GROUP_SIZE";
        case invalid_buffer_size:
            return "CL_INVALID_BUFFER_SIZE";
        default:
            return nullptr;
    }
}

inline constexpr UInt platform_name = 0x0902;
inline constexpr UInt device_type = 0x1000;
inline constexpr UInt device_max_group = 0x1004;
inline constexpr UInt kernel_work_group_size = 0x11B0;
inline constexpr UInt device_max_allocation = 0x1010;
inline constexpr UInt device_memory = 0x101F;
inline constexpr UInt device_compiler = 0x1028;
inline constexpr UInt device_local_memory = 0x1023;
inline constexpr UInt device_available = 0x1027;
inline constexpr UInt device_name = 0x102B;
inline constexpr UInt driver_version = 0x102D;
inline constexpr UInt device_version = 0x102F;
inline constexpr UInt device_unified_memory = 0x1035;
inline constexpr UInt program_build_log = 0x1183;
inline constexpr ULong type_cpu = 1 << 1;
inline constexpr ULong type_gpu = 1 << 2;
inline constexpr ULong type_accelerator = 1 << 3;
inline constexpr ULong type_all = 0xFFFFFFFF;
inline constexpr ULong memory_read_write = 1;

/// The loader of OpenCL's drivers.
inline Result<Library> library() {
    const char* named = std::getenv("HPO_OPENCL_LIBRARY");
    auto opened = named && *named ? Library::open({named}) : Library::open({"libOpenCL.so.1"});
    if (!opened) return Error{"OpenCL is not installed: " + opened.error().message};
    return opened;
}

struct Api {
    Int (*get_platforms)(UInt, Platform*, UInt*) = nullptr;
    Int (*get_platform_info)(Platform, UInt, std::size_t, void*, std::size_t*) = nullptr;
    Int (*get_devices)(Platform, ULong, UInt, Device*, UInt*) = nullptr;
    Int (*get_device_info)(Device, UInt, std::size_t, void*, std::size_t*) = nullptr;
    Context (*create_context)(const std::intptr_t*, UInt, const Device*,
                              void (*)(const char*, const void*, std::size_t, void*), void*, Int*) = nullptr;
    Int (*release_context)(Context) = nullptr;
    Queue (*create_queue)(Context, Device, ULong, Int*) = nullptr;
    Int (*release_queue)(Queue) = nullptr;
    Buffer (*create_buffer)(Context, ULong, std::size_t, void*, Int*) = nullptr;
    Int (*release_buffer)(Buffer) = nullptr;
    Int (*write_buffer)(Queue, Buffer, UInt, std::size_t, std::size_t, const void*, UInt, const Event*,
                        Event*) = nullptr;
    Int (*wait_for_events)(UInt, const Event*) = nullptr;
    Int (*release_event)(Event) = nullptr;
    Int (*read_buffer)(Queue, Buffer, UInt, std::size_t, std::size_t, void*, UInt, const Event*, Event*) = nullptr;
    Int (*copy_buffer)(Queue, Buffer, Buffer, std::size_t, std::size_t, std::size_t, UInt, const Event*,
                       Event*) = nullptr;
    Int (*fill_buffer)(Queue, Buffer, const void*, std::size_t, std::size_t, std::size_t, UInt, const Event*,
                       Event*) = nullptr;
    Program (*create_program)(Context, UInt, const char**, const std::size_t*, Int*) = nullptr;
    Int (*build_program)(Program, UInt, const Device*, const char*, void (*)(Program, void*), void*) = nullptr;
    Int (*get_build_info)(Program, Device, UInt, std::size_t, void*, std::size_t*) = nullptr;
    Int (*release_program)(Program) = nullptr;
    Kernel (*create_kernel)(Program, const char*, Int*) = nullptr;
    Int (*release_kernel)(Kernel) = nullptr;
    Int (*get_group_info)(Kernel, Device, UInt, std::size_t, void*, std::size_t*) = nullptr;
    Int (*set_argument)(Kernel, UInt, std::size_t, const void*) = nullptr;
    Int (*launch)(Queue, Kernel, UInt, const std::size_t*, const std::size_t*, const std::size_t*, UInt, const Event*,
                  Event*) = nullptr;
    Int (*flush)(Queue) = nullptr;
    Int (*finish)(Queue) = nullptr;

    static Result<Api> load() {
        const auto loader = library();
        if (!loader) return loader.error();
        Api api;
        const Library& from = *loader;
        const bool whole =
            from.find("clGetPlatformIDs", api.get_platforms) && from.find("clGetPlatformInfo", api.get_platform_info) &&
            from.find("clGetDeviceIDs", api.get_devices) && from.find("clGetDeviceInfo", api.get_device_info) &&
            from.find("clCreateContext", api.create_context) && from.find("clReleaseContext", api.release_context) &&
            from.find("clCreateCommandQueue", api.create_queue) &&
            from.find("clReleaseCommandQueue", api.release_queue) && from.find("clCreateBuffer", api.create_buffer) &&
            from.find("clReleaseMemObject", api.release_buffer) && from.find("clWaitForEvents", api.wait_for_events) &&
            from.find("clReleaseEvent", api.release_event) && from.find("clEnqueueWriteBuffer", api.write_buffer) &&
            from.find("clEnqueueReadBuffer", api.read_buffer) && from.find("clEnqueueCopyBuffer", api.copy_buffer) &&
            from.find("clEnqueueFillBuffer", api.fill_buffer) &&
            from.find("clCreateProgramWithSource", api.create_program) &&
            from.find("clBuildProgram", api.build_program) && from.find("clGetProgramBuildInfo", api.get_build_info) &&
            from.find("clReleaseProgram", api.release_program) && from.find("clCreateKernel", api.create_kernel) &&
            from.find("clReleaseKernel", api.release_kernel) &&
            from.find("clGetKernelWorkGroupInfo", api.get_group_info) &&
            from.find("clSetKernelArg", api.set_argument) && from.find("clEnqueueNDRangeKernel", api.launch) &&
            from.find("clFlush", api.flush) && from.find("clFinish", api.finish);
        if (!whole) return Error{"the OpenCL library is older than version 1.2"};
        return api;
    }
};

// CLBlast 1.2 or later.
inline constexpr int row_major = 101;
inline constexpr int no_transpose = 111;
inline constexpr int transposed = 112;
inline constexpr int single_precision = 32;

struct Blast {
    int (*multiply)(int layout, int a_form, int b_form, std::size_t m, std::size_t n, std::size_t k, float alpha,
                    Buffer a, std::size_t a_offset, std::size_t a_ld, std::size_t a_stride, Buffer b,
                    std::size_t b_offset, std::size_t b_ld, std::size_t b_stride, float beta, Buffer c,
                    std::size_t c_offset, std::size_t c_ld, std::size_t c_stride, std::size_t batches, Queue* queue,
                    Event* event) = nullptr;
    int (*override_parameters)(Device, const char* kernel, int precision, std::size_t count, const char** names,
                               const std::size_t* values) = nullptr;

    static Result<Library> library() { return Library::open({"libclblast.so.1", "libclblast.so"}); }

    static Result<Blast> load() {
        const auto opened = library();
        if (!opened) return Error{"CLBlast is not installed: " + opened.error().message};
        Blast blast;
        if (!opened->find("CLBlastSgemmStridedBatched", blast.multiply) ||
            !opened->find("CLBlastOverrideParameters", blast.override_parameters))
            return Error{"CLBlast is older than version 1.2"};
        return blast;
    }
};

}  // namespace hpo::gpu::cl
