// Barriers and flags. SetFlag<A_B>(id) runs in pipe A after all it was given; WaitFlag<A_B>(id) holds pipe B.
#pragma once
#include "core.h"

namespace AscendC {
template <pipe_t pipe> void PipeBarrier(int line = __builtin_LINE()) {
    if (pipe == PIPE_S) twin::fail("pipe-barrier", line, "PipeBarrier<PIPE_S> is a hardware error: the scalar unit keeps its own order");
    if (pipe != PIPE_ALL) { twin::acquire(pipe, twin::snapshot(pipe)); return; }
    twin::Clock all(twin::kPipes, twin::core().seq);
    for (int p = 0; p < twin::kPipes; ++p) twin::acquire(p, all);
}
template <HardEvent e> void SetFlag(int id, int line = __builtin_LINE()) {
    if (id < 0 || id > 7) twin::fail("event-id", line, "event id " + std::to_string(id) + " is not in 0..7");
    auto &flag = twin::core().flags[int(e)][id];
    if (flag.set) twin::fail("flag-pairing", line, "SetFlag twice on id " + std::to_string(id) + " with no WaitFlag between");
    int from, to;
    twin::event_pipes(e, from, to);
    flag.set = true;
    flag.at = twin::snapshot(from);
}
template <HardEvent e> void WaitFlag(int id, int line = __builtin_LINE()) {
    if (id < 0 || id > 7) twin::fail("event-id", line, "event id " + std::to_string(id) + " is not in 0..7");
    auto &flag = twin::core().flags[int(e)][id];
    if (!flag.set) twin::fail("flag-pairing", line, "WaitFlag on id " + std::to_string(id) + " that nobody set: the core would hang");
    int from, to;
    twin::event_pipes(e, from, to);
    flag.set = false;
    twin::acquire(to, flag.at);
}
}  // namespace AscendC
