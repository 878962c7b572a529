// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Bytes of planned memory that a run may read before it has written them.
struct StateRange {
  std::uint32_t buffer;  ///< ExecutionPlan.non_const_buffer_sizes
  std::uint64_t begin, end;
};

/// Ranges of bytes of one buffer. Ranges that touch are merged.
class ByteRanges {
 public:
  void add(std::uint64_t begin, std::uint64_t end) {
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin() && std::prev(next)->second >= begin) {
      --next;
      begin = next->first;
    }
    while (next != ranges_.end() && next->first <= end) {
      end = std::max(end, next->second);
      next = ranges_.erase(next);
    }
    ranges_.emplace(begin, end);
  }

  /// Calls `act(begin, end)` for what is not in here of a range.
  template <class Act>
  void each_gap(std::uint64_t begin, std::uint64_t end, const Act& act) const {
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin()) begin = std::max(begin, std::prev(next)->second);
    for (; begin < end && next != ranges_.end() && next->first < end; ++next) {
      if (begin < next->first) act(begin, next->first);
      begin = std::max(begin, next->second);
    }
    if (begin < end) act(begin, end);
  }

  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& all() const noexcept {
    return ranges_;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  ///< Ends by begins.
};

/// Finds the memory that one run leaves for the next. A program does not say which memory this is:
/// its mutable buffers are planned memory, like intermediate results. Bytes that each run certainly
/// writes first are not state: inputs that the application sets, results of kernels of the kind
/// `.out`, and outputs of the method that a delegate computes. All others that are read count, so
/// that there may be too many, and never too few.
class StateFinder {
 public:
  explicit StateFinder(const schema::ExecutionPlan& plan)
      : plan_(plan),
        written_(plan.non_const_buffer_sizes()->size()),
        state_(plan.non_const_buffer_sizes()->size()),
        is_read_(plan.values()->size()),
        is_output_(plan.values()->size()) {
    for (const std::int32_t index : *plan.outputs()) {
      if (index >= 0) is_output_[static_cast<std::size_t>(index)] = true;
    }
  }

  /// In the order of the memory; ranges do not touch each other.
  [[nodiscard]] std::vector<StateRange> find() {
    visit_all();
    std::vector<StateRange> out;
    for (std::size_t i = 0; i < state_.size(); ++i) {
      for (const auto& [begin, end] : state_[i].all()) {
        out.push_back({static_cast<std::uint32_t>(i), begin, end});
      }
    }
    return out;
  }

  /// Of a program that computes several texts in a run: whole tensors, each with an equal share of
  /// each text, one after the other. Tensors that share bytes with others are left out: the
  /// exporter plans the bytes of a mutable buffer for nothing else.
  ///
  /// errors: NotSupported (a tensor that cannot be shared out so).
  [[nodiscard]] Result<std::vector<StateRange>> find_rows(std::size_t rows) {
    visit_all();
    std::vector<StateRange> out;
    for (const std::int32_t index : tensors_) {
      const StateRange range = range_of(index);
      const auto same = [&](const StateRange& at) {
        return at.buffer == range.buffer && at.begin == range.begin && at.end == range.end;
      };
      if (std::ranges::any_of(out, same) || shares_bytes(range)) continue;
      const auto* const sizes = tensor_at(index)->sizes();
      const std::int32_t first = sizes->size() == 0 ? 1 : sizes->Get(0);
      if (static_cast<std::size_t>(first) % rows != 0) {
        return error(Error::NotSupported, "value ", index, " is in the state: expected a size of ",
                     rows, " or a multiple in dimension 0, for as many texts, found ", first);
      }
      out.push_back(range);
    }
    return out;
  }

 private:
  using Kind = schema::InstructionArguments;

  void visit_all() {
    for (const std::int32_t index : *plan_.inputs()) write(index);
    for (const auto* chain : *plan_.chains()) {
      for (const auto* instruction : *chain->instructions()) {
        // Instructions behind a jump may be left out.
        is_certain_ = is_certain_ && instruction->instr_args_type() != Kind::JumpFalseCall;
        visit(*instruction);
      }
      is_certain_ = false;
    }
  }

  void write(std::int32_t index) {
    each_memory(index, [&](std::uint32_t buffer, std::uint64_t begin, std::uint64_t end) {
      written_[buffer].add(begin, end);
    });
  }
  void read(std::int32_t index) {
    // Nothing more can be found of a value that was read before.
    if (index < 0 || is_read_[static_cast<std::size_t>(index)]) return;
    is_read_[static_cast<std::size_t>(index)] = true;
    if (const auto* elements = elements_of(index)) {
      for (const std::int32_t element : *elements) read(element);
      return;
    }
    bool is_state = false;
    each_memory(index, [&](std::uint32_t buffer, std::uint64_t begin, std::uint64_t end) {
      written_[buffer].each_gap(begin, end, [&](std::uint64_t first, std::uint64_t last) {
        state_[buffer].add(first, last);
        is_state = true;
      });
    });
    if (is_state) tensors_.push_back(index);
  }

