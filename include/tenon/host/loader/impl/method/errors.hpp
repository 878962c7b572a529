// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/abi/tensor.h"
#include "tenon/core/args.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"
#include "tenon/host/loader/program/program_view.hpp"
#include "tenon/host/schema/program_generated.h"

/// Instructions in messages of failures.
namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Messages for failures while a method runs. They name the method, the chain, and the
/// instruction in it.
struct MethodErrors {
  const schema::ExecutionPlan& plan;

  [[nodiscard]] std::string_view name() const { return plan.name()->string_view(); }
  [[nodiscard]] std::string where(std::size_t chain, std::size_t index) const {
    return concat("method ", name(), ": instruction ", chain, ":", index);
  }

  /// The limit of instructions was reached before this one.
  [[nodiscard]] Status too_many_instructions(std::size_t chain, std::size_t index,
                                             const HostLimits& limits) const {
    return error(Error::InvalidProgram, where(chain, index), ": more than ", limits.instructions,
                 " instructions were run, the limit instructions; the program seems to loop for ",
                 "ever");
  }
  /// `left` is how many bytes of conditions could still be looked at before the instruction.
  [[nodiscard]] Status conditions(std::size_t chain, std::size_t index, const tenon_value& found,
                                  std::uint64_t left, const HostLimits& limits) const {
    return over_limit(concat(where(chain, index), ": JumpFalseCall: bytes of conditions"),
                      limits.condition_bytes - left + found.as.tensor->nbytes, "condition_bytes",
                      limits.condition_bytes);
  }
  [[nodiscard]] Status condition(std::size_t chain, std::size_t index,
                                 const tenon_value& found) const {
    return error(
        Error::InvalidProgram, where(chain, index),
        ": JumpFalseCall: expected a Bool or a Tensor of dtype Bool with data on the CPU, found ",
        value_kind_name(found.kind));
  }
  [[nodiscard]] Status free(std::size_t chain, std::size_t index, const tenon_value& found) const {
    return error(Error::InvalidType, where(chain, index), ": FreeCall: expected a Tensor, found ",
                 value_kind_name(found.kind));
  }

  /// The failure `status` of a KernelCall or DelegateCall, with the text of the code that failed.
  /// `host` receives the errors of kernels of the application and of the host itself.
  [[nodiscard]] Status call(std::size_t chain, std::size_t index, const Instruction& at,
                            tenon_status status, std::span<const Delegate> delegates,
                            const tenon_host* host) const {
    if (at.kind == schema::InstructionArguments::KernelCall) {
      const BackendUse* const owner = at.kernel->owner;
      const std::string what = concat(where(chain, index), ": kernel ", operator_at(chain, index));
      if (!owner) return take_last_error(host, status).with_context(what);
      return take_last_error(owner->backend->host(), status)
          .with_context(concat(what, " (", owner->id, ")"));
    }
    const LoadedBackend& backend = *at.delegate->use->backend;
    return take_last_error(backend.host(), status)
        .with_context(concat(where(chain, index), ": delegate ", at.delegate - delegates.data(),
                             " (", backend.id(), "): execute"));
  }

  /// The operator that a KernelCall calls.
  [[nodiscard]] std::string operator_at(std::size_t chain, std::size_t index) const {
    const auto& call = *plan.chains()
                            ->Get(static_cast<flatbuffers::uoffset_t>(chain))
                            ->instructions()
                            ->Get(static_cast<flatbuffers::uoffset_t>(index))
                            ->instr_args_as_KernelCall();
    return operator_name(
        *plan.operators()->Get(static_cast<flatbuffers::uoffset_t>(call.op_index())));
  }
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
