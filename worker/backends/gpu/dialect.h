// The differences of OpenCL C and CUDA. This file precedes arguments.h and the files of kernels/. A work-group has
// WORK_GROUP_SIZE work-items along x; replicas lie along y.
#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef long i64;
#define KERNEL __kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
#define FUNCTION static inline
#define GLOBAL __global
#define LOCAL __local   // of a pointer into a group's memory
#define SHARED __local  // of an array in it
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define BITS_OF(number) as_uint(number)
#define FLOAT_OF(bits) as_float(bits)
#define LOAD4(from) vload4(0, from)
#define STORE4(to, four) vstore4(four, 0, to)
#define FOUR(x, y, z, w) (float4)(x, y, z, w)
#define WORK_ITEM ((u32)get_local_id(0))
#define WORK_GROUP ((u32)get_group_id(0))
#define REPLICA ((u32)get_group_id(1))
#else
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
#define KERNEL extern "C" __global__ __launch_bounds__(256) void
#define FUNCTION static __device__ inline
#define GLOBAL
#define LOCAL
#define SHARED __shared__
#define BARRIER __syncthreads()
#define BITS_OF(number) __float_as_uint(number)
#define FLOAT_OF(bits) __uint_as_float(bits)
// Four floats at once, from an address that is a multiple of 16 bytes.
#define LOAD4(from) (*(const float4*)(from))
#define STORE4(to, four) (*(float4*)(to) = (four))
#define FOUR(x, y, z, w) make_float4(x, y, z, w)
// A number of the work-item that is `distance` further in this one's sub-group, or of its first work-item. OpenCL C 1.2
// has nothing like that: there, sub-groups exchange numbers in the work-group's memory.
#define HAS_SHUFFLES
#define OF_ITEM_AFTER(number, distance) __shfl_down_sync(0xFFFFFFFFu, number, distance)
#define OF_FIRST_ITEM(number) __shfl_sync(0xFFFFFFFFu, number, 0)
#define SUBGROUP_BARRIER __syncwarp()
#define WORK_ITEM threadIdx.x
#define WORK_GROUP blockIdx.x
#define REPLICA blockIdx.y
#endif
