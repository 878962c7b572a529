// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/core/json.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/quoted.hpp"

/// Properties of an archive's operators, by their names.
namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// "permute" of "aten.permute.default"; empty for operators outside of ATen.
[[nodiscard]] inline std::string_view aten_name(std::string_view target) {
  constexpr std::string_view space = "aten.";
  if (!target.starts_with(space)) return {};
  target.remove_prefix(space.size());
  return target.substr(0, target.find('.'));
}

/// Whether an operator ("aten.permute.default") gives another view of its input's memory. In a
/// program each value has memory of its own: there it is a copy, with elements in the plain order
/// (ExecuTorch's ReplaceViewOpsWithViewCopyOpsPass; aten/src/ATen/native/native_functions.yaml).
[[nodiscard]] inline bool is_view_operator(std::string_view target) {
  constexpr std::array<std::string_view, 45> names{"T",
                                                   "_conj",
                                                   "_neg_view",
                                                   "_reshape_alias",
                                                   "adjoint",
                                                   "alias",
                                                   "as_strided",
                                                   "broadcast_to",
                                                   "chunk",
                                                   "detach",
                                                   "diagonal",
                                                   "expand",
                                                   "expand_as",
                                                   "flatten",
                                                   "hsplit",
                                                   "imag",
                                                   "lift_fresh",
                                                   "mH",
                                                   "mT",
                                                   "matrix_H",
                                                   "moveaxis",
                                                   "movedim",
                                                   "narrow",
                                                   "numpy_T",
                                                   "permute",
                                                   "real",
                                                   "reshape",
                                                   "reshape_as",
                                                   "select",
                                                   "slice",
                                                   "split",
                                                   "split_with_sizes",
                                                   "squeeze",
                                                   "swapaxes",
                                                   "swapdims",
                                                   "t",
                                                   "tensor_split",
                                                   "transpose",
                                                   "unbind",
                                                   "unflatten",
                                                   "unfold",
                                                   "unsqueeze",
                                                   "view",
                                                   "view_as",
                                                   "vsplit"};
  return std::binary_search(names.begin(), names.end(), aten_name(target));
}

/// Whether an operator writes to its inputs ("aten.add_.Tensor"): ATen's names say so.
[[nodiscard]] inline bool is_in_place_operator(std::string_view target) {
  const std::string_view name = aten_name(target);
  // "add_" and "__iadd__" do, "__and__" does not.
  return name.ends_with("__") ? name.starts_with("__i") : name.ends_with('_');
}

/// Whether an operator is an assertion: those that ExecuTorch leaves out
/// (exir/passes/remove_graph_asserts_pass.py).
[[nodiscard]] inline bool is_assertion(std::string_view target) {
  constexpr std::array<std::string_view, 5> targets{
      "aten._assert_async.msg", "aten._assert_scalar.default",
      "aten._assert_tensor_metadata.default", "aten.sym_constrain_range.default",
      "aten.sym_constrain_range_for_size.default"};
  return std::find(targets.begin(), targets.end(), target) != targets.end();
}

/// "torch.ops.aten.add.Tensor" is "aten.add.Tensor"; functions of Python keep their module.
[[nodiscard]] inline Result<std::string> read_target(const JsonAt& at) {
  TENON_TRY(std::string target, at.text());
  constexpr std::string_view space = "torch.ops.";
  if (target.starts_with(space)) target.erase(0, space.size());
  if (target.empty()) return at.wrong("is empty");
  return target;
}

/// Refuses what a compiler cannot be given as an operator.
[[nodiscard]] inline Status check_target(const JsonAt& at, const std::string& target) {
  if (target.starts_with("higher_order.") || target.starts_with('#')) {
    TENON_TRY(const std::string whole, at.text());
    return at.not_supported("is ", host::quoted(whole),
                            ": control flow and calls into Python are no operators");
  }
  return ok();
}

/// The innermost module of "key,path,type;key,path,type"; empty when it is unknown.
[[nodiscard]] inline std::string module_path(const JsonAt& node) {
  const auto metadata = node.find_set("metadata");
  const auto stack_at = metadata ? metadata->find_set("nn_module_stack") : std::nullopt;
  if (!stack_at) return {};
  const auto stack = stack_at->text();
  if (!stack.ok()) return {};
  std::string_view last = *stack;
  if (const auto end = last.rfind(';'); end != std::string_view::npos) last.remove_prefix(end + 1);
  const std::size_t begin = last.find(',');
  const std::size_t end = last.rfind(',');
  if (begin == std::string_view::npos || begin == end) return {};
  last = last.substr(begin + 1, end - begin - 1);
  for (const std::string_view root : {"L['self'].", "L['self']"}) {
    if (last.starts_with(root)) last.remove_prefix(root.size());
  }
  // Written by the exporter when it does not know.
  if (last.starts_with("_empty_nn_module_stack")) return {};
  return std::string(last);
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
