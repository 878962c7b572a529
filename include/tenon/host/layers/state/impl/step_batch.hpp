// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/layers/state/conversations.hpp"
#include "tenon/host/layers/state/impl/loaded_sequence.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Runs steps of several conversations as one run of their method.
class StepBatch {
 public:
  explicit StepBatch(MethodSequences& all) : all_(all) {}

  /// Whether both fit into one run.
  [[nodiscard]] static bool fit(const ConversationStep& a, const ConversationStep& b) noexcept {
    return a.tokens == b.tokens &&
           std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
                      [](const InputTensor& x, const InputTensor& y) {
                        return x.scalar_type == y.scalar_type && x.bytes.size() == y.bytes.size() &&
                               std::equal(x.sizes.begin(), x.sizes.end(), y.sizes.begin(),
                                          y.sizes.end());
                      });
  }

  /// errors: of all steps, which then have not taken place.
  [[nodiscard]] Status run(std::span<ConversationStep* const> steps,
                           std::span<LoadedSequence* const> sequences) {
    const std::uint64_t tokens = steps[0]->tokens;
    for (const ConversationStep* const step : steps) TENON_RETURN_IF_ERROR(check(*step));
    TENON_RETURN_IF_ERROR(check_idle(all_.method));
    TENON_RETURN_IF_ERROR(LoadedSequence::place(all_, sequences));
    TENON_RETURN_IF_ERROR(set_inputs(steps, sequences));
    TENON_RETURN_IF_ERROR(LoadedSequence::run_placed(all_, sequences, tokens));
    Status read = with_memory([&] { return read_outputs(steps, sequences); });
    if (read.ok()) return ok();
    // What cannot be read has not been.
    for (LoadedSequence* const each : sequences) {
      if (Status back = each->go_back(tokens); !back.ok()) return back;
    }
    return read;
  }

 private:
  [[nodiscard]] Status check(const ConversationStep& step) const {
    const std::size_t inputs =
        all_.method.num_inputs() - (all_.options.position_input ? std::size_t{1} : 0);
    if (step.inputs.size() != inputs) {
      return error(Error::InvalidArgument, "a step: expected ", inputs, " inputs, found ",
                   step.inputs.size());
    }
    if (step.outputs.size() > all_.method.num_outputs()) {
      return error(Error::InvalidArgument, "a step: expected ", all_.method.num_outputs(),
                   " outputs or fewer, found ", step.outputs.size());
    }
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      const tenon_value& value = all_.method.output(i);
      if (value.kind == TENON_VALUE_TENSOR) continue;
      return error(Error::InvalidArgument, "a step: output ", i, " is not a tensor");
    }
    return ok();
  }

  /// The index of the method's input for the step's input `i`.
  [[nodiscard]] std::size_t input_of(std::size_t i) const noexcept {
    return i + (all_.options.position_input && i >= *all_.options.position_input ? 1 : 0);
  }

  [[nodiscard]] Status set_inputs(std::span<ConversationStep* const> steps,
                                  std::span<LoadedSequence* const> sequences) {
    const std::size_t count = steps[0]->inputs.size();
    packed_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      InputTensor input = steps[0]->inputs[i];
      if (all_.rows() != 1) TENON_RETURN_IF_ERROR(pack(i, steps, sequences, input));
      TENON_RETURN_IF_ERROR(all_.method.set_input(input_of(i), input));
    }
    return ok();
  }

  /// `input` is of all rows then; zeros are in those without a step.
  [[nodiscard]] Status pack(std::size_t i, std::span<ConversationStep* const> steps,
                            std::span<LoadedSequence* const> sequences, InputTensor& input) {
    if (input.sizes.empty()) {
      return error(Error::InvalidArgument, "a step: input ", i,
                   " has no dimension that can be shared out to rows");
    }
    Packed& packed = packed_[i];
    const std::size_t nbytes = input.bytes.size();
    packed.sizes.assign(input.sizes.begin(), input.sizes.end());
    packed.sizes[0] *= static_cast<std::int64_t>(all_.rows());
    packed.bytes.assign(nbytes * all_.rows(), std::byte{0});
    for (std::size_t at = 0; at < steps.size(); ++at) {
      if (!is_cpu(steps[at]->inputs[i].device)) {
        return error(Error::NotSupported, "a step: input ", i,
                     ": expected bytes on the CPU, which are put into a row");
      }
      std::copy_n(steps[at]->inputs[i].bytes.data(), nbytes,
                  packed.bytes.data() + nbytes * sequences[at]->row());
    }
    input = {input.scalar_type, packed.sizes, packed.bytes};
    return ok();
  }

  [[nodiscard]] Status read_outputs(std::span<ConversationStep* const> steps,
                                    std::span<LoadedSequence* const> sequences) {
    std::size_t most = 0;
    for (const ConversationStep* const step : steps) most = std::max(most, step->outputs.size());
    const std::size_t rows = all_.rows();
    for (std::size_t i = 0; i < most; ++i) {
      const TensorView tensor(*all_.method.output(i).as.tensor);
      const std::size_t nbytes = tensor.raw().nbytes;
      const std::span<const std::int64_t> sizes = tensor.sizes();
      if (rows != 1) {
        if (sizes.empty() || static_cast<std::size_t>(sizes[0]) % rows != 0) {
          return error(Error::NotSupported, "output ", i, ": expected a size of ", rows,
                       " or a multiple in dimension 0, found ", sizes.empty() ? 1 : sizes[0]);
        }
        whole_.resize(nbytes);
        TENON_RETURN_IF_ERROR(all_.method.read_output(i, whole_));
      }
      for (std::size_t at = 0; at < steps.size(); ++at) {
        if (i >= steps[at]->outputs.size()) continue;
        StepOutput& to = steps[at]->outputs[i];
        to.scalar_type = tensor.scalar_type();
        to.sizes.assign(sizes.begin(), sizes.end());
        if (rows != 1) to.sizes[0] /= static_cast<std::int64_t>(rows);
        to.bytes.resize(nbytes / rows);
        if (rows == 1) {
          TENON_RETURN_IF_ERROR(all_.method.read_output(i, to.bytes));
        } else {
          std::copy_n(whole_.data() + to.bytes.size() * sequences[at]->row(), to.bytes.size(),
                      to.bytes.data());
        }
      }
    }
    return ok();
  }

  struct Packed {
    std::vector<std::int64_t> sizes;
    std::vector<std::byte> bytes;
  };

  MethodSequences& all_;
  std::vector<Packed> packed_;    ///< By input, of all rows.
  std::vector<std::byte> whole_;  ///< An output of all rows.
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
