// Part of the functional model of the host side.
#pragma once
#include "../host.h"
