// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "tenon/abi/draft/aoti_export.h"
#include "tenon/aoti/library/library_variants.hpp"
#include "tenon/aoti/load_options.hpp"
#include "tenon/aoti/shims/proxy_shims.hpp"
#include "tenon/aoti/tensors/device_memory_api.hpp"
#include "tenon/backend/host_services.hpp"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/aoti_names.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti { namespace detail {

// The plug points of `AotiBackend` (docs/aoti/write-an-aoti-backend.md). Each has a
// diagnostic of its own in `AotiExportExtension::check`.
template <class D>
concept HasDeviceName = requires {
  { D::device_name } -> std::convertible_to<const char*>;
};
template <class D>
concept HasOpenDevice = requires(const LoadOptions& options) {
  { D::open_device(options) } -> std::convertible_to<Result<DeviceMemoryApi>>;
};
template <class D>
concept HasFindShim = requires(std::string_view name) {
  { D::find_shim(name) } -> std::convertible_to<const void*>;
};
template <class D>
concept HasProxy = requires(std::string_view calls, const InitContext& context) {
  { D::make_proxy(calls, context) } -> std::same_as<Result<std::unique_ptr<const ProxyExecutor>>>;
};
/// A function of that name, which has to be the one above.
template <class D>
concept NamesProxy = requires { &D::make_proxy; };
template <class D>
concept HasChooseLibrary =
    requires(std::span<const LibraryVariant> variants, const LoadOptions& options) {
      { D::choose_library(variants, options) } -> std::same_as<Result<std::size_t>>;
    };
/// A function of that name, which has to be the one above.
template <class D>
concept NamesChooseLibrary = requires { &D::choose_library; };
template <class D>
concept HasFallbackKernels = requires {
  { D::fallback_kernels.data() } -> std::convertible_to<const char* const*>;
  typename std::integral_constant<std::size_t, D::fallback_kernels.size()>;
};
template <class D>
concept HasDecompositions = requires {
  { D::decompositions } -> std::convertible_to<const char*>;
};
template <class D>
concept HasCompileOptions = requires {
  { D::compile_options } -> std::convertible_to<const char*>;
};
template <class D>
concept SaysEmbeddedCode = requires { requires D::runs_embedded_code; };

/// Whether a comma-separated list of tags has `tag`.
consteval bool has_tag(std::string_view tags, std::string_view tag) {
  while (!tags.empty()) {
    const std::size_t comma = tags.find(',');
    std::string_view one = tags.substr(0, comma);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (one == tag) return true;
    tags = comma == std::string_view::npos ? std::string_view() : tags.substr(comma + 1);
  }
  return false;
}
template <class D>
concept IsExperimental = requires { typename std::enable_if_t<has_tag(D::tags, "experimental")>; };

/// The facts that an exporter asks of a backend, from its plug points.
template <class D>
struct AotiExportExtension {
  static consteval bool check() {
    using tenon::detail::always_false;
    if constexpr (!SaysEmbeddedCode<D>) {
      static_assert(always_false<D>,
                    "tenon: AotiBackend needs a public `static constexpr bool runs_embedded_code = "
                    "true`: programs carry code");
    } else if constexpr (!IsExperimental<D>) {
      static_assert(always_false<D>,
                    "tenon: AotiBackend is experimental, and needs a public `static constexpr "
                    "std::string_view tags` with \"experimental\"");
    } else if constexpr (!HasDeviceName<D>) {
      static_assert(always_false<D>,
                    "tenon: AotiBackend needs a public `static constexpr const char* device_name`");
    } else if constexpr (!HasOpenDevice<D>) {
      static_assert(always_false<D>,
                    "tenon: AotiBackend needs a public `static "
                    "tenon::Result<tenon::aoti::DeviceMemoryApi> open_device(const "
                    "tenon::aoti::LoadOptions&)`");
    } else if constexpr (!HasFindShim<D>) {
      static_assert(always_false<D>,
                    "tenon: AotiBackend needs a public `static const void* "
                    "find_shim(std::string_view)`");
    } else if constexpr (!HasFallbackKernels<D>) {
      static_assert(always_false<D>,
                    "tenon: AotiBackend needs a public `static constexpr std::array "
                    "fallback_kernels` of const char*, the operators that models may call");
    } else if constexpr (!HasDecompositions<D>) {
      static_assert(always_false<D>,
                    "tenon: AotiBackend needs a public `static constexpr const char* "
                    "decompositions`, a JSON object for the exporter (\"{}\" for none)");
    } else if constexpr (!HasCompileOptions<D>) {
      static_assert(always_false<D>,
                    "tenon: AotiBackend needs a public `static constexpr const char* "
                    "compile_options`, a JSON object for the exporter (\"{}\" for none)");
    } else if constexpr (NamesProxy<D> && !HasProxy<D>) {
      static_assert(always_false<D>,
                    "tenon: AotiBackend's make_proxy has to be a public `static "
                    "tenon::Result<std::unique_ptr<const tenon::aoti::ProxyExecutor>> "
                    "make_proxy(std::string_view calls, const tenon::InitContext& context)`");
    } else if constexpr (NamesChooseLibrary<D> && !HasChooseLibrary<D>) {
      static_assert(always_false<D>,
                    "tenon: AotiBackend's choose_library has to be a public `static "
                    "tenon::Result<std::size_t> choose_library(std::span<const "
                    "tenon::aoti::LibraryVariant> variants, const tenon::aoti::LoadOptions& "
                    "options)`");
    } else {
      return true;
    }
    return false;
  }

  static std::int32_t serves(tenon_backend*, const char* function) {
    try {
      return D::find_shim(std::string_view(function)) != nullptr ? 1 : 0;
    } catch (...) {
      return 0;  // Out of memory, where a library is looked for.
    }
  }

  static constexpr tenon_aoti_export_v1 table = {
      sizeof(tenon_aoti_export_v1),
      static_cast<std::uint32_t>(D::fallback_kernels.size()),
      D::device_name,
      torch_device_of(D::device_name).data(),
      D::fallback_kernels.data(),
      D::decompositions,
      D::compile_options,
      &serves};
};

}}}}  // namespace tenon::TENON_RELEASE::aoti::detail
