// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "tenon/abi/private/changes.h"
#include "tenon/abi/tensor.h"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/method/kernels.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Counts the changes of a method's values and tensors for its plugins (tenon_changes). The address
/// of `table` must not change.
class Changes {
 public:
  Changes() noexcept = default;
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  [[nodiscard]] tenon_changes* table() noexcept { return &table_; }

  /// A value or a tensor has changed, or is about to.
  void count() noexcept { ++table_.count; }

  /// Whether nothing of `values` but the bytes of tensors may change in the calls of delegates:
  /// they may resize tensors and write numbers.
  [[nodiscard]] static bool is_fixed(std::span<const tenon_value> values) noexcept {
    for (const tenon_value& value : values) {
      if (!is_fixed(value)) return false;
    }
    return true;
  }

  /// Whether a call of a delegate with `args` may change more than that.
  [[nodiscard]] static bool may_change(std::span<tenon_value* const> args) noexcept {
    for (const tenon_value* value : args) {
      if (!is_fixed(*value)) return true;
    }
    return false;
  }

  /// The outcome of `call`, which may change something: it is counted unless the plugin did.
  template <class Call>
  [[gnu::always_inline]] tenon_status track(const Call& call) {
    table_.counted = 0;
    const tenon_status status = call();
    // A branch, so that nothing is stored which the next call would wait for.
    if (table_.counted == 0) ++table_.count;
    return status;
  }

  /// `to` becomes what `from` is (MoveCall).
  void move(const tenon_value& from, tenon_value& to) noexcept {
    to = from;
    count();
  }

  /// Takes the data of `tensor` away (FreeCall).
  void free(tenon_tensor& tensor) noexcept {
    tensor.dl.data = nullptr;
    count();
  }

 private:
  static bool is_fixed(const tenon_value& value) noexcept {
    return value.kind == TENON_VALUE_TENSOR &&
           value.as.tensor->shape_dynamism == TENON_SHAPE_STATIC;
  }

  tenon_changes table_{sizeof(tenon_changes), 0, 0};
};

/// One instruction with everything resolved, so that running it looks nothing up.
struct Instruction {
  schema::InstructionArguments kind = schema::InstructionArguments::NONE;
  bool may_change = false;  ///< DelegateCall: see Changes.
  std::uint32_t num_args = 0;
  tenon_value* const* args = nullptr;  ///< KernelCall, DelegateCall.
  union {
    const Delegate* delegate = nullptr;  ///< DelegateCall.
    const Kernel* kernel;                ///< KernelCall.
    const tenon_value* from;             ///< MoveCall.
    const tenon_value* condition;        ///< JumpFalseCall.
  };
  union {
    tenon_value* to = nullptr;  ///< MoveCall, FreeCall.
    std::size_t destination;    ///< JumpFalseCall: number of the next instruction.
  };
};

/// The instructions of one chain, in their order.
using Chain = std::span<const Instruction>;

}}}  // namespace tenon::TENON_RELEASE::host::detail
