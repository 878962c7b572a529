// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/prove/prove.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/host.h"
#include "tenon/core/concat.hpp"
#include "tenon/host/layers/prove/impl/first_layer.hpp"
#include "tenon/host/layers/prove/impl/kept_verdict.hpp"
#include "tenon/host/layers/prove/impl/run_golden.hpp"
#include "tenon/host/layers/prove/impl/verdict_key.hpp"
#include "tenon/host/layers/variants/variant.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/platform/environment.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The options of a method that runs the cases: as of the load, for the same variant.
[[nodiscard]] inline MethodOptions proving_options(const MethodOptions& of,
                                                   std::string_view variant) {
  MethodOptions out = of;
  out.layers.add(Prove::nothing());
  if (!variant.empty()) out.layers.add(Variant(std::string(variant)));
  return out;
}

/// Proves one method when its load begins.
class ProvePart final : public MethodPart {
 public:
  static constexpr char key = 0;

  /// `store` may be null, and must outlive this.
  ProvePart(const PreparedStore* store, bool again) noexcept : store_(store), again_(again) {}

  [[nodiscard]] const void* kind() const noexcept override { return &key; }
  [[nodiscard]] const Proof& proof() const noexcept { return proof_; }

  [[nodiscard]] Status before_load(Loading& loading) override {
    const MethodState& method = loading.method;
    if (!method.program->find_key(golden_key)) return ok();
    auto backends = open_backends(method);
    if (!backends.ok()) return ok();  // The load says why there is none.
    asked_ = *std::move(backends);
    TENON_TRY(kept_, find_kept(method));
    auto known = again_ ? std::nullopt : kept_.read();
    if (known) {
      proof_ = *std::move(known);
    } else {
      TENON_RETURN_IF_ERROR(run(method));
      kept_.store(proof_);
    }
    if (proof_.difference.empty()) return ok();
    return error(Error::DelegateInvalidCompatibility, "not proven: ", proof_.difference,
                 proof_.was_kept ? " (as an earlier load found)" : "");
  }

  /// Keeps what a later run of the cases found.
  void keep(const Proof& found) const { kept_.store(found); }

 private:
  [[nodiscard]] Result<KeptVerdict> find_kept(const MethodState& method) const {
    if (asked_.empty()) return KeptVerdict();
    TENON_TRY(const std::optional<Sha256> digest, verdict_key(method, asked_));
    if (!digest) return KeptVerdict();
    const LoadedBackend& first = *asked_.front();
    const tenon_host& log = *first.host();
    const PreparedStore* store = store_;
    if (!store) {
      const auto& usual = default_verdict_store();
      if (!usual.ok()) {
        const std::string line = concat("verdicts are not kept: ", usual.text());
        log.log(&log, TENON_LOG_INFO, line.data(), line.size());
        return KeptVerdict();
      }
      store = &*usual;
    }
    return KeptVerdict::open(*store, {*digest, first.id(), log.plugin_path}, log);
  }

  [[nodiscard]] Status run(const MethodState& method) {
    TENON_TRY(const GoldenCases golden, golden_cases_of(*method.program));
    proof_.num_cases = golden.count(method.name);
    if (proof_.num_cases == 0) return ok();
    GoldenMemory memory;
    const MethodOptions options = proving_options(method.options, method.variant());
    auto proving = Method::load(method.program, method.name, options);
    if (!proving.ok()) return std::move(proving).status().with_context("proof");
    auto difference = run_golden(**proving, method.name, golden, memory);
    if (!difference.ok()) return std::move(difference).status().with_context("proof");
    proof_.difference = *std::move(difference);
    if (proof_.difference.empty()) return ok();
    proving->reset();
    proof_.difference += first_layer_text(method, golden, options);
    return ok();
  }

  const PreparedStore* const store_;
  const bool again_;
  Proof proof_;
  std::vector<BackendRef> asked_;  ///< Stay loaded: the load opens them again, and one has the log.
  KeptVerdict kept_;
};

/// The layers of the class that a load has, in the order in which they attach.
[[nodiscard]] inline std::vector<const Prove*> prove_layers(const MethodOptions& options) {
  std::vector<const Prove*> out;
  const auto add = [&](const Prove& layer) { out.push_back(&layer); };
  for_each_layer<Prove>(options.layers, add);
  if (options.registry) for_each_layer<Prove>(options.registry->layers(), add);
  return out;
}

}  // namespace detail

Result<std::unique_ptr<detail::MethodPart>> Prove::attach(detail::LoadRequest& request) const {
  const std::vector<const Prove*> all = detail::prove_layers(request.options);
  const bool is_off = std::ranges::any_of(all, [](auto* one) { return one->ask_ == Ask::never; });
  if (is_off || all.front() != this) return std::unique_ptr<detail::MethodPart>();
  const PreparedStore* store = store_;
  const auto take = [&](const PreparedStore& one) {
    if (!store) store = &one;
  };
  detail::for_each_layer<PreparedStore>(request.options.layers, take);
  return std::make_unique<detail::ProvePart>(store, ask_ == Ask::again);
}

const Proof* proof_of(const Method& method) noexcept {
  const auto* const part = detail::find_part<detail::ProvePart>(detail::state_of(method));
  return part ? &part->proof() : nullptr;
}

Result<Proof> prove(Method& method) {
  TENON_TRY(const GoldenCases golden, golden_cases_of(method.program()));
  Proof out;
  out.num_cases = golden.count(method.name());
  auto& memory = detail::late_part<detail::GoldenMemoryPart>(detail::state_of(method)).memory;
  TENON_TRY(out.difference, detail::run_golden(method, method.name(), golden, memory));
  const auto* const part = detail::find_part<detail::ProvePart>(detail::state_of(method));
  if (part && !out.difference.empty()) part->keep(out);
  return out;
}

Status add_prove_of_environment(Layers& layers) {
  const std::string value = environment_variable("TENON_PROVE").value_or("");
  if (value.empty() || value == "0") return ok();
  if (value != "1") {
    return error(Error::InvalidArgument, "TENON_PROVE is ", quoted(value), ", expected 0 or 1");
  }
  bool proves = false;
  detail::for_each_layer<Prove>(layers, [&](const Prove&) { proves = true; });
  if (!proves) layers.add(Prove());
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host
