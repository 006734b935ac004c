// Planted faults: each case breaks exactly one rule of the functional model. The line with the mark `//!` is the one
// that the model must name (line 0 is named where C++ gives no place: operators and the end of a kernel).
#include <functional>
#include "kernel_operator.h"
using namespace AscendC;

namespace {
constexpr uint32_t N = 256;
float gm_in[4 * N], gm_out[4 * N];
half gm_half[4 * N];
int32_t gm_int[4 * N];
GM_ADDR address(void *p) { return static_cast<GM_ADDR>(p); }

/// One queue in, one queue out, scratch tiles and the tensors, as a small kernel has them.
struct Bench {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    TBuf<TPosition::VECCALC> first, second, third;
    GlobalTensor<float> X, Y;
    LocalTensor<float> a, b, c;
    Bench() {
        X.SetGlobalBuffer(reinterpret_cast<float *>(address(gm_in)), 4 * N);
        Y.SetGlobalBuffer(reinterpret_cast<float *>(address(gm_out)), 4 * N);
        pipe.InitBuffer(in, 2, N * 4);
        pipe.InitBuffer(out, 2, N * 4);
        pipe.InitBuffer(first, 32 * N);
        pipe.InitBuffer(second, 32 * N);
        pipe.InitBuffer(third, 32 * N);
        a = first.Get<float>();
        b = second.Get<float>();
        c = third.Get<float>();
    }
    LocalTensor<float> fetch(uint32_t n = N) {
        LocalTensor<float> t = in.AllocTensor<float>();
        DataCopy(t, X, n);
        in.EnQue(t);
        return in.DeQue<float>();
    }
    void flush(LocalTensor<float> t, uint32_t n = N) {
        out.EnQue(t);
        t = out.DeQue<float>();
        DataCopy(Y[GetBlockIdx() * N], t, n);
        out.FreeTensor(t);
    }
};
void barrier() { PipeBarrier<PIPE_V>(); }

struct Case { const char *rule; int line; std::function<void()> kernel; int64_t blocks; };
std::vector<Case> &cases() { static std::vector<Case> all; return all; }
struct Add_case { Add_case(const char *rule, int line, std::function<void()> k, int64_t blocks = 1) { cases().push_back({rule, line, std::move(k), blocks}); } };
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define FAULT(rule, ...) Add_case PASTE(case_, __COUNTER__)(rule, __LINE__, [] { __VA_ARGS__ })
#define FAULT_AT_0(rule, ...) Add_case PASTE(case_, __COUNTER__)(rule, 0, [] { __VA_ARGS__ })

// ---- budgets and bounds
FAULT("ub-budget", TPipe p; TBuf<TPosition::VECCALC> t; p.InitBuffer(t, 192 * 1024););
FAULT("ub-budget", TPipe p; TBuf<TPosition::VECCALC> t; t.Get<float>(););
FAULT("queue-buffers", TPipe p; TQue<TPosition::VECIN, 1> q; TQue<TPosition::VECIN, 1> r; p.InitBuffer(q, 5, 32); p.InitBuffer(r, 4, 32););
FAULT("gm-bounds", Bench k; GlobalTensor<float> g; g.SetGlobalBuffer(reinterpret_cast<float *>(address(gm_in)), 4 * N + 1););
FAULT("gm-bounds", Bench k; auto t = k.in.AllocTensor<float>(); DataCopy(t, k.X[4 * N - 8], 16););
FAULT_AT_0("gm-bounds", Bench k; k.X[4 * N + 1];);
FAULT("gm-bounds", Bench k; k.X.GetValue(4 * N););
FAULT("ub-bounds", Bench k; auto t = k.in.AllocTensor<float>(); DataCopy(t, k.X, N + 8););
FAULT("ub-bounds", Bench k; Duplicate(k.a, 1.0f, 8 * N + 1););
FAULT("ub-bounds", Bench k; k.a.SetValue(8 * N, 1.0f););
FAULT_AT_0("ub-bounds", Bench k; k.a[8 * N + 1];);
FAULT("gm-readonly", Bench k; auto t = k.out.AllocTensor<float>(); Duplicate(t, 1.0f, 8); k.out.EnQue(t); t = k.out.DeQue<float>(); DataCopy(k.X, t, 8););
FAULT("gm-scalar", Bench k; k.Y.GetValue(0););
FAULT("gm-scalar", Bench k; k.Y.SetValue(0, 1.0f););
// ---- alignment and parameters of copies
FAULT("dma-alignment", Bench k; auto t = k.in.AllocTensor<float>(); DataCopy(t, k.X, 7););
FAULT("dma-alignment", Bench k; auto t = k.in.AllocTensor<float>(); DataCopy(t[1], k.X, 8););
FAULT("dma-params", Bench k; auto t = k.in.AllocTensor<float>(); DataCopyPad(t, k.X, DataCopyExtParams(1, 6, 0, 0, 0), DataCopyPadExtParams<float>()););
FAULT("dma-params", Bench k; auto t = k.in.AllocTensor<float>(); DataCopyPad(t, k.X, DataCopyExtParams(0, 4, 0, 0, 0), DataCopyPadExtParams<float>()););
FAULT("dma-params", Bench k; auto t = k.in.AllocTensor<float>(); DataCopyPad(t, k.X, DataCopyExtParams(1, 20, 0, 0, 0), DataCopyPadExtParams<float>(true, 0, 4, 0.0f)););
// ---- queues
FAULT("queue-state", Bench k; k.in.AllocTensor<float>(); k.in.AllocTensor<float>(); k.in.AllocTensor<float>(););
FAULT("queue-state", Bench k; k.in.DeQue<float>(););
FAULT("queue-state", Bench k; auto t = k.in.AllocTensor<float>(); k.in.FreeTensor(t););
FAULT("queue-state", Bench k; auto t = k.fetch(); k.in.EnQue(t););
FAULT("queue-state", Bench k; auto t = k.fetch(); k.in.FreeTensor(t); Exp(k.a, t, 8););
FAULT("queue-state", Bench k; auto t = k.in.AllocTensor<float>(); DataCopy(t, k.X, N); Exp(k.a, t, N););
FAULT("queue-state", Bench k; auto t = k.out.AllocTensor<float>(); Duplicate(t, 0.0f, 8); DataCopy(k.Y, t, 8););
FAULT("queue-state", Bench k; auto t = k.fetch(); k.out.EnQue(t););
FAULT("queue-depth", Bench k; auto t = k.in.AllocTensor<float>(); auto u = k.in.AllocTensor<float>(); k.in.EnQue(t); k.in.EnQue(u););
FAULT_AT_0("queue-state", Bench k; k.fetch(););
// ---- order between pipes
FAULT("pipe-barrier", Bench k; Duplicate(k.a, 1.0f, 8); Exp(k.b, k.a, 8););
FAULT("pipe-barrier", Bench k; Duplicate(k.a, 1.0f, 64); barrier(); Exp(k.b, k.a, 8); Duplicate(k.a, 2.0f, 8););
FAULT("pipe-barrier", PipeBarrier<PIPE_S>(););
FAULT("pipe-flag", Bench k; Duplicate(k.a, 1.0f, 8); k.a.GetValue(0););
FAULT("pipe-flag", Bench k; k.a.SetValue(0, 1.0f); Exp(k.b, k.a, 8););
FAULT("pipe-flag", Bench k; auto t = k.fetch(); t.GetValue(0););
FAULT("pipe-flag", Bench k; DataCopy(k.a, k.X, 8); Exp(k.b, k.a, 8););
FAULT("pipe-flag", Bench k; Duplicate(k.a, 1.0f, 8); DataCopy(k.Y, k.a, 8););
FAULT("pipe-flag", Bench k; auto t = k.out.AllocTensor<float>(); Duplicate(t, 1.0f, N); k.flush(t); auto u = k.in.AllocTensor<float>(); DataCopy(u, k.Y, N););
FAULT("flag-pairing", Bench k; WaitFlag<HardEvent::V_S>(0););
FAULT("flag-pairing", Bench k; SetFlag<HardEvent::V_S>(0); SetFlag<HardEvent::V_S>(0););
FAULT_AT_0("flag-pairing", Bench k; SetFlag<HardEvent::V_S>(0););
FAULT("event-id", Bench k; SetFlag<HardEvent::V_S>(8););
FAULT("event-id", Bench k; k.pipe.ReleaseEventID<HardEvent::V_S>(3););
// ---- vector instructions
FAULT("dtype", Bench k; auto t = k.a.ReinterpretCast<bfloat16_t>(); Add(t, t, t, 16););
FAULT("dtype", Bench k; auto t = k.a.ReinterpretCast<int32_t>(); Div(t, t, t, 8););
FAULT("dtype", Bench k; auto t = k.a.ReinterpretCast<int64_t>(); Adds(t, t, int64_t(1), 8););
FAULT("dtype", Bench k; auto t = k.a.ReinterpretCast<int32_t>(); Compare(k.b.ReinterpretCast<uint8_t>(), t, t, CMPMODE::LT, 64););
FAULT("dtype", Bench k; Cast(k.a.ReinterpretCast<uint8_t>(), k.b, RoundMode::CAST_RINT, 8););
FAULT("round-mode", Bench k; Cast(k.a.ReinterpretCast<int32_t>(), k.b, RoundMode::CAST_NONE, 8););
FAULT("compare-count", Bench k; Compare(k.c.ReinterpretCast<uint8_t>(), k.a, k.b, CMPMODE::LT, 8););
FAULT("select-mode", Bench k; Select(k.a, k.c.ReinterpretCast<uint8_t>(), k.a, 0.0f, SELMODE::VSEL_CMPMASK_SPR, 64););
FAULT("operand-alignment", Bench k; Exp(k.b[4], k.a, 8););
FAULT("operand-overlap", Bench k; Exp(k.a[8], k.a, 16););
FAULT("operand-overlap", Bench k; ReduceSum(k.b, k.a, k.a, 64););
FAULT("count", Bench k; Exp(k.b, k.a, 0););
FAULT("mask", Bench k; Add(k.b, k.a, k.c, 65, 1, BinaryRepeatParams()););
FAULT("repeat", Bench k; Add(k.b, k.a, k.c, 64, 0, BinaryRepeatParams()););
FAULT("library-scratch", Bench k; Tanh(k.b, k.a, k.c.ReinterpretCast<uint8_t>(), 1024););
// ---- between blocks
Add_case race("block-race", __LINE__ + 5, [] {
    Bench k;
    auto t = k.out.AllocTensor<float>();
    Duplicate(t, 1.0f, N);
    k.out.EnQue(t); t = k.out.DeQue<float>();
    DataCopy(k.Y, t, N);
    k.out.FreeTensor(t);
}, 2);

// ---- a second set, written when the model was done
FAULT("flag-pairing", Bench k; Duplicate(k.a, 1.0f, 8); SetFlag<HardEvent::V_S>(0); WaitFlag<HardEvent::V_S>(1); k.a.GetValue(0););
FAULT("gm-bounds", Bench k; auto t = k.in.AllocTensor<float>(); DataCopyPad(t, k.X[4 * N - 3], DataCopyExtParams(1, 16, 0, 0, 0), DataCopyPadExtParams<float>()););
FAULT("ub-bounds", Bench k; Duplicate(k.a, 1.0f, 8 * N); Duplicate(k.c, 1.0f, 8 * N); barrier(); Add(k.b, k.a, k.c, 64, 33, BinaryRepeatParams()););
FAULT("pipe-flag", Bench k; Duplicate(k.a, 1.0f, 8); SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0); DataCopy(k.Y, k.a, 8); barrier(); Duplicate(k.a, 2.0f, 8););
FAULT("pipe-flag", Bench k; DataCopy(k.a, k.X, 8); SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0); Exp(k.b, k.a, 8); PipeBarrier<PIPE_MTE2>(); DataCopy(k.a, k.X[8], 8););
FAULT("pipe-flag", Bench k; DataCopy(k.a, k.X, 8); SetFlag<HardEvent::V_MTE2>(0); WaitFlag<HardEvent::V_MTE2>(0); Exp(k.b, k.a, 8););
FAULT("queue-state", Bench k; auto t = k.in.AllocTensor<float>(); DataCopy(t, k.X, N); k.in.EnQue(t); k.in.EnQue(t););
Add_case overlap("block-race", __LINE__, [] { Bench k; auto t = k.out.AllocTensor<float>(); Duplicate(t, 1.0f, N); k.out.EnQue(t); t = k.out.DeQue<float>(); DataCopy(k.Y[GetBlockIdx() * 64], t, 72); k.out.FreeTensor(t); }, 2);

