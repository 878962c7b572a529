// SPDX-License-Identifier: MIT
//
// A plugin that runs another one in a process of its own. This file is the template;
// `tenon-isolate PLUGIN -o OUT` makes an isolated plugin of it. docs/hosts/isolation.md describes
// it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "application/description.hpp"
#include "application/isolated_backend.hpp"
#include "boundary/extension_bits.hpp"
#include "isolated_object.hpp"
#include "tenon/abi/plugin.h"
#include "tenon/backend/wrapping_plugin.hpp"
#include "tenon/core/extensions.hpp"

extern "C" {
TENON_EXPORT extern const tenon::isolated::IsolatedObject tenon_plugin_v1;
}

namespace {

using namespace tenon;
using namespace tenon::isolated;

/// The answer of IsolatedBackend to a function of a table; null for a function that is not offered.
template <auto Member>
constexpr auto answer = nullptr;

template <>
constexpr auto answer<&tenon_check_blob_v1::check_blob> = &IsolatedBackend::check_blob;
template <>
constexpr auto answer<&tenon_devices_v1::list_devices> = &IsolatedBackend::list_devices;
template <>
constexpr auto answer<&tenon_estimate_v1::estimate> = &IsolatedBackend::estimate;
template <>
constexpr auto answer<&tenon_estimate_v1::free_memory> = &IsolatedBackend::free_memory;
template <>
constexpr auto answer<&tenon_memory_info_v1::memory_info> = &IsolatedBackend::memory_info;
template <>
constexpr auto answer<&tenon_options_v1::set_option> = &IsolatedBackend::set_option;
template <>
constexpr auto answer<&tenon_options_v1::get_option> = &IsolatedBackend::get_option;
template <>
constexpr auto answer<&tenon_cancel_v1::cancel> = &IsolatedBackend::cancel;
template <>
constexpr auto answer<&tenon_scheduling_v1::set_scheduling> = &IsolatedBackend::set_scheduling;
template <>
constexpr auto answer<&tenon_sessions_v1::create_session> =
    [](IsolatedBackend& self, const IsolatedDelegate& delegate,
       const tenon_session_context* context,
       tenon_delegate** out) { return self.create_session(delegate, *context, out); };
template <>
constexpr auto answer<&tenon_sequence_v1::list> = &IsolatedBackend::list_state;
template <>
constexpr auto answer<&tenon_sequence_v1::read> = &IsolatedBackend::read_state;
template <>
constexpr auto answer<&tenon_sequence_v1::write> = &IsolatedBackend::write_state;
template <>
constexpr auto answer<&tenon_sequence_v1::written> = &IsolatedBackend::state_written;
template <>
constexpr auto answer<&tenon_device_memory_v1::allocate> = &IsolatedBackend::allocate;
template <>
constexpr auto answer<&tenon_device_memory_v1::free> =
    [](IsolatedBackend& self, tenon_dl_device, void* block) { self.free_block(block); };
template <>
constexpr auto answer<&tenon_device_memory_v1::copy_to_device> =
    [](IsolatedBackend& self, tenon_dl_device, void* to, const void* from, std::uint64_t nbytes) {
      return self.copy_to_device(to, from, nbytes);
    };
template <>
constexpr auto answer<&tenon_device_memory_v1::copy_to_host> =
    [](IsolatedBackend& self, tenon_dl_device, void* to, const void* from, std::uint64_t nbytes) {
      return self.copy_to_host(to, from, nbytes);
    };
template <>
constexpr auto answer<&tenon_device_memory_v1::copy_on> =
    [](IsolatedBackend& self, void* stream, tenon_dl_device, void* to, tenon_dl_device,
       const void* from, std::uint64_t nbytes) { return self.copy_on(stream, to, from, nbytes); };
template <>
constexpr auto answer<&tenon_external_memory_v1::import_memory> = &IsolatedBackend::import_memory;
template <>
constexpr auto answer<&tenon_external_memory_v1::release_memory> = &IsolatedBackend::release_memory;
template <>
constexpr auto answer<&tenon_external_memory_v1::wait_fence> =
    [](IsolatedBackend& self, IsolatedDelegate& delegate, const tenon_external_fence* fence) {
      return self.pass_fence(delegate, Call::wait_fence, fence);
    };
template <>
constexpr auto answer<&tenon_external_memory_v1::signal_fence> =
    [](IsolatedBackend& self, IsolatedDelegate& delegate, const tenon_external_fence* fence) {
      return self.pass_fence(delegate, Call::signal_fence, fence);
    };
template <>
constexpr auto answer<&tenon_kernels_v1::list_operators> = &IsolatedBackend::list_operators;
template <>
constexpr auto answer<&tenon_kernels_v1::create_kernel> =
    [](IsolatedBackend& self, const tenon_kernel_context* context, tenon_kernel** out) {
      return self.create_kernel(context->op, context->args, context->num_args, out);
    };
template <>
constexpr auto answer<&tenon_kernels_v1::run_kernel> = &IsolatedBackend::run_kernel;
template <>
constexpr auto answer<&tenon_kernels_v1::destroy_kernel> = &IsolatedBackend::destroy_kernel;
template <>
constexpr auto answer<&tenon_intermediates_v1::list> = &IsolatedBackend::list_intermediates;
template <>
constexpr auto answer<&tenon_intermediates_v1::record> = &IsolatedBackend::record;

/// A delegate as an argument, which may be null where a pointer is taken.
struct DelegateArgument {
  tenon_delegate* delegate;

