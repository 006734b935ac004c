// kernel for ascend:910b, by KernelCAT. Host side: kernel_tiling.h, kernel_host.cpp.
#include "kernel_operator.h"
using namespace AscendC;

namespace {
template <class T>
__aicore__ inline void CopyRowsIn(const LocalTensor<T> &to, const GlobalTensor<T> &from, int64_t rows, int64_t length,
                                  int64_t stride, int64_t pitch) {
    const DataCopyPadExtParams<T> nopad{false, 0, 0, static_cast<T>(0)};
    const uint32_t bytes = static_cast<uint32_t>(length * sizeof(T));
    const int64_t gap = (stride - length) * static_cast<int64_t>(sizeof(T));
    if (rows == 1) {
        DataCopyPad(to, from, DataCopyExtParams{1, bytes, 0, 0, 0}, nopad);
    } else if (gap >= 0 && gap < 4294967296 && rows < 4096) {
        const uint32_t skip = static_cast<uint32_t>((pitch * sizeof(T) - (bytes + 31) / 32 * 32) / 32);
        const uint16_t count = static_cast<uint16_t>(rows);
        DataCopyPad(to, from, DataCopyExtParams{count, bytes, static_cast<uint32_t>(gap), skip, 0}, nopad);
    } else {
        for (int64_t r = 0; r < rows; ++r) {
            DataCopyPad(to[r * pitch], from[r * stride], DataCopyExtParams{1, bytes, 0, 0, 0}, nopad);
        }
    }
}
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
__aicore__ inline float kc_infinity() { union { uint32_t u; float f; } x = {0x7f800000u}; return x.f; }
__aicore__ inline int64_t kc_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
__aicore__ inline float kc_max_f32(float a, float b) { return a > b || a != a ? a : b; }

/// row: min(cells, vector cores) blocks, each walks cells (r0); 98592 of 188160 B of UB
class KcKernelCore {
public:
    __aicore__ inline void Init(GM_ADDR X, GM_ADDR Y, int64_t X_0, int64_t X_1) {
        this->X_0 = X_0;
        this->X_1 = X_1;
        X_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(X), X_0 * X_1);
        Y_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(Y), X_0 * X_1);
        pipe.InitBuffer(acc_softmax_max_buffer, 8192);
        pipe.InitBuffer(acc_softmax_sum_buffer, 8192);
        pipe.InitBuffer(tmp0_buffer, 8192);
        pipe.InitBuffer(tmp1_buffer, 8192);
        pipe.InitBuffer(work_buffer, 256);
        pipe.InitBuffer(result_buffer, 32);
        pipe.InitBuffer(t_X_queue, 2, 8192);
        pipe.InitBuffer(t_X_1_queue, 2, 8192);
        pipe.InitBuffer(t_X_2_queue, 2, 8192);
        pipe.InitBuffer(out_queue, 2, 8192);
    }
    __aicore__ inline void Process() {
        LocalTensor<float> acc_softmax_max = acc_softmax_max_buffer.Get<float>();
        LocalTensor<float> acc_softmax_sum = acc_softmax_sum_buffer.Get<float>();
        LocalTensor<float> tmp0 = tmp0_buffer.Get<float>();
        LocalTensor<float> tmp1 = tmp1_buffer.Get<float>();
        LocalTensor<float> work = work_buffer.Get<float>();
        LocalTensor<float> result = result_buffer.Get<float>();
        const int64_t cells = X_0;
        for (int64_t cell = GetBlockIdx(); cell < cells; cell += GetBlockNum()) {
            const int64_t r0 = cell;
            float s_softmax_max;
            float softmax_max_1;
            float s_softmax_sum;
            float softmax_sum_1;
            Duplicate(acc_softmax_max, (-kc_infinity()), 2048);
            for (int64_t b = 0; b < (X_1 + 2047) / 2048; ++b) {
                const int64_t n = kc_min_i64(2048, X_1 - b * 2048);
                LocalTensor<float> t_X = t_X_queue.AllocTensor<float>();
                CopyRowsIn(t_X, X_gm[r0 * X_1 + b * 2048], 1, n, 0, 2048);
                t_X_queue.EnQue(t_X);
                t_X = t_X_queue.DeQue<float>();
                PipeBarrier<PIPE_V>();
                Max(acc_softmax_max, acc_softmax_max, t_X, n);
                t_X_queue.FreeTensor(t_X);
            }
            s_softmax_max = (-kc_infinity());
            Sync<HardEvent::S_V>();
            PipeBarrier<PIPE_V>();
            ReduceMax(result, acc_softmax_max, work, 2048);
            Sync<HardEvent::V_S>();
            s_softmax_max = kc_max_f32(s_softmax_max, result.GetValue(0));
            softmax_max_1 = s_softmax_max;
            Duplicate(acc_softmax_sum, 0.0f, 2048);
            for (int64_t b_1 = 0; b_1 < (X_1 + 2047) / 2048; ++b_1) {
                const int64_t n_1 = kc_min_i64(2048, X_1 - b_1 * 2048);
                LocalTensor<float> t_X_1 = t_X_1_queue.AllocTensor<float>();
                CopyRowsIn(t_X_1, X_gm[r0 * X_1 + b_1 * 2048], 1, n_1, 0, 2048);
                t_X_1_queue.EnQue(t_X_1);
                t_X_1 = t_X_1_queue.DeQue<float>();
                Adds(tmp0, t_X_1, -softmax_max_1, n_1);
                PipeBarrier<PIPE_V>();
                Exp(tmp1, tmp0, n_1);
                PipeBarrier<PIPE_V>();
                Add(acc_softmax_sum, acc_softmax_sum, tmp1, n_1);
                t_X_1_queue.FreeTensor(t_X_1);
            }
            s_softmax_sum = 0.0f;
            Sync<HardEvent::S_V>();
            PipeBarrier<PIPE_V>();
            ReduceSum(result, acc_softmax_sum, work, 2048);
            Sync<HardEvent::V_S>();
            s_softmax_sum = s_softmax_sum + result.GetValue(0);
            softmax_sum_1 = s_softmax_sum;
            for (int64_t b_2 = 0; b_2 < (X_1 + 2047) / 2048; ++b_2) {
                const int64_t n_2 = kc_min_i64(2048, X_1 - b_2 * 2048);
                LocalTensor<float> t_X_2 = t_X_2_queue.AllocTensor<float>();
                CopyRowsIn(t_X_2, X_gm[r0 * X_1 + b_2 * 2048], 1, n_2, 0, 2048);
                t_X_2_queue.EnQue(t_X_2);
                t_X_2 = t_X_2_queue.DeQue<float>();
                {
                    LocalTensor<float> out_f32 = out_queue.AllocTensor<float>();
                    PipeBarrier<PIPE_V>();
                    Adds(tmp1, t_X_2, -softmax_max_1, n_2);
                    PipeBarrier<PIPE_V>();
                    Exp(tmp0, tmp1, n_2);
                    PipeBarrier<PIPE_V>();
                    Duplicate(tmp1, softmax_sum_1, n_2);
                    PipeBarrier<PIPE_V>();
                    Div(out_f32, tmp0, tmp1, n_2);
                    out_queue.EnQue(out_f32);
                    out_f32 = out_queue.DeQue<float>();
                    CopyRowOut(Y_gm[r0 * X_1 + b_2 * 2048], out_f32, n_2);
                    out_queue.FreeTensor(out_f32);
                }
                t_X_2_queue.FreeTensor(t_X_2);
            }
        }
    }

private:
    TPipe pipe;
    TBuf<TPosition::VECCALC> acc_softmax_max_buffer;
    TQue<TPosition::VECIN, 1> t_X_queue;
    TBuf<TPosition::VECCALC> acc_softmax_sum_buffer;
    TQue<TPosition::VECIN, 1> t_X_1_queue;
    TQue<TPosition::VECIN, 1> t_X_2_queue;
    TQue<TPosition::VECOUT, 1> out_queue;
    TBuf<TPosition::VECCALC> tmp0_buffer;
    TBuf<TPosition::VECCALC> tmp1_buffer;
    TBuf<TPosition::VECCALC> work_buffer;
    TBuf<TPosition::VECCALC> result_buffer;
    GlobalTensor<float> X_gm;
    GlobalTensor<float> Y_gm;
    int64_t X_0, X_1;
};

}  // namespace

extern "C" __global__ __aicore__ void kc_kernel(GM_ADDR X, GM_ADDR Y, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GET_TILING_DATA_WITH_STRUCT(KcKernelTilingData, sizes, tiling);
    (void)workspace;
    KcKernelCore kernel;
    kernel.Init(X, Y, sizes.X_0, sizes.X_1);
    kernel.Process();
}