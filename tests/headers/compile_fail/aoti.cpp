// SPDX-License-Identifier: MIT
// Mistakes in a backend for AOTInductor. Each case has an `init` of its own, because the mixin's
// functions must not add errors where they are used.
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <tenon/aoti.hpp>

#include "whole.hpp"

using tenon::InitContext;
using tenon::aoti::AotiBackend;

struct Embeds {
  static constexpr bool runs_embedded_code = true;
};
struct Tagged {
  static constexpr std::string_view tags = "cpu, experimental";
};
struct Device {
  static constexpr const char* device_name = "cpu";
};
struct Opens {
  static tenon::Result<tenon::aoti::DeviceMemoryApi> open_device(const tenon::aoti::LoadOptions&);
};
struct Finds {
  static const void* find_shim(std::string_view name);
};
struct Fallbacks {
  static constexpr std::array fallback_kernels{"aoti_torch_cpu_mm_out"};
};
struct Decomposes {
  static constexpr const char* decompositions = "{}";
};
struct Options {
  static constexpr const char* compile_options = "{}";
};
template <class... Parts>
struct Of : Named, Parts... {};
using All = Of<Embeds, Tagged, Device, Opens, Finds, Fallbacks, Decomposes, Options>;

// expect: tenon: the backend's mixins must be public bases
namespace aoti_private_base {
class X final : public tenon::Backend<X>, public All, AotiBackend<X> {
 public:
  using AotiBackend::execute, AotiBackend::Delegate;
  tenon::Result<Delegate> init(InitContext& context, tenon::Blob blob, tenon::CompileSpecs) {
    return load(context, blob, {});
  }
};
TENON_PLUGIN(X);
}  // namespace aoti_private_base

// expect: tenon: AotiBackend needs a public `static constexpr bool runs_embedded_code = true`
namespace aoti_without_runs_embedded_code {
struct X final : tenon::Backend<X>,
                 AotiBackend<X>,
                 Of<Tagged, Device, Opens, Finds, Fallbacks, Decomposes, Options> {
  tenon::Result<Delegate> init(InitContext& context, tenon::Blob blob, tenon::CompileSpecs) {
    return load(context, blob, {});
  }
};
TENON_PLUGIN(X);
}  // namespace aoti_without_runs_embedded_code

// expect: tenon: AotiBackend needs a public `static constexpr const char* device_name`
namespace aoti_without_device_name {
struct X final : tenon::Backend<X>,
                 AotiBackend<X>,
                 Of<Embeds, Tagged, Opens, Finds, Fallbacks, Decomposes, Options> {
  tenon::Result<Delegate> init(InitContext& context, tenon::Blob blob, tenon::CompileSpecs) {
    return load(context, blob, {});
  }
};
TENON_PLUGIN(X);
}  // namespace aoti_without_device_name

// expect: tenon: AotiBackend needs a public `static tenon::Result<tenon::aoti::DeviceMemoryApi>
// open_device(
namespace aoti_without_open_device {
struct X final : tenon::Backend<X>,
                 AotiBackend<X>,
                 Of<Embeds, Tagged, Device, Finds, Fallbacks, Decomposes, Options> {
  tenon::Result<Delegate> init(InitContext& context, tenon::Blob blob, tenon::CompileSpecs) {
    return load(context, blob, {});
  }
};
TENON_PLUGIN(X);
}  // namespace aoti_without_open_device

// expect: tenon: AotiBackend needs a public `static const void* find_shim(std::string_view)`
namespace aoti_without_find_shim {
struct X final : tenon::Backend<X>,
                 AotiBackend<X>,
                 Of<Embeds, Tagged, Device, Opens, Fallbacks, Decomposes, Options> {
  tenon::Result<Delegate> init(InitContext& context, tenon::Blob blob, tenon::CompileSpecs) {
    return load(context, blob, {});
  }
};
TENON_PLUGIN(X);
}  // namespace aoti_without_find_shim

