// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/abi/backend.h"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/code/code_permission.hpp"
#include "tenon/host/layers/code/embedded_code.hpp"
#include "tenon/host/layers/kernels/impl/kernel_lookup_table.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/plugin/calls.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The context of a call that asks a backend about a blob and loads nothing: `check_blob` and
/// `estimate`. What it lends is freed with it.
class BlobContext {
 public:
  /// `kernels` may be null.
  explicit BlobContext(KernelLookup* kernels = nullptr) noexcept
      : kernels_{&KernelLookup::key, kernels} {
    context_.services = &kernels_;
    code_.answer(context_);
  }
  BlobContext(const BlobContext&) = delete;
  BlobContext& operator=(const BlobContext&) = delete;

  /// All arguments must outlive this object; `named_data` may be null.
  [[nodiscard]] Status fill(const LoadedBackend& backend, const Program& program,
                            const char* method_name, const schema::BackendDelegate& delegate,
                            const tenon_named_data_map* named_data) {
    const std::span<const std::byte> blob = program.view().delegate_data(delegate);
    processed_ = {sizeof(tenon_buffer), 0,       blob.empty() ? nullptr : blob.data(),
                  blob.size(),          nullptr, [](tenon_buffer*) {}};
    context_.host = backend.host();
    context_.method_name = method_name;
    context_.processed = &processed_;
    TENON_RETURN_IF_ERROR(fill_compile_specs(delegate, arena_, context_));
    context_.runtime_allocator = arena_.table();
    context_.named_data_map = named_data;
    return ok();
  }

  /// The options of the load, which must outlive this object.
  void set_options(std::span<const tenon_option> options) noexcept {
    context_.runtime_specs = options.data();
    context_.num_runtime_specs = static_cast<std::uint32_t>(options.size());
  }

  [[nodiscard]] tenon_init_context& raw() noexcept { return context_; }

 private:
  // Whether code may run is asked by `init`; a question about a blob runs none (TN-COD-4).
  const EmbeddedCodePolicy no_code_ = EmbeddedCodePolicy::deny();
  CodePermission code_{no_code_};
  const Service kernels_;
  Arena arena_;
  // TN-BLB-1 and TN-EST-1 forbid releasing it; a release that comes all the same does nothing.
  tenon_buffer processed_{};
  InitCall context_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
