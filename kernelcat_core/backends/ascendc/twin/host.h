// Functional model of the host side that operators use: shapes, contexts, tiling data, operator definitions.
#pragma once
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>
#include "launch.h"

namespace ge {
using graphStatus = uint32_t;
constexpr graphStatus GRAPH_SUCCESS = 0, GRAPH_FAILED = 0xFFFFFFFF;
enum DataType { DT_FLOAT, DT_FLOAT16, DT_BF16, DT_DOUBLE, DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_UINT8, DT_UINT16, DT_UINT32, DT_UINT64, DT_BOOL };
enum Format { FORMAT_ND };
}  // namespace ge

namespace gert {
struct Shape {
    std::vector<int64_t> dims;
    size_t GetDimNum() const { return dims.size(); }
    int64_t GetDim(size_t k) const { return dims.at(k); }
    void SetDimNum(size_t n) { dims.assign(n, -1); }
    void SetDim(size_t k, int64_t v) { dims.at(k) = v; }
};
struct StorageShape {
    Shape shape;
    const Shape &GetStorageShape() const { return shape; }
    const Shape &GetOriginShape() const { return shape; }
};
struct RuntimeAttrs {
    std::vector<int64_t> numbers;
    const int64_t *GetInt(size_t k) const { return &numbers.at(k); }
};
struct TilingData {
    std::vector<uint8_t> bytes = std::vector<uint8_t>(4096, 0xFF);
    size_t size = 0;
    void *GetData() { return bytes.data(); }
    size_t GetCapacity() const { return bytes.size(); }
    void SetDataSize(size_t n) { size = n; }
};
struct Context {
    std::vector<StorageShape> inputs;
    std::vector<Shape> outputs;
    RuntimeAttrs attributes;
    TilingData raw;
    std::vector<size_t> workspaces;
    uint32_t blocks = 0;
    int64_t cores = 1;
    const RuntimeAttrs *GetAttrs() const { return &attributes; }
};
struct TilingContext : Context {
    const StorageShape *GetInputShape(size_t k) const { return &inputs.at(k); }
    TilingData *GetRawTilingData() { return &raw; }
    size_t *GetWorkspaceSizes(size_t n) { workspaces.assign(n, ~size_t(0)); return workspaces.data(); }
    void SetBlockDim(uint32_t n) { blocks = n; }
    Context *GetPlatformInfo() { return this; }
};
struct InferShapeContext : Context {
    const Shape *GetInputShape(size_t k) const { return &inputs.at(k).shape; }
    Shape *GetOutputShape(size_t k) { return &outputs.at(k); }
};
}  // namespace gert

namespace platform_ascendc {
class PlatformAscendC {
public:
    explicit PlatformAscendC(gert::Context *context) : cores(context->cores) {}
    uint32_t GetCoreNumAiv() const { return uint32_t(cores); }
private:
    int64_t cores;
};
}  // namespace platform_ascendc

// ---- operator definitions: only their form is checked, by the compiler
enum ParamType { REQUIRED, OPTIONAL, DYNAMIC };
struct OpPort {
    OpPort &ParamType(::ParamType) { return *this; }
    OpPort &DataType(std::initializer_list<ge::DataType>) { return *this; }
    OpPort &Format(std::initializer_list<ge::Format>) { return *this; }
    OpPort &Int() { return *this; }
};
struct OpCore {
    OpCore &SetTiling(ge::graphStatus (*)(gert::TilingContext *)) { return *this; }
    OpCore &AddConfig(const char *) { return *this; }
};
class OpDef {
public:
    explicit OpDef(const char *) {}
    OpPort &Input(const char *) { return port; }
    OpPort &Output(const char *) { return port; }
    OpPort &Attr(const char *) { return port; }
    void SetInferShape(ge::graphStatus (*)(gert::InferShapeContext *)) {}
    OpCore &AICore() { return core; }
private:
    OpPort port;
    OpCore core;
};
#define OP_ADD(Name) static const Name op_definition_##Name(#Name)

// ---- tiling data
#define BEGIN_TILING_DATA_DEF(Name) struct Name { \
    void SaveToBuffer(void *to, size_t capacity) const { if (sizeof(*this) <= capacity) std::memcpy(to, static_cast<const void *>(this), sizeof(*this)); } \
    size_t GetDataSize() const { return sizeof(*this); }
#define TILING_DATA_FIELD_DEF(Type, field) Type field = 0; void set_##field(Type v) { field = v; } Type get_##field() const { return field; } static_assert(true, "")
#define END_TILING_DATA_DEF }
#define REGISTER_TILING_DATA_CLASS(Op, Class) static_assert(sizeof(Class) <= 4096, "tiling data is too large");

namespace twin {
/// One operator call as the framework makes it: infer the output shapes, then tile.
class Host {
public:
    Host(std::vector<std::vector<int64_t>> inputs, std::vector<int64_t> numbers, int64_t cores) {
        for (auto &dims : inputs) context.inputs.push_back({{dims}});
        context.attributes.numbers = std::move(numbers);
        context.cores = cores;
    }
    /// Nonzero when the inferred shapes are not `expected`.
    int infer(ge::graphStatus (*function)(gert::InferShapeContext *), const std::vector<std::vector<int64_t>> &expected) {
        gert::InferShapeContext c;
        static_cast<gert::Context &>(c) = context;
        c.outputs.resize(expected.size());
        if (function(&c) != ge::GRAPH_SUCCESS) return say("[host-shape] line 0: InferShape failed");
        for (size_t k = 0; k < expected.size(); ++k) if (c.outputs[k].dims != expected[k]) return say("[host-shape] line 0: InferShape gives another shape than the kernel writes");
        return 0;
    }
    int tile(ge::graphStatus (*function)(gert::TilingContext *)) {
        if (function(&context) != ge::GRAPH_SUCCESS) return say("[host-tiling] line 0: the tiling function failed");
        if (context.raw.size == 0 || context.raw.size > context.raw.bytes.size()) return say("[host-tiling] line 0: the tiling function saved no tiling data");
        if (context.blocks < 1 || context.blocks > uint32_t(context.cores)) return say("[host-tiling] line 0: block dim " + std::to_string(context.blocks) + " is not in 1.." + std::to_string(context.cores));
        if (context.workspaces.empty() || context.workspaces[0] == ~size_t(0)) return say("[host-tiling] line 0: the workspace size was not set");
        return 0;
    }
    int64_t blocks() const { return context.blocks; }
    uint8_t *tiling() { return context.raw.bytes.data(); }
private:
    static int say(const std::string &text) { last_error() = text; return 1; }
    gert::TilingContext context;
};
}  // namespace twin
