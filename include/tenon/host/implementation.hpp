// SPDX-License-Identifier: MIT
//
// The definitions of <tenon/host.hpp>, for a program that does not link the library tenon-host.
// Exactly one source of the program includes it, in addition to what it includes anyway. That
// source needs the headers of flatbuffers; no other one does.
//
// The other umbrella headers have definitions in the same way, and need this header:
// <tenon/host/arrays.hpp> has <tenon/host/layers/arrays/implementation.hpp>. They may all be in one
// source.
#pragma once

#include "tenon/host/layers/budget/implementation.hpp"
#include "tenon/host/layers/cancel/implementation.hpp"
#include "tenon/host/layers/code/implementation.hpp"
#include "tenon/host/layers/data/implementation.hpp"
#include "tenon/host/layers/devices/implementation.hpp"
#include "tenon/host/layers/discovery/registry/implementation.hpp"
#include "tenon/host/layers/external_memory/implementation.hpp"
#include "tenon/host/layers/inspect/methods/implementation.hpp"
#include "tenon/host/layers/kernels/implementation.hpp"
#include "tenon/host/layers/observed/implementation.hpp"
#include "tenon/host/layers/prepared/store/implementation.hpp"
#include "tenon/host/layers/progress/implementation.hpp"
#include "tenon/host/layers/scheduling/implementation.hpp"
#include "tenon/host/layers/sessions/implementation.hpp"
#include "tenon/host/layers/streams/implementation.hpp"
#include "tenon/host/layers/trace/implementation.hpp"
#include "tenon/host/layers/trust/implementation.hpp"
#include "tenon/host/layers/variants/implementation.hpp"
#include "tenon/host/loader/implementation.hpp"
#include "tenon/host/platform/implementation.hpp"
