// Planted faults: each case breaks exactly one rule of the functional model. Most faults are one line, and the model must
// name that line (0 for what a whole kernel or launch breaks).
#include <functional>
#include "bang.h"

namespace {
constexpr uint32_t N = 256;
float gm_in[4 * N], gm_out[4 * N];
int32_t gm_int[4 * N];
}  // namespace

// The arrays that faults use belong to one kernel, so that budgets count them; they are found through these pointers.
struct Arrays { float *a, *b, *c; half *h; int32_t *i; uint8_t *u; bfloat16_t *z; float *w; float *s; };
extern "C" void bench(Arrays *out) {
    __nram__ float a[N];
    __nram__ float b[N];
    __nram__ float c[N];
    __nram__ half h[N];
    __nram__ int32_t i[N];
    __nram__ uint8_t u[N];
    __nram__ bfloat16_t z[N];
    __wram__ float w[N];
    __mlu_shared__ float s[N];
    *out = {a, b, c, h, i, u, z, w, s};
}
extern "C" void greedy_nram() { __nram__ float big[640 * 256 + 32]; big[0] = 1.0f; }
extern "C" void greedy_wram() { __wram__ float big[1024 * 256 + 32]; big[0] = 1.0f; }
extern "C" void greedy_sram() { __mlu_shared__ float big[4096 * 256 + 32]; big[0] = 1.0f; }

