// Global memory as the host bound it, and what separate tasks of one launch may not do to it.
#pragma once
#include <algorithm>
#include <vector>
#include "rules.h"

namespace twin {
/// One tensor (or workspace) of global memory. Shared by all cores.
struct Region { uint8_t *base; uint64_t bytes; bool writable; };
/// Bytes [lo, hi) of a region that one block (or task) touched at a line of the kernel text.
struct GmRange { int region; uint64_t lo, hi; int64_t block; int line; };

/// Throws when two blocks wrote the same bytes, or one read what another wrote: blocks have no order.
inline void check_blocks(std::vector<GmRange> wrote, const std::vector<GmRange> &read, const char *rule = "block-race", const std::string &who = "blocks") {
    auto before = [](const GmRange &a, const GmRange &b) { return a.region != b.region ? a.region < b.region : a.lo < b.lo; };
    std::sort(wrote.begin(), wrote.end(), before);
    for (size_t i = 1; i < wrote.size(); ++i) {
        const GmRange &a = wrote[i - 1], &b = wrote[i];
        if (a.region == b.region && b.lo < a.hi && a.block != b.block) fail(rule, b.line, "two " + who + " write the same bytes of one tensor");
    }
    for (const GmRange &r : read) {
        auto it = std::lower_bound(wrote.begin(), wrote.end(), r, before);
        if (it != wrote.begin()) --it;
        for (; it != wrote.end() && it->region <= r.region && (it->region < r.region || it->lo < r.hi); ++it) {
            if (it->region == r.region && it->hi > r.lo && it->block != r.block) fail(rule, r.line, "one of the " + who + " reads what another writes in the same launch");
        }
    }
}
}  // namespace twin
