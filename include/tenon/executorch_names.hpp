// SPDX-License-Identifier: MIT
//
// The names that ExecuTorch's runtime/backend/interface.h has in `torch::executor`, for sources of
// backends that move over. Opt-in: nothing else includes this. Not in one source with ExecuTorch's
// own headers, which declare the same names. An application's half is
// <tenon/host/executorch_names.hpp>. New code uses the names of `tenon`.
#pragma once

#include "tenon/abi/backend.h"
#include "tenon/tenon.hpp"

namespace torch::executor {

/// Base of backends. ExecuTorch's is a class with virtual functions; this one has the class
/// that derives from it as its argument: `class X final : public PyTorchBackendInterface<X>`.
template <class Derived>
using PyTorchBackendInterface = tenon::Backend<Derived>;

/// A setting given ahead of time. The value is a view of bytes in place of a SizedBuffer with a
/// pointer and a size.
using CompileSpec = tenon::CompileSpec;

/// One loaded blob, as it is on the boundary. A backend has `Delegate`, a type of its own, instead.
using DelegateHandle = ::tenon_delegate;

/// Bytes of a compile spec: `.data()` and `.size()` in place of `buffer` and `nbytes`.
using SizedBuffer = tenon::Bytes;

}  // namespace torch::executor
