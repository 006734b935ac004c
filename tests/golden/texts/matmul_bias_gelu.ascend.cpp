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
__aicore__ inline void CopyRowsOut(const GlobalTensor<T> &to, const LocalTensor<T> &from, int64_t rows, int64_t length,
                                   int64_t stride, int64_t pitch) {
    const uint32_t bytes = static_cast<uint32_t>(length * sizeof(T));
    const int64_t gap = (stride - length) * static_cast<int64_t>(sizeof(T));
    if (rows > 1 && gap >= 0 && gap < 4294967296 && rows < 4096) {
        const uint32_t skip = static_cast<uint32_t>((pitch * sizeof(T) - (bytes + 31) / 32 * 32) / 32);
        const uint16_t count = static_cast<uint16_t>(rows);
        DataCopyPad(to, from, DataCopyExtParams{count, bytes, skip, static_cast<uint32_t>(gap), 0});
    } else {
        for (int64_t r = 0; r < rows; ++r) {
            DataCopyPad(to[r * stride], from[r * pitch], DataCopyExtParams{1, bytes, 0, 0, 0});
        }
    }
}
__aicore__ inline int64_t kc_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }

/// contraction: min(cells, vector cores) blocks, each walks cells (yb, xb); 68864 of 188160 B of UB
class KcKernelCore {
public:
    __aicore__ inline void Init(GM_ADDR A, GM_ADDR B, GM_ADDR b, GM_ADDR Y, int64_t v_I, int64_t K, int64_t J) {
        this->v_I = v_I;
        this->K = K;
        this->J = J;
        A_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(A), v_I * K);
        B_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(B), K * J);
        b_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(b), J);
        Y_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(Y), v_I * J);
        pipe.InitBuffer(acc_buffer, 8448);
        pipe.InitBuffer(Y_1_buffer, 8448);
        pipe.InitBuffer(tmp0_buffer, 512);
        pipe.InitBuffer(tmp1_buffer, 512);
        pipe.InitBuffer(tmp2_buffer, 512);
        pipe.InitBuffer(scratch_buffer, 4096);
        pipe.InitBuffer(a_queue, 2, 2304);
        pipe.InitBuffer(b_1_queue, 2, 16640);
        pipe.InitBuffer(t_b_queue, 1, 8448);
    }
    __aicore__ inline void Process() {
        LocalTensor<float> acc = acc_buffer.Get<float>();
        LocalTensor<float> Y_1 = Y_1_buffer.Get<float>();
        LocalTensor<float> tmp0 = tmp0_buffer.Get<float>();
        LocalTensor<float> tmp1 = tmp1_buffer.Get<float>();
        LocalTensor<float> tmp2 = tmp2_buffer.Get<float>();
        LocalTensor<uint8_t> scratch = scratch_buffer.Get<uint8_t>();
        const int64_t cells = (v_I + 15) / 16 * ((J + 127) / 128);
        for (int64_t cell = GetBlockIdx(); cell < cells; cell += GetBlockNum()) {
            int64_t rest = cell;
            const int64_t xb = rest % ((J + 127) / 128);
            rest /= ((J + 127) / 128);
            const int64_t yb = rest;
            const int64_t ny = kc_min_i64(16, v_I - yb * 16);
            const int64_t nx = kc_min_i64(128, J - xb * 128);
            PipeBarrier<PIPE_V>();
            for (int64_t y = 0; y < 16; ++y) {
                Duplicate(acc[y * 128], 0.0f, 128);
            }
            for (int64_t zb = 0; zb < (K + 31) / 32; ++zb) {
                const int64_t nz = kc_min_i64(32, K - zb * 32);
                LocalTensor<float> a = a_queue.AllocTensor<float>();
                Sync<HardEvent::S_MTE2>();
                CopyRowsIn(a, A_gm[yb * 16 * K + zb * 32], ny, nz, K, 32);
                a_queue.EnQue(a);
                LocalTensor<float> b_1 = b_1_queue.AllocTensor<float>();
                CopyRowsIn(b_1, B_gm[zb * 32 * J + xb * 128], nz, nx, J, 128);
                b_1_queue.EnQue(b_1);
                a = a_queue.DeQue<float>();
                b_1 = b_1_queue.DeQue<float>();
                Sync<HardEvent::MTE2_S>();
                for (int64_t z = 0; z < nz; ++z) {
                    PipeBarrier<PIPE_V>();
                    for (int64_t y = 0; y < ny; ++y) {
                        Axpy(acc[y * 128], b_1[z * 128], a.GetValue(y * 32 + z), nx);
                    }
                }
                a_queue.FreeTensor(a);
                b_1_queue.FreeTensor(b_1);
            }
            LocalTensor<float> t_b = t_b_queue.AllocTensor<float>();
            CopyRowsIn(t_b, b_gm[xb * 128], ny, nx, 0, 128);
            t_b_queue.EnQue(t_b);
            t_b = t_b_queue.DeQue<float>();
            Sync<HardEvent::MTE3_V>();
            for (int64_t y = 0; y < ny; ++y) {
                PipeBarrier<PIPE_V>();
                Add(tmp0, acc[y * 128], t_b[y * 128], nx);
                PipeBarrier<PIPE_V>();
                Muls(tmp1, tmp0, 0.5f, nx);
                Muls(tmp2, tmp0, 0.70710677f, nx);
                PipeBarrier<PIPE_V>();
                Erf(tmp0, tmp2, scratch, nx);
                PipeBarrier<PIPE_V>();
                Adds(tmp2, tmp0, 1.0f, nx);
                PipeBarrier<PIPE_V>();
                Mul(Y_1[y * 128], tmp1, tmp2, nx);
            }
            Sync<HardEvent::V_MTE3>();
            CopyRowsOut(Y_gm[yb * 16 * J + xb * 128], Y_1, ny, nx, J, 128);
            t_b_queue.FreeTensor(t_b);
        }
    }

private:
    TPipe pipe;
    TBuf<TPosition::VECCALC> acc_buffer;
    TQue<TPosition::VECIN, 1> a_queue;
    TQue<TPosition::VECIN, 1> b_1_queue;
    TQue<TPosition::VECIN, 1> t_b_queue;
    TBuf<TPosition::VECCALC> Y_1_buffer;
    TBuf<TPosition::VECCALC> tmp0_buffer;
    TBuf<TPosition::VECCALC> tmp1_buffer;
    TBuf<TPosition::VECCALC> tmp2_buffer;
    TBuf<TPosition::VECCALC> scratch_buffer;
    GlobalTensor<float> A_gm;
    GlobalTensor<float> B_gm;
    GlobalTensor<float> b_gm;
    GlobalTensor<float> Y_gm;
    int64_t v_I, K, J;
};

}  // namespace

extern "C" __global__ __aicore__ void kc_kernel(GM_ADDR A, GM_ADDR B, GM_ADDR b, GM_ADDR Y, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GET_TILING_DATA_WITH_STRUCT(KcKernelTilingData, sizes, tiling);
    (void)workspace;
    KcKernelCore kernel;
    kernel.Init(A, B, b, Y, sizes.v_I, sizes.K, sizes.J);
    kernel.Process();
}