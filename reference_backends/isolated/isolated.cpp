// SPDX-License-Identifier: MIT
//
// A plugin that runs another one in a process of its own. This file is the template;
// `tenon-isolate PLUGIN -o OUT` makes an isolated plugin of it. docs/hosts/isolation.md describes
// it.
#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "application/description.hpp"
#include "application/isolated_backend.hpp"
#include "isolated_object.hpp"
#include "tenon/abi/plugin.h"
#include "tenon/abi/version.h"
#include "tenon/backend/guard.hpp"

extern "C" {
TENON_EXPORT extern const tenon::isolated::IsolatedObject tenon_plugin_v1;
}

namespace {

using namespace tenon;
using namespace tenon::isolated;

/// The object in this file; the compiler knows only that of the template.
const IsolatedObject& my_object() noexcept {
  const IsolatedObject* object = &tenon_plugin_v1;
  asm volatile("" : "+r"(object));
  return *object;
}

IsolatedBackend& of(tenon_backend* backend) noexcept {
  return *reinterpret_cast<IsolatedBackend*>(backend);
}
IsolatedDelegate& of(tenon_delegate* delegate) noexcept {
  return *reinterpret_cast<IsolatedDelegate*>(delegate);
}

/// Calls `call`, which returns a status. Catches exceptions of this plugin itself, but not those
/// that end a thread.
template <class Call>
tenon_status guard(const tenon_host* host, const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return tenon::detail::report(host, Error::MemoryAllocationFailed, "out of memory");
  } catch (const std::exception& thrown) {
    return tenon::detail::report(host, Error::Internal, thrown.what());
  }
}
template <class Call>
tenon_status guard(tenon_backend* backend, const Call& call) {
  return guard(of(backend).host(), [&] { return call(of(backend)); });
}

// The tables of extensions.

tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                        std::uint32_t* verdict) {
  return guard(backend, [&](IsolatedBackend& self) { return self.check_blob(context, verdict); });
}
tenon_status list_devices(tenon_backend* backend, tenon_device_sink sink, void* context) {
  return guard(backend, [&](IsolatedBackend& self) { return self.list_devices(sink, context); });
}
tenon_status estimate(tenon_backend* backend, const tenon_init_context* context,
                      tenon_memory_sink sink, void* sink_context) {
  return guard(backend,
               [&](IsolatedBackend& self) { return self.estimate(context, sink, sink_context); });
}
tenon_status free_memory(tenon_backend* backend, tenon_dl_device device, std::uint64_t* nbytes) {
  return guard(backend, [&](IsolatedBackend& self) { return self.free_memory(device, nbytes); });
}
tenon_status memory_info(tenon_backend* backend, tenon_delegate* delegate, tenon_memory_sink sink,
                         void* sink_context) {
  return guard(backend, [&](IsolatedBackend& self) {
    return self.memory_info(delegate ? &of(delegate) : nullptr, sink, sink_context);
  });
}
tenon_status set_option(tenon_backend* backend, const tenon_option* option) {
  return guard(backend, [&](IsolatedBackend& self) { return self.set_option(option); });
}
tenon_status get_option(tenon_backend* backend, const char* key, tenon_option_sink sink,
                        void* context) {
  return guard(backend, [&](IsolatedBackend& self) { return self.get_option(key, sink, context); });
}
void cancel(tenon_backend* backend, tenon_delegate* delegate) {
  static_cast<void>(guard(backend, [&](IsolatedBackend& self) -> tenon_status {
    self.cancel(of(delegate));
    return TENON_STATUS_OK;
  }));
}
tenon_status set_scheduling(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_scheduling* scheduling) {
  return guard(backend, [&](IsolatedBackend& self) {
    return self.set_scheduling(of(delegate), scheduling);
  });
}
tenon_status create_session(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_session_context* context, tenon_delegate** out) {
  return guard(backend, [&](IsolatedBackend& self) {
    return self.create_session(of(delegate), *context, out);
  });
}
tenon_status list_state(tenon_backend* backend, tenon_delegate* delegate,
                        const tenon_state_list* to) {
  return guard(backend, [&](IsolatedBackend& self) { return self.list_state(of(delegate), to); });
}
tenon_status read_state(tenon_backend* backend, tenon_delegate* delegate, std::uint64_t part,
                        std::uint64_t offset, std::uint64_t nbytes, void* to) {
  return guard(backend, [&](IsolatedBackend& self) {
    return self.read_state(of(delegate), part, offset, nbytes, to);
  });
}
tenon_status write_state(tenon_backend* backend, tenon_delegate* delegate, std::uint64_t part,
                         std::uint64_t offset, std::uint64_t nbytes, const void* from) {
  return guard(backend, [&](IsolatedBackend& self) {
    return self.write_state(of(delegate), part, offset, nbytes, from);
  });
}
tenon_status state_written(tenon_backend* backend, tenon_delegate* delegate) {
  return guard(backend, [&](IsolatedBackend& self) { return self.state_written(of(delegate)); });
}

