// Host side of the functional model: runs every block of one launch, then checks what only shows at the end.
#pragma once
#include <atomic>
#include <thread>
#include "queue.h"

namespace twin {
inline std::string &last_error() { static std::string text; return text; }

inline void finish_block(Core &c) {
    land_all();
    if (!c.leaked.empty()) fail("queue-state", 0, std::string("the kernel ended with a queue buffer that is ") + c.leaked.begin()->second.first + " (a FreeTensor is missing)");
    for (auto &event : c.flags) for (auto &flag : event) if (flag.set) fail("flag-pairing", 0, "the kernel ended with a flag that nobody waited for");
}
/// Runs `kernel()` once for each of `blocks` on `threads` threads; returns 0, or 1 with last_error() set to the first
/// violation.
template <class F> int run(int64_t blocks, const std::vector<Region> &regions, F kernel, int threads_wanted = 2) {
    if (blocks < 1) { last_error() = "[launch] line 0: a launch needs at least one block"; return 1; }
    std::vector<GmRange> wrote, read;
    std::mutex guard;
    std::atomic<int64_t> next{0};
    std::string error;
    auto worker = [&] {
        for (int64_t b = next++; b < blocks; b = next++) {
            Core c;
            c.block = b;
            c.blocks = blocks;
            c.regions = &regions;
            core_of_thread = &c;
            std::string text;
            try { kernel(); finish_block(c); } catch (const Violation &v) { text = v.what(); }
            std::lock_guard<std::mutex> lock(guard);
            if (!text.empty() && error.empty()) error = text;
            wrote.insert(wrote.end(), c.wrote.begin(), c.wrote.end());
            read.insert(read.end(), c.read.begin(), c.read.end());
            if (!error.empty()) next = blocks;
        }
        core_of_thread = nullptr;
    };
    int64_t workers = std::min<int64_t>(blocks, std::max(1, threads_wanted));
    std::vector<std::thread> threads;
    for (int64_t i = 1; i < workers; ++i) threads.emplace_back(worker);
    worker();
    for (std::thread &t : threads) t.join();
    if (error.empty()) try { check_blocks(std::move(wrote), read); } catch (const Violation &v) { error = v.what(); }
    last_error() = error;
    return error.empty() ? 0 : 1;
}
}  // namespace twin
namespace AscendC {
inline int64_t GetBlockIdx() { return twin::core().block; }
inline int64_t GetBlockNum() { return twin::core().blocks; }
}  // namespace AscendC