// expect: tenon: AotiBackend needs a public `static constexpr std::array fallback_kernels`
namespace aoti_without_fallback_kernels {
struct X final : tenon::Backend<X>,
                 AotiBackend<X>,
                 Of<Embeds, Tagged, Device, Opens, Finds, Decomposes, Options> {
  tenon::Result<Delegate> init(InitContext& context, tenon::Blob blob, tenon::CompileSpecs) {
    return load(context, blob, {});
  }
};
TENON_PLUGIN(X);
}  // namespace aoti_without_fallback_kernels

// expect: tenon: AotiBackend needs a public `static constexpr const char* decompositions`
namespace aoti_without_decompositions {
struct X final : tenon::Backend<X>,
                 AotiBackend<X>,
                 Of<Embeds, Tagged, Device, Opens, Finds, Fallbacks, Options> {
  tenon::Result<Delegate> init(InitContext& context, tenon::Blob blob, tenon::CompileSpecs) {
    return load(context, blob, {});
  }
};
TENON_PLUGIN(X);
}  // namespace aoti_without_decompositions

// expect: tenon: AotiBackend needs a public `static constexpr const char* compile_options`
namespace aoti_without_compile_options {
struct X final : tenon::Backend<X>,
                 AotiBackend<X>,
                 Of<Embeds, Tagged, Device, Opens, Finds, Fallbacks, Decomposes> {
  tenon::Result<Delegate> init(InitContext& context, tenon::Blob blob, tenon::CompileSpecs) {
    return load(context, blob, {});
  }
};
TENON_PLUGIN(X);
}  // namespace aoti_without_compile_options

// expect: tenon: AotiBackend is experimental, and needs a public
namespace aoti_not_experimental {
struct X final : tenon::Backend<X>, AotiBackend<X>, All {
  static constexpr std::string_view tags = "cpu,experimentally";
  tenon::Result<Delegate> init(InitContext& context, tenon::Blob blob, tenon::CompileSpecs) {
    return load(context, blob, {});
  }
};
TENON_PLUGIN(X);
}  // namespace aoti_not_experimental

// expect: tenon: AotiBackend needs a public `static tenon::Result<tenon::aoti::DeviceMemoryApi>
// open_device(
namespace aoti_open_device_returns_void {
struct X final : tenon::Backend<X>, AotiBackend<X>, All {
  static void open_device(const tenon::aoti::LoadOptions&);
  tenon::Result<Delegate> init(InitContext& context, tenon::Blob blob, tenon::CompileSpecs) {
    return load(context, blob, {});
  }
};
TENON_PLUGIN(X);
}  // namespace aoti_open_device_returns_void

// expect: tenon: AotiBackend's make_proxy has to be a public `static
// tenon::Result<std::unique_ptr<const tenon::aoti::ProxyExecutor>> make_proxy(std::string_view
// calls, const tenon::InitContext& context)`
namespace aoti_make_proxy_without_host {
struct X final : tenon::Backend<X>, AotiBackend<X>, All {
  static tenon::Result<std::unique_ptr<const tenon::aoti::ProxyExecutor>> make_proxy(
      std::string_view calls);
  tenon::Result<Delegate> init(InitContext& context, tenon::Blob blob, tenon::CompileSpecs) {
    return load(context, blob, {});
  }
};
TENON_PLUGIN(X);
}  // namespace aoti_make_proxy_without_host

// expect: tenon: AotiBackend's choose_library has to be a public `static tenon::Result<std::size_t>
// choose_library(std::span<const tenon::aoti::LibraryVariant> variants, const
// tenon::aoti::LoadOptions& options)`
namespace aoti_choose_library_without_options {
struct X final : tenon::Backend<X>, AotiBackend<X>, All {
  static std::size_t choose_library(std::span<const tenon::aoti::LibraryVariant> variants);
  tenon::Result<Delegate> init(InitContext& context, tenon::Blob blob, tenon::CompileSpecs) {
    return load(context, blob, {});
  }
};
TENON_PLUGIN(X);
}  // namespace aoti_choose_library_without_options
