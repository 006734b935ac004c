// kernel for ascend:910b, by KernelCAT. Host side: kernel_tiling.h, kernel_host.cpp.
#include "kernel_operator.h"
using namespace AscendC;

namespace {
template <HardEvent event>
__aicore__ inline void Sync() {
    const event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(event));
    SetFlag<event>(id);
    WaitFlag<event>(id);
}
template <class T>
__aicore__ inline void CopyRowOut(const GlobalTensor<T> &to, const LocalTensor<T> &from, int64_t length) {
    DataCopyPad(to, from, DataCopyExtParams{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0});
}
__aicore__ inline int64_t kc_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
__aicore__ inline float kc_infinity() { union { uint32_t u; float f; } x = {0x7f800000u}; return x.f; }

/// column: min(cells, vector cores) blocks, each walks cells (r0, r1, b); 32768 of 188160 B of UB
class KcKernelCore {
public:
    __aicore__ inline void Init(GM_ADDR X, GM_ADDR Y, int64_t C, int64_t X_1, int64_t X_2) {
        this->C = C;
        this->X_1 = X_1;
        this->X_2 = X_2;
        X_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(X), C * X_1 * X_2);
        Y_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(Y), C * (X_1 / 2) * (X_2 / 2));
        pipe.InitBuffer(acc_Y_buffer, 8192);
        pipe.InitBuffer(t_X_buffer, 8192);
        pipe.InitBuffer(out_queue, 2, 8192);
    }
    __aicore__ inline void Process() {
        LocalTensor<float> acc_Y = acc_Y_buffer.Get<float>();
        LocalTensor<float> t_X = t_X_buffer.Get<float>();
        const int64_t cells = C * (X_1 / 2) * ((X_2 / 2 + 2047) / 2048);
        for (int64_t cell = GetBlockIdx(); cell < cells; cell += GetBlockNum()) {
            int64_t rest = cell;
            const int64_t b = rest % ((X_2 / 2 + 2047) / 2048);
            rest /= ((X_2 / 2 + 2047) / 2048);
            const int64_t r1 = rest % (X_1 / 2);
            rest /= (X_1 / 2);
            const int64_t r0 = rest;
            const int64_t n = kc_min_i64(2048, X_2 / 2 - b * 2048);
            PipeBarrier<PIPE_V>();
            Duplicate(acc_Y, (-kc_infinity()), 2048);
            for (int64_t k0_0 = 0; k0_0 < 2; ++k0_0) {
                for (int64_t k0_1 = 0; k0_1 < 2; ++k0_1) {
                    Sync<HardEvent::V_S>();
                    for (int64_t e__0 = 0; e__0 < n; ++e__0) {
                        t_X.SetValue(e__0, X_gm.GetValue(r0 * (X_1 * X_2) + (2 * r1 + k0_0) * X_2 + (2 * (b * 2048 + e__0) + k0_1)));
                    }
                    Sync<HardEvent::S_V>();
                    Max(acc_Y, acc_Y, t_X, n);
                }
            }
            {
                LocalTensor<float> out_f32 = out_queue.AllocTensor<float>();
                PipeBarrier<PIPE_V>();
                Muls(out_f32, acc_Y, 1.0f, n);
                out_queue.EnQue(out_f32);
                out_f32 = out_queue.DeQue<float>();
                CopyRowOut(Y_gm[r0 * (X_1 / 2 * (X_2 / 2)) + r1 * (X_2 / 2) + b * 2048], out_f32, n);
                out_queue.FreeTensor(out_f32);
            }
        }
    }

private:
    TPipe pipe;
    TBuf<TPosition::VECCALC> acc_Y_buffer;
    TBuf<TPosition::VECCALC> t_X_buffer;
    TQue<TPosition::VECOUT, 1> out_queue;
    GlobalTensor<float> X_gm;
    GlobalTensor<float> Y_gm;
    int64_t C, X_1, X_2;
};

}  // namespace

extern "C" __global__ __aicore__ void kc_kernel(GM_ADDR X, GM_ADDR Y, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GET_TILING_DATA_WITH_STRUCT(KcKernelTilingData, sizes, tiling);
    (void)workspace;
    KcKernelCore kernel;
    kernel.Init(X, Y, sizes.C, sizes.X_1, sizes.X_2);
    kernel.Process();
}