  operator IsolatedDelegate&() const noexcept {
    return *reinterpret_cast<IsolatedDelegate*>(delegate);
  }
  operator IsolatedDelegate*() const noexcept {
    return reinterpret_cast<IsolatedDelegate*>(delegate);
  }
};
/// An argument of a table's function, as `answer` takes it.
template <class Type>
Type unwrapped(Type argument) noexcept {
  return argument;
}
DelegateArgument unwrapped(tenon_delegate* delegate) noexcept { return {delegate}; }
IsolatedKernel* unwrapped(tenon_kernel* kernel) noexcept {
  return reinterpret_cast<IsolatedKernel*>(kernel);
}

/// The function of a table that a host calls.
template <class Function, class Type = typename Function::Type>
struct Entry;

template <class Function, class Result, class... Arguments>
struct Entry<Function, Result(TENON_CALL*)(tenon_backend*, Arguments...)> {
  static Result call(tenon_backend* backend, Arguments... arguments) {
    const tenon_status status =
        tenon::detail::call_wrapper<IsolatedBackend>(backend, [&](IsolatedBackend& self) {
          return std::invoke(answer<Function::member>, self, unwrapped(arguments)...);
        });
    return static_cast<Result>(status);
  }
};
template <class Function>
struct Entry<Function, decltype(tenon_kernels_v1::run_kernel)> {
  static tenon_status call(tenon_kernel* kernel, const tenon_execution_context* context) {
    IsolatedKernel& it = *unwrapped(kernel);
    return tenon::detail::guard_wrapper<IsolatedBackend>(it.backend->host(), [&] {
      return std::invoke(answer<Function::member>, *it.backend, it, context);
    });
  }
};

template <class Function>
constexpr bool has_answer =
    !std::is_null_pointer_v<std::remove_cvref_t<decltype(answer<Function::member>)>>;

/// Whether an isolated plugin has the extension although its plugin may not.
template <class Table>
constexpr bool is_always_there = false;
template <>
constexpr bool is_always_there<tenon_options_v1> = true;
template <>
constexpr bool is_always_there<tenon_external_memory_v1> = true;

/// The answers of `get_extension` for one backend of the plugin: from its first `open` until
/// unload.
class Tables {
 public:
  explicit Tables(std::unique_ptr<Description> of_worker) : description_(std::move(of_worker)) {
    std::apply([&](auto&... table) { (fill(table), ...); }, tables_);
    const Description& it = *description_;
    auto& external = std::get<tenon_external_memory_v1>(tables_);
    external.num_memory_kinds = static_cast<std::uint32_t>(it.memory_kinds().size());
    external.num_fence_kinds = static_cast<std::uint32_t>(it.fence_kinds().size());
    external.memory_kinds = it.memory_kinds().data();
    external.fence_kinds = it.fence_kinds().data();
    if (it.fence_kinds().empty()) external.wait_fence = nullptr;
    if (it.fence_kinds().empty()) external.signal_fence = nullptr;
    auto& options = std::get<tenon_options_v1>(tables_);
    options.num_specs = static_cast<std::uint32_t>(it.specs().size());
    options.specs = it.specs().data();
    auto& scheduling = std::get<tenon_scheduling_v1>(tables_);
    scheduling.priority = it.scheduling().priority;
    scheduling.goal = it.scheduling().goal;
    scheduling.power = it.scheduling().power;
  }

