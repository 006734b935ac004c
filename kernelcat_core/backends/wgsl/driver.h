/* Runs WGSL through webgpu.h as wgpu-native implements it. The library is loaded from KC_WGPU at the first call; device and
   pipelines are kept for later calls of the process. One caller at a time. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "webgpu.h"
#include "wgpu.h"

#define KC_MOST_STEPS 64
#define KC_MOST_BINDINGS 9

enum { KC_INPUT, KC_OUTPUT, KC_TEMPORARY };

/* `host` holds `count` elements of `item` bytes; `binding` 0: no program touches it; `written`: some program writes it. */
typedef struct { void *host; int64_t count; int item; int role; uint32_t binding; int written; WGPUBuffer buffer; } kc_buffer;
typedef struct { const char *entry; int64_t cells; int used; int numbers[KC_MOST_BINDINGS]; } kc_step;

#define KC_FUNCTIONS(F) \
  F(CreateInstance) F(InstanceRequestAdapter) F(AdapterRequestDevice) F(AdapterGetInfo) F(DeviceGetQueue) \
  F(DeviceCreateShaderModule) F(DeviceCreateComputePipeline) F(DeviceCreateBindGroupLayout) F(DeviceCreatePipelineLayout) F(DeviceCreateBuffer) \
  F(DeviceCreateBindGroup) F(DeviceCreateCommandEncoder) F(CommandEncoderBeginComputePass) \
  F(ComputePassEncoderSetPipeline) F(ComputePassEncoderSetBindGroup) F(ComputePassEncoderDispatchWorkgroups) \
  F(ComputePassEncoderEnd) F(ComputePassEncoderRelease) F(CommandEncoderCopyBufferToBuffer) F(CommandEncoderFinish) \
  F(CommandBufferRelease) F(CommandEncoderRelease) F(QueueSubmit) F(QueueWriteBuffer) F(BufferMapAsync) \
  F(BufferGetConstMappedRange) F(BufferUnmap) F(BufferRelease) F(BindGroupRelease) F(DevicePoll)
#define KC_DECLARE(f) static __typeof__(wgpu##f) *kc_##f;
KC_FUNCTIONS(KC_DECLARE)

static char kc_message[2048];
static WGPUInstance kc_instance;
static WGPUAdapter kc_adapter;
static WGPUDevice kc_device;
static WGPUQueue kc_queue;
static WGPUComputePipeline kc_pipelines[KC_MOST_STEPS];
static WGPUBindGroupLayout kc_layouts[KC_MOST_STEPS];
static int kc_ready;

__attribute__((visibility("default"))) const char *kc_last_error(void) { return kc_message; }

static int kc_fail(const char *what, WGPUStringView why) {
  if (!kc_message[0]) {
    size_t n = why.data ? (why.length == WGPU_STRLEN ? strlen(why.data) : why.length) : 0;
    snprintf(kc_message, sizeof kc_message, "%s%s%.*s", what, n ? ": " : "", (int)(n > 1900 ? 1900 : n), n ? why.data : "");
  }
  return 1;
}

static const WGPUStringView kc_nothing = {0, 0};

static WGPUStringView kc_view(const char *text) { return (WGPUStringView){text, strlen(text)}; }

static void kc_on_adapter(WGPURequestAdapterStatus status, WGPUAdapter adapter, WGPUStringView message, void *a, void *b) {
  (void)a, (void)b;
  if (status == WGPURequestAdapterStatus_Success) kc_adapter = adapter;
  else kc_fail("no WebGPU adapter", message);
}

static void kc_on_device(WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message, void *a, void *b) {
  (void)a, (void)b;
  if (status == WGPURequestDeviceStatus_Success) kc_device = device;
  else kc_fail("no WebGPU device", message);
}

static void kc_on_error(WGPUDevice const *device, WGPUErrorType type, WGPUStringView message, void *a, void *b) {
  (void)device, (void)type, (void)a, (void)b;
  kc_fail("WebGPU", message);
}

