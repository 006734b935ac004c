// State of one emulated core: what its pipes touched, and the copies in flight.
//
// A core has three pipes beside the scalar unit: IO (what touches memory off the chip), Move (other copies) and Compute
// (vector instructions, and scalar accesses to NRAM). Each keeps its own order; between two of them only a __sync_* does.
// An access conflicts with an earlier one of another pipe to the same bytes, one of the two writing, unless a sync between
// them waited for that pipe. Asynchronous copies happen when a sync waits for their pipe, or a later instruction of the
// same pipe needs them.
#pragma once
#include <functional>
#include "memory.h"

namespace twin {
enum Pipe { IO, MOVE, COMPUTE, PIPES };
inline const char *pipe_name(int p) { static const char *n[] = {"IO", "Move", "Compute"}; return n[p]; }
inline const char *sync_name(int p) { static const char *n[] = {"__sync_io()", "__sync_move()", "__sync_compute()"}; return n[p]; }

struct Access { int pipe; bool write; uint64_t lo, hi, seq; int line; };
struct Pending { int pipe; std::function<void()> land; };

struct Core {
    int64_t task = 0, tasks = 1;
    bool mpu = false;
    const std::vector<Region> *regions = nullptr;
    uint64_t seq = 0;
    uint64_t done[PIPES][PIPES] = {};                            // [pipe][of]: the last instruction of `of` it waited for
    uint64_t last[PIPES] = {};
    std::map<const Array *, std::vector<Access>> log;
    std::vector<Pending> pending;
    std::vector<GmRange> wrote, read, renewed;
};
static Core *core_now = nullptr;
static Core &core() {
    if (!core_now) throw Violation("[launch] line 0: device code runs only inside a launch");
    return *core_now;
}
inline uint64_t issue(int pipe, const char *op, int line) {
    Core &c = core();
    if (c.mpu && pipe == COMPUTE) fail("mpu-compute", line, std::string(op) + " on the memory core, which has no vector unit: return where __is_mpu()");
    return c.last[pipe] = ++c.seq;
}
/// Runs the copies in flight of a pipe.
inline void land(int pipe) {
    auto &all = core().pending;
    std::vector<Pending> rest, due;
    for (Pending &p : all) (p.pipe == pipe ? due : rest).push_back(std::move(p));
    all = std::move(rest);
    for (Pending &p : due) p.land();
}
/// `waiting` pipes do nothing more before all that pipe `of` was given is done.
inline void wait_for(int of, bool io = true, bool move = true, bool compute = true) {
    Core &c = core();
    const bool waiting[] = {io, move, compute};
    for (int p = 0; p < PIPES; ++p) if (waiting[p]) c.done[p][of] = c.last[of];
    land(of);
}
/// Checks and logs that `pipe` touches bytes [lo, hi) of an array.
inline void touch(Array &a, int pipe, bool write, uint64_t lo, uint64_t hi, uint64_t seq, int line, const char *op) {
    Core &c = core();
    std::vector<Access> &log = c.log[&a];
    size_t kept = 0;
    Access now{pipe, write, lo, hi, seq, line};
    for (size_t i = 0; i < log.size(); ++i) {
        const Access &b = log[i];
        bool over = true;                                        // every other pipe has waited for it
        for (int p = 0; p < PIPES; ++p) over = over && (p == b.pipe || b.seq <= c.done[p][b.pipe]);
        if (over) continue;
        bool meet = b.lo < hi && lo < b.hi && b.seq != seq;
        if (meet && b.pipe != pipe && (b.write || write) && b.seq > c.done[pipe][b.pipe]) {
            const char *kind = b.write ? (write ? "write after write" : "read after write") : "write after read";
            fail("pipe-order", line, std::string(kind) + " of " + a.name + ": " + op + " (pipe " + pipe_name(pipe) + ") may run before pipe " + pipe_name(b.pipe) + " (line " + std::to_string(b.line) + ") is done; needs " + sync_name(b.pipe));
        }
        if (b.pipe == pipe && b.write == write && b.lo <= now.hi && now.lo <= b.hi) {   // neighbours become one entry
            now.lo = std::min(now.lo, b.lo);
            now.hi = std::max(now.hi, b.hi);
            continue;
        }
        log[kept++] = b;
    }
    log.resize(kept);
    log.push_back(now);
}
/// The array of an operand: in `space`, inside one array, with values where it is read.
inline Array &operand(const void *p, uint64_t bytes, Space space, bool write, int pipe, uint64_t seq, const char *op, int line) {
    Array *a = array_at(p);
    if (!a || a->space != space) {
        Space is = a ? a->space : Space::none;
        if (!a) for (const Region &r : *core().regions) if (p >= r.base && p < r.base + r.bytes) is = Space::gdram;
        fail("address-space", line, std::string(op) + ": an operand is in " + space_name(is) + ", must be in " + space_name(space));
    }
    uint64_t at = uint64_t(static_cast<const uint8_t *>(p) - a->base);
    const char *rule = space == Space::nram ? "nram-bounds" : space == Space::wram ? "wram-bounds" : "sram-bounds";
    if (at + bytes > a->bytes) fail(rule, line, std::string(op) + " touches bytes " + std::to_string(at) + ".." + std::to_string(at + bytes) + " of " + a->name + ", which has " + std::to_string(a->bytes));
    touch(*a, pipe, write, at, at + bytes, seq, line, op);
    if (write) std::fill_n(a->fresh.begin() + long(at), bytes, 0);
    else {
        auto first = std::find(a->fresh.begin() + long(at), a->fresh.begin() + long(at + bytes), 1);
        if (first != a->fresh.begin() + long(at + bytes)) fail("uninitialised", line, std::string(op) + " reads byte " + std::to_string(first - a->fresh.begin()) + " of " + a->name + ", which nothing wrote");
    }
    return *a;
}
/// The region of global memory that holds [p, p + bytes).
inline int region_of(const void *p, uint64_t bytes, bool write, const char *op, int line) {
    const uint8_t *q = static_cast<const uint8_t *>(p);
    const auto &regions = *core().regions;
    for (size_t i = 0; i < regions.size(); ++i) {
        const Region &r = regions[i];
        if (q < r.base || q >= r.base + std::max<uint64_t>(r.bytes, 1)) continue;
        if (bytes > uint64_t(r.base + r.bytes - q)) break;
        if (write && !r.writable) fail("gdram-readonly", line, std::string(op) + " writes an input tensor");
        return int(i);
    }
    if (array_at(p)) fail("address-space", line, std::string(op) + ": an operand is in " + space_name(array_at(p)->space) + ", must be in GDRAM");
    fail("gdram-bounds", line, std::string(op) + " of " + std::to_string(bytes) + " bytes leaves its tensor");
}
inline void note(std::vector<GmRange> &list, int region, uint64_t lo, uint64_t hi, int line) {
    Core &c = core();
    if (!list.empty() && list.back().region == region && list.back().hi == lo) list.back().hi = hi;
    else list.push_back({region, lo, hi, c.task, line});
}
/// Checks and logs an access to global memory.
inline void global(const void *p, uint64_t bytes, bool write, const char *op, int line) {
    Core &c = core();
    int i = region_of(p, bytes, write, op, line);
    const Region &r = (*c.regions)[size_t(i)];
    uint64_t at = uint64_t(static_cast<const uint8_t *>(p) - r.base);
    if (write) note(c.wrote, i, at, at + bytes, line);
    else if (r.writable) note(c.read, i, at, at + bytes, line);
}
}  // namespace twin

inline void __sync_io() { twin::wait_for(twin::IO); }
inline void __sync_move() { twin::wait_for(twin::MOVE); }
inline void __sync_compute() { twin::wait_for(twin::COMPUTE); }
inline void __sync() { for (int p = 0; p < twin::PIPES; ++p) twin::wait_for(p); }
inline void __sync_io_move_compute(bool io = true, bool move = true, bool compute = true, bool to_io = true, bool to_move = true, bool to_compute = true, int line = __builtin_LINE()) {
    if (!(io || move || compute) || !(to_io || to_move || to_compute)) twin::fail("sync-flags", line, "__sync_io_move_compute with no producer or no consumer");
    const bool of[] = {io, move, compute};
    for (int p = 0; p < twin::PIPES; ++p) if (of[p]) twin::wait_for(p, to_io, to_move, to_compute);
}
inline void __sync_cluster(int line = __builtin_LINE()) { twin::fail("not-modelled", line, "__sync_cluster: tasks run one after the other here"); }
inline void __sync_all(int line = __builtin_LINE()) { twin::fail("not-modelled", line, "__sync_all: tasks run one after the other here"); }