tenon_status allocate(tenon_backend* backend, tenon_dl_device device, std::uint64_t nbytes,
                      std::uint64_t alignment, void** out) {
  return guard(backend, [&](IsolatedBackend& self) {
    return self.allocate(device, nbytes, alignment, out);
  });
}
void free_block(tenon_backend* backend, tenon_dl_device, void* block) {
  static_cast<void>(guard(backend, [&](IsolatedBackend& self) -> tenon_status {
    self.free_block(block);
    return TENON_STATUS_OK;
  }));
}
tenon_status copy_to_device(tenon_backend* backend, tenon_dl_device, void* to, const void* from,
                            std::uint64_t nbytes) {
  return guard(backend,
               [&](IsolatedBackend& self) { return self.copy_to_device(to, from, nbytes); });
}
tenon_status copy_to_host(tenon_backend* backend, tenon_dl_device, void* to, const void* from,
                          std::uint64_t nbytes) {
  return guard(backend, [&](IsolatedBackend& self) { return self.copy_to_host(to, from, nbytes); });
}
tenon_status copy_on(tenon_backend* backend, void* stream, tenon_dl_device, void* to,
                     tenon_dl_device, const void* from, std::uint64_t nbytes) {
  return guard(backend,
               [&](IsolatedBackend& self) { return self.copy_on(stream, to, from, nbytes); });
}
tenon_status import_memory(tenon_backend* backend, const tenon_external_memory* memory,
                           tenon_imported_memory** out, void** address) {
  return guard(backend,
               [&](IsolatedBackend& self) { return self.import_memory(memory, out, address); });
}
void release_memory(tenon_backend* backend, tenon_imported_memory* memory) {
  static_cast<void>(guard(backend, [&](IsolatedBackend& self) -> tenon_status {
    self.release_memory(memory);
    return TENON_STATUS_OK;
  }));
}
tenon_status wait_fence(tenon_backend* backend, tenon_delegate* delegate,
                        const tenon_external_fence* fence) {
  return guard(backend, [&](IsolatedBackend& self) {
    return self.pass_fence(of(delegate), Call::wait_fence, fence);
  });
}
tenon_status signal_fence(tenon_backend* backend, tenon_delegate* delegate,
                          const tenon_external_fence* fence) {
  return guard(backend, [&](IsolatedBackend& self) {
    return self.pass_fence(of(delegate), Call::signal_fence, fence);
  });
}
tenon_status list_operators(tenon_backend* backend, tenon_operator_sink sink, void* context) {
  return guard(backend, [&](IsolatedBackend& self) { return self.list_operators(sink, context); });
}
tenon_status create_kernel(tenon_backend* backend, const tenon_kernel_context* context,
                           tenon_kernel** out) {
  return guard(backend, [&](IsolatedBackend& self) {
    return self.create_kernel(context->op, context->args, context->num_args, out);
  });
}
tenon_status run_kernel(tenon_kernel* kernel, const tenon_execution_context* context) {
  auto& it = *reinterpret_cast<IsolatedKernel*>(kernel);
  return guard(it.backend->host(), [&] { return it.backend->run_kernel(it, context); });
}
void destroy_kernel(tenon_backend* backend, tenon_kernel* kernel) {
  static_cast<void>(guard(backend, [&](IsolatedBackend& self) -> tenon_status {
    self.destroy_kernel(reinterpret_cast<IsolatedKernel*>(kernel));
    return TENON_STATUS_OK;
  }));
}

