// GlobalTensor and LocalTensor: typed windows on global memory and on one UB buffer, with every access checked.
#pragma once
#include "core.h"

namespace twin {
/// The region that holds [address, address + bytes); a violation when there is none.
inline int find_region(const uint8_t *address, uint64_t bytes, int line) {
    const auto &regions = *core().regions;
    for (size_t i = 0; i < regions.size(); ++i) {
        const Region &r = regions[i];
        if (address >= r.base && address <= r.base + r.bytes && bytes <= uint64_t(r.base + r.bytes - address)) return int(i);
    }
    fail("gm-bounds", line, "SetGlobalBuffer of " + std::to_string(bytes) + " bytes is not inside one tensor");
}
inline void check_gm_offset(uint64_t offset, uint64_t count) {
    if (offset > count) fail("gm-bounds", 0, "offset " + std::to_string(int64_t(offset)) + " of a GlobalTensor of " + std::to_string(count));
}
inline void check_gm_scalar(int region, uint64_t index, uint64_t count, int line) {
    if (region < 0 || index >= count) fail("gm-bounds", line, "GetValue(" + std::to_string(int64_t(index)) + ") of a GlobalTensor of " + std::to_string(count));
    if ((*core().regions)[size_t(region)].writable) fail("gm-scalar", line, "the scalar unit's cache does not see what copies write: read outputs and workspaces through UB");
}
}  // namespace twin

namespace AscendC {
template <class T> struct GlobalTensor {
    uint8_t *base = nullptr;
    uint64_t count = 0;
    int region = -1;

    void SetGlobalBuffer(T *address, uint64_t elements, int line = __builtin_LINE()) {
        base = reinterpret_cast<uint8_t *>(address);
        region = twin::find_region(base, elements * sizeof(T), line);
        count = elements;
    }
    GlobalTensor operator[](uint64_t offset) const {
        twin::check_gm_offset(offset, count);
        GlobalTensor t = *this;
        t.base = base + offset * sizeof(T);
        t.count = count - offset;
        return t;
    }
    uint64_t GetSize() const { return count; }
    /// One element through the scalar unit's data cache: legal for data that this kernel does not write.
    T GetValue(uint64_t index, int line = __builtin_LINE()) const {
        twin::check_gm_scalar(region, index, count, line);
        T value;
        std::memcpy(&value, base + index * sizeof(T), sizeof(T));
        return value;
    }
    void SetValue(uint64_t, T, int line = __builtin_LINE()) const {
        twin::fail("gm-scalar", line, "scalar stores to global memory share cache lines between cores: write through UB and a copy");
    }
};

/// What LocalTensors of every type share; kept out of the templates so that kernels compile quickly.
struct LocalWindow {
    twin::Buffer *buffer = nullptr;
    uint32_t offset = 0;                                         // bytes into the buffer
    uint64_t generation = 0;

    LocalWindow() = default;
    LocalWindow(twin::Buffer *b, uint32_t o, uint64_t g) : buffer(b), offset(o), generation(g) {}
    uint64_t bytes_left() const { return buffer->bytes.size() - offset; }
    void alive(int line, const char *op) const {
        if (!buffer) twin::fail("queue-state", line, std::string(op) + " of a LocalTensor that no AllocTensor, DeQue or Get gave");
        if (generation != buffer->generation) twin::fail("queue-state", line, std::string(op) + " of a LocalTensor whose buffer was freed");
    }
    /// The states in which a pipe may touch this buffer (what the queue discipline says).
    void usable(int pipe, bool write, int line, const char *op) const {
        using S = twin::BufferState;
        alive(line, op);
        S s = buffer->state;
        bool ok = s == S::scratch;
        if (buffer->position == TPosition::VECIN) ok = ok || (pipe == PIPE_MTE2 ? write && s == S::allocated : pipe != PIPE_MTE3 && s == S::dequeued);
        else if (buffer->position == TPosition::VECOUT) ok = ok || (pipe == PIPE_MTE3 ? !write && s == S::dequeued : pipe != PIPE_MTE2 && s == S::allocated);
        else ok = ok || s == S::allocated || s == S::dequeued;
        if (!ok) twin::fail("queue-state", line, std::string(op) + ": pipe " + twin::pipe_name(pipe) + (write ? " writes" : " reads") + " a buffer that is " + twin::state_name(s));
    }
    LocalWindow moved(uint64_t bytes) const {
        alive(0, "operator[]");
        if (bytes > bytes_left()) twin::fail("ub-bounds", 0, "an offset of " + std::to_string(bytes) + " bytes into a LocalTensor of " + std::to_string(bytes_left()));
        return {buffer, uint32_t(offset + bytes), generation};
    }
    /// Checks and logs a scalar access of `size` bytes; gives its address.
    uint8_t *scalar(uint64_t at, uint32_t size, bool write, int line) const {
        const char *op = write ? "SetValue" : "GetValue";
        usable(PIPE_S, write, line, op);
        if (at + size > bytes_left()) twin::fail("ub-bounds", line, std::string(op) + " at byte " + std::to_string(at) + " of a LocalTensor of " + std::to_string(bytes_left()) + " bytes");
        twin::touch(*buffer, PIPE_S, write, offset + at, offset + at + size, twin::issue(PIPE_S), line);
        return buffer->bytes.data() + offset + at;
    }
};

template <class T> struct LocalTensor : LocalWindow {
    LocalTensor() = default;
    LocalTensor(const LocalWindow &w) : LocalWindow(w) {}
    LocalTensor(twin::Buffer *b, uint32_t o, uint64_t g) : LocalWindow(b, o, g) {}
    T *data() const { return reinterpret_cast<T *>(buffer->bytes.data() + offset); }
    uint32_t GetSize() const { return uint32_t(bytes_left() / sizeof(T)); }
    LocalTensor operator[](uint32_t index) const { return moved(uint64_t(index) * sizeof(T)); }
    template <class U> LocalTensor<U> ReinterpretCast() const { return {buffer, offset, generation}; }
    T GetValue(uint32_t index, int line = __builtin_LINE()) const {
        T value;
        std::memcpy(&value, scalar(uint64_t(index) * sizeof(T), sizeof(T), false, line), sizeof(T));
        return value;
    }
    void SetValue(uint32_t index, T value, int line = __builtin_LINE()) const {
        std::memcpy(scalar(uint64_t(index) * sizeof(T), sizeof(T), true, line), &value, sizeof(T));
    }
};
}  // namespace AscendC
