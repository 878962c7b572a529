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
// Rules with `MUST` carry an id of the form TN-AREA-N, which is never used again. A struct only
// grows at its end, and begins with its size: a reader looks at nothing beyond that size. Five
// structs have no size and never grow: the three of DLPack, `tenon_span`, and `tenon_metal_event`.
// Members with the name `reserved` are written as 0 and not read. A pointer is never NULL, unless
// its comment says when; an array of no elements may be NULL. Texts end with NUL, unless their
// size is a member or an argument, too.

#ifndef TENON_ABI_TENON_H
#define TENON_ABI_TENON_H

#include "tenon/abi/backend.h"
#include "tenon/abi/draft/aoti_export.h"
#include "tenon/abi/draft/edge_program.h"
#include "tenon/abi/draft/external_memory.h"
#include "tenon/abi/draft/intermediates.h"
#include "tenon/abi/draft/kernel_lookup.h"
#include "tenon/abi/draft/preprocess.h"
#include "tenon/abi/draft/sequence.h"
#include "tenon/abi/extensions/cancel.h"
#include "tenon/abi/extensions/check_blob.h"
#include "tenon/abi/extensions/device_memory.h"
#include "tenon/abi/extensions/devices.h"
#include "tenon/abi/extensions/estimate.h"
#include "tenon/abi/extensions/events.h"
#include "tenon/abi/extensions/kernels.h"
#include "tenon/abi/extensions/memory_info.h"
#include "tenon/abi/extensions/options.h"
#include "tenon/abi/extensions/prepare.h"
#include "tenon/abi/extensions/scheduling.h"
#include "tenon/abi/extensions/sessions.h"
#include "tenon/abi/extensions/streams.h"
#include "tenon/abi/extensions/threads.h"
#include "tenon/abi/host.h"
#include "tenon/abi/macros.h"
#include "tenon/abi/memory_use.h"
#include "tenon/abi/native_handle.h"
#include "tenon/abi/plugin.h"
#include "tenon/abi/static_plugin.h"
#include "tenon/abi/status.h"
#include "tenon/abi/tensor.h"
#include "tenon/abi/version.h"

#endif  // TENON_ABI_TENON_H
