// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/private/changes.h"
#include "tenon/backend/backend.hpp"
#include "tenon/backend/mixins/kernels.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/result.hpp"
#include "tenon/executorch/backend/allocator.hpp"
#include "tenon/executorch/backend/argument_mirror.hpp"
#include "tenon/executorch/backend/bridged_call.hpp"
#include "tenon/executorch/backend/event_tracer.hpp"
#include "tenon/executorch/backend/libraries.hpp"
#include "tenon/executorch/backend/platform_hook.hpp"
#include "tenon/executorch/error.hpp"
#include "tenon/executorch/layout_probe.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge {

namespace detail {

/// The kernel of ExecuTorch's for one operator call, and the mirrors of its arguments.
class ResolvedKernel {
 public:
  /// All kernels of the backend share `mirrors`.
  explicit ResolvedKernel(std::shared_ptr<SharedMirrors> mirrors) noexcept
      : mirror_(std::move(mirrors)) {}
  ResolvedKernel(const ResolvedKernel&) = delete;
  ResolvedKernel& operator=(const ResolvedKernel&) = delete;

  /// Finds the kernel for the dtypes and dim orders of the tensors among the arguments, as
  /// ExecuTorch does (Method::resolve_operator). Once.
  ///
  /// `args` is the list of each run, too: hosts keep it where it is ("tenon.kernels/1").
  ///
  /// errors: OperatorMissing; otherwise as ArgumentMirror::update.
  [[nodiscard]] Status resolve(const tenon_host* host, std::string_view op,
                               std::span<tenon_value* const> args) {
    op_ = op;
    args_ = args;
    BridgedCall call(host);
    return call.run(
        op_,
        [&]() -> Status {
          const std::string_view base = std::string_view(op_).substr(0, op_.rfind('.'));
          is_in_place_ = base.ends_with('_') || base == "executorch_prim::et_copy_index";
          if (op_ == "executorch_prim::et_view.default") mirror_.unset_argument = 2;
          TENON_RETURN_IF_ERROR(mirror_.update(args, false).with_context(op_));
          std::vector<et::TensorMeta> tensors;
          mirror_.for_each_tensor([&](ExecutorchTensor& tensor) {
            const auto order = tensor.dim_order();
            tensors.emplace_back(tensor.impl()->scalar_type(),
                                 et::Span(order.data(), order.size()));
          });
          const auto found =
              et::get_op_function_from_registry(op_.c_str(), {tensors.data(), tensors.size()});
          if (!found.ok()) return call.failure(Error::OperatorMissing, op_);
          function_ = *found;
          mirror_.is_bound = true;
          return ok();
        },
        Error::InvalidArgument);
  }

  [[nodiscard]] const std::string& op() const noexcept { return op_; }
  [[nodiscard]] et::OpFunction function() const noexcept { return function_; }
  [[nodiscard]] ArgumentMirror& mirror() noexcept { return mirror_; }
  /// Null before the first `run`, and for a host that counts none.
  [[nodiscard]] tenon_changes* changes() const noexcept { return changes_.get(); }

  /// Runs it once, with arguments that may have changed. Allocates nothing itself as long as each
  /// still is of its kind.
  [[nodiscard]] Status run(const BridgedCall& call, et::KernelRuntimeContext& kernel_context,
                           const tenon_execution_context& context) {
    tenon_changes* const changes = changes_.find(context);
    if (!changes || !mirror_.is_remembered(*changes)) {
      if (!mirror_.is_current()) TENON_RETURN_IF_ERROR(mirror_.update(args_));
      if (!mirror_.is_judged) TENON_RETURN_IF_ERROR(judge(args_));
      if (changes) mirror_.remember(*changes);
    }
    function_(kernel_context, mirror_.values());
    if (kernel_context.failure_state() != et::Error::Ok) [[unlikely]]
      return failure(call, kernel_context.failure_state());
    return mirror_.finish(context.host, changes, true);
  }

