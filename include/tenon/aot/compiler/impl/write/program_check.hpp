// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/write/program_check.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "tenon/aot/named_data_store.hpp"
#include "tenon/core/visible.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

/// Adds `where` to a failure. On success the pieces are not even joined.
template <class... Pieces>
[[nodiscard]] Status in(Status&& status, const Pieces&... where) {
  if (status.ok()) return std::move(status);
  return std::move(status).with_context(concat(where...));
}

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t size = 0; !text.empty(); text.remove_prefix(size)) {
    if (tenon::detail::decode_utf8(text, size) < 0) return false;
  }
  return true;
}

/// Checks a text that runtimes treat as a C string.
[[nodiscard]] inline Status check_name(std::string_view text, std::string_view field) {
  if (text.empty()) return error(Error::InvalidArgument, field, " is empty");
  if (text.find('\0') != std::string_view::npos) {
    return error(Error::InvalidArgument, field, " holds a NUL byte");
  }
  if (!is_utf8(text)) return error(Error::InvalidArgument, field, " is not UTF-8");
  return ok();
}

[[nodiscard]] inline Status check_device(const ProgramDevice& device) {
  if (device.type != ProgramDeviceType::CPU && device.type != ProgramDeviceType::CUDA) {
    return error(Error::InvalidArgument, "device type is ", static_cast<int>(device.type),
                 ", expected 0 (CPU) or 1 (CUDA)");
  }
  if (device.index >= 0) return ok();
  return error(Error::InvalidArgument, "device index is ", static_cast<int>(device.index),
               ", expected 0 or more");
}

/// Checks the entries of one file against the buffers: keys are names and distinct, buffers exist,
/// alignments are in range, layouts are sound and fit their data.
[[nodiscard]] inline Status check_named_data(const std::vector<SharedBytes>& buffers,
                                             const std::vector<NamedEntry>& entries) {
  std::unordered_set<std::string_view> keys;
  for (const auto& [key, entry] : entries) {
    TENON_RETURN_IF_ERROR(in(check_name(key, "the key"), "named data '", key, "'"));
    if (!keys.insert(key).second) {
      return error(Error::InvalidArgument, "named data '", key, "': the key appears twice");
    }
    if (entry.buffer_index >= buffers.size()) {
      return error(Error::InvalidArgument, "named data '", key, "': buffer index is ",
                   entry.buffer_index, ", expected an index of one of ", buffers.size(),
                   " buffers");
    }
    if (entry.alignment == 0 || entry.alignment > NamedDataStore::max_alignment) {
      return error(Error::InvalidArgument, "named data '", key, "': alignment is ", entry.alignment,
                   ", expected more than 0 and at most ", NamedDataStore::max_alignment);
    }
    if (!entry.tensor_layout) continue;
    TENON_RETURN_IF_ERROR(
        in(check_layout(*entry.tensor_layout), "named data '", key, "': tensor layout"));
    const auto size = buffers[entry.buffer_index].size();
    if (entry.tensor_layout->nbytes() > size) {
      return error(Error::InvalidArgument, "named data '", key, "': the tensor layout needs ",
                   entry.tensor_layout->nbytes(), " bytes, but the data has ", size);
    }
  }
  return ok();
}

/// Checks one method. Named data of the program has been checked.
class MethodCheck {
 public:
  using ExternalLayouts = std::unordered_map<std::string_view, const DenseLayout*>;

  MethodCheck(const ProgramData& program, const MethodData& method,
              const ExternalLayouts& external) noexcept
      : program_(&program), method_(&method), external_(&external) {}

  [[nodiscard]] Status check() const {
    TENON_RETURN_IF_ERROR(check_memory());
    TENON_RETURN_IF_ERROR(check_text(method_->encoded_inputs, "encoded_inputs"));
    TENON_RETURN_IF_ERROR(check_text(method_->encoded_outputs, "encoded_outputs"));
    const auto& values = method_->values;
    if (values.size() > static_cast<std::size_t>(std::numeric_limits<ValueIndex>::max())) {
      return error(Error::InvalidArgument, "there are ", values.size(), " values, too many");
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      TENON_RETURN_IF_ERROR(in(check_value(values[i]), "value ", i, " (", kind_of(values[i]), ")"));
    }
    TENON_RETURN_IF_ERROR(check_indices(method_->inputs, "inputs"));
    TENON_RETURN_IF_ERROR(check_indices(method_->outputs, "outputs"));
    for (std::size_t i = 0; i < method_->operators.size(); ++i) {
      const auto& op = method_->operators[i];
      TENON_RETURN_IF_ERROR(in(check_name(op.name, "name"), "operator ", i));
      if (op.overload.empty()) continue;
      TENON_RETURN_IF_ERROR(in(check_name(op.overload, "overload"), "operator ", i));
    }
    for (std::size_t i = 0; i < method_->delegates.size(); ++i) {
      TENON_RETURN_IF_ERROR(in(check_delegate(method_->delegates[i]), "delegate ", i));
    }
    for (std::size_t i = 0; i < method_->instructions.size(); ++i) {
      TENON_RETURN_IF_ERROR(in(check_instruction(method_->instructions[i]), "instruction ", i));
    }
    return ok();
  }

