// SPDX-License-Identifier: MIT
#include "tenon/conformance/case.hpp"

#include <cstring>
#include <string_view>
#include <utility>

#include "tenon/host/layers/arrays/npy.hpp"
#include "tenon/host/layers/arrays/value_array.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

Result<host::Array> read_array(const CaseValue& value, ScalarType wanted) {
  const auto scalar = [](ScalarType type, const auto& number) {
    host::ArrayBytes bytes(sizeof number);
    std::memcpy(bytes.data(), &number, sizeof number);
    return host::Array{type, {}, std::move(bytes)};
  };
  if (const auto* file = std::get_if<ArrayFile>(&value)) {
    TENON_TRY(host::NpyArray raw, host::read_npy(file->path.string()));
    auto array = host::to_scalar_type(std::move(raw), wanted);
    if (!array.ok()) return std::move(array).status().with_context(file->path.string());
    return array;
  }
  std::string_view found = "nothing";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    if (wanted == ScalarType::Long) return scalar(wanted, *integer);
    if (wanted == ScalarType::Double) return scalar(wanted, static_cast<double>(*integer));
    found = "an integer";
  } else if (const auto* real = std::get_if<double>(&value)) {
    if (wanted == ScalarType::Double) return scalar(wanted, *real);
    found = "a real number";
  } else if (const auto* boolean = std::get_if<bool>(&value)) {
    if (wanted == ScalarType::Bool) return scalar(wanted, *boolean);
    found = "a boolean";
  } else if (std::holds_alternative<std::string>(value)) {
    found = "a text";
  }
  return error(Error::InvalidType, "expected an array of dtype ", name_of(wanted), ", found ",
               found);
}

}}}  // namespace tenon::TENON_RELEASE::conformance