tenon_status list_intermediates(tenon_backend* backend, tenon_delegate* delegate,
                                const tenon_intermediate_list* to) {
  return guard(backend,
               [&](IsolatedBackend& self) { return self.list_intermediates(of(delegate), to); });
}
tenon_status record(tenon_backend* backend, tenon_delegate* delegate, const std::int64_t* handles,
                    std::uint64_t num_handles, const tenon_intermediate_sink* sink) {
  return guard(backend, [&](IsolatedBackend& self) {
    return self.record(of(delegate), handles, num_handles, sink);
  });
}

constexpr tenon_cancel_v1 cancel_table = {sizeof(tenon_cancel_v1), 0, &cancel};
constexpr tenon_check_blob_v1 check_blob_table = {sizeof(tenon_check_blob_v1), 0, &check_blob};
constexpr tenon_devices_v1 devices_table = {sizeof(tenon_devices_v1), 0, &list_devices};
constexpr tenon_intermediates_v1 intermediates_table = {sizeof(tenon_intermediates_v1), 0,
                                                        &list_intermediates, &record};
constexpr tenon_kernels_v1 kernels_table = {sizeof(tenon_kernels_v1), 0,           &list_operators,
                                            &create_kernel,           &run_kernel, &destroy_kernel};
constexpr tenon_memory_info_v1 memory_info_table = {sizeof(tenon_memory_info_v1), 0, &memory_info};
constexpr tenon_sessions_v1 sessions_table = {sizeof(tenon_sessions_v1), 0, &create_session};

/// The answers of `get_extension` for one backend of the plugin: from its first `open` until
/// unload.
struct Tables {
  std::unique_ptr<Description> description;
  tenon_device_memory_v1 device_memory{};
  tenon_estimate_v1 estimate{};
  tenon_external_memory_v1 external_memory{};
  tenon_options_v1 options{};
  tenon_scheduling_v1 scheduling{};
  tenon_sequence_v1 sequence{};

  explicit Tables(std::unique_ptr<Description> of_worker) : description(std::move(of_worker)) {
    const Description& it = *description;
    estimate = {sizeof estimate, 0, &::estimate, it.has(has_free_memory) ? &free_memory : nullptr};
    device_memory = {sizeof device_memory,
                     0,
                     &allocate,
                     &free_block,
                     &copy_to_device,
                     &copy_to_host,
                     it.has(has_copy_on) ? &copy_on : nullptr};
    const bool has_fences = !it.fence_kinds().empty();
    external_memory = {sizeof external_memory,
                       0,
                       static_cast<std::uint32_t>(it.memory_kinds().size()),
                       static_cast<std::uint32_t>(it.fence_kinds().size()),
                       it.memory_kinds().data(),
                       it.fence_kinds().data(),
                       &import_memory,
                       &release_memory,
                       has_fences ? &wait_fence : nullptr,
                       has_fences ? &signal_fence : nullptr};
    options = {sizeof options, static_cast<std::uint32_t>(it.specs().size()), it.specs().data(),
               &set_option, &get_option};
    scheduling = it.scheduling();
    scheduling.struct_size = sizeof scheduling;
    scheduling.set_scheduling = it.has(has_set_scheduling) ? &set_scheduling : nullptr;
    sequence = {sizeof sequence, 0,
                &list_state,     &read_state,
                &write_state,    it.has(has_sequence_written) ? &state_written : nullptr};
  }