std::vector<twin::Region> regions() {
    return {{address(gm_in), sizeof(gm_in), false}, {address(gm_out), sizeof(gm_out), true}, {address(gm_half), sizeof(gm_half), false}, {address(gm_int), sizeof(gm_int), false}};
}
/// The same pieces used as the rules want them: nothing may be refused.
void sound() {
    Bench k;
    auto x = k.fetch();
    auto y = k.out.AllocTensor<float>();
    Exp(y, x, N);
    barrier();
    k.in.FreeTensor(x);
    ReduceSum(k.b, y, k.c, N);
    SetFlag<HardEvent::V_S>(0);
    WaitFlag<HardEvent::V_S>(0);
    float total = k.b.GetValue(0);
    k.a.SetValue(0, total);
    SetFlag<HardEvent::S_V>(1);
    WaitFlag<HardEvent::S_V>(1);
    Adds(k.b, k.a, 1.0f, 1);
    barrier();
    Muls(y, y, 1.0f / total, N);
    k.flush(y);
    SetFlag<HardEvent::MTE3_MTE2>(0);
    WaitFlag<HardEvent::MTE3_MTE2>(0);
    auto again = k.in.AllocTensor<float>();
    DataCopy(again, k.Y[GetBlockIdx() * N], N);
    k.in.EnQue(again);
    again = k.in.DeQue<float>();
    auto z = k.out.AllocTensor<float>();
    Muls(z, again, 2.0f, N);
    k.in.FreeTensor(again);
    k.flush(z);
}
}  // namespace

extern "C" {
int case_count() { return int(cases().size()); }
const char *case_rule(int i) { return cases()[size_t(i)].rule; }
int case_line(int i) { return cases()[size_t(i)].line; }
const char *error_text() { return twin::last_error().c_str(); }
int run_case(int i) { return twin::run(cases()[size_t(i)].blocks, regions(), cases()[size_t(i)].kernel); }
int run_sound(float *out) {
    for (float &x : gm_in) x = 0.5f;
    int rc = twin::run(4, regions(), sound);
    std::memcpy(out, gm_out, sizeof(gm_out));
    return rc;
}
int half_round_trip(uint16_t first, uint16_t last) {
    for (uint32_t h = first; h <= last; ++h) {
        float x = twin::half_to_float(uint16_t(h));
        if (x == x && twin::half_from_float(x) != h) return int(h) + 1;
    }
    return 0;
}
uint16_t to_half(float x) { return twin::half_from_float(x); }
}