  [[nodiscard]] const void* find(std::string_view id) const noexcept {
    const void* out = nullptr;
    const auto find_in = [&]<class Table>(const Table& table) {
      // A table has a size when its functions have answers.
      const bool is_there = is_always_there<Table> || description_->has(extension_bit<Table>);
      if (id == BackendExtension<Table>::id && table.struct_size != 0 && is_there) out = &table;
    };
    std::apply([&](const auto&... table) { (find_in(table), ...); }, tables_);
    return out;
  }

 private:
  template <class Table>
  void fill(Table& table) const {
    fill(table, typename BackendExtension<Table>::Functions());
  }
  template <class Table, class... Functions>
  void fill(Table& table, TypeList<Functions...>) const {
    constexpr bool is_whole = ((has_answer<Functions> || Functions::may_be_null) && ...);
    if constexpr (is_whole && (has_answer<Functions> || ...)) {
      table.struct_size = sizeof table;
      (put<Functions>(table), ...);
    }
  }
  template <class Function, class Table>
  void put(Table& table) const {
    if constexpr (has_answer<Function>) {
      constexpr std::uint32_t bit = function_bit<Function::member>;
      if (bit != 0 && !description_->has(bit)) return;
      table.*Function::member = &Entry<Function>::call;
    }
  }

  std::unique_ptr<Description> description_;
  ListTo<std::tuple, BackendExtensions> tables_;
};

/// The tables of each backend. Destroyed with the library.
class AllTables {
 public:
  static AllTables& get() {
    static AllTables tables;
    return tables;
  }
  void set(std::size_t index, std::unique_ptr<Description> description) {
    const std::lock_guard lock(mutex_);
    if (!tables_[index]) tables_[index] = std::make_unique<Tables>(std::move(description));
  }
  [[nodiscard]] const Tables* find(std::size_t index) {
    const std::lock_guard lock(mutex_);
    return tables_[index].get();
  }

 private:
  std::mutex mutex_;
  std::array<std::unique_ptr<Tables>, max_isolated_backends> tables_;
};

}  // namespace

namespace tenon::isolated {

template <std::size_t Index>
tenon_status IsolatedBackend::open(const tenon_host* host, tenon_backend** out) {
  const auto open_it = [&]() -> Status {
    TENON_RETURN_IF_ERROR(tenon::detail::check_host(host, "this isolated plugin"));
    TENON_TRY(auto made, open(tenon::detail::filled_in(tenon_plugin_v1), Index, host));
    AllTables::get().set(Index, made->take_description());
    *out = reinterpret_cast<tenon_backend*>(made.release());
    return ok();
  };
  return tenon::detail::report(host, open_it());
}

const void* IsolatedBackend::get_extension(const char* id) const {
  const Tables* const tables = AllTables::get().find(index_);
  return tables && id ? tables->find(id) : nullptr;
}

}  // namespace tenon::isolated

extern "C" {
constinit const tenon::isolated::IsolatedObject tenon_plugin_v1 =
    tenon::detail::make_template<tenon::isolated::IsolatedBackend>(
        tenon_plugin_v1, "tenon-isolated", "TenonIsolatedTemplate",
        "Wraps nothing: tenon-isolate makes isolated plugins of it",
        tenon::isolated::isolated_mark);
}
