// KernelCAT's functional model of the part of BANG C that its kernels use (mtp_372, mtp_592). Our own code: it runs kernel
// text on the CPU and refuses what the documentation forbids; it says nothing about a compiler's acceptance or speed.
#pragma once
#include <cstdint>
#include <cmath>
#include <limits>
#ifndef __BANG_ARCH__
#define __BANG_ARCH__ 372
#endif
#ifndef KC_CLUSTERS
#define KC_CLUSTERS 4
#endif
#define __mlu_global__ extern "C"
#define __mlu_entry__ extern "C"
#define __mlu_func__ static
#define __mlu_device__
#include "launch.h"
