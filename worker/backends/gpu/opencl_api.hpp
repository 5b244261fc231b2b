// OpenCL's and CLBlast's C interfaces, whose libraries are loaded at run time.
#pragma once

#include <cstddef>
#include <cstdlib>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "worker/backends/library.hpp"

namespace hpo::gpu::cl {

/// An ICD loader answers with this where no driver is installed (CL_PLATFORM_NOT_FOUND_KHR of cl_khr_icd).
inline constexpr cl_int platform_not_found = -1001;

/// Returns the name of an error that a device may cause, or null.
constexpr const char* name_of(cl_int status) {
    switch (status) {
#define HPO_NAME(name) \
    case name:         \
        return #name
        HPO_NAME(CL_DEVICE_NOT_FOUND);
        HPO_NAME(CL_DEVICE_NOT_AVAILABLE);
        HPO_NAME(CL_COMPILER_NOT_AVAILABLE);
        HPO_NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE);
        HPO_NAME(CL_OUT_OF_RESOURCES);
        HPO_NAME(CL_OUT_OF_HOST_MEMORY);
        HPO_NAME(CL_BUILD_PROGRAM_FAILURE);
        HPO_NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        HPO_NAME(CL_INVALID_COMMAND_QUEUE);
        HPO_NAME(CL_INVALID_WORK_GROUP_SIZE);
        HPO_NAME(CL_INVALID_BUFFER_SIZE);
#undef HPO_NAME
        default:
            return nullptr;
    }
}

/// The loader of OpenCL's drivers.
inline Result<Library> library() {
    const char* named = std::getenv("HPO_OPENCL_LIBRARY");
    auto opened = named && *named ? Library::open({named}) : Library::open({"libOpenCL.so.1"});
    if (!opened) return Error{"OpenCL is not installed: " + opened.error().message};
    return opened;
}

// clang-format off
#define HPO_OPENCL_FUNCTIONS(F) \
    F(clGetPlatformIDs) F(clGetDeviceIDs) F(clGetDeviceInfo) \
    F(clCreateContext) F(clReleaseContext) F(clCreateCommandQueue) F(clReleaseCommandQueue) \
    F(clCreateBuffer) F(clReleaseMemObject) F(clWaitForEvents) F(clReleaseEvent) \
    F(clEnqueueWriteBuffer) F(clEnqueueReadBuffer) F(clEnqueueCopyBuffer) F(clEnqueueFillBuffer) \
    F(clCreateProgramWithSource) F(clBuildProgram) F(clGetProgramBuildInfo) F(clReleaseProgram) \
    F(clCreateKernel) F(clReleaseKernel) F(clGetKernelWorkGroupInfo) F(clSetKernelArg) \
    F(clEnqueueNDRangeKernel) F(clFlush) F(clFinish)
// clang-format on

struct Api {
#define HPO_MEMBER(name) decltype(&::name) name = nullptr;
    HPO_OPENCL_FUNCTIONS(HPO_MEMBER)
#undef HPO_MEMBER

    static Result<Api> load() {
        const auto loader = library();
        if (!loader) return loader.error();
        Api api;
#define HPO_FIND(name) \
    if (!loader->find(#name, api.name)) return Error{"the OpenCL library is older than version 1.2"};
        HPO_OPENCL_FUNCTIONS(HPO_FIND)
#undef HPO_FIND
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
                    cl_mem a, std::size_t a_offset, std::size_t a_ld, std::size_t a_stride, cl_mem b,
                    std::size_t b_offset, std::size_t b_ld, std::size_t b_stride, float beta, cl_mem c,
                    std::size_t c_offset, std::size_t c_ld, std::size_t c_stride, std::size_t batches,
                    cl_command_queue* queue, cl_event* event) = nullptr;
    int (*override_parameters)(cl_device_id, const char* kernel, int precision, std::size_t count, const char** names,
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
