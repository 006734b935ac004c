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
template <class T>
__aicore__ inline void CopyRowOut(const GlobalTensor<T> &to, const LocalTensor<T> &from, int64_t length) {
    DataCopyPad(to, from, DataCopyExtParams{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0});
}
__aicore__ inline int64_t kc_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }

/// elementwise: min(cells, vector cores) blocks, each walks cells (b); 73728 of 188160 B of UB
class KcKernelCore {
public:
    __aicore__ inline void Init(GM_ADDR X, GM_ADDR Y, int64_t v_I) {
        this->v_I = v_I;
        X_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(X), v_I);
        Y_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(Y), v_I + -2);
        pipe.InitBuffer(Y_1_buffer, 8192);
        pipe.InitBuffer(tmp0_buffer, 8192);
        pipe.InitBuffer(tmp1_buffer, 8192);
        pipe.InitBuffer(tmp2_buffer, 8192);
        pipe.InitBuffer(t_X_queue, 1, 8192);
        pipe.InitBuffer(t_X_1_queue, 1, 8192);
        pipe.InitBuffer(t_X_2_queue, 1, 8192);
        pipe.InitBuffer(out_queue, 2, 8192);
    }
    __aicore__ inline void Process() {
        LocalTensor<float> Y_1 = Y_1_buffer.Get<float>();
        LocalTensor<float> tmp0 = tmp0_buffer.Get<float>();
        LocalTensor<float> tmp1 = tmp1_buffer.Get<float>();
        LocalTensor<float> tmp2 = tmp2_buffer.Get<float>();
        const int64_t cells = (v_I + 2045) / 2048;
        for (int64_t cell = GetBlockIdx(); cell < cells; cell += GetBlockNum()) {
            const int64_t b = cell;
            const int64_t n = kc_min_i64(2048, v_I + -2 - b * 2048);
            LocalTensor<float> t_X = t_X_queue.AllocTensor<float>();
            CopyRowsIn(t_X, X_gm[b * 2048], 1, n, 0, 2048);
            t_X_queue.EnQue(t_X);
            t_X = t_X_queue.DeQue<float>();
            LocalTensor<float> t_X_1 = t_X_1_queue.AllocTensor<float>();
            CopyRowsIn(t_X_1, X_gm[b * 2048 + 1], 1, n, 0, 2048);
            t_X_1_queue.EnQue(t_X_1);
            t_X_1 = t_X_1_queue.DeQue<float>();
            LocalTensor<float> t_X_2 = t_X_2_queue.AllocTensor<float>();
            CopyRowsIn(t_X_2, X_gm[b * 2048 + 2], 1, n, 0, 2048);
            t_X_2_queue.EnQue(t_X_2);
            t_X_2 = t_X_2_queue.DeQue<float>();
            Muls(tmp0, t_X, 0.25f, n);
            Muls(tmp1, t_X_1, 0.5f, n);
            PipeBarrier<PIPE_V>();
            Add(tmp2, tmp0, tmp1, n);
            PipeBarrier<PIPE_V>();
            Muls(tmp1, t_X_2, 0.25f, n);
            PipeBarrier<PIPE_V>();
            Add(Y_1, tmp2, tmp1, n);
            {
                LocalTensor<float> out_f32 = out_queue.AllocTensor<float>();
                PipeBarrier<PIPE_V>();
                Muls(out_f32, Y_1, 1.0f, n);
                out_queue.EnQue(out_f32);
                out_f32 = out_queue.DeQue<float>();
                CopyRowOut(Y_gm[b * 2048], out_f32, n);
                out_queue.FreeTensor(out_f32);
            }
            t_X_queue.FreeTensor(t_X);
            t_X_1_queue.FreeTensor(t_X_1);
            t_X_2_queue.FreeTensor(t_X_2);
        }
    }

private:
    TPipe pipe;
    TQue<TPosition::VECIN, 1> t_X_queue;
    TQue<TPosition::VECIN, 1> t_X_1_queue;
    TQue<TPosition::VECIN, 1> t_X_2_queue;
    TBuf<TPosition::VECCALC> Y_1_buffer;
    TQue<TPosition::VECOUT, 1> out_queue;
    TBuf<TPosition::VECCALC> tmp0_buffer;
    TBuf<TPosition::VECCALC> tmp1_buffer;
    TBuf<TPosition::VECCALC> tmp2_buffer;
    GlobalTensor<float> X_gm;
    GlobalTensor<float> Y_gm;
    int64_t v_I;
};

}  // namespace

extern "C" __global__ __aicore__ void kc_kernel(GM_ADDR X, GM_ADDR Y, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GET_TILING_DATA_WITH_STRUCT(KcKernelTilingData, sizes, tiling);
    (void)workspace;
    KcKernelCore kernel;
    kernel.Init(X, Y, sizes.v_I);
    kernel.Process();
}