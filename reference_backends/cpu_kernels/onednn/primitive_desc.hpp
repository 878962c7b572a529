// SPDX-License-Identifier: MIT
#pragma once

#include "onednn/format.hpp"
#include "onednn/handles.hpp"
#include "tenon/core/status.hpp"

/// The choice of a primitive for an operation. oneDNN 2 describes an operation first, oneDNN 3 has
/// one function for each. All take their scratchpad from the caller. errors: oneDNN's; NotSupported
/// where it has no primitive for these formats on this processor.
namespace tenon::cpu_aoti::onednn {

/// C = alpha A B + beta C.
Result<PrimitiveDesc> matmul(const Format& a, const Format& b, const Format& c, float alpha = 1,
                             float beta = 0);

/// A convolution, or a transposed one. The arrays have an element for each spatial dimension.
struct ConvolutionForm {
  bool is_transposed;
  const Format& input;
  const Format& weight;  ///< Groups, output channels, input channels, kernel.
  const Format* bias;    ///< Or null.
  const Format& output;
  const std::int64_t* stride;
  const std::int64_t* dilation;  ///< 0 for a kernel without gaps.
  const std::int64_t* padding_before;
  const std::int64_t* padding_after;
};
Result<PrimitiveDesc> convolution(const ConvolutionForm& form);

/// One layer of an LSTM in one direction. Its states have the same formats before and after.
struct LstmForm {
  bool is_reverse;
  const Format& input;
  const Format& hidden;
  const Format& cell;
  const Format& w_input;
  const Format& w_hidden;
  const Format& bias;
  const Format& output;
};
Result<PrimitiveDesc> lstm(const LstmForm& form);

/// A copy in another format.
Result<PrimitiveDesc> reorder(const Format& from, const Format& to);

}  // namespace tenon::cpu_aoti::onednn
