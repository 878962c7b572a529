// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/abi/tensor.h"
#include "tenon/core/json.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/loader/files/quoted.hpp"

/// PyTorch's archive has numbers of its own for enumerations (torch/_export/serde/schema.py);
/// programs have c10's numbers (c10/core/ScalarType.h, Layout.h, MemoryFormat.h).
namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// A number, or a text with which PyTorch writes infinity and NaN.
[[nodiscard]] inline Result<double> read_real(const JsonAt& at) {
  using Limits = std::numeric_limits<double>;
  if (at.json() == "Infinity") return Limits::infinity();
  if (at.json() == "-Infinity") return -Limits::infinity();
  if (at.json() == "NaN") return Limits::quiet_NaN();
  return at.real();
}

/// NotSupported for the one element type that ExecuTorch lacks (Float8_e8m0fnu), InvalidProgram
/// for a number without meaning.
[[nodiscard]] inline Result<ScalarType> read_scalar_type(const JsonAt& at) {
  using S = ScalarType;
  TENON_TRY(const std::int64_t number, at.integer());
  constexpr std::array<S, 13> first{
      S::Byte,   S::Char,        S::Short,        S::Int,           S::Long, S::Half,    S::Float,
      S::Double, S::ComplexHalf, S::ComplexFloat, S::ComplexDouble, S::Bool, S::BFloat16};
  if (number >= 1 && number <= std::int64_t{first.size()}) {
    return first[static_cast<std::size_t>(number - 1)];
  }
  switch (number) {
    case 28:
      return S::UInt16;
    case 29:
      return S::Float8_e4m3fn;
    case 30:
      return S::Float8_e5m2;
    case 31:
      return S::Float8_e4m3fnuz;
    case 32:
      return S::Float8_e5m2fnuz;
    case 33:
      return at.not_supported(
          "is 33, Float8_e8m0fnu, an element type that ExecuTorch does not have");
    case 34:
      return S::UInt32;
    case 35:
      return S::UInt64;
    default:
      return at.wrong("is ", number, ", which is not an element type of PyTorch's archive");
  }
}

/// The number that c10 gives to a layout: 0 is strided.
[[nodiscard]] inline Result<std::int64_t> read_layout(const JsonAt& at) {
  TENON_TRY(const std::int64_t number, at.integer());
  // c10: Strided, Sparse, SparseCsr, Mkldnn, SparseCsc, SparseBsr, SparseBsc.
  constexpr std::array<std::int64_t, 7> in_c10{1, 2, 4, 5, 6, 3, 0};
  if (number < 1 || number > std::int64_t{in_c10.size()}) {
    return at.wrong("is ", number, ", which is not a layout of PyTorch's archive");
  }
  return in_c10[static_cast<std::size_t>(number - 1)];
}

/// The number that c10 gives to a memory format: 0 contiguous, 1 preserve, 2 channels last, 3
/// channels last with three spatial dimensions.
[[nodiscard]] inline Result<std::int64_t> read_memory_format(const JsonAt& at) {
  TENON_TRY(const std::int64_t number, at.integer());
  constexpr std::array<std::int64_t, 4> in_c10{0, 2, 3, 1};
  if (number < 1 || number > std::int64_t{in_c10.size()}) {
    return at.wrong("is ", number, ", which is not a memory format of PyTorch's archive");
  }
  return in_c10[static_cast<std::size_t>(number - 1)];
}

/// A device, by DLPack's number.
[[nodiscard]] inline Result<tenon_dl_device> read_device(const JsonAt& at) {
  TENON_TRY(const std::string type, at.text("type"));
  std::int64_t index = 0;
  if (const auto found = at.find_set("index")) {
    TENON_TRY(index, found->integer());
    if (index < 0 || index > 1024) return found->wrong("is ", index, ", expected 0 to 1024");
  }
  const auto id = static_cast<std::int32_t>(index);
  if (type == "cpu") return tenon_dl_device{TENON_DL_CPU, id};
  if (type == "cuda") return tenon_dl_device{TENON_DL_CUDA, id};
  if (type == "mps") return tenon_dl_device{TENON_DL_METAL, id};
  return at.not_supported("device is ", host::quoted(type), ", expected 'cpu', 'cuda' or 'mps'");
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
