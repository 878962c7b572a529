// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// Determines which arguments of a delegate are its inputs by comparing their bytes before and
/// after each `execute`. The boundary does not define where inputs end and outputs begin.
///
/// An argument is known to be an input when
///   - it is a constant, or
///   - no run changed it although its bytes differed between runs: an output that is written
///     (TN-EXE-6) cannot keep two different contents, or
///   - it is the first of several and its bytes before a run were not all 0: a delegate without
///     inputs has nothing to compute,
/// and so is each argument before an input (inputs come first). Memory of a device is not
/// compared. An input whose memory is also an output's may change: a state that is updated.
///
/// Copies all arguments, so it costs as much as that; after the first run it allocates only when
/// they grow. One object a delegate, one thread at a time.
class ObservedRoles {
 public:
  /// Before `execute`.
  void before(std::span<tenon_value* const> args) {
    args_.resize(args.size());
    for (std::size_t i = 0; i < args.size(); ++i) {
      Argument& one = args_[i];
      const Bytes bytes = bytes_of(*args[i]);
      one.is_seen = bytes.is_seen;
      if (!one.is_seen) continue;
      const bool is_same =
          one.copy.size() == bytes.size && std::equal(one.copy.begin(), one.copy.end(), bytes.data);
      if (one.runs != 0 && !is_same) one.found_different = true;
      one.copy.assign(bytes.data, bytes.data + bytes.size);
      one.place = bytes.data;
      one.is_constant = bytes.is_constant;
      if (i == 0 && args.size() > 1 && has_content(one.copy)) one.is_first = true;
    }
  }

  /// After it, with the same arguments. Returns the known inputs that changed since the last call;
  /// valid until the next call.
  std::span<const std::size_t> after(std::span<tenon_value* const> args) {
    std::size_t end_of_inputs = 0;
    for (std::size_t i = 0; i < args.size(); ++i) {
      Argument& one = args_[i];
      if (!one.is_seen) continue;
      const Bytes bytes = bytes_of(*args[i]);
      ++one.runs;
      if (one.copy.size() != bytes.size ||
          !std::equal(one.copy.begin(), one.copy.end(), bytes.data)) {
        one.has_changed = true;
        one.is_news = true;
      }
      const bool left_with_two = !one.has_changed && one.found_different;
      if (one.is_constant || left_with_two || one.is_first) end_of_inputs = i + 1;
    }
    end_of_inputs_ = std::max(end_of_inputs_, end_of_inputs);
    changed_.clear();
    for (std::size_t i = 0; i < end_of_inputs_; ++i) {
      if (!args_[i].is_news || is_also_output(i)) continue;
      args_[i].is_news = false;
      changed_.push_back(i);
    }
    return changed_;
  }

  /// Whether the host marked the argument as a constant.
  [[nodiscard]] bool is_constant(std::size_t index) const noexcept {
    return args_[index].is_constant;
  }

  /// The first output as far as is known: the first argument that ever changed and is not known to
  /// be an input; the last argument when none changed.
  [[nodiscard]] std::size_t first_output() const noexcept {
    for (std::size_t i = end_of_inputs_; i < args_.size(); ++i) {
      if (args_[i].has_changed) return i;
    }
    return std::max(end_of_inputs_, args_.empty() ? 0 : args_.size() - 1);
  }

 private:
  struct Argument {
    std::vector<std::byte> copy;  // Its bytes before the last run.
    const std::byte* place = nullptr;
    std::uint64_t runs = 0;
    bool is_seen = false;
    bool is_constant = false;
    bool is_first = false;
    bool found_different = false;  // In two runs.
    bool has_changed = false;      // In any run.
    bool is_news = false;
  };

  struct Bytes {
    bool is_seen = false;
    bool is_constant = false;
    const std::byte* data = nullptr;
    std::size_t size = 0;
  };
  static Bytes bytes_of(const tenon_value& value) noexcept {
    const auto* whole = reinterpret_cast<const std::byte*>(&value.as);
    switch (value.kind) {
      case TENON_VALUE_TENSOR: {
        const tenon_tensor& tensor = *value.as.tensor;
        if (tensor.dl.device.device_type != TENON_DL_CPU || !tensor.dl.data) return {};
        return {true, (tensor.flags & TENON_TENSOR_CONSTANT) != 0,
                static_cast<const std::byte*>(tensor.dl.data) + tensor.dl.byte_offset,
                static_cast<std::size_t>(tensor.nbytes)};
      }
      case TENON_VALUE_INT:
        return {true, false, whole, sizeof value.as.integer};
      case TENON_VALUE_DOUBLE:
        return {true, false, whole, sizeof value.as.real};
      case TENON_VALUE_BOOL:
        return {true, false, whole, sizeof value.as.boolean};
      default:
        return {};
    }
  }
  [[nodiscard]] bool is_also_output(std::size_t input) const noexcept {
    const Argument& mine = args_[input];
    return std::any_of(args_.begin() + static_cast<std::ptrdiff_t>(end_of_inputs_), args_.end(),
                       [&](const Argument& one) {
                         return one.is_seen && one.place < mine.place + mine.copy.size() &&
                                mine.place < one.place + one.copy.size();
                       });
  }
  static bool has_content(const std::vector<std::byte>& bytes) noexcept {
    return std::ranges::any_of(bytes, [](std::byte one) { return one != std::byte{0}; });
  }

  std::vector<Argument> args_;
  std::vector<std::size_t> changed_;
  std::size_t end_of_inputs_ = 0;
};

}}}  // namespace tenon::TENON_RELEASE::conformance
