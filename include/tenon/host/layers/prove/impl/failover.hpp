// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/prove/failover.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/host/layers/isolation/worker_settings.hpp"
#include "tenon/host/layers/state/sequence.hpp"
#include "tenon/host/layers/variants/choose_variant.hpp"
#include "tenon/host/layers/variants/variant.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

[[nodiscard]] inline bool is_worker_death(const Status& failure) {
  return failure.text().find(worker_died_text) != std::string_view::npos ||
         failure.text().find(worker_dead_text) != std::string_view::npos;
}

/// Whether the method keeps anything from one run to the next. True where that is not known.
[[nodiscard]] inline bool keeps_state(Method& method) {
  const auto sequence = Sequence::create(method);
  return !sequence.ok() || (*sequence)->num_bytes() != 0;
}

}  // namespace detail

Result<FailoverMethod> FailoverMethod::load(std::shared_ptr<const Program> program,
                                            std::string_view name, MethodOptions options,
                                            FailoverPolicy policy) {
  FailoverMethod out;
  out.program_ = std::move(program);
  out.name_ = name;
  out.options_ = std::move(options);
  out.policy_ = std::move(policy);
  TENON_TRY(const VariantChoice choice, choose_variant(out.program_, name, out.options_));
  TENON_RETURN_IF_ERROR(choice.status());
  const std::string first(choice.chosen ? choice.answers[*choice.chosen].variant->name
                                        : std::string_view());
  if (first.empty()) {
    TENON_TRY(out.method_, Method::load(out.program_, name, out.options_));
    return out;
  }
  Status loaded = out.load_variant(first);
  if (loaded.ok()) return out;
  if (!out.policy_.at_load) return loaded;
  TENON_RETURN_IF_ERROR(out.load_next(loaded));
  return out;
}

/// Without the variants that the application names: the policy is to decide.
Status FailoverMethod::load_variant(const std::string& name) {
  tried_.push_back(name);
  MethodOptions options = options_;
  options.layers = options_.layers.without<Variant>();
  options.layers.add(Variant(name));
  TENON_TRY(auto loaded, Method::load(program_, name_, std::move(options)));
  const bool replaces_later = policy_.after_death || policy_.wrong_proofs != 0;
  has_state_ = replaces_later && detail::keeps_state(*loaded);
  method_ = std::move(loaded);
  has_run_ = false;
  num_wrong_ = 0;
  return ok();
}

/// Loads the best variant that was not tried, in place of the one that failed.
Status FailoverMethod::load_next(const Status& failure) {
  Failover done{method_ ? std::string(variant()) : tried_.back(), {}, std::string(failure.text())};
  std::string all = concat("\n  ", quoted(done.from), ": ", done.reason);
  TENON_TRY(const VariantChoice choice,
            choose_variant(program_, name_, options_, AskVariants::all));
  std::vector<const VariantAnswer*> left;
  for (const VariantAnswer& answer : choice.answers) {
    const bool is_tried = std::ranges::find(tried_, answer.variant->name) != tried_.end();
    if (!is_tried && answer.refused.ok() && answer.verdict != TENON_BLOB_INCOMPATIBLE) {
      left.push_back(&answer);
    }
  }
  std::stable_partition(left.begin(), left.end(),
                        [](const auto* answer) { return answer->verdict == TENON_BLOB_OPTIMAL; });
  for (const VariantAnswer* answer : left) {
    done.to = answer->variant->name;
    const Status loaded = load_variant(done.to);
    if (loaded.ok()) {
      failovers_.push_back(std::move(done));
      if (policy_.log) policy_.log(failovers_.back());
      return ok();
    }
    all += concat("\n  ", quoted(done.to), ": ", loaded.text());
    done.reason += concat("; variant ", quoted(done.to), ": ", loaded.text());
    if (!policy_.at_load) break;
  }
  return Status(failure.error(), concat("no variant is left:", all));
}

Status FailoverMethod::fail_over(Status failure) {
  if (tried_.empty()) return failure;
  if (has_state_ && has_run_) {
    return error(Error::InvalidState, "variant ", quoted(variant()), " failed: ", failure.text(),
                 "; its state cannot be carried to another variant");
  }
  TENON_RETURN_IF_ERROR(load_next(failure));
  return give_all();
}

Status FailoverMethod::give_all() {
  for (const GivenInput& input : inputs_) {
    TENON_RETURN_IF_ERROR(method_->set_input(
        input.index, InputTensor{input.type, input.sizes, input.bytes, input.device}));
  }
  for (const auto& [index, scalar] : scalars_) {
    TENON_RETURN_IF_ERROR(method_->set_input(index, scalar));
  }
  for (const GivenOutput& output : outputs_) {
    TENON_RETURN_IF_ERROR(method_->set_output(output.index, output.bytes, output.device));
  }
  return ok();
}

Status FailoverMethod::set_input(std::size_t index, const InputTensor& tensor) {
  TENON_RETURN_IF_ERROR(method_->set_input(index, tensor));
  auto known = std::ranges::find(inputs_, index, &GivenInput::index);
  if (known == inputs_.end())
    known = inputs_.insert(known, {index, tensor.scalar_type, {}, {}, {}});
  known->type = tensor.scalar_type;
  known->sizes.assign(tensor.sizes.begin(), tensor.sizes.end());
  known->bytes = tensor.bytes;
  known->device = tensor.device;
  return ok();
}

Status FailoverMethod::set_input(std::size_t index, const InputScalar& scalar) {
  TENON_RETURN_IF_ERROR(method_->set_input(index, scalar));
  std::erase_if(scalars_, [&](const auto& each) { return each.first == index; });
  scalars_.emplace_back(index, scalar);
  return ok();
}

Status FailoverMethod::set_output(std::size_t index, std::span<std::byte> bytes,
                                  tenon_dl_device device) {
  TENON_RETURN_IF_ERROR(method_->set_output(index, bytes, device));
  std::erase_if(outputs_, [&](const auto& each) { return each.index == index; });
  outputs_.push_back({index, bytes, device});
  return ok();
}

Status FailoverMethod::execute() {
  for (;;) {
    Status outcome = method_->execute();
    has_run_ |= outcome.ok();
    if (outcome.ok() || !policy_.after_death || !detail::is_worker_death(outcome)) return outcome;
    TENON_RETURN_IF_ERROR(fail_over(std::move(outcome)));
  }
}

Result<Proof> FailoverMethod::prove() {
  if (has_state_ || detail::keeps_state(*method_)) {
    return error(Error::InvalidState, "method ", name_,
                 ": it has a state, which golden cases would change; load another one");
  }
  auto proof = host::prove(*method_);
  Status given = give_all();
  if (!proof.ok()) return proof;
  TENON_RETURN_IF_ERROR(given);
  num_wrong_ = proof->difference.empty() ? 0 : num_wrong_ + 1;
  if (policy_.wrong_proofs != 0 && num_wrong_ >= policy_.wrong_proofs) {
    TENON_RETURN_IF_ERROR(
        fail_over(error(Error::DelegateInvalidCompatibility, "not proven: ", proof->difference)));
  }
  return proof;
}

std::string FailoverMethod::why() const {
  if (!failovers_.empty()) {
    const Failover& last = failovers_.back();
    return concat("variant ", quoted(last.from), " failed: ", last.reason);
  }
  return tried_.empty() ? "the method has a single form" : "the best variant that can run here";
}

}}}  // namespace tenon::TENON_RELEASE::host
