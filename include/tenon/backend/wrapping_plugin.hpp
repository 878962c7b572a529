// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/abi/plugin.h"
#include "tenon/backend/guard.hpp"
#include "tenon/backend/plugin.hpp"
#include "tenon/core/error.hpp"

/// The skeleton of a plugin that wraps another one: the conformance kit's boundary, proxies and
/// isolated plugins. `Wrapper` is the class behind its `tenon_backend*`, one object for each
/// backend that is open. It has `of(backend)`, `open<Index>(host, out)` and, as members with the
/// arguments after the backend, the other functions of `tenon_backend_api`.
namespace tenon { inline namespace TENON_RELEASE { namespace detail {

/// Calls `call`, which returns a status or nothing. With a text `Wrapper::out_of_memory`,
/// exceptions of the wrapper itself become errors of `host`, but not those that end a thread.
template <class Wrapper, class Call>
[[gnu::always_inline]] inline tenon_status guard_wrapper([[maybe_unused]] const tenon_host* host,
                                                         const Call& call) {
  const auto status_of = [&]() -> tenon_status {
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      return TENON_STATUS_OK;
    } else {
      return call();
    }
  };
  if constexpr (requires { Wrapper::out_of_memory; }) {
    try {
      return status_of();
    } catch (const std::bad_alloc&) {
      return report(host, Error::MemoryAllocationFailed, Wrapper::out_of_memory);
    } catch (const std::exception& thrown) {
      return report(host, Error::Internal, thrown.what());
    }
  } else {
    return status_of();
  }
}

/// Calls `call` with the wrapper behind `backend`.
template <class Wrapper, class Call>
[[gnu::always_inline]] inline tenon_status call_wrapper(tenon_backend* backend, const Call& call) {
  Wrapper& self = Wrapper::of(backend);
  const tenon_host* host = nullptr;
  if constexpr (requires { Wrapper::out_of_memory; }) host = self.host();
  return guard_wrapper<Wrapper>(host, [&] { return call(self); });
}

/// The functions of each table but `open`, which alone has no argument that says what it is for.
template <class Wrapper>
inline constexpr tenon_backend_api wrapper_functions = {
    sizeof(tenon_backend_api),
    0,
    nullptr,
    [](tenon_backend* backend) {
      static_cast<void>(call_wrapper<Wrapper>(backend, [](Wrapper& self) { self.close(); }));
    },
    [](tenon_backend* backend) {
      return call_wrapper<Wrapper>(backend, [](Wrapper& self) { return self.is_available(); });
    },
    [](tenon_backend* backend, const tenon_init_context* context, tenon_delegate** out) {
      return call_wrapper<Wrapper>(backend, [&](Wrapper& self) { return self.init(context, out); });
    },
    [](tenon_backend* backend, tenon_delegate* delegate, const tenon_execution_context* context,
       tenon_value* const* args, std::uint32_t num_args) {
      return call_wrapper<Wrapper>(
          backend, [&](Wrapper& self) { return self.execute(delegate, context, args, num_args); });
    },
    [](tenon_backend* backend, tenon_delegate* delegate) {
      static_cast<void>(
          call_wrapper<Wrapper>(backend, [&](Wrapper& self) { self.destroy(delegate); }));
    },
    [](tenon_backend* backend, const char* id) { return Wrapper::of(backend).get_extension(id); }};

/// The table of backend number `Index`.
template <class Wrapper, std::size_t Index>
inline constexpr tenon_backend_api wrapper_table = [] {
  tenon_backend_api out = wrapper_functions<Wrapper>;
  out.open = [](const tenon_host* host, tenon_backend** backend) {
    return guard_wrapper<Wrapper>(host,
                                  [&] { return Wrapper::template open<Index>(host, backend); });
  };
  return out;
}();

/// The tables of backends 0 to `Count` - 1.
template <class Wrapper, std::size_t Count>
consteval std::array<const tenon_backend_api*, Count> wrapper_tables() {
  return []<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::array{&wrapper_table<Wrapper, Index>...};
  }(std::make_index_sequence<Count>());
}

/// The object of a template file, whose own address is `object`. Programs fill in copies of the
/// file: the head, the records, and what `object` has besides.
template <class Wrapper, class Object>
consteval Object make_template(const Object& object, const char* name, const char* id,
                               const char* description, const char (&mark)[sizeof Object::mark]) {
  Object out{};
  out.head = make_head<Object>(1, 0);
  copy_text(out.head.name, name);
  copy_text(out.head.version, TENON_VERSION_STRING);
  out.records[0].struct_size = sizeof(tenon_backend_record);
  copy_text(out.records[0].id, id);
  copy_text(out.records[0].description, description);
  copy_text(out.mark, mark);
  out.body = {sizeof(tenon_plugin_body), 1, object.backends};
  std::ranges::copy(wrapper_tables<Wrapper, std::extent_v<decltype(Object::backends)>>(),
                    out.backends);
  return out;
}

/// The exported object, of which the compiler knows only what the template has.
template <class Object>
const Object& filled_in(const Object& exported) noexcept {
  const Object* object = &exported;
  asm volatile("" : "+r"(object));
  return *object;
}

/// Refuses a host of another major version. `what` names the plugin. errors: NotSupported.
inline Status check_host(const tenon_host* host, std::string_view what) {
  if (host->abi_major == TENON_ABI_MAJOR) return ok();
  return error(Error::NotSupported, what, " speaks Tenon ABI ", TENON_ABI_MAJOR, ".",
               TENON_ABI_MINOR, ", the host speaks ABI ", host->abi_major, ".", host->abi_minor);
}

}}}  // namespace tenon::TENON_RELEASE::detail