namespace {
Arrays k;
void fetch() { __memcpy(k.a, gm_in, N * 4, GDRAM2NRAM); }
void set(float *p) { __bang_write_value(p, N, 1.0f); }

struct Case { const char *rule; int line; std::function<void()> kernel; unsigned tasks; cnrtFunctionType_t type; const char *name; };
std::vector<Case> &cases() { static std::vector<Case> all; return all; }
struct Add_case {
    Add_case(const char *rule, int line, std::function<void()> f, unsigned tasks = 1, cnrtFunctionType_t type = cnrtFuncTypeBlock, const char *name = "bench") { cases().push_back({rule, line, std::move(f), tasks, type, name}); }
};
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define FAULT(rule, ...) Add_case PASTE(case_, __COUNTER__)(rule, __LINE__, [] { __VA_ARGS__ })

// ---- budgets, bounds and address spaces
Add_case nram_budget("nram-budget", 0, [] {}, 1, cnrtFuncTypeBlock, "greedy_nram");
Add_case wram_budget("wram-budget", 0, [] {}, 1, cnrtFuncTypeBlock, "greedy_wram");
Add_case sram_budget("sram-budget", 0, [] {}, 1, cnrtFuncTypeBlock, "greedy_sram");
FAULT("nram-bounds", __bang_write_value(k.a, N + 1, 1.0f););
FAULT("nram-bounds", __memcpy(k.a + 8, gm_in, N * 4, GDRAM2NRAM););
FAULT("nram-bounds", set(k.a); __load_nram(reinterpret_cast<float *>(reinterpret_cast<char *>(k.a + N) - 2)););
FAULT("wram-bounds", __memcpy(k.w, gm_in, N * 4 + 16, GDRAM2WRAM););
FAULT("sram-bounds", set(k.a); __sync_compute(); __memcpy(k.s + N - 2, k.a, 16, NRAM2SRAM););
FAULT("gdram-bounds", __memcpy(k.a, gm_in + 4 * N - 8, 64, GDRAM2NRAM););
FAULT("gdram-bounds", __load_gdram(reinterpret_cast<float *>(reinterpret_cast<char *>(gm_in + 4 * N) - 2)););
FAULT("gdram-readonly", set(k.a); __sync_compute(); __memcpy(gm_in, k.a, 64, NRAM2GDRAM););
FAULT("gdram-readonly", __store_gdram(gm_in, 1.0f););
FAULT("address-space", set(k.a); __bang_add(k.b, k.a, gm_in, 8););
FAULT("address-space", fetch(); __memcpy(k.w, gm_in, 64, GDRAM2NRAM););
FAULT("address-space", fetch(); __bang_sqrt(k.w, k.a, 8););
FAULT("address-space", float local[8]; __memcpy(local, gm_in, 32, GDRAM2NRAM););
FAULT("address-space", __load_nram(gm_in););
FAULT("address-space", __load_gdram(k.a););
// ---- copies
FAULT("copy-size", __memcpy(k.a, gm_in, 0, GDRAM2NRAM););
FAULT("copy-size", __memcpy_async(k.a, gm_in, 5ull << 32, GDRAM2NRAM););
FAULT("copy-stride", __memcpy(k.a, gm_in, 64, GDRAM2NRAM, 32, 64, 1););
FAULT("copy-segments", __memcpy(k.a, gm_in, 4, GDRAM2NRAM, 4, 0, 65536););
FAULT("wram-alignment", __memcpy(k.w + 1, gm_in, 64, GDRAM2WRAM););
FAULT("wram-alignment", __memcpy(k.w, gm_in, 20, GDRAM2WRAM););
// ---- memory that nothing wrote
FAULT("uninitialised", __bang_sqrt(k.b, k.a, 8););
FAULT("uninitialised", __memcpy(gm_out, k.a, 32, NRAM2GDRAM););
FAULT("uninitialised", __memcpy(k.a, gm_in, 32, GDRAM2NRAM); __bang_add_scalar(k.b, k.a, 1.0f, 9););
FAULT("uninitialised", __load_nram(k.i););
// ---- order between pipes
FAULT("pipe-order", __memcpy_async(k.a, gm_in, 32, GDRAM2NRAM); __bang_sqrt(k.b, k.a, 8););
FAULT("pipe-order", __memcpy_async(k.a, gm_in, 32, GDRAM2NRAM); __sync_compute(); __bang_sqrt(k.b, k.a, 8););
FAULT("pipe-order", __memcpy_async(k.a, gm_in, 32, GDRAM2NRAM); __load_nram(k.a););
FAULT("pipe-order", set(k.a); __memcpy_async(gm_out, k.a, 32, NRAM2GDRAM););
FAULT("pipe-order", fetch(); __bang_sqrt(k.b, k.a, 8); __memcpy_async(k.a, gm_in, 32, GDRAM2NRAM););
FAULT("pipe-order", set(k.a); __sync_compute(); __memcpy_async(gm_out, k.a, 32, NRAM2GDRAM); __bang_write_value(k.a, N, 1.0f););
FAULT("pipe-order", set(k.a); __memcpy_async(k.s, k.a, 32, NRAM2SRAM););
FAULT("pipe-order", __memcpy_async(k.a, gm_in, 32, GDRAM2NRAM); __sync_io_move_compute(true, false, false, true, true, false); __bang_write_value(k.a, N, 1.0f););
FAULT("sync-flags", __sync_io_move_compute(false, false, false, true, true, true););
// ---- vector instructions
FAULT("dtype", __bang_write_value(k.z, N, uint16_t(0)); __bang_add(k.z, k.z, k.z, 8););
FAULT("dtype", __bang_write_value(k.i, N, 1); __bang_sqrt(k.i, k.i, 8););
FAULT("dtype", __bang_write_value(k.h, N, half(1.0f)); __bang_floor(k.h + 64, k.h, 8););
FAULT("dtype", __load_gdram(reinterpret_cast<int64_t *>(gm_int)););
FAULT("dtype", __bang_atomic_reduce_max(gm_out, 1.0f, 1););
FAULT("count", __bang_write_value(k.a, 0, 1.0f););
FAULT("count", set(k.a); __bang_add(k.b, k.a, k.a, -1););
FAULT("count", __bang_atomic_reduce_add(gm_out, 1.0f, 0););
FAULT("operand-overlap", set(k.a); __bang_floor(k.a, k.a, 8););
FAULT("operand-overlap", set(k.a); __bang_sqrt(k.a + 4, k.a, 8););
FAULT("operand-overlap", set(k.a); set(k.b); __bang_maxequal(k.b, k.a, k.b, 8););
FAULT("operand-overlap", set(k.a); __bang_half2float(k.a, reinterpret_cast<half *>(k.a), 8););
FAULT("reduce-size", set(k.a); __bang_reduce_sum(k.b, k.a, 33););
FAULT("fix-position", __bang_write_value(k.i, N, 1); __bang_int322float_rn(k.a, k.i, 8, 128););
FAULT("gdram-alignment", __bang_atomic_reduce_add(reinterpret_cast<float *>(reinterpret_cast<char *>(gm_out) + 2), 1.0f, 1););
// ---- matrix products
FAULT("matrix-shape", set(k.a); __bang_reshape_filter(k.b, k.a, 32, 1, 1, 8););
FAULT("matrix-shape", set(k.a); __bang_reshape_filter(k.b, k.a, 64, 1, 1, 3););
FAULT("matrix-shape", set(k.a); __memcpy(k.w, gm_in, N * 4, GDRAM2WRAM); __bang_matmul(k.b, k.a, k.w, 1, 4, 64););
FAULT("wram-alignment", set(k.a); __memcpy(k.w, gm_in, N * 4, GDRAM2WRAM); __bang_matmul(k.b, k.a, k.w + 2, 1, 16, 1););
FAULT("address-space", set(k.a); set(k.c); __bang_matmul(k.b, k.a, k.c, 1, 16, 1););
FAULT("wram-bounds", set(k.a); __memcpy(k.w, gm_in, N * 4, GDRAM2WRAM); __bang_matmul(k.b, k.a, k.w, 1, 16, 64););
FAULT("pipe-order", set(k.c); __memcpy_async(k.w, k.c, N, NRAM2WRAM););
FAULT("operand-overlap", set(k.a); __bang_transpose(k.a, k.a, 8, 8););
// ---- launches and tasks
Add_case no_tasks("launch-dim", 0, [] {}, 0);
Add_case odd_union("launch-dim", 0, [] {}, 6, cnrtFuncTypeUnion1);
Add_case memory_core("mpu-compute", __LINE__, [] { __bang_write_value(k.a, N, 1.0f); }, 4, cnrtFuncTypeUnion1);
Add_case memory_copy("mpu-compute", __LINE__, [] { if (taskId < 4 && !__is_mpu()) return; __memcpy(k.a, gm_in, 32, GDRAM2NRAM); }, 4, cnrtFuncTypeUnion1);
Add_case write_race("task-race", __LINE__, [] { __store_gdram(gm_out, 1.0f); }, 2);
Add_case read_race("task-race", __LINE__, [] { if (taskId == 0) __store_gdram(gm_out, 1.0f); else __load_gdram(gm_out); }, 2);
Add_case fold_race("task-race", __LINE__, [] { if (taskId == 0) __bang_atomic_reduce_add(gm_out, 1.0f, 1); else __store_gdram(gm_out, 1.0f); }, 2);

// ---- a second set, written when the model was done
FAULT("address-space", fetch(); __memcpy(k.a, gm_out, 64, NRAM2GDRAM););
FAULT("pipe-order", __memcpy_async(k.a, gm_in, 128, GDRAM2NRAM); __sync_io(); __memcpy_async(k.a + 32, gm_in + 32, 128, GDRAM2NRAM); __bang_mul_scalar(k.b, k.a + 32, 2.0f, 32););
FAULT("uninitialised", __memcpy(k.a, gm_in, 128, GDRAM2NRAM); __bang_reduce_sum(k.b, k.a, 64););
FAULT("uninitialised", __bang_half2float(k.a, k.h, 64););
Add_case tail_overlap("task-race", __LINE__, [] { set(k.a); __sync_compute(); __memcpy(gm_out + taskId * 8, k.a, 36, NRAM2GDRAM); }, 2);
Add_case copy_beside_fold("task-race", __LINE__, [] { set(k.a); __sync_compute(); if (taskId == 0) __bang_atomic_reduce_add(gm_out, 1.0f, 1); else __memcpy(gm_out, k.a, 32, NRAM2GDRAM); }, 2);

std::vector<twin::Region> regions() {
    return {{reinterpret_cast<uint8_t *>(gm_in), sizeof(gm_in), false}, {reinterpret_cast<uint8_t *>(gm_out), sizeof(gm_out), true}, {reinterpret_cast<uint8_t *>(gm_int), sizeof(gm_int), false}};
}
/// The same pieces used as the rules want them, two slots in flight: nothing may be refused.
void sound() {
    if (__is_mpu()) return;
    const float *from = gm_in + taskId * N;
    __memcpy_async(k.a, from, N * 2, GDRAM2NRAM);
    __sync_io();
    __memcpy_async(k.a + N / 2, from + N / 2, N * 2, GDRAM2NRAM);
    __bang_mul_scalar(k.b, k.a, 2.0f, N / 2);
    __sync_io();
    __bang_mul_scalar(k.b + N / 2, k.a + N / 2, 2.0f, N / 2);
    for (uint32_t half_ = N / 2; half_ >= 32; half_ /= 2) __bang_add(k.b, k.b, k.b + half_, half_);
    __bang_reduce_sum(k.c, k.b, 32);
    const float total = __load_nram(k.c);
    __bang_write_value(k.b, N, total);
    __sync_compute();
    __memcpy_async(gm_out + taskId * N, k.b, N * 4, NRAM2GDRAM);
}
}  // namespace

extern "C" {
int case_count() { return int(cases().size()); }
const char *case_rule(int i) { return cases()[size_t(i)].rule; }
int case_line(int i) { return cases()[size_t(i)].line; }
const char *error_text() { return twin::last_error().c_str(); }
int run_case(int i) {
    bench(&k);
    const Case &c = cases()[size_t(i)];
    return twin::host(regions(), [&] { twin::launch(c.name, {c.tasks, 1, 1}, c.type, c.kernel, 0); return cnrtSuccess; });
}
int run_sound(float *out) {
    bench(&k);
    for (float &x : gm_in) x = 0.5f;
    int rc = twin::host(regions(), [&] { twin::launch("bench", {4, 1, 1}, cnrtFuncTypeUnion1, sound, 0); return cnrtSuccess; });
    std::memcpy(out, gm_out, sizeof(gm_out));
    return rc;
}
}
