// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenon/abi/plugin.h"
#include "tenon/abi/version.h"
#include "tenon/backend/check_backend.hpp"
#include "tenon/backend/text_field.hpp"
#include "tenon/backend/trampolines.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace detail {

/// The exported object: head and records without pointers, then the body. Its type depends only on
/// the number of backends, so that a backend may live in an anonymous namespace.
template <std::size_t N>
struct PluginObject {
  tenon_plugin_head head;
  tenon_backend_record records[N];
  tenon_plugin_body body;
  const tenon_backend_api* backends[N];
};

template <class... Bs>
inline constexpr std::size_t count_types = sizeof...(Bs);

/// Writes text that fits; `check_backend` has a diagnostic for text that does not.
template <std::size_t Size>
consteval void copy_text(char (&field)[Size], std::string_view text) {
  for (std::size_t i = 0; i < text.size() && i + 1 < Size; ++i) field[i] = text[i];
}

/// The head of an object, without the texts of its author.
template <class Object>
consteval tenon_plugin_head make_head(std::uint32_t num_backends,
                                      std::uint16_t min_host_abi_minor) {
  tenon_plugin_head head = {
      TENON_PLUGIN_MAGIC,
      sizeof(tenon_plugin_head),
      sizeof(Object),
      TENON_ABI_MAJOR,
      TENON_ABI_MINOR,
      min_host_abi_minor,
      sizeof(void*),
      std::endian::native == std::endian::little,
      num_backends,
      offsetof(Object, records),
      sizeof(tenon_backend_record),
      offsetof(Object, body),
      {},
      {},
      {},
      {},
  };
  copy_text(head.sdk_version, TENON_VERSION_STRING);
  return head;
}

template <class B>
consteval tenon_backend_record make_record() {
  tenon_backend_record record{};
  record.struct_size = sizeof record;
  copy_text(record.id, B::id);
  if constexpr (requires { B::tags; }) copy_text(record.tags, B::tags);
  if constexpr (requires { B::cpu_features; }) copy_text(record.cpu_features, B::cpu_features);
  if constexpr (requires { B::description; }) copy_text(record.description, B::description);
  if constexpr (requires { B::priority; }) record.priority = B::priority;
  if constexpr (requires { B::payload_versions; }) {
    record.min_payload_version = B::payload_versions.min;
    record.max_payload_version = B::payload_versions.max;
  }
  if constexpr (requires { B::runs_embedded_code; }) {
    if (B::runs_embedded_code) record.flags |= TENON_BACKEND_RUNS_EMBEDDED_CODE;
  }
  if constexpr (HasMixin<B, tenon_kernels_v1>) record.flags |= TENON_BACKEND_OFFERS_KERNELS;
  return record;
}

template <class... Bs>
consteval bool ids_differ() {
  const std::array<std::string_view, sizeof...(Bs)> ids{Bs::id...};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t j = i + 1; j < ids.size(); ++j) {
      if (ids[i] == ids[j]) return false;
    }
  }
  return true;
}