  /// Kernels call a wrong number of arguments an invalid program.
  [[gnu::cold]] Status failure(const BridgedCall& call, et::Error failed) const {
    if (failed == et::Error::InvalidProgram) return call.failure(Error::InvalidArgument, op_);
    return call.failure(failed, op_);
  }

 private:
  /// Operators write to the tensor that they return, their last argument, which is also the one
  /// before it; operators in place and `et_copy_index` write to their first. Kernels check the
  /// number of arguments themselves.
  [[nodiscard]] Status judge(std::span<tenon_value* const> args) {
    mirror_.is_judged = true;
    mirror_.writes_outputs_alone = false;
    if (args.empty()) return ok();
    const std::size_t last = args.size() - 1;
    const std::uint32_t kind = args[last]->kind;
    // ExecuTorch's own operators, and those in place, write to other arguments, too.
    mirror_.writes_outputs_alone =
        kind == TENON_VALUE_TENSOR && !is_in_place_ && !op_.starts_with("executorch_prim::");
    const bool returns_tensor = kind == TENON_VALUE_TENSOR || kind == TENON_VALUE_TENSOR_LIST;
    bool is_constant = ArgumentMirror::is_constant(args, last);
    if (is_in_place_) {
      is_constant = is_constant || ArgumentMirror::is_constant(args, 0);
    } else if (returns_tensor && last != 0) {
      is_constant = is_constant || ArgumentMirror::is_constant(args, last - 1);
    }
    if (!is_constant) [[likely]]
      return ok();
    mirror_.is_judged = false;
    return error(Error::InvalidProgram, op_, ": an output is a constant of the program");
  }

  et::OpFunction function_ = nullptr;
  HostChanges changes_;
  ArgumentMirror mirror_;
  std::string op_;
  std::span<tenon_value* const> args_;
  bool is_in_place_ = false;
};

/// One operator call with a kernel of ExecuTorch's.
///
/// Where nothing has changed since the call before, and the kernel writes to one tensor alone, a
/// call reads this object's first line of the cache and the list of arguments: a method of a
/// hundred kernels whose calls read eight lines each does not fit into the first cache.
class alignas(cache_line) BridgedKernel {
 public:
  /// The kernel for an operator call, as ResolvedKernel::resolve finds it.
  [[nodiscard]] static Result<BridgedKernel> of(const tenon_host* host, std::string_view op,
                                                std::span<tenon_value* const> args,
                                                std::shared_ptr<SharedMirrors> mirrors) {
    BridgedKernel out;
    out.resolved_ = std::make_unique<ResolvedKernel>(std::move(mirrors));
    TENON_RETURN_IF_ERROR(out.resolved_->resolve(host, op, args));
    out.function_ = out.resolved_->function();
    return out;
  }

  /// Runs it once. Allocates nothing itself as long as the arguments are those that `of` got.
  ///
  /// Inlined into the function that the host calls; what is rare is not inlined into this one.
  [[nodiscard, gnu::always_inline]] inline Status run(const tenon_execution_context& context) {
    if (context.tracer) [[unlikely]]
      return run_traced(context);
    return run(context, nullptr);
  }

 private:
  [[nodiscard, gnu::noinline]] Status run_traced(const tenon_execution_context& context) {
    HostEventTracer tracer;
    tracer.use(context.tracer);
    return run(context, &tracer);
  }

  [[nodiscard, gnu::always_inline]] inline Status run(const tenon_execution_context& context,
                                                      et::EventTracer* tracer) {
    HostAllocator temp_allocator(context.temp_allocator);
    et::KernelRuntimeContext kernel_context(tracer, &temp_allocator);
    BridgedCall call(context.host);
    // A check of a kernel's is about its arguments: their kinds, above all.
    Status outcome =
        call.run([&]() -> std::string_view { return resolved_->op(); },
                 [&]() -> Status {
                   if (!changes_ || count_ != changes_->count) [[unlikely]]
                     return run_changed(call, kernel_context, context);
                   function_(kernel_context, {values_, num_values_});
                   if (kernel_context.failure_state() != et::Error::Ok) [[unlikely]]
                     return resolved_->failure(call, kernel_context.failure_state());
                   if (was_written()) [[unlikely]]
                     return resolved_->mirror().finish_written(context.host, changes_, true);
                   changes_->counted = 1;
                   return ok();
                 },
                 Error::InvalidArgument);
    if (!outcome.ok()) [[unlikely]] {
      count_ = Remembered::nothing;
      resolved_->mirror().clear();
    }
    return outcome;
  }

