// SPDX-License-Identifier: MIT
//
// A plugin that wraps another one, in any host, and checks every call. This file is the template;
// `tenon-conformance --make-proxy OUT PLUGIN` makes a proxy of it. docs/tools/tenon-proxy.md
// describes it.
#include <bit>
#include <cstddef>
#include <exception>
#include <new>
#include <utility>

#include "proxied_backend.hpp"
#include "proxy_object.hpp"
#include "tenon/abi/plugin.h"
#include "tenon/abi/version.h"

extern "C" {
TENON_EXPORT extern const tenon::conformance::ProxyObject tenon_plugin_v1;
}

namespace {

using namespace tenon;
using namespace tenon::conformance;

/// The object in this file; the compiler knows only that of the template.
const ProxyObject& my_object() noexcept {
  const ProxyObject* object = &tenon_plugin_v1;
  asm volatile("" : "+r"(object));
  return *object;
}

/// Calls `call`, which returns a status. Catches exceptions of the proxy itself, but not those that
/// end a thread.
template <class Call>
tenon_status guard(const tenon_host* host, const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return ProxiedBackend::fail(host, Error::MemoryAllocationFailed,
                                "the proxy has no memory for its own records");
  } catch (const std::exception& thrown) {
    return ProxiedBackend::fail(host, Error::Internal, thrown.what());
  }
}

template <std::size_t Index>
tenon_status open(const tenon_host* host, tenon_backend** out) {
  return guard(host, [&] { return ProxiedBackend::open(my_object(), Index, host, out); });
}

void close(tenon_backend* backend) { ProxiedBackend::of(backend).close(); }

tenon_status is_available(tenon_backend* backend) {
  return ProxiedBackend::of(backend).api().is_available(backend);
}

tenon_status init(tenon_backend* backend, const tenon_init_context* context, tenon_delegate** out) {
  ProxiedBackend& self = ProxiedBackend::of(backend);
  return guard(self.host(), [&] { return self.init(context, out); });
}

tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                     const tenon_execution_context* context, tenon_value* const* args,
                     std::uint32_t num_args) {
  ProxiedBackend& self = ProxiedBackend::of(backend);
  return guard(self.host(),
               [&] { return self.api().execute(backend, delegate, context, args, num_args); });
}

void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  ProxiedBackend::of(backend).api().destroy(backend, delegate);
}

const void* get_extension(tenon_backend* backend, const char* id) {
  return ProxiedBackend::of(backend).api().get_extension(backend, id);
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

consteval ProxyObject make_template() {
  const auto copy_text = [](auto& field, const auto& text) {
    std::copy(std::begin(text), std::end(text), std::begin(field));
  };
  ProxyObject out{};
  out.head = {
      TENON_PLUGIN_MAGIC,
      sizeof(tenon_plugin_head),
      sizeof(ProxyObject),
      TENON_ABI_MAJOR,
      TENON_ABI_MINOR,
      0,
      sizeof(void*),
      std::endian::native == std::endian::little,
      1,
      offsetof(ProxyObject, records),
      sizeof(tenon_backend_record),
      offsetof(ProxyObject, body),
      {},
      {},
      {},
      {},
  };
  copy_text(out.head.name, "tenon-proxy");
  copy_text(out.head.version, TENON_VERSION_STRING);
  copy_text(out.head.sdk_version, TENON_VERSION_STRING);
  out.records[0].struct_size = sizeof(tenon_backend_record);
  copy_text(out.records[0].id, "TenonProxyTemplate");
  copy_text(out.records[0].description, "Wraps nothing: tenon-conformance makes proxies of it");
  copy_text(out.mark, proxy_mark);
  out.body = {sizeof(tenon_plugin_body), 1, tenon_plugin_v1.backends};
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    ((out.backends[Index] = &table<Index>), ...);
  }(std::make_index_sequence<max_proxied_backends>());
  return out;
}

}  // namespace

extern "C" {
constinit const tenon::conformance::ProxyObject tenon_plugin_v1 = make_template();
}