/// Builds the object, whose own address is `object`. It stays empty when a backend is wrong, so
/// that the diagnostic of `check_backend` is the only one.
template <class... Bs>
consteval PluginObject<sizeof...(Bs)> make_plugin(const PluginObject<sizeof...(Bs)>& object,
                                                  std::string_view version, std::string_view vendor,
                                                  std::uint16_t min_host_abi_minor) {
  using Object = PluginObject<sizeof...(Bs)>;
  Object out{};
  if constexpr ((check_backend<Bs>() && ...)) {
    static_assert(ids_differ<Bs...>(), "tenon: two backends of this plugin have the same id");
    out.head = make_head<Object>(sizeof...(Bs), min_host_abi_minor);
    const std::array<std::string_view, sizeof...(Bs)> ids{Bs::id...};
    copy_text(out.head.name, ids[0]);
    copy_text(out.head.version, version);
    copy_text(out.head.vendor, vendor);
    std::size_t i = 0;
    ((out.records[i] = make_record<Bs>(), out.backends[i] = &Trampolines<Bs>::api, ++i), ...);
    out.body = {sizeof(tenon_plugin_body), sizeof...(Bs), object.backends};
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::detail

// Version and vendor in `tenon_plugin_head`; define them on the command line.
#ifndef TENON_PLUGIN_VERSION
#define TENON_PLUGIN_VERSION ""
#endif
#ifndef TENON_PLUGIN_VENDOR
#define TENON_PLUGIN_VENDOR ""
#endif
// The oldest minor of the ABI that a host must have: an author raises it who cannot do without what
// that minor added.
#ifndef TENON_PLUGIN_MIN_HOST_ABI_MINOR
#define TENON_PLUGIN_MIN_HOST_ABI_MINOR 0
#endif

#define TENON_DETAIL_FIRST(first, ...) first

// Last in TENON_PLUGIN, so that the semicolon after the macro ends it.
#define TENON_DETAIL_CHECK_TEXTS                                                               \
  static_assert(::tenon::detail::is_valid_text(TENON_PLUGIN_VERSION, TENON_ID_SIZE) &&         \
                    ::tenon::detail::is_valid_text(TENON_PLUGIN_VENDOR, TENON_TEXT_SIZE),      \
                "tenon: TENON_PLUGIN_VERSION must have at most 63 bytes, TENON_PLUGIN_VENDOR " \
                "at most 127, without control characters")

/// Makes a plugin out of backend classes: `TENON_PLUGIN(Add);`, `TENON_PLUGIN(Add, Mul);`. Once per
/// shared library, at namespace scope, after the classes.
///
/// Compiled with -DTENON_STATIC_PLUGIN the same source is linked into an application instead: the
/// macro then defines the object `tenon_static_plugin_Add` (after the first class), which the
/// application declares with `TENON_DECLARE_STATIC_PLUGIN(Add);` and registers with its host. The
/// linker keeps the object because the application refers to it; neither a whole-archive option nor
/// a static initialiser is needed. The first class must then be named without `::`, because its
/// name becomes part of another.
#if defined(TENON_STATIC_PLUGIN)
#define TENON_PLUGIN(...)                                                               \
  extern "C" {                                                                          \
  static const ::tenon::detail::PluginObject<::tenon::detail::count_types<__VA_ARGS__>> \
      tenon_plugin_object = ::tenon::detail::make_plugin<__VA_ARGS__>(                  \
          tenon_plugin_object, TENON_PLUGIN_VERSION, TENON_PLUGIN_VENDOR,               \
          TENON_PLUGIN_MIN_HOST_ABI_MINOR);                                             \
  }                                                                                     \
  TENON_DETAIL_NAME_STATIC_PLUGIN(TENON_DETAIL_FIRST(__VA_ARGS__, ))                    \
  TENON_DETAIL_CHECK_TEXTS
#define TENON_DETAIL_NAME_STATIC_PLUGIN(first) TENON_DETAIL_NAME_STATIC_PLUGIN2(first)
#define TENON_DETAIL_NAME_STATIC_PLUGIN2(first)                          \
  extern "C" {                                                           \
  extern const tenon_plugin_head* const tenon_static_plugin_##first;     \
  constinit const tenon_plugin_head* const tenon_static_plugin_##first = \
      &tenon_plugin_object.head;                                         \
  }
#else
#define TENON_PLUGIN(...)                                                                  \
  extern "C" {                                                                             \
  TENON_EXPORT extern const ::tenon::detail::PluginObject<                                 \
      ::tenon::detail::count_types<__VA_ARGS__>>                                           \
      tenon_plugin_v1;                                                                     \
  constinit const ::tenon::detail::PluginObject<::tenon::detail::count_types<__VA_ARGS__>> \
      tenon_plugin_v1 = ::tenon::detail::make_plugin<__VA_ARGS__>(                         \
          tenon_plugin_v1, TENON_PLUGIN_VERSION, TENON_PLUGIN_VENDOR,                      \
          TENON_PLUGIN_MIN_HOST_ABI_MINOR);                                                \
  }                                                                                        \
  TENON_DETAIL_CHECK_TEXTS
#endif