  /// Runs it with arguments that may have changed, or that it may write several of.
  [[nodiscard, gnu::noinline]] Status run_changed(const BridgedCall& call,
                                                  et::KernelRuntimeContext& kernel_context,
                                                  const tenon_execution_context& context) {
    count_ = Remembered::nothing;
    TENON_RETURN_IF_ERROR(resolved_->run(call, kernel_context, context));
    const Remembered& remembered = resolved_->mirror().remembered();
    const RememberedTensor* const tensor = remembered.one_tensor();
    if (!tensor) return ok();
    changes_ = resolved_->changes();
    count_ = remembered.count;
    values_ = resolved_->mirror().values().data();
    num_values_ = static_cast<std::uint32_t>(resolved_->mirror().values().size());
    tensor_ = *tensor;
    num_sizes_ = static_cast<std::uint32_t>(remembered.sizes().size());
    sizes_ = remembered.sizes().data();
    return ok();
  }

  [[nodiscard, gnu::always_inline]] inline bool was_written() const noexcept {
    if (tensor_.was_written()) [[unlikely]]
      return true;
    for (std::uint32_t i = 0; i < num_sizes_; ++i) {
      if (sizes_[i].was_written()) [[unlikely]]
        return true;
    }
    return false;
  }

  et::OpFunction function_ = nullptr;
  tenon_changes* changes_ = nullptr;
  std::uint64_t count_ = Remembered::nothing;  ///< At which the following are right.
  et::EValue** values_ = nullptr;
  std::uint32_t num_values_ = 0;
  std::uint32_t num_sizes_ = 0;
  RememberedTensor tensor_{};
  // From here on in the next line.
  const RememberedSizes* sizes_ = nullptr;
  std::unique_ptr<ResolvedKernel> resolved_;
};

}  // namespace detail

/// The kernels that are registered with ExecuTorch, as a backend of kernels alone (extension
/// "tenon.kernels/1"). `About` has an `id`, by which hosts know it, and the `libraries` that
/// register the kernels; see BridgedBackend. ExecuTorch's own operators on numbers and views
/// ("executorch_prim::...") come along.
template <class About>
class BridgedKernels final : public Backend<BridgedKernels<About>>,
                             public About,
                             public WithKernels<BridgedKernels<About>> {
 public:
  struct Kernel {
    detail::BridgedKernel bridged;

    [[gnu::always_inline]] inline Status run(ExecutionContext& context, Args) {
      return bridged.run(context.raw());
    }
  };

  Status open() {
    TENON_RETURN_IF_ERROR(check_runtime());
    platform_.emplace();
    detail::BridgedCall call(host());
    return call.run("open", [&]() -> Status {
      et::runtime_init();
      return call.run_unthrown([&] { return detail::load_libraries<About>(host()); });
    });
  }

  Result<std::vector<std::string>> list_operators() {
    std::vector<std::string> out;
    for (const et::Kernel& kernel : et::get_registered_kernels()) out.emplace_back(kernel.name_);
    // An operator has several kernels, for several dtypes.
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  Result<Kernel> create_kernel(std::string_view op, Args args) {
    TENON_TRY(auto bridged, detail::BridgedKernel::of(host(), op, args.raw(), mirrors_));
    return Kernel{std::move(bridged)};
  }

 private:
  const tenon_host* host() const noexcept { return Backend<BridgedKernels>::host().raw(); }

  std::optional<detail::PlatformUse> platform_;
  std::shared_ptr<detail::SharedMirrors> mirrors_ = std::make_shared<detail::SharedMirrors>();
};

}}}  // namespace tenon::TENON_RELEASE::bridge
