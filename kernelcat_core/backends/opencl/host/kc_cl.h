// As much of the OpenCL 1.2 host interface as a generated host file calls, with the values of Khronos' OpenCL
// specification; the functions are found at run time (kc_opencl.c). Included in place of <CL/cl.h>.
#pragma once
#include <stddef.h>
#include <stdint.h>

#define CL_VERSION_1_2 1
typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong, cl_bitfield;
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;

enum { CL_SUCCESS = 0, CL_INVALID_GLOBAL_WORK_SIZE = -63 };
enum { CL_MEM_READ_WRITE = 1, CL_MEM_READ_ONLY = 4, CL_MEM_USE_HOST_PTR = 8 };
enum { CL_MAP_READ = 1, CL_MAP_WRITE = 2 };
enum {
  CL_DEVICE_TYPE_ALL = -1, CL_PLATFORM_VERSION = 0x0901, CL_PLATFORM_NAME = 0x0902, CL_DEVICE_NAME = 0x102b,
  CL_QUEUE_CONTEXT = 0x1090, CL_PROGRAM_BINARY_SIZES = 0x1165, CL_PROGRAM_BINARIES = 0x1166, CL_PROGRAM_BUILD_LOG = 0x1183
};

#define KC_FUNCTIONS(F) \
  F(cl_int, clGetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *)) \
  F(cl_int, clGetPlatformInfo, (cl_platform_id, cl_uint, size_t, void *, size_t *)) \
  F(cl_int, clGetDeviceIDs, (cl_platform_id, cl_bitfield, cl_uint, cl_device_id *, cl_uint *)) \
  F(cl_int, clGetDeviceInfo, (cl_device_id, cl_uint, size_t, void *, size_t *)) \
  F(cl_context, clCreateContext, (const intptr_t *, cl_uint, const cl_device_id *, void *, void *, cl_int *)) \
  F(cl_command_queue, clCreateCommandQueue, (cl_context, cl_device_id, cl_bitfield, cl_int *)) \
  F(cl_int, clGetCommandQueueInfo, (cl_command_queue, cl_uint, size_t, void *, size_t *)) \
  F(cl_mem, clCreateBuffer, (cl_context, cl_bitfield, size_t, void *, cl_int *)) \
  F(cl_int, clReleaseMemObject, (cl_mem)) \
  F(cl_program, clCreateProgramWithSource, (cl_context, cl_uint, const char **, const size_t *, cl_int *)) \
  F(cl_program, clCreateProgramWithBinary, \
    (cl_context, cl_uint, const cl_device_id *, const size_t *, const unsigned char **, cl_int *, cl_int *)) \
  F(cl_int, clBuildProgram, (cl_program, cl_uint, const cl_device_id *, const char *, void *, void *)) \
  F(cl_int, clGetProgramBuildInfo, (cl_program, cl_device_id, cl_uint, size_t, void *, size_t *)) \
  F(cl_int, clGetProgramInfo, (cl_program, cl_uint, size_t, void *, size_t *)) \
  F(cl_kernel, clCreateKernel, (cl_program, const char *, cl_int *)) \
  F(cl_int, clReleaseKernel, (cl_kernel)) \
  F(cl_int, clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *)) \
  F(cl_int, clEnqueueNDRangeKernel, \
    (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint, void *, void *)) \
  F(void *, clEnqueueMapBuffer, \
    (cl_command_queue, cl_mem, cl_uint, cl_bitfield, size_t, size_t, cl_uint, void *, void *, cl_int *)) \
  F(cl_int, clEnqueueUnmapMemObject, (cl_command_queue, cl_mem, void *, cl_uint, void *, void *)) \
  F(cl_int, clFinish, (cl_command_queue))

#define KC_POINTER(result, name, parameters) static result(*name) parameters;
KC_FUNCTIONS(KC_POINTER)
#undef KC_POINTER
