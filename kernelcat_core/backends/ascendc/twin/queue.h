// TPipe, TQue, TBuf: the UB budget and the life of a queue buffer (free, allocated, queued, dequeued, free).
// A queue gives order: DeQue waits for what filled the buffer, AllocTensor for what last read it.
#pragma once
#include <deque>
#include <memory>
#include "tensor.h"

namespace twin {
inline void poison(Buffer &b) { std::memset(b.bytes.data(), 0xFF, b.bytes.size()); }   // a NaN in every float dtype
inline int filler(TPosition p) { return p == TPosition::VECIN ? PIPE_MTE2 : PIPE_V; }
inline int drainer(TPosition p) { return p == TPosition::VECOUT ? PIPE_MTE3 : PIPE_V; }
inline void take_ub(uint64_t bytes, int line) {
    Core &c = core();
    if (bytes == 0) fail("ub-budget", line, "InitBuffer of 0 bytes");
    if (c.ub_used + bytes > kUbBytes) fail("ub-budget", line, std::to_string(c.ub_used + bytes) + " bytes of UB asked for, " + std::to_string(kUbBytes) + " are usable");
    c.ub_used += uint32_t(bytes);
}
}  // namespace twin

namespace AscendC {
template <TPosition position, int depth> struct TQue {
    std::vector<std::unique_ptr<twin::Buffer>> pool;
    std::deque<twin::Buffer *> idle, waiting;

    TQue() = default;
    TQue(const TQue &) = delete;
    ~TQue() {
        twin::land_all();
        for (auto &b : pool) if (b->state != twin::BufferState::free_) twin::core().leaked[b.get()] = {twin::state_name(b->state), 0};
    }
    template <class T> LocalTensor<T> AllocTensor(int line = __builtin_LINE()) {
        if (idle.empty()) twin::fail("queue-state", line, "AllocTensor with every buffer in use (a FreeTensor is missing)");
        twin::Buffer *b = idle.front();
        idle.pop_front();
        twin::acquire(twin::filler(position), b->released);
        b->state = twin::BufferState::allocated;
        ++b->generation;
        twin::poison(*b);
        return {b, 0, b->generation};
    }
    template <class T> bool EnQue(const LocalTensor<T> &t, int line = __builtin_LINE()) {
        own(t.buffer, line, "EnQue");
        t.alive(line, "EnQue");
        if (t.buffer->state != twin::BufferState::allocated) twin::fail("queue-state", line, std::string("EnQue of a buffer that is ") + twin::state_name(t.buffer->state));
        if (int(waiting.size()) >= depth) twin::fail("queue-depth", line, "EnQue beyond the queue's depth of " + std::to_string(depth));
        t.buffer->ready = twin::snapshot(twin::filler(position));
        t.buffer->state = twin::BufferState::queued;
        waiting.push_back(t.buffer);
        return true;
    }
    template <class T> LocalTensor<T> DeQue(int line = __builtin_LINE()) {
        if (waiting.empty()) twin::fail("queue-state", line, "DeQue of an empty queue");
        twin::Buffer *b = waiting.front();
        waiting.pop_front();
        b->state = twin::BufferState::dequeued;
        twin::acquire(twin::drainer(position), b->ready);
        return {b, 0, b->generation};
    }
    template <class T> void FreeTensor(const LocalTensor<T> &t, int line = __builtin_LINE()) {
        own(t.buffer, line, "FreeTensor");
        t.alive(line, "FreeTensor");
        if (t.buffer->state != twin::BufferState::dequeued) twin::fail("queue-state", line, std::string("FreeTensor of a buffer that is ") + twin::state_name(t.buffer->state));
        t.buffer->released = twin::snapshot(twin::drainer(position));
        t.buffer->state = twin::BufferState::free_;
        ++t.buffer->generation;
        idle.push_back(t.buffer);
    }
    void own(const twin::Buffer *b, int line, const char *op) const {
        for (auto &p : pool) if (p.get() == b) return;
        twin::fail("queue-state", line, std::string(op) + " of a tensor that is not this queue's");
    }
};

template <TPosition position> struct TBuf {
    twin::Buffer buffer;
    TBuf() = default;
    TBuf(const TBuf &) = delete;
    ~TBuf() { twin::land_all(); }
    template <class T> LocalTensor<T> Get(int line = __builtin_LINE()) {
        if (buffer.bytes.empty()) twin::fail("ub-budget", line, "Get before InitBuffer");
        return {&buffer, 0, 0};
    }
};

struct TPipe {
    TPipe() { current() = this; }
    TPipe(const TPipe &) = delete;
    static TPipe *&current() { static thread_local TPipe *p = nullptr; return p; }

    template <TPosition position, int depth>
    void InitBuffer(TQue<position, depth> &queue, int number, uint32_t bytes, int line = __builtin_LINE()) {
        static_assert(position == TPosition::VECIN || position == TPosition::VECOUT || position == TPosition::VECCALC, "only vector cores are modelled");
        bytes = twin::round_up(bytes);
        int &used = twin::core().queue_buffers[position];
        if (number < 1 || (used += number) > twin::kQueueBuffers) twin::fail("queue-buffers", line, "a position has at most 8 queue buffers (one event id each)");
        twin::take_ub(uint64_t(bytes) * uint64_t(number), line);
        for (int i = 0; i < number; ++i) {
            queue.pool.push_back(std::make_unique<twin::Buffer>());
            twin::Buffer &b = *queue.pool.back();
            b.bytes.resize(bytes);
            b.position = position;
            b.state = twin::BufferState::free_;
            queue.idle.push_back(&b);
        }
    }
    template <TPosition position> void InitBuffer(TBuf<position> &buf, uint32_t bytes, int line = __builtin_LINE()) {
        bytes = twin::round_up(bytes);
        twin::take_ub(bytes, line);
        buf.buffer.bytes.resize(bytes);
        buf.buffer.position = TPosition::VECCALC;
        twin::poison(buf.buffer);
    }
    event_t FetchEventID(HardEvent e, int line = __builtin_LINE()) const {
        for (int i = 0; i < 8; ++i) if (!twin::core().flags[int(e)][i].set && !twin::core().flags[int(e)][i].reserved) return i;
        twin::fail("event-id", line, "all 8 event ids of this event are in use");
    }
    template <HardEvent e> event_t AllocEventID(int line = __builtin_LINE()) const {
        int id = FetchEventID(e, line);
        twin::core().flags[int(e)][id].reserved = true;
        return id;
    }
    template <HardEvent e> void ReleaseEventID(event_t id, int line = __builtin_LINE()) const {
        if (id < 0 || id > 7 || !twin::core().flags[int(e)][id].reserved) twin::fail("event-id", line, "ReleaseEventID of an id that was not allocated");
        twin::core().flags[int(e)][id].reserved = false;
    }
};
inline TPipe *GetTPipePtr() { return TPipe::current(); }
}  // namespace AscendC
