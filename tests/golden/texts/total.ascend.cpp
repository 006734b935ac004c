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
__aicore__ inline int64_t kc_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
__aicore__ inline int64_t kc_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

/// row: min(cells, vector cores) blocks, each walks cells (part); 24896 of 188160 B of UB
class KcKernelK0PartsCore {
public:
    __aicore__ inline void Init(GM_ADDR X, GM_ADDR S_part0, int64_t v_I, int64_t J) {
        this->v_I = v_I;
        this->J = J;
        X_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(X), v_I * J);
        S_part0_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(S_part0), 32);
        pipe.InitBuffer(acc_S_buffer, 8192);
        pipe.InitBuffer(stage_f32_buffer, 32);
        pipe.InitBuffer(work_buffer, 256);
        pipe.InitBuffer(result_buffer, 32);
        pipe.InitBuffer(t_X_queue, 2, 8192);
    }
    __aicore__ inline void Process() {
        LocalTensor<float> acc_S = acc_S_buffer.Get<float>();
        LocalTensor<float> stage_f32 = stage_f32_buffer.Get<float>();
        LocalTensor<float> work = work_buffer.Get<float>();
        LocalTensor<float> result = result_buffer.Get<float>();
        const int64_t cells = 32;
        for (int64_t cell = GetBlockIdx(); cell < cells; cell += GetBlockNum()) {
            const int64_t part = cell;
            float s_S;
            Duplicate(acc_S, 0.0f, 2048);
            for (int64_t b = 0; b < ((v_I * J + 2047) / 2048 + 31) / 32; ++b) {
                const int64_t n = kc_max_i64(0, kc_min_i64(2048, v_I * J - (b * 32 + part) * 2048));
                LocalTensor<float> t_X = t_X_queue.AllocTensor<float>();
                if (n > 0) {
                    CopyRowsIn(t_X, X_gm[(b * 32 + part) * 2048], 1, n, 0, 2048);
                }
                t_X_queue.EnQue(t_X);
                t_X = t_X_queue.DeQue<float>();
                if (n > 0) {
                    PipeBarrier<PIPE_V>();
                    Add(acc_S, acc_S, t_X, n);
                }
                t_X_queue.FreeTensor(t_X);
            }
            s_S = 0.0f;
            Sync<HardEvent::S_V>();
            PipeBarrier<PIPE_V>();
            ReduceSum(result, acc_S, work, 2048);
            Sync<HardEvent::V_S>();
            s_S = s_S + result.GetValue(0);
            Sync<HardEvent::MTE3_S>();
            stage_f32.SetValue(0, s_S);
            Sync<HardEvent::S_MTE3>();
            CopyRowOut(S_part0_gm[part], stage_f32, 1);
        }
    }

private:
    TPipe pipe;
    TBuf<TPosition::VECCALC> acc_S_buffer;
    TQue<TPosition::VECIN, 1> t_X_queue;
    TBuf<TPosition::VECCALC> stage_f32_buffer;
    TBuf<TPosition::VECCALC> work_buffer;
    TBuf<TPosition::VECCALC> result_buffer;
    GlobalTensor<float> X_gm;
    GlobalTensor<float> S_part0_gm;
    int64_t v_I, J;
};

/// row: min(cells, vector cores) blocks, each walks cells (1); 352 of 188160 B of UB
class KcKernelK0Core {
public:
    __aicore__ inline void Init(GM_ADDR S_part0, GM_ADDR S, int64_t v_I, int64_t J) {
        this->v_I = v_I;
        this->J = J;
        S_part0_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(S_part0), 32);
        S_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(S), 1);
        pipe.InitBuffer(stage_f32_buffer, 32);
        pipe.InitBuffer(work_buffer, 32);
        pipe.InitBuffer(result_buffer, 32);
        pipe.InitBuffer(t_S_part0_queue, 1, 256);
    }
    __aicore__ inline void Process() {
        LocalTensor<float> stage_f32 = stage_f32_buffer.Get<float>();
        LocalTensor<float> work = work_buffer.Get<float>();
        LocalTensor<float> result = result_buffer.Get<float>();
        const int64_t cells = 1;
        for (int64_t cell = GetBlockIdx(); cell < cells; cell += GetBlockNum()) {
            float s_S;
            float S_1;
            LocalTensor<float> t_S_part0 = t_S_part0_queue.AllocTensor<float>();
            CopyRowsIn(t_S_part0, S_part0_gm[0], 1, 32, 0, 32);
            t_S_part0_queue.EnQue(t_S_part0);
            t_S_part0 = t_S_part0_queue.DeQue<float>();
            s_S = 0.0f;
            Sync<HardEvent::S_V>();
            ReduceSum(result, t_S_part0, work, 32);
            Sync<HardEvent::V_S>();
            s_S = s_S + result.GetValue(0);
            S_1 = s_S;
            Sync<HardEvent::MTE3_S>();
            stage_f32.SetValue(0, S_1);
            Sync<HardEvent::S_MTE3>();
            CopyRowOut(S_gm[0], stage_f32, 1);
            t_S_part0_queue.FreeTensor(t_S_part0);
        }
    }

private:
    TPipe pipe;
    TQue<TPosition::VECIN, 1> t_S_part0_queue;
    TBuf<TPosition::VECCALC> stage_f32_buffer;
    TBuf<TPosition::VECCALC> work_buffer;
    TBuf<TPosition::VECCALC> result_buffer;
    GlobalTensor<float> S_part0_gm;
    GlobalTensor<float> S_gm;
    int64_t v_I, J;
};

}  // namespace

extern "C" __global__ __aicore__ void kc_kernel_k0_parts(GM_ADDR X, GM_ADDR S_part0, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GET_TILING_DATA_WITH_STRUCT(KcKernelK0PartsTilingData, sizes, tiling);
    (void)workspace;
    KcKernelK0PartsCore kernel;
    kernel.Init(X, S_part0, sizes.v_I, sizes.J);
    kernel.Process();
}
extern "C" __global__ __aicore__ void kc_kernel_k0(GM_ADDR S_part0, GM_ADDR S, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GET_TILING_DATA_WITH_STRUCT(KcKernelK0TilingData, sizes, tiling);
    (void)workspace;
    KcKernelK0Core kernel;
    kernel.Init(S_part0, S, sizes.v_I, sizes.J);
    kernel.Process();
}