static void kc_on_map(WGPUMapAsyncStatus status, WGPUStringView message, void *done, void *b) {
  (void)b;
  *(int *)done = status == WGPUMapAsyncStatus_Success ? 1 : -1;
  if (*(int *)done < 0) kc_fail("the result cannot be read", message);
}

/* The adapter that wgpu prefers. */
static int kc_find_adapter(void) {
  if (kc_adapter) return 0;
  void *library = dlopen(KC_WGPU, RTLD_NOW | RTLD_LOCAL);
  if (!library) return kc_fail("wgpu-native cannot be loaded", kc_view(dlerror()));
#define KC_LOAD(f) if (!(kc_##f = (__typeof__(kc_##f))dlsym(library, "wgpu" #f))) return kc_fail("wgpu-native lacks wgpu" #f, kc_nothing);
  KC_FUNCTIONS(KC_LOAD)
  WGPUInstanceExtras extras = {.chain = {.sType = (WGPUSType)WGPUSType_InstanceExtras}, .backends = WGPUInstanceBackend_Vulkan};
  WGPUInstanceDescriptor instance = {.nextInChain = &extras.chain};
  kc_instance = kc_CreateInstance(&instance);
  if (!kc_instance) return kc_fail("no WebGPU instance", kc_nothing);
  WGPURequestAdapterOptions options = {.featureLevel = WGPUFeatureLevel_Core, .powerPreference = WGPUPowerPreference_HighPerformance};
  WGPURequestAdapterCallbackInfo callback = {.mode = WGPUCallbackMode_AllowSpontaneous, .callback = kc_on_adapter};
  kc_InstanceRequestAdapter(kc_instance, &options, callback);
  return kc_adapter ? 0 : kc_fail("no WebGPU adapter", kc_nothing);
}

/* With the default limits: what passes here passes on every adapter. */
static int kc_find_device(int f16) {
  if (kc_device) return 0;
  if (kc_find_adapter()) return 1;
  WGPUFeatureName features[] = {WGPUFeatureName_ShaderF16};
  WGPUDeviceDescriptor wanted = {.requiredFeatureCount = f16 ? 1 : 0, .requiredFeatures = features,
                                 .uncapturedErrorCallbackInfo = {.callback = kc_on_error}};
  WGPURequestDeviceCallbackInfo callback = {.mode = WGPUCallbackMode_AllowSpontaneous, .callback = kc_on_device};
  kc_AdapterRequestDevice(kc_adapter, &wanted, callback);
  if (!kc_device) return kc_fail("no WebGPU device", kc_nothing);
  kc_queue = kc_DeviceGetQueue(kc_device);
  return 0;
}

/* What a program binds: the sizes (binding 0, where there are any) and its tensors. */
static WGPUBindGroupLayout kc_lay_out(const kc_step *step, const kc_buffer *buffers, int size_count) {
  WGPUBindGroupLayoutEntry entries[KC_MOST_BINDINGS + 1] = {0};
  int n = 0;
  if (size_count)
    entries[n++] = (WGPUBindGroupLayoutEntry){.visibility = WGPUShaderStage_Compute, .buffer.type = WGPUBufferBindingType_Uniform};
  for (int i = 0; i < step->used; ++i) {
    const kc_buffer *b = &buffers[step->numbers[i]];
    entries[n++] = (WGPUBindGroupLayoutEntry){
        .binding = b->binding, .visibility = WGPUShaderStage_Compute,
        .buffer.type = b->written ? WGPUBufferBindingType_Storage : WGPUBufferBindingType_ReadOnlyStorage};
  }
  WGPUBindGroupLayoutDescriptor wanted = {.entryCount = (size_t)n, .entries = entries};
  return kc_DeviceCreateBindGroupLayout(kc_device, &wanted);
}