  [[nodiscard]] const void* find(std::string_view id) const noexcept {
    const struct {
      std::string_view id;
      bool is_there;
      const void* table;
    } all[] = {
        {TENON_EXTENSION_CANCEL, description->has(has_cancel), &cancel_table},
        {TENON_EXTENSION_CHECK_BLOB, description->has(has_check_blob), &check_blob_table},
        {TENON_EXTENSION_DEVICE_MEMORY, description->has(has_device_memory), &device_memory},
        {TENON_EXTENSION_DEVICES, description->has(has_devices), &devices_table},
        {TENON_EXTENSION_ESTIMATE, description->has(has_estimate), &estimate},
        {TENON_EXTENSION_EXTERNAL_MEMORY, true, &external_memory},
        {TENON_EXTENSION_INTERMEDIATES, description->has(has_intermediates), &intermediates_table},
        {TENON_EXTENSION_KERNELS, description->has(has_kernels), &kernels_table},
        {TENON_EXTENSION_MEMORY_INFO, description->has(has_memory_info), &memory_info_table},
        {TENON_EXTENSION_OPTIONS, true, &options},
        {TENON_EXTENSION_SCHEDULING, description->has(has_scheduling), &scheduling},
        {TENON_EXTENSION_SEQUENCE, description->has(has_sequence), &sequence},
        {TENON_EXTENSION_SESSIONS, description->has(has_sessions), &sessions_table}};
    for (const auto& one : all) {
      if (one.id == id) return one.is_there ? one.table : nullptr;
    }
    return nullptr;
  }
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

template <std::size_t Index>
tenon_status open(const tenon_host* host, tenon_backend** out) {
  return guard(host, [&]() -> tenon_status {
    if (host->abi_major != TENON_ABI_MAJOR) {
      return tenon::detail::report(
          host,
          error(Error::NotSupported, "this isolated plugin speaks Tenon ABI ", TENON_ABI_MAJOR, ".",
                TENON_ABI_MINOR, ", the host speaks ABI ", host->abi_major, ".", host->abi_minor));
    }
    auto made = IsolatedBackend::open(my_object(), Index, host);
    if (!made.ok()) return tenon::detail::report(host, std::move(made).status());
    AllTables::get().set(Index, (*made)->take_description());
    *out = reinterpret_cast<tenon_backend*>(made->release());
    return TENON_STATUS_OK;
  });
}

void close(tenon_backend* backend) {
  const tenon_host* const host = of(backend).host();
  static_cast<void>(guard(host, [&]() -> tenon_status {
    of(backend).close();
    return TENON_STATUS_OK;
  }));
}

tenon_status is_available(tenon_backend* backend) {
  return guard(backend, [&](IsolatedBackend& self) { return self.is_available(); });
}

tenon_status init(tenon_backend* backend, const tenon_init_context* context, tenon_delegate** out) {
  return guard(backend, [&](IsolatedBackend& self) { return self.init(context, out); });
}

tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                     const tenon_execution_context* context, tenon_value* const* args,
                     std::uint32_t num_args) {
  return guard(backend, [&](IsolatedBackend& self) {
    return self.execute(of(delegate), context, args, num_args);
  });
}

void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  static_cast<void>(guard(backend, [&](IsolatedBackend& self) -> tenon_status {
    self.destroy(reinterpret_cast<IsolatedDelegate*>(delegate));
    return TENON_STATUS_OK;
  }));
}

const void* get_extension(tenon_backend* backend, const char* id) {
  const Tables* const tables = AllTables::get().find(of(backend).index());
  return tables && id ? tables->find(id) : nullptr;
}

template <std::size_t Index>
constexpr tenon_backend_api table = {sizeof(tenon_backend_api),
                                     0,
                                     &open<Index>,
                                     &close,
                                     &is_available,
                                     &init,
                                     &execute,
                                     &destroy,
                                     &get_extension};

consteval IsolatedObject make_template() {
  const auto copy_text = [](auto& field, const auto& text) {
    std::copy(std::begin(text), std::end(text), std::begin(field));
  };
  IsolatedObject out{};
  out.head = {
      TENON_PLUGIN_MAGIC,
      sizeof(tenon_plugin_head),
      sizeof(IsolatedObject),
      TENON_ABI_MAJOR,
      TENON_ABI_MINOR,
      0,
      sizeof(void*),
      std::endian::native == std::endian::little,
      1,
      offsetof(IsolatedObject, records),
      sizeof(tenon_backend_record),
      offsetof(IsolatedObject, body),
      {},
      {},
      {},
      {},
  };
  copy_text(out.head.name, "tenon-isolated");
  copy_text(out.head.version, TENON_VERSION_STRING);
  copy_text(out.head.sdk_version, TENON_VERSION_STRING);
  out.records[0].struct_size = sizeof(tenon_backend_record);
  copy_text(out.records[0].id, "TenonIsolatedTemplate");
  copy_text(out.records[0].description,
            "Wraps nothing: tenon-isolate makes isolated plugins of it");
  copy_text(out.mark, isolated_mark);
  out.body = {sizeof(tenon_plugin_body), 1, tenon_plugin_v1.backends};
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    ((out.backends[Index] = &table<Index>), ...);
  }(std::make_index_sequence<max_isolated_backends>());
  return out;
}

}  // namespace

extern "C" {
constinit const tenon::isolated::IsolatedObject tenon_plugin_v1 = make_template();
}
