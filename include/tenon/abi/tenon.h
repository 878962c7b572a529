// SPDX-License-Identifier: MIT
//
// The whole boundary between a plugin and a host, in C. A plugin written in C++ never includes this
// by hand: `tenon/tenon.hpp` writes every struct of it.
//
// A function may be called at any time between the backend's `open` and `close`, also at the same
// time as any other call; what is passed stays the caller's, what is returned the callee's; and it
// fails by the number that it returns. Where a function differs, the last line of its comment says
// so, in brackets, in this order:
//
//   threads     any           as above
//               per-delegate  never two calls at the same time on one delegate; on different
//                             delegates at the same time
//               exclusive     while no other call into the same backend runs
//   ownership   gives: F      the callee hands over an object, which is returned by calling F
//               takes         the caller returns an object
//   errors      never         cannot fail
//               null          fails by NULL
//
// Behind the brackets are other times at which it may be called, and how long what it returns is
// valid.
//
// Rules with `MUST` carry an id of the form TN-AREA-N, which is never used again. Structs only
// grow at the end, and each begins with its size: a reader looks at nothing beyond that size.

#ifndef TENON_ABI_TENON_H
#define TENON_ABI_TENON_H

#include "tenon/abi/backend.h"
#include "tenon/abi/edge_program.h"
#include "tenon/abi/extensions/aoti_export.h"
#include "tenon/abi/extensions/cancel.h"
#include "tenon/abi/extensions/changes.h"
#include "tenon/abi/extensions/check_blob.h"
#include "tenon/abi/extensions/device_memory.h"
#include "tenon/abi/extensions/devices.h"
#include "tenon/abi/extensions/estimate.h"
#include "tenon/abi/extensions/events.h"
#include "tenon/abi/extensions/external_memory.h"
#include "tenon/abi/extensions/intermediates.h"
#include "tenon/abi/extensions/kernel_lookup.h"
#include "tenon/abi/extensions/kernels.h"
#include "tenon/abi/extensions/memory_info.h"
#include "tenon/abi/extensions/options.h"
#include "tenon/abi/extensions/prepare.h"
#include "tenon/abi/extensions/preprocess.h"
#include "tenon/abi/extensions/scheduling.h"
#include "tenon/abi/extensions/sequence.h"
#include "tenon/abi/extensions/sessions.h"
#include "tenon/abi/extensions/streams.h"
#include "tenon/abi/extensions/threads.h"
#include "tenon/abi/host.h"
#include "tenon/abi/plugin.h"
#include "tenon/abi/static_plugin.h"
#include "tenon/abi/status.h"
#include "tenon/abi/tensor.h"
#include "tenon/abi/version.h"

#endif  // TENON_ABI_TENON_H
