// Finds OpenCL (PoCL) at run time, builds programs and runs them: the same file makes the tool that compiles an OpenCL C
// text to a program binary (kc_cl_build) and, below a generated host file, the library that runs that binary (kc_cl_run).
// KC_OPENCL_LIBRARY, KC_OPENCL_DRIVER and KC_OPENCL_HOME are defined when it is compiled.
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "kc_cl.h"

static char message[4000];
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static char platform_version[200], device_name[200];

__attribute__((visibility("default"))) const char *kc_last_error(void) { return message; }

static int failed(const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(message, sizeof message, format, values);
  va_end(values);
  return 1;
}

// PoCL asks LLVM for this processor's name. LLVM calls a processor that is younger than itself "generic", a name that its
// own compiler refuses; this gives the device the newest name that this processor's features allow.
static void name_processor(void) {
#if defined(__x86_64__)
  enum { WORDS = 160 };  // of the device's record; the name is at word 80 in PoCL 3.0
  const char **word = (const char **)device;
  const char *known = __builtin_cpu_supports("avx512vl") ? "skylake-avx512" : __builtin_cpu_supports("avx2") ? "haswell" : "x86-64";
  for (int k = 0; k < WORDS; k++) {
    uintptr_t at = (uintptr_t)word[k];
    if (at < 4096 || at >> 47 || msync((void *)(at & ~(uintptr_t)4095), 4096, MS_ASYNC)) continue;  // not mapped
    if (!memcmp((void *)at, "generic", sizeof "generic")) word[k] = known;
  }
#endif
}

static int open_device(void) {
  cl_int status;
  cl_platform_id platforms[8];
  cl_uint count = 0;
  char name[200] = "";
  if (queue) return 0;
  setenv("PYOPENCL_HOME", KC_OPENCL_HOME, 0);  // where the loader of the pyopencl package looks for PoCL
  setenv("OCL_ICD_VENDORS", KC_OPENCL_HOME "/.libs", 0);
  // PoCL reads the machine's topology from /sys, which a sandbox closes: one core a thread, and a memory of 4 GiB.
  const char *threads = getenv("KC_NUM_THREADS");
  char topology[80];
  snprintf(topology, sizeof topology, "numa:1(memory=4294967296) core:%d pu:1", threads && atoi(threads) > 0 ? atoi(threads) : 1);
  setenv("HWLOC_SYNTHETIC", topology, 0);
  setenv("HWLOC_COMPONENTS", "synthetic,stop", 0);
  if (!dlopen(KC_OPENCL_DRIVER, RTLD_NOW)) return failed("PoCL cannot be loaded: %s", dlerror());  // known by name then
  void *library = dlopen(KC_OPENCL_LIBRARY, RTLD_NOW);
  if (!library) return failed("OpenCL cannot be loaded: %s", dlerror());
#define KC_FIND(result, name, parameters) \
  if (!(*(void **)&name = dlsym(library, #name))) return failed("OpenCL has no function " #name);
  KC_FUNCTIONS(KC_FIND)
#undef KC_FIND
  if ((status = clGetPlatformIDs(8, platforms, &count))) return failed("OpenCL finds no platform: error %d", status);
  for (cl_uint k = 0; k < count && k < 8 && !device; k++) {
    clGetPlatformInfo(platforms[k], CL_PLATFORM_NAME, sizeof name, name, NULL);
    clGetPlatformInfo(platforms[k], CL_PLATFORM_VERSION, sizeof platform_version, platform_version, NULL);
    if (!strcmp(name, "Portable Computing Language") &&
        (status = clGetDeviceIDs(platforms[k], (cl_bitfield)CL_DEVICE_TYPE_ALL, 1, &device, NULL)))
      return failed("PoCL has no device: error %d", status);
  }
  if (!device) return failed("PoCL is not among the platforms of OpenCL");
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof device_name, device_name, NULL);
  name_processor();
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  if (!context) return failed("clCreateContext: error %d", status);
  queue = clCreateCommandQueue(context, device, 0, &status);
  return queue ? 0 : failed("clCreateCommandQueue: error %d", status);
}

static char build_log[100000];

__attribute__((visibility("default"))) const char *kc_cl_log(void) { return build_log; }

static int build(cl_program program, const char *options) {
  cl_int status = clBuildProgram(program, 1, &device, options, NULL, NULL);
  build_log[0] = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof build_log, build_log, NULL);
  return status ? failed("clBuildProgram: error %d: %.3000s", status, build_log) : 0;
}

// Platform and device in one line each; "" where PoCL cannot be used (kc_last_error says why).
__attribute__((visibility("default"))) const char *kc_cl_version(void) {
  static char text[500];
  if (!open_device()) snprintf(text, sizeof text, "%s\n%s", platform_version, device_name);
  return text;
}

// Compiles `length` bytes of OpenCL C and writes the program binary; kc_cl_log has what the compiler said.
__attribute__((visibility("default"))) int kc_cl_build(const char *text, size_t length, const char *options, const char *path) {
  cl_int status;
  size_t size = 0;
  if (open_device()) return 1;
  cl_program program = clCreateProgramWithSource(context, 1, &text, &length, &status);
  if (!program) return failed("clCreateProgramWithSource: error %d", status);
  if (build(program, options)) return 1;
  if ((status = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL)) || !size)
    return failed("no program binary: error %d", status);
  unsigned char *bytes = (unsigned char *)malloc(size);
  status = bytes ? clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL) : -6;
  FILE *file = status ? NULL : fopen(path, "wb");
  int whole = file && fwrite(bytes, 1, size, file) == size;
  if (file && fclose(file)) whole = 0;
  free(bytes);
  return whole ? 0 : failed("the program binary cannot be written: error %d", status);
}

