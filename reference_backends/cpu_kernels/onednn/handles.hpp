// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <type_traits>

#include "onednn/onednn_api.hpp"
#include "tenon/core/status.hpp"

namespace tenon::cpu_aoti::onednn {

/// Turns a failure of oneDNN into a Status; `what` names the step.
[[nodiscard]] Status check(dnnl_status_t status, const char* what);

/// The engine of this process.
[[nodiscard]] dnnl_engine_t engine();

/// A handle of oneDNN's C interface, destroyed by the given function.
template <class Handle, auto Destroy>
struct Destroyer {
  using pointer = Handle;
  void operator()(Handle handle) const noexcept { (api().*Destroy)(handle); }
};
template <class Handle, auto Destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroyer<Handle, Destroy>>;

using PrimitiveDesc = Owned<dnnl_primitive_desc_t, &Api::dnnl_primitive_desc_destroy>;
using Primitive = Owned<dnnl_primitive_t, &Api::dnnl_primitive_destroy>;
using Memory = Owned<dnnl_memory_t, &Api::dnnl_memory_destroy>;
using Stream = Owned<dnnl_stream_t, &Api::dnnl_stream_destroy>;
using Attributes = Owned<dnnl_primitive_attr_t, &Api::dnnl_primitive_attr_destroy>;
using PostOps = Owned<dnnl_post_ops_t, &Api::dnnl_post_ops_destroy>;

}  // namespace tenon::cpu_aoti::onednn