static int kc_compile(const char *shader, const kc_buffer *buffers, const kc_step *steps, int step_count, int size_count) {
  if (kc_ready) return 0;
  if (step_count > KC_MOST_STEPS) return kc_fail("too many programs", kc_nothing);
  WGPUShaderSourceWGSL source = {.chain = {.sType = WGPUSType_ShaderSourceWGSL}, .code = kc_view(shader)};
  WGPUShaderModuleDescriptor described = {.nextInChain = &source.chain};
  WGPUShaderModule module = kc_DeviceCreateShaderModule(kc_device, &described);
  if (!module || kc_message[0]) return kc_fail("the shader is not accepted", kc_nothing);
  for (int k = 0; k < step_count; ++k) {
    kc_layouts[k] = kc_lay_out(&steps[k], buffers, size_count);
    WGPUPipelineLayoutDescriptor layout = {.bindGroupLayoutCount = 1, .bindGroupLayouts = &kc_layouts[k]};
    WGPUComputePipelineDescriptor wanted = {.layout = kc_DeviceCreatePipelineLayout(kc_device, &layout),
                                            .compute = {.module = module, .entryPoint = kc_view(steps[k].entry)}};
    kc_pipelines[k] = kc_DeviceCreateComputePipeline(kc_device, &wanted);
    if (!kc_pipelines[k] || kc_message[0]) return kc_fail("the pipeline is not accepted", kc_nothing);
  }
  kc_ready = 1;
  return 0;
}

static uint64_t kc_bytes(const kc_buffer *b) {
  uint64_t n = (uint64_t)b->count * (uint64_t)b->item;
  return n < 4 ? 4 : (n + 3) / 4 * 4;
}

static WGPUBuffer kc_make(uint64_t size, WGPUBufferUsage usage) {
  WGPUBufferDescriptor wanted = {.usage = usage, .size = size};
  return kc_DeviceCreateBuffer(kc_device, &wanted);
}

static void kc_write(WGPUBuffer buffer, const void *from, uint64_t n) {
  uint64_t whole = n / 4 * 4;
  if (whole) kc_QueueWriteBuffer(kc_queue, buffer, 0, from, whole);
  if (n > whole) {
    unsigned char rest[4] = {0};
    memcpy(rest, (const char *)from + whole, n - whole);
    kc_QueueWriteBuffer(kc_queue, buffer, whole, rest, 4);
  }
}

static int kc_read(WGPUBuffer buffer, void *to, uint64_t n) {
  int done = 0;
  WGPUBufferMapCallbackInfo callback = {.mode = WGPUCallbackMode_AllowSpontaneous, .callback = kc_on_map, .userdata1 = &done};
  kc_BufferMapAsync(buffer, WGPUMapMode_Read, 0, (n + 3) / 4 * 4, callback);
  while (!done) kc_DevicePoll(kc_device, 1, 0);
  if (done < 0) return 1;
  memcpy(to, kc_BufferGetConstMappedRange(buffer, 0, (n + 3) / 4 * 4), n);
  kc_BufferUnmap(buffer);
  return 0;
}

static WGPUBindGroup kc_bind(int k, const kc_step *step, const kc_buffer *buffers, WGPUBuffer sizes, int size_count) {
  WGPUBindGroupEntry entries[KC_MOST_BINDINGS + 1] = {0};
  int n = 0;
  if (size_count) entries[n++] = (WGPUBindGroupEntry){.binding = 0, .buffer = sizes, .size = (uint64_t)((size_count + 3) / 4 * 16)};
  for (int i = 0; i < step->used; ++i) {
    const kc_buffer *b = &buffers[step->numbers[i]];
    entries[n++] = (WGPUBindGroupEntry){.binding = b->binding, .buffer = b->buffer, .size = kc_bytes(b)};
  }
  WGPUBindGroupDescriptor wanted = {.layout = kc_layouts[k], .entryCount = (size_t)n, .entries = entries};
  return kc_DeviceCreateBindGroup(kc_device, &wanted);
}

