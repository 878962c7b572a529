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
__attribute__((visibility("default"))) extern const tenon::isolated::IsolatedObject tenon_plugin_v1;
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

// The tables of extensions. All are constant but two.

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
tenon_status memory_info(tenon_backend* backend, tenon_delegate* delegate, tenon_memory_info* out) {
  return guard(backend, [&](IsolatedBackend& self) {
    return self.memory_info(delegate ? &of(delegate) : nullptr, out);
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
                            tenon_delegate** out) {
  return guard(backend,
               [&](IsolatedBackend& self) { return self.create_session(of(delegate), out); });
}
tenon_status list_state(tenon_backend* backend, tenon_delegate* delegate,
                        const tenon_state_list* to) {
  return guard(backend, [&](IsolatedBackend& self) { return self.list_state(of(delegate), to); });
}
tenon_status read_state(tenon_backend* backend, tenon_delegate* delegate, std::uint64_t part,
                        void* to) {
  return guard(backend,
               [&](IsolatedBackend& self) { return self.read_state(of(delegate), part, to); });
}
tenon_status write_state(tenon_backend* backend, tenon_delegate* delegate, std::uint64_t part,
                         const void* from) {
  return guard(backend,
               [&](IsolatedBackend& self) { return self.write_state(of(delegate), part, from); });
}
tenon_status state_written(tenon_backend* backend, tenon_delegate* delegate) {
  return guard(backend, [&](IsolatedBackend& self) { return self.state_written(of(delegate)); });
}

constexpr tenon_cancel_v1 cancel_table = {sizeof(tenon_cancel_v1), 0, &cancel};
constexpr tenon_check_blob_v1 check_blob_table = {sizeof(tenon_check_blob_v1), 0, &check_blob};
constexpr tenon_devices_v1 devices_table = {sizeof(tenon_devices_v1), 0, &list_devices};
constexpr tenon_memory_info_v1 memory_info_table = {sizeof(tenon_memory_info_v1), 0, &memory_info};
constexpr tenon_sessions_v1 sessions_table = {sizeof(tenon_sessions_v1), 0, &create_session};

/// The answers of `get_extension` for one backend of the plugin: from its first `open` until
/// unload.
struct Tables {
  std::unique_ptr<Description> description;
  tenon_estimate_v1 estimate{};
  tenon_options_v1 options{};
  tenon_scheduling_v1 scheduling{};
  tenon_sequence_v1 sequence{};

  explicit Tables(std::unique_ptr<Description> of_worker) : description(std::move(of_worker)) {
    const Description& it = *description;
    estimate = {sizeof estimate, 0, &::estimate, it.has(has_free_memory) ? &free_memory : nullptr};
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
    } all[] = {{TENON_EXTENSION_CANCEL, description->has(has_cancel), &cancel_table},
               {TENON_EXTENSION_CHECK_BLOB, description->has(has_check_blob), &check_blob_table},
               {TENON_EXTENSION_DEVICES, description->has(has_devices), &devices_table},
               {TENON_EXTENSION_ESTIMATE, description->has(has_estimate), &estimate},
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
