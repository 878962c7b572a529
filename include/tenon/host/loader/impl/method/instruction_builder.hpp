// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/core/visible.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/method/kernels.hpp"
#include "tenon/host/loader/program/program_view.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Resolves the instructions of one method. Indices were checked when the program was opened.
class InstructionBuilder {
 public:
  InstructionBuilder(const schema::ExecutionPlan& plan, std::span<tenon_value> values,
                     std::span<const Delegate> delegates, const KernelTable* kernels,
                     Loading& loading)
      : plan_(plan),
        values_(values),
        delegates_(delegates),
        kernels_(kernels),
        loading_(loading),
        arena_(loading.method.arena) {}

  /// All chains in their order. OperatorMissing when kernels are missing, with all of them and
  /// the instructions that need them, so that they can be fixed at once, and what the layers say
  /// about it; otherwise what making a kernel fails with.
  [[nodiscard]] Result<std::span<const Chain>> build() {
    const std::size_t num_chains = plan_.chains()->size();
    auto* chains = arena_.allocate_list<Chain>(num_chains);
    if (!chains) return no_memory();
    for (flatbuffers::uoffset_t c = 0; c < plan_.chains()->size(); ++c) {
      const auto& serialized = *plan_.chains()->Get(c)->instructions();
      auto* instructions = arena_.allocate_list<Instruction>(serialized.size());
      if (!instructions) return no_memory();
      for (flatbuffers::uoffset_t i = 0; i < serialized.size(); ++i) {
        instructions[i] = {};
        TENON_RETURN_IF_ERROR(build_one(*serialized.Get(i), c, i, instructions[i]));
      }
      new (&chains[c]) Chain(instructions, serialized.size());
      if (!Changes::is_fixed(values_)) find_changing(instructions, serialized.size());
    }
    if (missing_.empty()) return std::span<const Chain>(chains, num_chains);
    std::string answers;
    for (const auto& part : loading_.method.parts) answers += part->kernels_missing(loading_);
    return Status(Error::OperatorMissing,
                  concat("no kernel for ", tenon::detail::visible(missing_text()), answers));
  }

 private:
  using Kind = schema::InstructionArguments;

  static Status no_memory() {
    return error(Error::MemoryAllocationFailed, "no memory for the instructions of the method");
  }

  /// Marks the calls of one chain that may change something, once all of it is built.
  void find_changing(Instruction* instructions, std::size_t count) const noexcept {
    // A move can put a value of any kind into the place of an argument.
    bool moves = false;
    for (const auto* chain : *plan_.chains()) {
      for (const auto* instruction : *chain->instructions()) {
        moves |= instruction->instr_args_type() == Kind::MoveCall;
      }
    }
    for (Instruction& at : std::span(instructions, count)) {
      at.may_change = moves || Changes::may_change({at.args, at.num_args});
    }
  }

  Status build_one(const schema::Instruction& from, std::size_t chain, std::size_t index,
                   Instruction& to) {
    to.kind = from.instr_args_type();
    switch (to.kind) {
      case Kind::KernelCall: {
        const auto& call = *from.instr_args_as_KernelCall();
        TENON_RETURN_IF_ERROR(fill_args(*call.args(), to));
        return find_kernel(call, chain, index, to);
      }
      case Kind::DelegateCall: {
        const auto& call = *from.instr_args_as_DelegateCall();
        to.delegate = &delegates_[static_cast<std::size_t>(call.delegate_index())];
        return fill_args(*call.args(), to);
      }
      case Kind::MoveCall:
        to.from = value(from.instr_args_as_MoveCall()->move_from());
        to.to = value(from.instr_args_as_MoveCall()->move_to());
        return ok();
      case Kind::JumpFalseCall: {
        const auto& jump = *from.instr_args_as_JumpFalseCall();
        to.condition = value(jump.cond_value_index());
        to.destination = static_cast<std::size_t>(jump.destination_instruction());
        return ok();
      }
      default:
        to.to = value(from.instr_args_as_FreeCall()->value_index());
        return ok();
    }
  }

  /// The application's kernel comes before the kernels of layers.
  Status find_kernel(const schema::KernelCall& call, std::size_t chain, std::size_t index,
                     Instruction& to) {
    const std::string op = operator_name(
        *plan_.operators()->Get(static_cast<flatbuffers::uoffset_t>(call.op_index())));
    to.kernel = kernels_ ? kernels_->find(op) : nullptr;
    if (to.kernel) return ok();
    const std::string where = concat(chain, ":", index);
    for (const auto& part : loading_.method.parts) {
      auto made = part->find_kernel(loading_, op, {to.args, to.num_args});
      if (!made.ok()) return std::move(made).status().with_context(concat("instruction ", where));
      to.kernel = *made;
      if (to.kernel) return ok();
    }
    std::string number = concat(missing_.size());
    number.insert(0, number_size - number.size(), '0');
    missing_.push_back(concat(op, '\0', number, where));
    return ok();
  }

  /// "aten::add.out (instruction 0:1, 0:4); aten::mul.out (instruction 0:2)"
  [[nodiscard]] std::string missing_text() const {
    std::vector<std::string_view> calls;
    for (const std::string& call : missing_) calls.push_back(call);
    std::sort(calls.begin(), calls.end());
    std::string text;
    std::string_view last;
    for (const std::string_view call : calls) {
      // The last one: the file's name of an operator may have others.
      const std::string_view op = call.substr(0, call.rfind('\0'));
      const std::string_view where = call.substr(op.size() + 1 + number_size);
      const bool is_first = text.empty();
      if (!is_first && op == last) {
        text += concat(", ", where);
      } else {
        text += concat(is_first ? "" : "); ", op, " (instruction ", where);
      }
      last = op;
    }
    return text + ")";
  }

  Status fill_args(const flatbuffers::Vector<std::int32_t>& indices, Instruction& to) {
    auto* args = arena_.allocate_list<tenon_value*>(indices.size());
    if (!args) return no_memory();
    for (flatbuffers::uoffset_t i = 0; i < indices.size(); ++i) args[i] = value(indices.Get(i));
    to.args = args;
    to.num_args = indices.size();
    return ok();
  }

  tenon_value* value(std::int32_t index) const { return &values_[static_cast<std::size_t>(index)]; }

  const schema::ExecutionPlan& plan_;
  std::span<tenon_value> values_;
  std::span<const Delegate> delegates_;
  const KernelTable* kernels_;
  Loading& loading_;
  Arena& arena_;
  // Calls of missing operators: the name, a NUL, the number of the call, the instruction. So they
  // are sorted as names are, by operator and then by call.
  static constexpr std::size_t number_size = 20;
  std::vector<std::string> missing_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
