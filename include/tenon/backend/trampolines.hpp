// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/abi/backend.h"
#include "tenon/abi/version.h"
#include "tenon/backend/backend.hpp"
#include "tenon/backend/check_backend.hpp"
#include "tenon/backend/extensions.hpp"
#include "tenon/backend/guard.hpp"
#include "tenon/backend/options.hpp"

namespace tenon::detail {

/// In place of the delegate of a backend with kernels alone; never constructed.
struct NoDelegate {};
template <class B>
struct DelegateOf {
  using Type = NoDelegate;
};
template <class B>
  requires NamesDelegate<B>
struct DelegateOf<B> {
  using Type = typename B::Delegate;
};

/// Whether `name` is one of the operators that a backend declared.
inline bool is_listed(const auto& operators, std::string_view name) noexcept {
  for (const std::string_view one : operators) {
    if (one == name) return true;
  }
  return false;
}

/// The functions of the boundary for one backend class. They do what an author would otherwise
/// write by hand: check the host, catch exceptions, pass ownership, report errors.
template <class B>
struct Trampolines {
  using Delegate = typename DelegateOf<B>::Type;

  static B& self(tenon_backend* backend) noexcept { return *reinterpret_cast<B*>(backend); }
  static const tenon_host* host_of(tenon_backend* backend) noexcept {
    return self(backend).host_.raw();
  }

  static tenon_status open(const tenon_host* host, tenon_backend** out) noexcept {
    return guard(host, [&]() -> Status {
      if (host->abi_major != TENON_ABI_MAJOR) {
        return error(Error::NotSupported, "backend ", B::id, " speaks ABI ", TENON_ABI_MAJOR, ".",
                     TENON_ABI_MINOR, ", the host ", std::string_view(host->name), " speaks ",
                     host->abi_major, ".", host->abi_minor);
      }
      struct Owner {
        B* backend;
        ~Owner() { delete backend; }
      } owner{new B};
      static_cast<Backend<B>&>(*owner.backend).host_ = HostServices(host);
      if constexpr (HasOpen<B>) TENON_RETURN_IF_ERROR(owner.backend->open());
      *out = reinterpret_cast<tenon_backend*>(std::exchange(owner.backend, nullptr));
      return ok();
    });
  }

  static void close(tenon_backend* backend) noexcept { delete &self(backend); }

  static tenon_status is_available(tenon_backend* backend) noexcept {
    if constexpr (HasIsAvailable<B>) {
      return guard(host_of(backend), [&] { return self(backend).is_available(); });
    } else {
      return TENON_STATUS_OK;
    }
  }

  static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                           tenon_delegate** out) noexcept {
    return guard(host_of(backend), [&]() -> Status {
      if constexpr (HasKernelsAlone<B>) {
        return error(Error::NotSupported, "backend ", B::id, " has kernels alone, no delegates");
      } else {
        InitContext init_context(*context);
        TENON_RETURN_IF_ERROR(check_runtime_specs(backend, init_context));
        TENON_TRY(Delegate delegate, self(backend).init(init_context, Blob(context->processed),
                                                        CompileSpecs(context->compile_specs,
                                                                     context->num_compile_specs)));
        *out = reinterpret_cast<tenon_delegate*>(new Delegate(std::move(delegate)));
        return ok();
      }
    });
  }

