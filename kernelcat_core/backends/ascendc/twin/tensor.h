// GlobalTensor and LocalTensor: typed windows on global memory and on one UB buffer, with every access checked.
#pragma once
#include "core.h"

namespace AscendC {
template <class T> struct GlobalTensor {
    uint8_t *base = nullptr;
    uint64_t count = 0;
    int region = -1;

    void SetGlobalBuffer(T *address, uint64_t elements, int line = __builtin_LINE()) {
        const auto &regions = *twin::core().regions;
        uint8_t *p = reinterpret_cast<uint8_t *>(address);
        region = -1;
        for (size_t i = 0; i < regions.size(); ++i) {
            const twin::Region &r = regions[i];
            if (p >= r.base && p <= r.base + r.bytes && elements * sizeof(T) <= uint64_t(r.base + r.bytes - p)) { region = int(i); break; }
        }
        if (region < 0) twin::fail("gm-bounds", line, "SetGlobalBuffer of " + std::to_string(elements) + " elements is not inside one tensor");
        base = p;
        count = elements;
    }
    GlobalTensor operator[](uint64_t offset) const {
        if (offset > count) twin::fail("gm-bounds", 0, "offset " + std::to_string(offset) + " of a GlobalTensor of " + std::to_string(count));
        GlobalTensor t = *this;
        t.base = base + offset * sizeof(T);
        t.count = count - offset;
        return t;
    }
    uint64_t GetSize() const { return count; }
    uint64_t place() const { return uint64_t(base - (*twin::core().regions)[size_t(region)].base); }
    /// One element through the scalar unit's data cache: legal for data that this kernel does not write.
    T GetValue(uint64_t index, int line = __builtin_LINE()) const {
        if (index >= count) twin::fail("gm-bounds", line, "GetValue(" + std::to_string(index) + ") of a GlobalTensor of " + std::to_string(count));
        if ((*twin::core().regions)[size_t(region)].writable) twin::fail("gm-scalar", line, "the scalar unit's cache does not see what copies write: read outputs and workspaces through UB");
        T value;
        std::memcpy(&value, base + index * sizeof(T), sizeof(T));
        return value;
    }
    void SetValue(uint64_t, T, int line = __builtin_LINE()) const {
        twin::fail("gm-scalar", line, "scalar stores to global memory share cache lines between cores: write through UB and a copy");
    }
};

template <class T> struct LocalTensor {
    twin::Buffer *buffer = nullptr;
    uint32_t offset = 0;                                         // bytes into the buffer
    uint64_t generation = 0;

    T *data() const { return reinterpret_cast<T *>(buffer->bytes.data() + offset); }
    uint64_t bytes_left() const { return buffer->bytes.size() - offset; }
    uint32_t GetSize() const { return uint32_t(bytes_left() / sizeof(T)); }
    LocalTensor operator[](uint32_t index) const {
        alive(0, "operator[]");
        if (uint64_t(index) * sizeof(T) > bytes_left()) twin::fail("ub-bounds", 0, "offset " + std::to_string(index) + " of a LocalTensor of " + std::to_string(GetSize()));
        return {buffer, uint32_t(offset + index * sizeof(T)), generation};
    }
    template <class U> LocalTensor<U> ReinterpretCast() const { return {buffer, offset, generation}; }
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
    void scalar(uint32_t index, bool write, int line) const {
        const char *op = write ? "SetValue" : "GetValue";
        usable(PIPE_S, write, line, op);
        if (uint64_t(index) * sizeof(T) + sizeof(T) > bytes_left()) twin::fail("ub-bounds", line, std::string(op) + "(" + std::to_string(index) + ") of a LocalTensor of " + std::to_string(GetSize()));
        uint64_t lo = offset + uint64_t(index) * sizeof(T);
        twin::touch(*buffer, PIPE_S, write, lo, lo + sizeof(T), twin::issue(PIPE_S), line);
    }
    T GetValue(uint32_t index, int line = __builtin_LINE()) const {
        scalar(index, false, line);
        T value;
        std::memcpy(&value, buffer->bytes.data() + offset + uint64_t(index) * sizeof(T), sizeof(T));
        return value;
    }
    void SetValue(uint32_t index, T value, int line = __builtin_LINE()) const {
        scalar(index, true, line);
        std::memcpy(buffer->bytes.data() + offset + uint64_t(index) * sizeof(T), &value, sizeof(T));
    }
};
}  // namespace AscendC
