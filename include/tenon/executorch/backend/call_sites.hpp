// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/args.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/executorch/backend/argument_mirror.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::detail {

/// The signature of one delegate: the number of its arguments, and the kind, dtype and rank of each
/// in its first run. A blob is lowered for one signature, and few backends check it.
class Signature {
 public:
  /// errors: InvalidArgument or InvalidType, naming the first argument that differs. Accepts
  ///         everything before the first run.
  [[nodiscard]] Status check(std::span<tenon_value* const> args) const {
    if (!is_known_) return ok();
    if (args.size() != known_.size()) {
      return error(Error::InvalidArgument, "number of arguments: expected ", known_.size(),
                   ", found ", args.size());
    }
    for (std::size_t i = 0; i < args.size(); ++i) {
      const Argument found = argument_of(*args[i]);
      if (found == known_[i]) continue;
      const bool is_same_kind = found.kind == known_[i].kind;
      return error(is_same_kind ? Error::InvalidType : Error::InvalidArgument, "argument ", i,
                   ": expected ", text_of(known_[i]), ", found ", text_of(found));
    }
    return ok();
  }

  /// Takes the arguments of the first run that succeeded for the right ones.
  void learn(std::span<tenon_value* const> args) {
    if (is_known_) return;
    for (const tenon_value* value : args) known_.push_back(argument_of(*value));
    is_known_ = true;
  }

 private:
  struct Argument {
    std::uint32_t kind = TENON_VALUE_NONE;
    std::int32_t scalar_type = 0;
    std::int32_t rank = 0;
    friend bool operator==(const Argument&, const Argument&) noexcept = default;
  };

  static Argument argument_of(const tenon_value& value) noexcept {
    if (value.kind != TENON_VALUE_TENSOR) return {value.kind};
    return {value.kind, value.as.tensor->scalar_type, value.as.tensor->dl.ndim};
  }

  static std::string text_of(const Argument& argument) {
    if (argument.kind != TENON_VALUE_TENSOR) return std::string(value_kind_name(argument.kind));
    return concat("Tensor of dtype ", name_of(static_cast<ScalarType>(argument.scalar_type)),
                  " and rank ", argument.rank);
  }

  bool is_known_ = false;
  std::vector<Argument> known_;
};

/// The mirrors of one delegate: a method may call it from several places. They copy constants:
/// which arguments are outputs is known to the backend alone.
class CallSites {
 public:
  /// The mirror for the argument list at `args`, perhaps a new one.
  [[nodiscard]] ArgumentMirror& find(std::span<tenon_value* const> args) {
    if (last_ < sites_.size() && sites_[last_].args == args.data()) [[likely]]
      return *sites_[last_].mirror;
    for (last_ = 0; last_ < sites_.size(); ++last_) {
      if (sites_[last_].args == args.data()) return *sites_[last_].mirror;
    }
    // A host need not keep its lists where they are: then one mirror serves all of them.
    if (sites_.size() == most) {
      last_ = 0;
      sites_[0].args = args.data();
    } else {
      sites_.push_back({args.data(), std::make_unique<ArgumentMirror>()});
      sites_.back().mirror->copies_constants = true;
    }
    return *sites_[last_].mirror;
  }

 private:
  static constexpr std::size_t most = 64;

  struct Site {
    tenon_value* const* args;
    std::unique_ptr<ArgumentMirror> mirror;
  };
  std::vector<Site> sites_;
  std::size_t last_ = 0;
};

}}}  // namespace tenon::TENON_RELEASE::bridge::detail