  static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                              const tenon_execution_context* context, tenon_value* const* args,
                              std::uint32_t num_args) noexcept {
    return guard(host_of(backend), [&]() -> Status {
      if constexpr (HasKernelsAlone<B>) {
        return error(Error::NotSupported, "backend ", B::id, " has kernels alone, no delegates");
      } else {
        ExecutionContext execution_context(*context);
        return self(backend).execute(execution_context, *reinterpret_cast<Delegate*>(delegate),
                                     Args(context->host, args, num_args));
      }
    });
  }

  static void destroy(tenon_backend*, tenon_delegate* delegate) noexcept {
    delete reinterpret_cast<Delegate*>(delegate);
  }

  /// Refuses every option of a backend without options. Options of the others are checked by
  /// `option_values`, called here because the author may not call it.
  static Status check_runtime_specs(tenon_backend* backend, const InitContext& context) {
    if constexpr (HasOptions<B>) {
      return std::move(self(backend).option_values(context)).status();
    } else {
      if (context.num_runtime_specs() == 0) return ok();
      return error(Error::NotFound, "option '", std::string_view(context.runtime_spec(0).key),
                   "' is unknown; the backend has no options");
    }
  }

  static tenon_status set_option(tenon_backend* backend, const tenon_option* option) noexcept {
    return guard(host_of(backend), [&] { return self(backend).set_option(*option); });
  }

  /// Whether the author wrote a `get_option` that can be called in place of the inherited one. One
  /// that is private, or takes something else, is a function of the backend's own.
  static constexpr bool has_own_get_option() {
    using Inherited = Result<OptionValue> (WithOptions<B>::*)(std::string_view) const;
    if constexpr (requires { requires std::is_same_v<decltype(&B::get_option), Inherited>; }) {
      return false;
    } else {
      return gets_option_by<std::string_view> || gets_option_by<const char*>;
    }
  }
  template <class Key>
  static constexpr bool gets_option_by = requires(B& b, Key key) {
    { b.get_option(key) } -> std::same_as<Result<OptionValue>>;
  };
  /// A key as the author's own `get_option` takes it: a std::string cannot be made from a view.
  static auto key_of(const char* key) {
    if constexpr (gets_option_by<std::string_view>) {
      return std::string_view(key);
    } else {
      return key;
    }
  }

  static tenon_status get_option(tenon_backend* backend, const char* key, tenon_option_sink sink,
                                 void* sink_context) noexcept {
    return guard(host_of(backend), [&]() -> Status {
      // An author's own `get_option` takes precedence; the other one needs no OptionValue.
      if constexpr (has_own_get_option()) {
        TENON_TRY(const OptionValue value, self(backend).get_option(key_of(key)));
        const tenon_option option = write_option(key, value);
        sink(sink_context, &option);
        return ok();
      } else {
        return self(backend).send_option(key, sink, sink_context);
      }
    });
  }

  static tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                                 std::uint32_t* verdict) noexcept {
    return guard(host_of(backend), [&]() -> Status {
      InitContext init_context(*context);
      TENON_TRY(const BlobVerdict found,
                self(backend).check_blob(
                    init_context, Blob(context->processed),
                    CompileSpecs(context->compile_specs, context->num_compile_specs)));
      *verdict = static_cast<std::uint32_t>(found.compatibility);
      if (found.compatibility != Compatibility::Optimal) {
        report(context->host, Error::DelegateInvalidCompatibility, found.reason);
      }
      return ok();
    });
  }

  static tenon_status memory_info(tenon_backend* backend, tenon_delegate* delegate,
                                  tenon_memory_info* out) noexcept {
    return guard(host_of(backend), [&]() -> Status {
      const MemoryInfo info =
          self(backend).memory_info(reinterpret_cast<const Delegate*>(delegate));
      tenon_memory_info full{};
      full.host_weights = info.host_weights;
      full.host_scratch = info.host_scratch;
      full.device_weights = info.device_weights;
      full.device_scratch = info.device_scratch;
      // A caller with older headers has a shorter struct, so only that much is written.
      const std::size_t size = out->struct_size < sizeof full ? out->struct_size : sizeof full;
      full.struct_size = out->struct_size;
      std::memcpy(out, &full, size);
      return ok();
    });
  }

  static tenon_status create_session(tenon_backend* backend, tenon_delegate* delegate,
                                     tenon_delegate** out) noexcept {
    return guard(host_of(backend), [&]() -> Status {
      TENON_TRY(Delegate session,
                self(backend).create_session(*reinterpret_cast<const Delegate*>(delegate)));
      *out = reinterpret_cast<tenon_delegate*>(new Delegate(std::move(session)));
      return ok();
    });
  }

  static tenon_status list_devices(tenon_backend* backend, tenon_device_sink sink,
                                   void* sink_context) noexcept {
    return guard(host_of(backend), [&]() -> Status {
      TENON_TRY(const std::vector<DeviceInfo> devices, self(backend).devices());
      for (const DeviceInfo& device : devices) {
        tenon_device_info info{};
        info.struct_size = sizeof info;
        info.device = device.device;
        info.name = device.name.c_str();
        info.description = device.description.c_str();
        info.memory_bytes = device.memory_bytes;
        sink(sink_context, &info);
      }
      return ok();
    });
  }

  static tenon_status allocate_device(tenon_backend* backend, tenon_dl_device device,
                                      std::uint64_t nbytes, std::uint64_t alignment,
                                      void** out) noexcept {
    return guard(host_of(backend), [&]() -> Status {
      if (nbytes == 0 || !std::has_single_bit(alignment)) {
        return error(Error::InvalidArgument, "device memory of ", nbytes, " bytes aligned to ",
                     alignment, ": expected 1 byte or more and a power of two (TN-DEV-4)");
      }
      TENON_TRY(void* const block,
                self(backend).allocate_device(device, static_cast<std::size_t>(nbytes),
                                              static_cast<std::size_t>(alignment)));
      *out = block;
      return ok();
    });
  }

  static void free_device(tenon_backend* backend, tenon_dl_device device, void* block) noexcept {
    if (block) self(backend).free_device(device, block);
  }

  static tenon_status copy_to_device(tenon_backend* backend, tenon_dl_device device, void* to,
                                     const void* from, std::uint64_t nbytes) noexcept {
    if (nbytes == 0) return TENON_STATUS_OK;
    return guard(host_of(backend), [&] {
      return self(backend).copy_to_device(device, to, from, static_cast<std::size_t>(nbytes));
    });
  }

  static tenon_status copy_to_host(tenon_backend* backend, tenon_dl_device device, void* to,
                                   const void* from, std::uint64_t nbytes) noexcept {
    if (nbytes == 0) return TENON_STATUS_OK;
    return guard(host_of(backend), [&] {
      return self(backend).copy_to_host(device, to, from, static_cast<std::size_t>(nbytes));
    });
  }

  static tenon_status set_stream(tenon_backend* backend, tenon_delegate* delegate,
                                 void* stream) noexcept {
    return guard(host_of(backend), [&] {
      return self(backend).set_stream(*reinterpret_cast<Delegate*>(delegate), stream);
    });
  }

  static tenon_status create_event(tenon_backend* backend, tenon_event** out) noexcept {
    return guard(host_of(backend), [&]() -> Status {
      TENON_TRY(auto event, self(backend).create_event());
      *out = reinterpret_cast<tenon_event*>(new typename B::Event(std::move(event)));
      return ok();
    });
  }

  static tenon_status start(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            std::uint32_t num_args) noexcept {
    return guard(host_of(backend), [&] {
      ExecutionContext execution_context(*context);
      return self(backend).start(execution_context, *reinterpret_cast<Delegate*>(delegate),
                                 Args(context->host, args, num_args));
    });
  }

  template <class E = B>
  static typename E::Event& event_of(tenon_event* event) noexcept {
    return *reinterpret_cast<typename E::Event*>(event);
  }

  static tenon_status record_event(tenon_backend* backend, tenon_delegate* delegate,
                                   tenon_event* event) noexcept {
    return guard(host_of(backend), [&] {
      return self(backend).record_event(*reinterpret_cast<Delegate*>(delegate), event_of(event));
    });
  }

  static tenon_status wait_event(tenon_backend* backend, tenon_event* event) noexcept {
    return guard(host_of(backend), [&] { return self(backend).wait_event(event_of(event)); });
  }

  static tenon_status query_event(tenon_backend* backend, tenon_event* event,
                                  std::uint32_t* is_complete) noexcept {
    return guard(host_of(backend), [&]() -> Status {
      TENON_TRY(const bool complete, self(backend).query_event(event_of(event)));
      *is_complete = complete ? 1 : 0;
      return ok();
    });
  }

  static tenon_status wait_on_event(tenon_backend* backend, tenon_delegate* delegate,
                                    tenon_event* event) noexcept {
    return guard(host_of(backend), [&] {
      return self(backend).wait_on_event(*reinterpret_cast<Delegate*>(delegate), event_of(event));
    });
  }

  static tenon_status export_event(tenon_backend* backend, tenon_event* event,
                                   void** out) noexcept {
    return guard(host_of(backend), [&]() -> Status {
      TENON_TRY(void* const handle, self(backend).export_event(event_of(event)));
      *out = handle;
      return ok();
    });
  }

  static tenon_status import_event(tenon_backend* backend, void* handle,
                                   tenon_event** out) noexcept {
    return guard(host_of(backend), [&]() -> Status {
      if (!handle) {
        return error(Error::InvalidArgument, "backend ", B::id,
                     ": expected the handle of an event, found null (TN-EVT-11)");
      }
      TENON_TRY(auto event, self(backend).import_event(handle));
      *out = reinterpret_cast<tenon_event*>(new typename B::Event(std::move(event)));
      return ok();
    });
  }

  static void destroy_event(tenon_backend*, tenon_event* event) noexcept {
    if (event) delete &event_of(event);
  }

  static constexpr tenon_events_v1 events_table() {
    tenon_events_v1 table = {sizeof(tenon_events_v1),
                             0,
                             nullptr,
                             &create_event,
                             &start,
                             &record_event,
                             &wait_event,
                             &query_event,
                             &wait_on_event,
                             nullptr,
                             nullptr,
                             &destroy_event};
    if constexpr (HasEventHandles<B>) {
      table.kind = B::event_kind;
      table.export_handle = &export_event;
      table.import_handle = &import_event;
    }
    return table;
  }

  /// A kernel of the author's, and the arguments that it was created for.
  template <class Kernel>
  struct BoundKernel {
    Kernel kernel;
    tenon_value* const* args;
    std::uint32_t num_args;
  };

  static tenon_status list_operators(tenon_backend* backend, tenon_operator_sink sink,
                                     void* sink_context) noexcept {
    return guard(host_of(backend), [&]() -> Status {
      if constexpr (DeclaresOperators<B>) {
        // The names need not be NUL-terminated.
        for (const std::string_view op : B::operators) sink(sink_context, std::string(op).c_str());
      } else {
        TENON_TRY(const std::vector<std::string> operators, self(backend).list_operators());
        for (const std::string& op : operators) sink(sink_context, op.c_str());
      }
      return ok();
    });
  }

  static tenon_status create_kernel(tenon_backend* backend, const char* op,
                                    tenon_value* const* args, std::uint32_t num_args,
                                    tenon_kernel** out) noexcept {
    return guard(host_of(backend), [&]() -> Status {
      const std::string_view name = op;
      if constexpr (DeclaresOperators<B>) {
        if (!is_listed(B::operators, name)) {
          return error(Error::OperatorMissing, "backend ", B::id, " has no kernel for ", name);
        }
      }
      auto kernel = self(backend).create_kernel(name, Args(host_of(backend), args, num_args));
      if (!kernel.ok()) {
        const bool is_named = kernel.error() != Error::OperatorMissing ||
                              kernel.text().find(name) != std::string_view::npos;
        Status missing = std::move(kernel).status();
        if (is_named) return missing;
        return std::move(missing).with_context(name);  // TN-KRN-2
      }
      using Bound = BoundKernel<typename B::Kernel>;
      *out = reinterpret_cast<tenon_kernel*>(new Bound{*std::move(kernel), args, num_args});
      return ok();
    });
  }

  static tenon_status run_kernel(tenon_kernel* kernel,
                                 const tenon_execution_context* context) noexcept {
    return guard(context->host, KernelRun{kernel, context});
  }

  /// Inlined whatever its size: kernels are called as often as anything is.
  struct KernelRun {
    tenon_kernel* kernel;
    const tenon_execution_context* context;

    [[gnu::always_inline]] inline Status operator()() const {
      auto& bound = *reinterpret_cast<BoundKernel<typename B::Kernel>*>(kernel);
      ExecutionContext execution_context(*context);
      return bound.kernel.run(execution_context, Args(context->host, bound.args, bound.num_args));
    }
  };

  static void destroy_kernel(tenon_backend*, tenon_kernel* kernel) noexcept {
    delete reinterpret_cast<BoundKernel<typename B::Kernel>*>(kernel);
  }

  static const void* get_extension(tenon_backend*, const char* id) noexcept {
    const std::string_view wanted = id;
    if constexpr (HasOptions<B>) {
      static constexpr tenon_options_v1 table = {sizeof(tenon_options_v1),
                                                 static_cast<std::uint32_t>(std::size(B::options)),
                                                 option_specs<B>.data(), &set_option, &get_option};
      if (wanted == TENON_EXTENSION_OPTIONS) return &table;
    }
    if constexpr (std::derived_from<B, WithCheckBlob<B>>) {
      static constexpr tenon_check_blob_v1 table = {sizeof(tenon_check_blob_v1), 0, &check_blob};
      if (wanted == TENON_EXTENSION_CHECK_BLOB) return &table;
    }
    if constexpr (std::derived_from<B, WithMemoryInfo<B>>) {
      static constexpr tenon_memory_info_v1 table = {sizeof(tenon_memory_info_v1), 0, &memory_info};
      if (wanted == TENON_EXTENSION_MEMORY_INFO) return &table;
    }
    if constexpr (std::derived_from<B, WithSessions<B>>) {
      static constexpr tenon_sessions_v1 table = {sizeof(tenon_sessions_v1), 0, &create_session};
      if (wanted == TENON_EXTENSION_SESSIONS) return &table;
    }
    if constexpr (std::derived_from<B, WithDevices<B>>) {
      static constexpr tenon_devices_v1 table = {sizeof(tenon_devices_v1), 0, &list_devices};
      if (wanted == TENON_EXTENSION_DEVICES) return &table;
    }
    if constexpr (std::derived_from<B, WithDeviceMemory<B>>) {
      static constexpr tenon_device_memory_v1 table = {sizeof(tenon_device_memory_v1),
                                                       0,
                                                       &allocate_device,
                                                       &free_device,
                                                       &copy_to_device,
                                                       &copy_to_host};
      if (wanted == TENON_EXTENSION_DEVICE_MEMORY) return &table;
    }
    if constexpr (std::derived_from<B, WithStreams<B>>) {
      static constexpr tenon_streams_v1 table = {sizeof(tenon_streams_v1), 0, &set_stream};
      if (wanted == TENON_EXTENSION_STREAMS) return &table;
    }
    if constexpr (std::derived_from<B, WithEvents<B>>) {
      static constexpr tenon_events_v1 table = events_table();
      if (wanted == TENON_EXTENSION_EVENTS) return &table;
    }
    if constexpr (std::derived_from<B, WithKernels<B>>) {
      static constexpr tenon_kernels_v1 table = {
          sizeof(tenon_kernels_v1), 0,           &list_operators,
          &create_kernel,           &run_kernel, &destroy_kernel};
      if (wanted == TENON_EXTENSION_KERNELS) return &table;
    }
    if constexpr (HasMixin<B, aoti::AotiBackend>) {
      if (const void* table = aoti::AotiBackend<B>::find_aoti_extension(wanted)) return table;
    }
    if constexpr (HasMixin<B, aot::BackendDetails>) {
      // Qualified, because an author's own `find_extension` hides it.
      if (const void* table = aot::BackendDetails<B>::find_extension(wanted)) return table;
    }
    if constexpr (HasExtension<B>) return B::find_extension(wanted);
    return nullptr;
  }

  static constexpr tenon_backend_api api = {sizeof(tenon_backend_api),
                                            0,
                                            &open,
                                            &close,
                                            &is_available,
                                            &init,
                                            &execute,
                                            &destroy,
                                            &get_extension};
};

}  // namespace tenon::detail
