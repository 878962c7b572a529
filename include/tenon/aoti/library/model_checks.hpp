// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "tenon/aoti/library/model_library.hpp"
#include "tenon/core/bytes.hpp"

/// The input checks that AOTInductor compiles into a model: dtype, sizes within their bounds,
/// strides and device of each input, and the layout of the results of operators (PyTorch:
/// `codegen_input_size_asserts` and `_check_aoti_runtime_check_inputs_env` in
/// torch/_inductor/codegen/cpp_wrapper_cpu.py). No other part of a program describes what a model
/// expects.
///
/// The checks are on when AOTI_RUNTIME_CHECK_INPUTS is set; a library reads the variable once. So
/// that arguments that were checked before cost nothing, a model has two images of its library: the
/// first follows the environment, the second has its checks on. Both work on the same container:
/// their code is the same, and the container holds all of the model's state.
namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

namespace detail {

inline constexpr std::string_view checks_variable = "AOTI_RUNTIME_CHECK_INPUTS";

/// The `getenv` of the second image.
inline char* getenv_with_checks(const char* name) noexcept {
  static constinit char on[] = "1";
  return name == checks_variable ? on : std::getenv(name);
}

}  // namespace detail

/// A second image of the model's library, whose checks are on.
struct CheckingImage {
  ModelLibrary library;
  /// Number of inputs whose device is checked, which is the last check of each.
  std::size_t num_device_checks;
};

/// Loads the image with checks. Empty when the model has none, or where libraries cannot be edited
/// (macOS). It has the parameters and errors of `ModelLibrary::load`.
[[nodiscard]] inline Result<std::optional<CheckingImage>> load_with_checks(
    Bytes code, const FindShim& find_shim, std::span<const std::string_view> served = {},
    const CodeFeatures& features = {}) {
#if defined(__APPLE__)
  static_cast<void>(code);
  static_cast<void>(find_shim);
  static_cast<void>(served);
  static_cast<void>(features);
  return std::optional<CheckingImage>();
#else
  const std::string_view text = as_text(code);
  if (text.find(detail::checks_variable) == std::string_view::npos) {
    return std::optional<CheckingImage>();
  }
  const auto find = [&](std::string_view name) -> const void* {
    if (name == "getenv" || name == "secure_getenv") {
      return reinterpret_cast<const void*>(&detail::getenv_with_checks);
    }
    return find_shim(name);
  };
  TENON_TRY(ModelLibrary library, ModelLibrary::load(code, find, served, features));
  constexpr std::string_view device_check = "]: unmatched device type, ";
  std::size_t count = 0;
  for (std::size_t at = text.find(device_check); at != text.npos;
       at = text.find(device_check, at + 1)) {
    ++count;
  }
  return std::optional<CheckingImage>({std::move(library), count});
#endif
}

}}}  // namespace tenon::TENON_RELEASE::aoti
