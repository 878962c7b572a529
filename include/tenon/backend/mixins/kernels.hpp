// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/kernels.h"
#include "tenon/backend/context.hpp"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Mixin: kernels for operators that programs call outside of delegates. The author adds
///
///     static constexpr std::array operators{std::string_view("aten::add.out")};  // each once
///     struct Kernel {                                // one operator call of one loaded method;
///       Status run(ExecutionContext&, Args);         // its destructor is `destroy_kernel`
///     };
///     Result<Kernel> create_kernel(std::string_view op, Args);
///
/// and, where the operators are not known before run time, in place of `operators`
/// `Result<std::vector<std::string>> list_operators()`. A `Delegate`, `init` and `execute` may then
/// be left out, all three of them.
///
/// Arguments are in the order of the operator's schema, outputs last, followed by the operator's
/// return values. `create_kernel` checks their number, kinds, dtypes and dim orders; their data
/// need not be known yet. `run` gets the same arguments with their current data and sizes. The SDK
/// refuses operators that `operators` does not name. Return OperatorMissing where another plugin
/// may have a kernel: for a dtype, or for an operator that `list_operators` does not name.
///
/// Threads: `create_kernel` may run at the same time as any other function of the same object;
/// `run` runs once at a time on one kernel, but concurrently on different ones.
template <class Derived>
class WithKernels {};

namespace detail {

/// Whether the class has any of the functions of a delegate. A backend with kernels alone has none.
template <class B>
concept NamesDelegate =
    requires { typename B::Delegate; } || requires { &B::init; } || requires { &B::execute; };
template <class B>
concept HasKernelsAlone = HasMixin<B, tenon_kernels_v1> && !NamesDelegate<B>;

template <class B>
concept HasKernel = requires { typename B::Kernel; } && std::is_object_v<typename B::Kernel> &&
                    std::is_move_constructible_v<typename B::Kernel> &&
                    std::is_nothrow_destructible_v<typename B::Kernel> &&
                    requires(typename B::Kernel& kernel, ExecutionContext& context, Args args) {
                      { kernel.run(context, args) } -> std::same_as<Status>;
                    };
template <class B>
concept HasCreateKernel = requires(B& backend, std::string_view op, Args args) {
  { backend.create_kernel(op, args) } -> std::same_as<Result<typename B::Kernel>>;
};

/// Whether the names are not empty and differ.
consteval bool are_valid_operators(const auto& operators) {
  for (std::size_t i = 0; i < std::size(operators); ++i) {
    if (std::string_view(operators[i]).empty()) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (std::string_view(operators[i]) == std::string_view(operators[j])) return false;
    }
  }
  return true;
}
template <class B>
concept DeclaresOperators = requires { B::operators; };
template <class B>
concept HasValidOperators =
    requires { typename std::enable_if_t<are_valid_operators(B::operators)>; };
template <class B>
concept HasListOperators = requires(B& backend) {
  { backend.list_operators() } -> std::same_as<Result<std::vector<std::string>>>;
};

/// Whether `name` is one of the operators that a backend declared.
inline bool is_listed(const auto& operators, std::string_view name) noexcept {
  for (const std::string_view one : operators) {
    if (one == name) return true;
  }
  return false;
}

/// A kernel of the author's, and the arguments that it was created for.
template <class Kernel>
struct BoundKernel {
  Kernel kernel;
  tenon_value* const* args;
  std::uint32_t num_args;
};

template <class B>
struct KernelsExtension {
  static consteval bool check() {
    if constexpr (!HasKernel<B>) {
      static_assert(
          always_false<B>,
          "tenon: WithKernels needs a public `struct Kernel`, movable, with a public "
          "`tenon::Status run(tenon::ExecutionContext&, tenon::Args)` and a destructor that "
          "does not throw");
    } else if constexpr (!HasCreateKernel<B>) {
      static_assert(always_false<B>,
                    "tenon: WithKernels needs a public `tenon::Result<Kernel> "
                    "create_kernel(std::string_view, tenon::Args)`");
    } else if constexpr (DeclaresOperators<B> && !HasValidOperators<B>) {
      static_assert(always_false<B>,
                    "tenon: the backend's `operators` must be a static constexpr array of "
                    "std::string_view, of names that are not empty and differ");
    } else if constexpr (DeclaresOperators<B> == HasListOperators<B>) {
      static_assert(always_false<B>,
                    "tenon: WithKernels needs a public `static constexpr std::array operators` of "
                    "std::string_view, or `tenon::Result<std::vector<std::string>> "
                    "list_operators()`, one of both");
    } else {
      return true;
    }
    return false;
  }

  static tenon_status list_operators(tenon_backend* backend, tenon_operator_sink sink,
                                     void* sink_context) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      if constexpr (DeclaresOperators<B>) {
        // The names need not be NUL-terminated.
        for (const std::string_view op : B::operators) sink(sink_context, std::string(op).c_str());
      } else {
        TENON_TRY(const std::vector<std::string> operators, self<B>(backend).list_operators());
        for (const std::string& op : operators) sink(sink_context, op.c_str());
      }
      return ok();
    });
  }

  static tenon_status create_kernel(tenon_backend* backend, const tenon_kernel_context* context,
                                    tenon_kernel** out) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      const std::string_view name = context->op;
      tenon_value* const* const args = context->args;
      const std::uint32_t num_args = context->num_args;
      if constexpr (DeclaresOperators<B>) {
        if (!is_listed(B::operators, name)) {
          return error(Error::OperatorMissing, "backend ", B::id, " has no kernel for ", name);
        }
      }
      auto kernel = self<B>(backend).create_kernel(name, Args(host_of<B>(backend), args, num_args));
      if (!kernel.ok()) {
        const bool is_named = kernel.error() != Error::OperatorMissing ||
                              kernel.text().find(name) != std::string_view::npos;
        Status missing = std::move(kernel).status();
        if (is_named) return missing;
        return std::move(missing).with_context(name);  // TN-KRN-2
      }
      using Bound = BoundKernel<typename B::Kernel>;
      *out = reinterpret_cast<tenon_kernel*>(new Bound{*std::move(kernel), args, num_args});
      return ok();
    });
  }

  static tenon_status run_kernel(tenon_kernel* kernel,
                                 const tenon_execution_context* context) noexcept {
    return guard(context->host, KernelRun{kernel, context});
  }

  /// Inlined whatever its size: kernels are called as often as anything is.
  struct KernelRun {
    tenon_kernel* kernel;
    const tenon_execution_context* context;

    [[gnu::always_inline]] inline Status operator()() const {
      auto& bound = *reinterpret_cast<BoundKernel<typename B::Kernel>*>(kernel);
      ExecutionContext execution_context(*context);
      return bound.kernel.run(execution_context, Args(context->host, bound.args, bound.num_args));
    }
  };

  static void destroy_kernel(tenon_backend*, tenon_kernel* kernel) noexcept {
    delete reinterpret_cast<BoundKernel<typename B::Kernel>*>(kernel);
  }

  static constexpr tenon_kernels_v1 table = {
      sizeof(tenon_kernels_v1), 0, &list_operators, &create_kernel, &run_kernel, &destroy_kernel};
};

template <>
struct MixinOf<tenon_kernels_v1> : Mixin<WithKernels, KernelsExtension> {};

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE
