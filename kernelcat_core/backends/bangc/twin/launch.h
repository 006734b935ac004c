// The host's side: the few functions of the runtime that launches need, and launches themselves. Tasks run one after the
// other, each on fresh memory; in a Union task the memory core of every cluster runs the kernel too.
#pragma once
#include "matrix.h"

struct cnrtDim3_t { unsigned int x, y, z; };
enum cnrtFunctionType_t { cnrtFuncTypeBlock = 1, cnrtFuncTypeUnion1 = 4, cnrtFuncTypeUnion2 = 8, cnrtFuncTypeUnion4 = 16 };
enum cnrtRet_t { cnrtSuccess = 0, cnrtErrorInvalidValue = 1 };
enum cnrtDeviceAttr_t { cnrtAttrClusterCount, cnrtAttrMcorePerCluster };
using cnrtQueue_t = struct cnrtQueueOfModel *;
inline cnrtRet_t cnrtGetDevice(int *device) { *device = 0; return cnrtSuccess; }
inline cnrtRet_t cnrtDeviceGetAttribute(int *value, cnrtDeviceAttr_t what, int) { *value = what == cnrtAttrClusterCount ? KC_CLUSTERS : 4; return cnrtSuccess; }

static unsigned int taskId = 0, taskIdX = 0, taskIdY = 0, taskIdZ = 0, taskDim = 1, taskDimX = 1, taskDimY = 1, taskDimZ = 1, coreId = 0, clusterId = 0, clusterDim = 1, coreDim = 4;
inline bool __is_mpu() { return twin::core().mpu; }
inline bool __is_ipu() { return !twin::core().mpu; }

namespace twin {
static std::string &last_error() { static std::string text; return text; }
static const std::vector<Region> *&bound() { static const std::vector<Region> *r = nullptr; return r; }

template <class F> void run_task(Core &c, F body) {
    for (Array &a : arrays()) {
        std::memset(a.base, 0xFF, a.bytes);
        a.fresh.assign(a.bytes, 1);
    }
    core_now = &c;
    try { body(); for (int p = 0; p < PIPES; ++p) land(p); } catch (...) { core_now = nullptr; throw; }
    core_now = nullptr;
}
/// Atomic folds may meet each other, and nothing else.
inline void check_folds(const std::vector<GmRange> &folds, const std::vector<GmRange> &others) {
    for (const GmRange &f : folds) for (const GmRange &o : others) {
        if (f.region == o.region && f.lo < o.hi && o.lo < f.hi && f.block != o.block) fail("task-race", o.line, "one task touches what another folds into in the same launch");
    }
}
template <class F> void launch(const char *name, cnrtDim3_t dim, cnrtFunctionType_t type, F body, int line) {
    uint64_t tasks = uint64_t(dim.x) * dim.y * dim.z;
    if (tasks < 1) fail("launch-dim", line, std::string(name) + ": a launch needs at least one task");
    if (type != cnrtFuncTypeBlock && dim.x % unsigned(type)) fail("launch-dim", line, std::string(name) + ": dim.x is " + std::to_string(dim.x) + ", must be a multiple of " + std::to_string(int(type)) + " for this Union type");
    check_budgets(name);
    std::vector<GmRange> wrote, read, renewed;
    taskDimX = dim.x; taskDimY = dim.y; taskDimZ = dim.z; taskDim = unsigned(tasks);
    clusterDim = unsigned(type == cnrtFuncTypeBlock ? 1 : int(type) / 4);
    for (uint64_t t = 0; t < tasks; ++t) {
        for (bool mpu : {false, true}) {
            if (mpu && (type == cnrtFuncTypeBlock || t % 4 != 3)) continue;
            Core c;
            c.task = int64_t(t);
            c.tasks = int64_t(tasks);
            c.mpu = mpu;
            c.regions = bound();
            taskId = unsigned(t); taskIdX = unsigned(t % dim.x); taskIdY = unsigned(t / dim.x % dim.y); taskIdZ = unsigned(t / dim.x / dim.y);
            coreId = mpu ? 0x80 : unsigned(t % 4);
            clusterId = unsigned(t / 4);
            run_task(c, body);
            wrote.insert(wrote.end(), c.wrote.begin(), c.wrote.end());
            read.insert(read.end(), c.read.begin(), c.read.end());
            renewed.insert(renewed.end(), c.renewed.begin(), c.renewed.end());
        }
    }
    check_folds(renewed, wrote);
    check_folds(renewed, read);
    check_blocks(std::move(wrote), read, "task-race", "tasks");
}
/// `kernel<<<dim, type, queue>>>(arguments)`, which C++ cannot say.
template <class K> auto launcher(const char *name, K kernel, cnrtDim3_t dim, cnrtFunctionType_t type, cnrtQueue_t, int line = __builtin_LINE()) {
    return [=](auto... arguments) { launch(name, dim, type, [&] { kernel(arguments...); }, line); };
}
/// Runs host code with these tensors; 0, or 1 with last_error() set to the first violation.
template <class F> int host(const std::vector<Region> &regions, F run) {
    bound() = &regions;
    last_error().clear();
    try { if (run() != cnrtSuccess) last_error() = "[launch] line 0: the host function failed"; } catch (const Violation &v) { last_error() = v.what(); }
    bound() = nullptr;
    return last_error().empty() ? 0 : 1;
}
}  // namespace twin
