// SPDX-License-Identifier: MIT
// expect: tenon: AotiBackend's choose_library has to be a public `static
// tenon::Result<std::size_t> choose_library(std::span<const
// tenon::aoti::LibraryVariant> variants, const tenon::aoti::LoadOptions&
// options)`
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <tenon/aoti.hpp>
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, public tenon::aoti::AotiBackend<X> {
 public:
  using Delegate = tenon::aoti::AotiBackend<X>::Delegate;
  using AotiBackend::execute;
  static constexpr std::string_view id = "X";
  static constexpr std::string_view tags = "cpu, experimental";
  static constexpr bool runs_embedded_code = true;
  static constexpr const char* device_name = "cpu";
  static constexpr std::array fallback_kernels{"aoti_torch_cpu_mm_out"};
  static constexpr const char* decompositions = "{}";
  static constexpr const char* compile_options = "{}";
  static tenon::Result<tenon::aoti::DeviceMemoryApi> open_device(const tenon::aoti::LoadOptions&);
  static const void* find_shim(std::string_view name);
  static std::size_t choose_library(std::span<const tenon::aoti::LibraryVariant> variants);

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs) {
    return load(context, processed, {});
  }
};

TENON_PLUGIN(X);
