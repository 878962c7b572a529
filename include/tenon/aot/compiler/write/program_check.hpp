// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "tenon/aot/program_data.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

/// Whether the bytes are UTF-8 (RFC 3629): the file format's strings are, and Python refuses
/// others.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

}  // namespace detail

/// Checks all that a reader of a `.pte` file relies on, so that what is written can be read:
///
/// - Names of methods are distinct. They, names of operators, ids of backends, keys of compile
///   specs and of named data are not empty, are UTF-8 and hold no NUL. Other texts are UTF-8.
/// - Each index is in range, of a value of the right kind where a list asks for one. A jump leads
///   to an instruction or to the end.
/// - Layouts are sound (`check_layout`). Each tensor with a place is in planned memory, at a
///   multiple of its element size; constants and initial states have all the bytes of their
///   tensors.
/// - An external tensor has a key. When that is in `named_data.external_data`, the layouts are
///   equal.
/// - Each key is in one place only, and its data exists.
///
/// Not checked: whether tensors share planned memory while both are alive (`check_method_memory`),
/// whether operators exist, and whether kernels and delegates get the arguments they expect.
///
/// errors: InvalidArgument; NotSupported as `check_layout`. The text names the method, the value or
///         instruction, what was expected and what was found.
[[nodiscard]] Status check_program(const ProgramData& program);

}}}  // namespace tenon::TENON_RELEASE::aot

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// The kind of a value: "None", "Int", ...
[[nodiscard]] inline std::string_view kind_of(const Value& value) noexcept {
  constexpr std::array<std::string_view, std::variant_size_v<Value>> names{"None",
                                                                           "Int",
                                                                           "Double",
                                                                           "Bool",
                                                                           "String",
                                                                           "Tensor",
                                                                           "IntList",
                                                                           "DoubleList",
                                                                           "BoolList",
                                                                           "TensorList",
                                                                           "OptionalTensorList"};
  return names[value.index()];
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