 private:
  static Status check_text(std::string_view text, std::string_view field) {
    return text.empty() ? ok() : check_name(text, field);
  }

  [[nodiscard]] Status check_memory() const {
    const auto& all = method_->planned_memory;
    if (all.empty() || all.front() != PlannedBuffer()) {
      return error(Error::InvalidArgument,
                   "planned_memory: expected entry 0, which is reserved, to be there without "
                   "bytes and device");
    }
    for (std::size_t i = 1; i < all.size(); ++i) {
      TENON_RETURN_IF_ERROR(in(check_device(all[i].device), "planned_memory[", i, "]"));
      if (all[i].nbytes <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}) continue;
      return error(Error::InvalidArgument, "planned_memory[", i, "] has ", all[i].nbytes,
                   " bytes, more than the format can say");
    }
    return ok();
  }

  template <class... Pieces>
  static Status check_index(std::int64_t index, std::size_t count, std::string_view list,
                            const Pieces&... field) {
    if (index >= 0 && static_cast<std::uint64_t>(index) < count) return ok();
    return error(Error::InvalidArgument, field..., " is ", index, ", expected an index of one of ",
                 count, " ", list);
  }

  [[nodiscard]] Status check_value_index(ValueIndex index, std::string_view field) const {
    return check_index(index, method_->values.size(), "values", field);
  }

  [[nodiscard]] Status check_indices(const std::vector<ValueIndex>& indices,
                                     std::string_view field) const {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      TENON_RETURN_IF_ERROR(
          check_index(indices[i], method_->values.size(), "values", field, "[", i, "]"));
    }
    return ok();
  }

  /// Checks that items are values of kind `Kind`. `or_none` allows -1 and None as well.
  template <class Kind>
  [[nodiscard]] Status check_items(const std::vector<ValueIndex>& items, bool or_none) const {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i] == -1 && or_none) continue;
      TENON_RETURN_IF_ERROR(
          check_index(items[i], method_->values.size(), "values", "items[", i, "]"));
      const Value& item = method_->values[static_cast<std::size_t>(items[i])];
      if (std::holds_alternative<Kind>(item)) continue;
      if (or_none && std::holds_alternative<std::monostate>(item)) continue;
      return error(Error::InvalidArgument, "items[", i, "] is value ", items[i], " of kind ",
                   kind_of(item), ", expected ", kind_of(Value(Kind())), or_none ? " or None" : "");
    }
    return ok();
  }

  [[nodiscard]] Status check_value(const Value& value) const {
    if (const auto* text = std::get_if<std::string>(&value)) {
      if (is_utf8(*text)) return ok();
      return error(Error::InvalidArgument, "the text is not UTF-8");
    }
    if (const auto* tensor = std::get_if<TensorValue>(&value)) return check_tensor(*tensor);
    if (const auto* list = std::get_if<IntList>(&value)) {
      return check_items<std::int64_t>(list->items, false);
    }
    if (const auto* list = std::get_if<TensorList>(&value)) {
      return check_items<TensorValue>(list->items, false);
    }
    if (const auto* list = std::get_if<OptionalTensorList>(&value)) {
      return check_items<TensorValue>(list->items, true);
    }
    return ok();
  }

  [[nodiscard]] Status check_tensor(const TensorValue& tensor) const {
    TENON_RETURN_IF_ERROR(check_layout(tensor.layout));
    TENON_RETURN_IF_ERROR(check_device(tensor.device));
    TENON_RETURN_IF_ERROR(check_text(tensor.fully_qualified_name, "fully_qualified_name"));
    if (const Place* place = tensor.place()) {
      TENON_RETURN_IF_ERROR(
          check_place(*place, tensor.layout.nbytes(), size_of(tensor.layout.scalar_type)));
    }
    if (const auto* constant = std::get_if<storage::Constant>(&tensor.data)) {
      return check_bytes(program_->constants, constant->index, "constants", tensor);
    }
    if (const auto* state = std::get_if<storage::InitialState>(&tensor.data)) {
      return check_bytes(program_->initial_states, state->index, "initial_states", tensor);
    }
    return std::holds_alternative<storage::External>(tensor.data) ? check_external(tensor) : ok();
  }

  [[nodiscard]] Status check_place(const Place& place, std::uint64_t nbytes,
                                   std::uint64_t alignment) const {
    const auto& all = method_->planned_memory;
    if (place.memory_id == 0) {
      return error(Error::InvalidArgument,
                   "the tensor has no place in planned memory: its memory id is 0");
    }
    if (place.memory_id >= all.size()) {
      return error(Error::InvalidArgument, "memory id is ", place.memory_id, ", expected below ",
                   all.size(), ", the number of planned memories");
    }
    const auto size = all[place.memory_id].nbytes;
    if (place.offset > size || nbytes > size - place.offset) {
      return error(Error::InvalidArgument, nbytes, " bytes at offset ", place.offset,
                   " do not fit in planned memory ", place.memory_id, ", which has ", size);
    }
    if (place.offset % alignment == 0) return ok();
    return error(Error::InvalidArgument, "offset ", place.offset,
                 " is not a multiple of the element size, ", alignment);
  }

  static Status check_bytes(const std::vector<SharedBytes>& all, std::uint32_t index,
                            std::string_view list, const TensorValue& tensor) {
    TENON_RETURN_IF_ERROR(check_index(index, all.size(), list, "the index of its data"));
    if (tensor.layout.nbytes() <= all[index].size()) return ok();
    return error(Error::InvalidArgument, "the tensor needs ", tensor.layout.nbytes(),
                 " bytes, but ", list, "[", index, "] has ", all[index].size());
  }

  [[nodiscard]] Status check_external(const TensorValue& tensor) const {
    const auto& key = tensor.fully_qualified_name;
    if (key.empty()) {
      return error(Error::InvalidArgument,
                   "the data is external, but fully_qualified_name, its key, is empty");
    }
    const auto found = external_->find(key);
    if (found == external_->end()) return ok();
    if (found->second == nullptr) {
      return error(Error::InvalidArgument, "the external data of key '", key,
                   "' has no tensor layout");
    }
    if (*found->second == tensor.layout) return ok();
    return error(Error::InvalidArgument, "the external data of key '", key,
                 "' has another scalar type, other sizes or another dim order than the tensor");
  }

  static Status check_delegate(const DelegateData& delegate) {
    TENON_RETURN_IF_ERROR(check_name(delegate.id, "id"));
    for (std::size_t i = 0; i < delegate.compile_specs.size(); ++i) {
      TENON_RETURN_IF_ERROR(
          in(check_name(delegate.compile_specs[i].key, "key"), "compile_specs[", i, "]"));
    }
    return ok();
  }

  [[nodiscard]] Status check_instruction(const Instruction& instruction) const {
    if (const auto* call = std::get_if<KernelCall>(&instruction)) {
      TENON_RETURN_IF_ERROR(
          check_index(call->op_index, method_->operators.size(), "operators", "op_index"));
      return check_indices(call->args, "args");
    }
    if (const auto* call = std::get_if<DelegateCall>(&instruction)) {
      TENON_RETURN_IF_ERROR(check_index(call->delegate_index, method_->delegates.size(),
                                        "delegates", "delegate_index"));
      return check_indices(call->args, "args");
    }
    if (const auto* move = std::get_if<MoveCall>(&instruction)) {
      TENON_RETURN_IF_ERROR(check_value_index(move->from, "from"));
      return check_value_index(move->to, "to");
    }
    if (const auto* jump = std::get_if<JumpFalseCall>(&instruction)) {
      TENON_RETURN_IF_ERROR(check_value_index(jump->condition, "condition"));
      if (jump->destination <= method_->instructions.size()) return ok();
      return error(Error::InvalidArgument, "destination is ", jump->destination,
                   ", expected at most ", method_->instructions.size(), ", the end");
    }
    return check_value_index(std::get<FreeCall>(instruction).value, "value");
  }

  const ProgramData* program_;
  const MethodData* method_;
  const ExternalLayouts* external_;
};

}  // namespace detail

