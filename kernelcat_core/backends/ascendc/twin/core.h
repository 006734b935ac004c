// State of one emulated vector core: its pipes' clocks, its buffers' access logs, its events and its copies in flight.
//
// Order between instructions is tracked by vector clocks, one a pipe. An instruction of pipe P may touch bytes that
// an earlier instruction of pipe Q touched (one of the two writing) only when P's clock, or the clock of the scalar
// unit that issues everything, has reached that instruction: by a flag, a barrier or a queue. Copies land (GM -> UB)
// or leave (UB -> GM) only when some clock reaches them.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <vector>
#include "../../twin/races.h"
#include "../../twin/rules.h"

namespace AscendC {
enum class TPosition { GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC };
using QuePosition = TPosition;
enum class HardEvent { MTE2_V, V_MTE2, MTE3_V, V_MTE3, MTE2_S, S_MTE2, MTE3_S, S_MTE3, V_S, S_V, MTE2_MTE3, MTE3_MTE2, COUNT };
}  // namespace AscendC
enum pipe_t { PIPE_S, PIPE_V, PIPE_MTE2, PIPE_MTE3, PIPE_ALL };
using event_t = int;

namespace twin {
using AscendC::HardEvent;
using AscendC::TPosition;
constexpr int kPipes = 4;
constexpr uint32_t kBlock = 32;                                  // bytes; the unit of UB addresses
constexpr uint32_t kUbBytes = 192 * 1024 - 256 - 8 * 1024;       // 192 KiB less what the runtime and Select keep
constexpr int kQueueBuffers = 8;                                 // buffers a TPosition may have: one event id each
inline const char *pipe_name(int p) { static const char *n[] = {"S", "V", "MTE2", "MTE3"}; return n[p]; }
inline uint32_t round_up(uint64_t bytes) { return uint32_t((bytes + kBlock - 1) / kBlock * kBlock); }
inline void event_pipes(HardEvent e, int &from, int &to) {
    static const int table[][2] = {{2, 1}, {1, 2}, {3, 1}, {1, 3}, {2, 0}, {0, 2}, {3, 0}, {0, 3}, {1, 0}, {0, 1}, {2, 3}, {3, 2}};
    from = table[int(e)][0];
    to = table[int(e)][1];
}

struct Access { int pipe; bool write; uint64_t lo, hi, seq, epoch; int line; };
using Clock = std::vector<uint64_t>;                             // [pipe] -> last instruction known to be complete

enum class BufferState { free_, allocated, queued, dequeued, scratch };
inline const char *state_name(BufferState s) { static const char *n[] = {"free", "allocated", "queued", "dequeued", "scratch"}; return n[int(s)]; }
struct Buffer {
    std::vector<uint8_t> bytes;
    TPosition position = TPosition::VECCALC;
    BufferState state = BufferState::scratch;
    uint64_t generation = 0;
    std::vector<Access> log;
    Clock ready = Clock(kPipes, 0), released = Clock(kPipes, 0);   // snapshots taken by EnQue and FreeTensor
};

struct Pending { int pipe; uint64_t seq; std::function<void()> land; };

struct Core {
    int64_t block = 0, blocks = 1;
    const std::vector<Region> *regions = nullptr;
    uint64_t seq = 0, epoch = 0;
    Clock clock[kPipes] = {Clock(kPipes, 0), Clock(kPipes, 0), Clock(kPipes, 0), Clock(kPipes, 0)};
    uint64_t last[kPipes] = {};                                  // newest instruction of each pipe
    struct Flag { bool set = false, reserved = false; Clock at; };
    Flag flags[int(HardEvent::COUNT)][8];
    std::vector<Pending> pending;
    uint32_t ub_used = 0;
    std::map<TPosition, int> queue_buffers;
    std::vector<Access> stores;                                  // GM writes not yet ordered before this core's reads
    std::vector<int> store_region;
    std::vector<GmRange> wrote, read;                            // whole life, for races between blocks
    std::map<const Buffer *, std::pair<const char *, int>> leaked;
};
inline thread_local Core *core_of_thread = nullptr;
inline Core &core() { return *core_of_thread; }

inline uint64_t issue(int pipe) { Core &c = core(); return c.last[pipe] = ++c.seq; }

/// Runs the copies of `pipe` up to `seq`: somebody now knows that they are complete.
inline void land(int pipe, uint64_t seq) {
    std::vector<Pending> &p = core().pending;
    for (size_t i = 0; i < p.size();) {
        if (p[i].pipe == pipe && p[i].seq <= seq) { auto f = std::move(p[i].land); p.erase(p.begin() + long(i)); f(); } else ++i;
    }
}
/// The end of a kernel: every copy completes while its UB buffer still exists.
inline void land_all() { for (int p = 0; p < kPipes; ++p) land(p, core().seq); }
inline void acquire(int pipe, const Clock &at) {
    Core &c = core();
    ++c.epoch;
    for (int q = 0; q < kPipes; ++q) if (at[q] > c.clock[pipe][q]) { c.clock[pipe][q] = at[q]; land(q, at[q]); }
}
/// What is known once every earlier instruction of `pipe` is complete.
inline Clock snapshot(int pipe) {
    Clock s = core().clock[pipe];
    for (int q = 0; q < kPipes; ++q) if (q != PIPE_S) s[q] = std::max(s[q], core().clock[PIPE_S][q]);
    s[pipe] = core().last[pipe];
    return s;
}
inline bool ordered(const Access &before, int pipe) {
    const Core &c = core();
    if (before.pipe == PIPE_S && pipe == PIPE_S) return true;    // the scalar unit keeps its own order
    if (before.seq <= c.clock[pipe][before.pipe]) return true;
    return before.pipe != PIPE_S && before.seq <= c.clock[PIPE_S][before.pipe];
}
[[noreturn]] inline void hazard(const Access &before, int pipe, bool write, int line, const char *where) {
    const char *kind = before.write ? (write ? "write after write" : "read after write") : "write after read";
    std::string from = pipe_name(before.pipe), to = pipe_name(pipe);
    std::string cure = from == to ? "PipeBarrier<PIPE_" + from + ">()" : "a flag HardEvent::" + from + "_" + to + " or a queue";
    fail(from == to ? "pipe-barrier" : "pipe-flag", line, std::string(kind) + " in " + where + ": pipe " + to + " may run before pipe " + from +
         " (line " + std::to_string(before.line) + ") is done; needs " + cure);
}
/// Checks and records that `pipe` touches bytes [lo, hi) of a UB buffer; hazards are seen at 32 B blocks.
inline void touch(Buffer &b, int pipe, bool write, uint64_t lo, uint64_t hi, uint64_t seq, int line) {
    if (lo >= hi) return;
    lo = lo / kBlock * kBlock;
    hi = round_up(hi);
    std::vector<Access> &log = b.log;
    size_t kept = 0;
    for (size_t i = 0; i < log.size(); ++i) {
        const Access &a = log[i];
        bool meet = a.lo < hi && lo < a.hi;
        if (meet && (a.write || write) && a.seq != seq && !ordered(a, pipe)) hazard(a, pipe, write, line, "UB");
        bool covered = lo <= a.lo && a.hi <= hi && (write || (!a.write && a.pipe == pipe));
        if (!covered) log[kept++] = a;                           // a covering access is ordered after what it covers
    }
    log.resize(kept);
    if (!log.empty()) {
        Access &t = log.back();
        if (t.pipe == pipe && pipe == PIPE_S && t.write == write && t.epoch == core().epoch && t.lo <= hi && lo <= t.hi) {
            t.lo = std::min(t.lo, lo); t.hi = std::max(t.hi, hi); t.seq = seq; return;
        }
    }
    log.push_back({pipe, write, lo, hi, seq, core().epoch, line});
}
}  // namespace twin
