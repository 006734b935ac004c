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
__aicore__ inline void CopyRowOut(const GlobalTensor<T> &to, const LocalTensor<T> &from, int64_t length) {
    DataCopyPad(to, from, DataCopyExtParams{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0});
}
__aicore__ inline float kc_infinity() { union { uint32_t u; float f; } x = {0x7f800000u}; return x.f; }
__aicore__ inline int64_t kc_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
__aicore__ inline bool kc_isnan_f32(float a) { return a != a; }

/// row: min(cells, vector cores) blocks, each walks cells (r0); 81952 of 188160 B of UB
class KcKernelCore {
public:
    __aicore__ inline void Init(GM_ADDR X, GM_ADDR Y, int64_t v_I, int64_t K) {
        this->v_I = v_I;
        this->K = K;
        X_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(X), v_I * K);
        Y_gm.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t *>(Y), v_I);
        pipe.InitBuffer(acc_Y_buffer, 8192);
        pipe.InitBuffer(acc_Y_1_buffer, 16384);
        pipe.InitBuffer(stage_i64_buffer, 32);
        pipe.InitBuffer(tmp0_buffer, 8192);
        pipe.InitBuffer(tmp1_buffer, 8192);
        pipe.InitBuffer(tmp2_buffer, 8192);
        pipe.InitBuffer(tmp3_buffer, 8192);
        pipe.InitBuffer(tmp4_buffer, 8192);
        pipe.InitBuffer(t_X_queue, 2, 8192);
    }
    __aicore__ inline void Process() {
        LocalTensor<float> acc_Y = acc_Y_buffer.Get<float>();
        LocalTensor<int64_t> acc_Y_1 = acc_Y_1_buffer.Get<int64_t>();
        LocalTensor<int64_t> stage_i64 = stage_i64_buffer.Get<int64_t>();
        LocalTensor<float> tmp0 = tmp0_buffer.Get<float>();
        LocalTensor<float> tmp1 = tmp1_buffer.Get<float>();
        LocalTensor<float> tmp2 = tmp2_buffer.Get<float>();
        LocalTensor<float> tmp3 = tmp3_buffer.Get<float>();
        LocalTensor<float> tmp4 = tmp4_buffer.Get<float>();
        const int64_t cells = v_I;
        for (int64_t cell = GetBlockIdx(); cell < cells; cell += GetBlockNum()) {
            const int64_t r0 = cell;
            float s_Y;
            int64_t s_Y_1;
            int64_t Y_1;
            Sync<HardEvent::S_V>();
            Duplicate(acc_Y, (-kc_infinity()), 2048);
            for (int64_t e__0 = 0; e__0 < 2048; ++e__0) {
                acc_Y_1.SetValue(e__0, 9223372036854775807ll);
            }
            for (int64_t b = 0; b < (K + 2047) / 2048; ++b) {
                const int64_t n = kc_min_i64(2048, K - b * 2048);
                LocalTensor<float> t_X = t_X_queue.AllocTensor<float>();
                Sync<HardEvent::S_MTE2>();
                CopyRowsIn(t_X, X_gm[r0 * K + b * 2048], 1, n, 0, 2048);
                t_X_queue.EnQue(t_X);
                t_X = t_X_queue.DeQue<float>();
                PipeBarrier<PIPE_V>();
                Compare(tmp0.ReinterpretCast<uint8_t>(), t_X, t_X, CMPMODE::NE, (n + 63) / 64 * 64);
                Compare(tmp1.ReinterpretCast<uint8_t>(), acc_Y, acc_Y, CMPMODE::NE, (n + 63) / 64 * 64);
                PipeBarrier<PIPE_V>();
                Not(tmp2.ReinterpretCast<int16_t>(), tmp1.ReinterpretCast<int16_t>(), (n + 127) / 128 * 8);
                PipeBarrier<PIPE_V>();
                And(tmp3.ReinterpretCast<int16_t>(), tmp0.ReinterpretCast<int16_t>(), tmp2.ReinterpretCast<int16_t>(), (n + 127) / 128 * 8);
                PipeBarrier<PIPE_V>();
                Compare(tmp2.ReinterpretCast<uint8_t>(), t_X, acc_Y, CMPMODE::GT, (n + 63) / 64 * 64);
                PipeBarrier<PIPE_V>();
                Or(tmp4.ReinterpretCast<int16_t>(), tmp3.ReinterpretCast<int16_t>(), tmp2.ReinterpretCast<int16_t>(), (n + 127) / 128 * 8);
                PipeBarrier<PIPE_V>();
                And(tmp2.ReinterpretCast<int16_t>(), tmp1.ReinterpretCast<int16_t>(), tmp0.ReinterpretCast<int16_t>(), (n + 127) / 128 * 8);
                PipeBarrier<PIPE_V>();
                Compare(tmp0.ReinterpretCast<uint8_t>(), acc_Y, t_X, CMPMODE::EQ, (n + 63) / 64 * 64);
                PipeBarrier<PIPE_V>();
                Or(tmp1.ReinterpretCast<int16_t>(), tmp2.ReinterpretCast<int16_t>(), tmp0.ReinterpretCast<int16_t>(), (n + 127) / 128 * 8);
                Sync<HardEvent::V_S>();
                for (int64_t e__1 = 0; e__1 < n; ++e__1) {
                    tmp0.SetValue(e__1, b * 2048 + e__1 < acc_Y_1.GetValue(e__1) ? 1.0f : 0.0f);
                }
                Sync<HardEvent::S_V>();
                CompareScalar(tmp2.ReinterpretCast<uint8_t>(), tmp0, 0.0f, CMPMODE::NE, (n + 63) / 64 * 64);
                PipeBarrier<PIPE_V>();
                And(tmp0.ReinterpretCast<int16_t>(), tmp1.ReinterpretCast<int16_t>(), tmp2.ReinterpretCast<int16_t>(), (n + 127) / 128 * 8);
                PipeBarrier<PIPE_V>();
                Or(tmp2.ReinterpretCast<int16_t>(), tmp4.ReinterpretCast<int16_t>(), tmp0.ReinterpretCast<int16_t>(), (n + 127) / 128 * 8);
                PipeBarrier<PIPE_V>();
                Select(tmp0, tmp2.ReinterpretCast<uint8_t>(), t_X, acc_Y, SELMODE::VSEL_TENSOR_TENSOR_MODE, n);
                Sync<HardEvent::MTE2_S>();
                for (int64_t e__2 = 0; e__2 < n; ++e__2) {
                    acc_Y_1.SetValue(e__2, ((t_X.GetValue(e__2) != t_X.GetValue(e__2) && !(acc_Y.GetValue(e__2) != acc_Y.GetValue(e__2))) || (t_X.GetValue(e__2) > acc_Y.GetValue(e__2))) || (((acc_Y.GetValue(e__2) != acc_Y.GetValue(e__2) && t_X.GetValue(e__2) != t_X.GetValue(e__2)) || (acc_Y.GetValue(e__2) == t_X.GetValue(e__2))) && (b * 2048 + e__2 < acc_Y_1.GetValue(e__2))) ? b * 2048 + e__2 : acc_Y_1.GetValue(e__2));
                }
                Sync<HardEvent::S_V>();
                PipeBarrier<PIPE_V>();
                Muls(acc_Y, tmp0, 1.0f, n);
                t_X_queue.FreeTensor(t_X);
            }
            s_Y = (-kc_infinity());
            s_Y_1 = 9223372036854775807ll;
            Sync<HardEvent::V_S>();
            for (int64_t e__3 = 0; e__3 < 2048; ++e__3) {
                const float v_v_5f__5f_0 = acc_Y.GetValue(e__3);
                const int64_t v_v_5f__5f_1 = acc_Y_1.GetValue(e__3);
                const float v_v_5f__5f_2 = ((kc_isnan_f32(v_v_5f__5f_0) && !kc_isnan_f32(s_Y)) || (v_v_5f__5f_0 > s_Y)) || (((kc_isnan_f32(s_Y) && kc_isnan_f32(v_v_5f__5f_0)) || (s_Y == v_v_5f__5f_0)) && (v_v_5f__5f_1 < s_Y_1)) ? v_v_5f__5f_0 : s_Y;
                const int64_t v_v_5f__5f_3 = ((kc_isnan_f32(v_v_5f__5f_0) && !kc_isnan_f32(s_Y)) || (v_v_5f__5f_0 > s_Y)) || (((kc_isnan_f32(s_Y) && kc_isnan_f32(v_v_5f__5f_0)) || (s_Y == v_v_5f__5f_0)) && (v_v_5f__5f_1 < s_Y_1)) ? v_v_5f__5f_1 : s_Y_1;
                s_Y = v_v_5f__5f_2;
                s_Y_1 = v_v_5f__5f_3;
            }
            Y_1 = s_Y_1;
            Sync<HardEvent::MTE3_S>();
            stage_i64.SetValue(0, Y_1);
            Sync<HardEvent::S_MTE3>();
            CopyRowOut(Y_gm[r0], stage_i64, 1);
        }
    }

private:
    TPipe pipe;
    TBuf<TPosition::VECCALC> acc_Y_buffer;
    TBuf<TPosition::VECCALC> acc_Y_1_buffer;
    TQue<TPosition::VECIN, 1> t_X_queue;
    TBuf<TPosition::VECCALC> stage_i64_buffer;
    TBuf<TPosition::VECCALC> tmp0_buffer;
    TBuf<TPosition::VECCALC> tmp1_buffer;
    TBuf<TPosition::VECCALC> tmp2_buffer;
    TBuf<TPosition::VECCALC> tmp3_buffer;
    TBuf<TPosition::VECCALC> tmp4_buffer;
    GlobalTensor<float> X_gm;
    GlobalTensor<int64_t> Y_gm;
    int64_t v_I, K;
};

}  // namespace

extern "C" __global__ __aicore__ void kc_kernel(GM_ADDR X, GM_ADDR Y, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GET_TILING_DATA_WITH_STRUCT(KcKernelTilingData, sizes, tiling);
    (void)workspace;
    KcKernelCore kernel;
    kernel.Init(X, Y, sizes.v_I, sizes.K);
    kernel.Process();
}