Status check_program(const ProgramData& program) {
  const auto& named_data = program.named_data;
  TENON_RETURN_IF_ERROR(detail::check_named_data(named_data.buffers, named_data.pte_data));
  std::unordered_set<std::string_view> keys;
  for (const auto& one : named_data.pte_data) keys.insert(one.key);
  detail::MethodCheck::ExternalLayouts external;
  for (const auto& file : named_data.external_data) {
    TENON_RETURN_IF_ERROR(detail::in(detail::check_named_data(named_data.buffers, file.entries),
                                     "external data '", file.tag, "'"));
    for (const auto& [key, entry] : file.entries) {
      if (!keys.insert(key).second) {
        return error(Error::InvalidArgument, "external data '", file.tag, "': key '", key,
                     "' is in the program or in another file, too");
      }
      external.emplace(key, entry.tensor_layout ? &*entry.tensor_layout : nullptr);
    }
  }
  std::unordered_set<std::string_view> names;
  for (std::size_t i = 0; i < program.methods.size(); ++i) {
    const MethodData& method = program.methods[i];
    TENON_RETURN_IF_ERROR(detail::in(detail::check_name(method.name, "name"), "method ", i));
    if (!names.insert(method.name).second) {
      return error(Error::InvalidArgument, "method ", i, ": the name '", method.name,
                   "' appears twice");
    }
    TENON_RETURN_IF_ERROR(detail::in(detail::MethodCheck(program, method, external).check(),
                                     "method '", method.name, "'"));
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::aot
