// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "support/catch.hpp"
#include "tenon/abi/extensions/events.h"
#include "tenon/core/status.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/plugin/calls.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"

namespace tenon::test {

/// One delegate of a loaded backend, driven through the C table as the method executor does.
/// `Holder` is what keeps the backend: a shared pointer or a registry's reference. Destroys what it
/// loaded when it goes.
template <class Holder>
class LoadedBlob {
 public:
  LoadedBlob(Holder backend, std::string_view blob) : backend_(std::move(backend)) {
    processed_ = {sizeof(tenon_buffer), 0, blob.data(), blob.size(), nullptr, [](tenon_buffer*) {}};
    tenon_init_context context{};
    context.struct_size = sizeof context;
    context.host = backend_->host();
    context.method_name = "forward";
    context.processed = &processed_;
    context.runtime_allocator = arena_.table();
    const tenon_status status = backend_->api().init(backend_->raw(), &context, &delegate_);
    if (status != TENON_STATUS_OK) init_ = host::take_last_error(backend_->host(), status);
  }
  LoadedBlob(const LoadedBlob&) = delete;
  LoadedBlob& operator=(const LoadedBlob&) = delete;
  ~LoadedBlob() {
    if (init_.ok()) backend_->api().destroy(backend_->raw(), delegate_);
  }

  /// Outcome of `init`.
  [[nodiscard]] const Status& init() const noexcept { return init_; }

  [[nodiscard]] Status execute(tenon_value* const* args, std::uint32_t num_args) {
    const host::detail::CallContext context(backend_->host(), "forward", temp_arena_.table(),
                                            nullptr);
    const tenon_status status =
        backend_->api().execute(backend_->raw(), delegate_, &context, args, num_args);
    if (status == TENON_STATUS_OK) return ok();
    return host::take_last_error(backend_->host(), status);
  }

  /// Starts a run, and has `event` mark it.
  [[nodiscard]] Status start(const tenon_events_v1& events, tenon_event* event,
                             tenon_value* const* args, std::uint32_t num_args) {
    const host::detail::CallContext context(backend_->host(), "forward", temp_arena_.table(),
                                            nullptr);
    tenon_status status = events.start(backend_->raw(), delegate_, &context, args, num_args);
    if (status == TENON_STATUS_OK) status = events.record(backend_->raw(), delegate_, event);
    if (status == TENON_STATUS_OK) return ok();
    return host::take_last_error(backend_->host(), status);
  }

 private:
  Holder backend_;
  host::Arena arena_;
  host::Arena temp_arena_;
  tenon_buffer processed_{};
  tenon_delegate* delegate_ = nullptr;
  Status init_;
};

/// The result of `execute` of a zoo plugin for 0.
inline std::int64_t run_zoo(const std::shared_ptr<host::Plugin>& plugin) {
  auto backend = plugin->backend("ZooBackend");
  REQUIRE(backend.ok());
  LoadedBlob blob(*std::move(backend), std::string_view());
  tenon_value value{};
  value.kind = TENON_VALUE_INT;
  tenon_value* const args[] = {&value};
  CHECK(blob.execute(args, 1).ok());
  return value.as.integer;
}

}  // namespace tenon::test