static int kc_run(const char *shader, kc_buffer *buffers, int buffer_count, const kc_step *steps, int step_count,
                  const int64_t *sizes, int size_count, int f16) {
  kc_message[0] = 0;
  for (int k = 0; k < size_count; ++k)
    if (sizes[k] > 2000000000) return kc_fail("a size is beyond 32-bit index arithmetic", kc_nothing);
  for (int k = 0; k < buffer_count; ++k)
    if (buffers[k].count > 2000000000) return kc_fail("a tensor is beyond 32-bit index arithmetic (2e9 elements)", kc_nothing);
  if (kc_find_device(f16) || kc_compile(shader, buffers, steps, step_count, size_count)) return 1;
  const WGPUBufferUsage storage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopyDst | WGPUBufferUsage_CopySrc;
  WGPUBuffer results[64] = {0};
  WGPUBindGroup groups[KC_MOST_STEPS] = {0};
  WGPUBuffer uniform = 0;
  if (buffer_count > 64) return kc_fail("too many tensors", kc_nothing);
  if (size_count) {
    int32_t numbers[256] = {0};
    if (size_count > 256) return kc_fail("too many sizes", kc_nothing);
    for (int k = 0; k < size_count; ++k) numbers[k] = (int32_t)sizes[k];
    uniform = kc_make((uint64_t)((size_count + 3) / 4 * 16), WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst);
    kc_QueueWriteBuffer(kc_queue, uniform, 0, numbers, (size_t)((size_count + 3) / 4 * 16));
  }
  for (int k = 0; k < buffer_count; ++k) {
    kc_buffer *b = &buffers[k];
    uint64_t n = (uint64_t)b->count * (uint64_t)b->item;
    if (!b->binding || kc_message[0]) continue;
    b->buffer = kc_make(kc_bytes(b), storage);
    if (b->role != KC_TEMPORARY && n) kc_write(b->buffer, b->host, n); /* outputs too: what is not written must show */
    if (b->role == KC_OUTPUT && n) results[k] = kc_make(kc_bytes(b), WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst);
  }
  WGPUCommandEncoder encoder = kc_DeviceCreateCommandEncoder(kc_device, 0);
  for (int k = 0; k < step_count && !kc_message[0]; ++k) {
    int64_t cells = steps[k].cells;
    if (cells <= 0) continue;
    uint32_t across = cells < 65535 ? (uint32_t)cells : 65535;
    int64_t down = (cells + across - 1) / across;
    if (down > 65535) { kc_fail("more workgroups than a dispatch takes", kc_nothing); break; }
    groups[k] = kc_bind(k, &steps[k], buffers, uniform, size_count);
    WGPUComputePassEncoder pass = kc_CommandEncoderBeginComputePass(encoder, 0);
    kc_ComputePassEncoderSetPipeline(pass, kc_pipelines[k]);
    kc_ComputePassEncoderSetBindGroup(pass, 0, groups[k], 0, 0);
    kc_ComputePassEncoderDispatchWorkgroups(pass, across, (uint32_t)down, 1);
    kc_ComputePassEncoderEnd(pass);
    kc_ComputePassEncoderRelease(pass);
  }
  for (int k = 0; k < buffer_count; ++k)
    if (results[k]) kc_CommandEncoderCopyBufferToBuffer(encoder, buffers[k].buffer, 0, results[k], 0, kc_bytes(&buffers[k]));
  WGPUCommandBuffer commands = kc_message[0] ? 0 : kc_CommandEncoderFinish(encoder, 0);
  if (commands) {
    kc_QueueSubmit(kc_queue, 1, &commands);
    kc_CommandBufferRelease(commands);
  }
  kc_CommandEncoderRelease(encoder);
  for (int k = 0; k < buffer_count; ++k)
    if (results[k] && !kc_message[0]) kc_read(results[k], buffers[k].host, (uint64_t)buffers[k].count * (uint64_t)buffers[k].item);
  for (int k = 0; k < buffer_count; ++k) {
    if (results[k]) kc_BufferRelease(results[k]);
    if (buffers[k].buffer) kc_BufferRelease(buffers[k].buffer);
  }
  for (int k = 0; k < step_count; ++k)
    if (groups[k]) kc_BindGroupRelease(groups[k]);
  if (uniform) kc_BufferRelease(uniform);
  return kc_message[0] != 0;
}
