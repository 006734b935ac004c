// KernelCAT's functional model of the part of Ascend C that vector kernels use (arch 2201). Our own code: it runs kernel
// text on the CPU and refuses what the documentation forbids; it says nothing about a compiler's acceptance or speed.
#pragma once
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#define __global__
#define __aicore__
#define __gm__
#define GM_ADDR uint8_t *
#include "copy.h"
#include "launch.h"
#include "mathlib.h"
#include "queue.h"
#include "reduce.h"
#include "select.h"
#include "sync.h"
#include "tensor.h"
#include "vector.h"
/// The bytes that the host's tiling function left, as the struct that it filled.
#define GET_TILING_DATA_WITH_STRUCT(Struct, name, address) optiling::Struct name; std::memcpy(static_cast<void *>(&name), address, sizeof(name))
/// Which cores a kernel runs on; only vector cores are modelled.
enum KernelMetaType { KERNEL_TYPE_AIV_ONLY, KERNEL_TYPE_AIC_ONLY, KERNEL_TYPE_MIX_AIC_1_2 };
#define KERNEL_TASK_TYPE_DEFAULT(type) static_assert(type == KERNEL_TYPE_AIV_ONLY, "only vector cores are modelled")
