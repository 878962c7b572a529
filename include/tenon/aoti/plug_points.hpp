// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "tenon/aoti/library/library_variants.hpp"
#include "tenon/aoti/load_options.hpp"
#include "tenon/aoti/shims/proxy_shims.hpp"
#include "tenon/aoti/tensors/device_memory_api.hpp"
#include "tenon/backend/host_services.hpp"
#include "tenon/core/result.hpp"

namespace tenon::aoti {

namespace detail {

// The plug points of `AotiBackend` (docs/aoti/cpu.md#a-backend-for-another-device). Each has a
// diagnostic of its own in `check_plug_points`.
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
concept HasProxy = requires(std::string_view calls, const HostServices& host) {
  { D::make_proxy(calls, host) } -> std::same_as<Result<std::unique_ptr<const ProxyExecutor>>>;
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

}  // namespace detail

}  // namespace tenon::aoti