  /// Calls `act` for the planned memory of a value and of its elements.
  template <class Act>
  void each_memory(std::int32_t index, const Act& act) const {
    if (index < 0) return;
    if (const auto* elements = elements_of(index)) {
      for (const std::int32_t element : *elements) each_memory(element, act);
      return;
    }
    const auto* const tensor = tensor_at(index);
    const auto* where = tensor ? tensor->allocation_info() : nullptr;
    if (!where) return;
    std::uint64_t nbytes = scalar_types[static_cast<std::size_t>(tensor->scalar_type())].size;
    for (const std::int32_t size : *tensor->sizes()) nbytes *= static_cast<std::uint64_t>(size);
    const std::uint64_t begin =
        (std::uint64_t{where->memory_offset_high()} << 32) | where->memory_offset_low();
    if (nbytes != 0) act(where->memory_id(), begin, begin + nbytes);
  }

  /// Of a tensor in planned memory.
  [[nodiscard]] StateRange range_of(std::int32_t index) const {
    StateRange out{};
    each_memory(index, [&](std::uint32_t buffer, std::uint64_t begin, std::uint64_t end) {
      out = {buffer, begin, end};
    });
    return out;
  }

  /// Whether another tensor has some of the bytes of `range`, and not all of them alone.
  [[nodiscard]] bool shares_bytes(const StateRange& range) const {
    bool found = false;
    for (flatbuffers::uoffset_t i = 0; i < plan_.values()->size(); ++i) {
      const auto index = static_cast<std::int32_t>(i);
      if (!tensor_at(index)) continue;
      each_memory(index, [&](std::uint32_t buffer, std::uint64_t begin, std::uint64_t end) {
        const bool is_apart = buffer != range.buffer || end <= range.begin || begin >= range.end;
        found = found || (!is_apart && (begin != range.begin || end != range.end));
      });
    }
    return found;
  }

  /// Null when it is no tensor.
  [[nodiscard]] const schema::Tensor* tensor_at(std::int32_t index) const {
    return plan_.values()->Get(static_cast<flatbuffers::uoffset_t>(index))->val_as_Tensor();
  }

  [[nodiscard]] const flatbuffers::Vector<std::int32_t>* elements_of(std::int32_t index) const {
    const schema::EValue& value = *plan_.values()->Get(static_cast<flatbuffers::uoffset_t>(index));
    if (const auto* list = value.val_as_TensorList()) return list->items();
    if (const auto* list = value.val_as_OptionalTensorList()) return list->items();
    return nullptr;
  }

  /// Whether value `index` is the value `of`, or an element of it.
  [[nodiscard]] bool is_part(std::int32_t index, std::int32_t of) const {
    if (index == of) return true;
    const auto* elements = elements_of(of);
    return elements && std::find(elements->begin(), elements->end(), index) != elements->end();
  }

  void visit(const schema::Instruction& at) {
    if (const auto* call = at.instr_args_as_KernelCall()) {
      const auto& args = *call->args();
      flatbuffers::uoffset_t inputs = args.size();
      const auto& op =
          *plan_.operators()->Get(static_cast<flatbuffers::uoffset_t>(call->op_index()));
      const std::string_view overload = op.overload() ? op.overload()->string_view() : "";
      if (overload.ends_with("out")) {
        // The results are the last arguments, and the very last one is all of them.
        while (inputs > 0 && is_part(args.Get(inputs - 1), args.Get(args.size() - 1))) --inputs;
      }
      visit_args(args, inputs);
    } else if (const auto* delegate = at.instr_args_as_DelegateCall()) {
      const auto& args = *delegate->args();
      flatbuffers::uoffset_t inputs = args.size();
      while (inputs > 0 && is_result(args.Get(inputs - 1))) --inputs;
      visit_args(args, inputs);
    } else if (const auto* move = at.instr_args_as_MoveCall()) {
      read(move->move_from());
      read(move->move_to());
    } else if (const auto* jump = at.instr_args_as_JumpFalseCall()) {
      read(jump->cond_value_index());
    }
  }

  void visit_args(const flatbuffers::Vector<std::int32_t>& args, flatbuffers::uoffset_t inputs) {
    for (flatbuffers::uoffset_t i = 0; i < inputs; ++i) read(args.Get(i));
    for (flatbuffers::uoffset_t i = inputs; i < args.size(); ++i) {
      if (is_certain_) {
        write(args.Get(i));
      } else {
        read(args.Get(i));
      }
    }
  }

  /// Whether a delegate that has it as one of its last arguments computes it: an output of the
  /// method that does not begin with a value of the program.
  [[nodiscard]] bool is_result(std::int32_t index) const {
    return index >= 0 && is_output_[static_cast<std::size_t>(index)] && !has_initial_state(index);
  }

  [[nodiscard]] bool has_initial_state(std::int32_t index) const {
    const auto* const tensor = tensor_at(index);
    return tensor && tensor->data_buffer_idx() != 0;
  }

  const schema::ExecutionPlan& plan_;
  std::vector<ByteRanges> written_, state_;  ///< By buffer.
  std::vector<std::int32_t> tensors_;        ///< That have bytes of `state_`.
  std::vector<bool> is_read_;                ///< By value.
  std::vector<bool> is_output_;              ///< By value, of the method.
  bool is_certain_ = true;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