typedef cl_int launcher(cl_command_queue, cl_program, const cl_mem *, const int64_t *);

// Runs a module: `tensors` are host memory of `bytes[k]` bytes, of which the device makes its buffers without a copy.
static int kc_cl_run(const unsigned char *binary, size_t size, launcher *launch, void **tensors, const size_t *bytes,
                     int inputs, int count, const int64_t *sizes) {
  static cl_program program;
  cl_int status = CL_SUCCESS, loaded = CL_SUCCESS;
  cl_mem memory[64] = {0};
  if (count > 64) return failed("more than 64 tensors");
  if (open_device()) return 1;
  if (!program) {
    cl_program made = clCreateProgramWithBinary(context, 1, &device, &size, &binary, &loaded, &status);
    if (!made || status) return failed("clCreateProgramWithBinary: errors %d, %d", status, loaded);
    if (build(made, "")) return 1;
    program = made;
  }
  for (int k = 0; k < count && !status; k++)
    memory[k] = clCreateBuffer(context, CL_MEM_USE_HOST_PTR | (k < inputs ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE),
                               bytes[k] ? bytes[k] : 1, tensors[k], &status);
  if (status) failed("clCreateBuffer: error %d", status);
  else if ((status = launch(queue, program, memory, sizes))) failed("a launch was refused: error %d", status);
  else if ((status = clFinish(queue))) failed("clFinish: error %d", status);
  for (int k = inputs; k < count && !status; k++) {  // what the host may read is what was mapped
    void *at = bytes[k] ? clEnqueueMapBuffer(queue, memory[k], 1, CL_MAP_READ, 0, bytes[k], 0, NULL, NULL, &status) : NULL;
    if (status) failed("clEnqueueMapBuffer: error %d", status);
    else if (at && at != tensors[k]) memcpy(tensors[k], at, bytes[k]);
    if (at) clEnqueueUnmapMemObject(queue, memory[k], at, 0, NULL, NULL);
  }
  clFinish(queue);
  for (int k = 0; k < count; k++)
    if (memory[k]) clReleaseMemObject(memory[k]);
  return status != CL_SUCCESS;
}
