// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/prove/prove.hpp"
#include "tenon/host/loader/method/inputs.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// A variant that was given up.
struct Failover {
  std::string from;    ///< Its name.
  std::string to;      ///< The variant that runs instead.
  std::string reason;  ///< The failure.
};

/// When another variant of the method takes the place of the one that runs. By default never.
struct FailoverPolicy {
  /// It cannot be loaded, or is not proven.
  bool at_load = false;
  /// A run ended because its worker died, or hung until its deadline. The run is repeated.
  bool after_death = false;
  /// `FailoverMethod::prove` found wrong outputs so often in a row; 0: never.
  std::uint32_t wrong_proofs = 0;
  /// Called after each failover; may be empty.
  std::function<void(const Failover&)> log{};
};

/// A method with variants, of which the next one takes over when one fails. Used like a `Method`,
/// which `method()` is until the next failover.
///
/// A method with a state (mutable buffers, or state of a delegate that the host cannot read) is
/// replaced before its first run has succeeded and never later: the state cannot be carried to
/// another variant, and a failure is then the application's to answer.
///
/// One thread at a time, as a method.
class FailoverMethod {
 public:
  /// Loads the variant that `choose_variant` chooses; with `policy.at_load` the next best one that
  /// can be loaded. `options` and what they refer to stay in use.
  ///
  /// errors: as `choose_variant` and `Method::load`; when no variant is left, the code of the first
  ///         failure, and the text of each.
  [[nodiscard]] static Result<FailoverMethod> load(std::shared_ptr<const Program> program,
                                                   std::string_view name, MethodOptions options,
                                                   FailoverPolicy policy);

  /// As of `Method`. What they refer to stays in use until it is set again.
  [[nodiscard]] Status set_input(std::size_t index, const InputTensor& tensor);
  [[nodiscard]] Status set_input(std::size_t index, const InputScalar& scalar);
  [[nodiscard]] Status set_output(std::size_t index, std::span<std::byte> bytes,
                                  tenon_dl_device device = {TENON_DL_CPU, 0});
  /// Runs the method once; after a death, which the policy covers, the next variant with the same
  /// inputs.
  ///
  /// errors: as `Method::execute`; InvalidState when a state cannot be carried.
  [[nodiscard]] Status execute();

  /// Runs the golden cases now, and gives the inputs of the application back. The policy's number
  /// of wrong proofs in a row replaces the variant.
  ///
  /// errors: as `host::prove`; InvalidState for a method with a state.
  [[nodiscard]] Result<Proof> prove();

  /// The method that runs. Another object after a failover.
  [[nodiscard]] Method& method() noexcept { return *method_; }
  [[nodiscard]] const Method& method() const noexcept { return *method_; }
  /// The variant that runs; empty for a method of a single form.
  [[nodiscard]] std::string_view variant() const noexcept { return method_->variant(); }
  /// Why it runs: "the best variant that can run here", or the last failover.
  [[nodiscard]] std::string why() const;
  /// Each of them, the first one first.
  [[nodiscard]] const std::vector<Failover>& failovers() const noexcept { return failovers_; }

 private:
  struct GivenInput {
    std::size_t index;
    ScalarType type;
    std::vector<std::int64_t> sizes;
    std::span<const std::byte> bytes;
    tenon_dl_device device;
  };
  struct GivenOutput {
    std::size_t index;
    std::span<std::byte> bytes;
    tenon_dl_device device;
  };

  FailoverMethod() = default;

  [[nodiscard]] Status load_next(const Status& failure);
  [[nodiscard]] Status load_variant(const std::string& name);
  [[nodiscard]] Status fail_over(Status failure);
  [[nodiscard]] Status give_all();

  std::shared_ptr<const Program> program_;
  std::string name_;
  MethodOptions options_;
  FailoverPolicy policy_;
  std::unique_ptr<Method> method_;
  std::vector<std::string> tried_;  ///< Variants that were loaded, or could not be.
  std::vector<Failover> failovers_;
  std::vector<GivenInput> inputs_;
  std::vector<std::pair<std::size_t, InputScalar>> scalars_;
  std::vector<GivenOutput> outputs_;
  bool has_state_ = false;
  bool has_run_ = false;
  std::uint32_t num_wrong_ = 0;  ///< Proofs in a row.
};

}}}  // namespace tenon::TENON_RELEASE::host
