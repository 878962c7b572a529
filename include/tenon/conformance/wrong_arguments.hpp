// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/conformance/guarded_memory.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/device_memory.hpp"
#include "tenon/host/tensor_storage.hpp"

namespace tenon::conformance {

/// What is wrong with the arguments of a call.
enum class Mistake : std::uint8_t { count, kind, dtype, rank, size };

/// Arguments of a call of which one is not what the program was lowered for.
struct WrongCall {
  Mistake mistake;
  std::string text;  ///< "argument 1 has dtype Double, expected Float".
  std::vector<tenon_value*> args;
  /// For `count`: both numbers, which the reason of the refusal names.
  std::size_t expected = 0, found = 0;
};

/// Makes wrong calls of a right one. Everything that they point to lies in memory whose end is
/// forbidden (TN-EXE-5), and stays until this goes: a plugin may remember addresses. One thread.
class WrongArguments {
 public:
  /// All mistakes that can be made with `args`, which must stay as they are. Of constants none are
  /// made, and of sizes only where the shape is static: which sizes a dynamic shape may have is not
  /// known to a host.
  [[nodiscard]] std::vector<WrongCall> make(std::span<tenon_value* const> args) {
    std::vector<WrongCall> out;
    add_counts(args, out);
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (args[i]->kind == TENON_VALUE_TENSOR) {
        add_tensor(args, i, out);
      } else if (args[i]->kind != TENON_VALUE_NONE) {
        add(args, i, *empty_value(), Mistake::kind, "is none", out);
      }
    }
    return out;
  }

  /// The list of `call` in memory behind which nothing may be read.
  [[nodiscard]] tenon_value* const* list_of(const WrongCall& call) {
    const std::size_t size = call.args.size() * sizeof(tenon_value*);
    GuardedMemory& list = memory_.emplace_back(size, alignof(tenon_value*),
                                               Forbidden{rule, "behind the list of arguments"});
    std::ranges::copy(call.args, reinterpret_cast<tenon_value**>(list.data()));
    return reinterpret_cast<tenon_value* const*>(list.data());
  }

 private:
  static constexpr const char* rule = "TN-EXE-5";

  static void add_counts(std::span<tenon_value* const> args, std::vector<WrongCall>& out) {
    const auto text = [&](std::size_t found) {
      return concat("there are ", found, " arguments, expected ", args.size());
    };
    const std::size_t n = args.size();
    if (n > 1) out.push_back({Mistake::count, text(0), {}, n, 0});
    if (n > 0) {
      std::vector<tenon_value*> more(args.begin(), args.end());
      out.push_back({Mistake::count, text(n - 1), {args.begin(), args.end() - 1}, n, n - 1});
      more.push_back(args.back());
      out.push_back({Mistake::count, text(n + 1), std::move(more), n, n + 1});
    }
  }

  void add(std::span<tenon_value* const> args, std::size_t index, tenon_value& wrong,
           Mistake mistake, std::string_view text, std::vector<WrongCall>& out) {
    WrongCall& call = out.emplace_back();
    call.mistake = mistake;
    call.text = concat("argument ", index, " ", text);
    call.args.assign(args.begin(), args.end());
    call.args[index] = &wrong;
  }

  void add_tensor(std::span<tenon_value* const> args, std::size_t i, std::vector<WrongCall>& out) {
    const tenon_tensor& right = *args[i]->as.tensor;
    const auto type = static_cast<ScalarType>(right.scalar_type);
    if ((right.flags & TENON_TENSOR_CONSTANT) != 0) return;
    add(args, i, *empty_value(), Mistake::kind, "is none, expected a tensor", out);
    add(args, i, *integer(), Mistake::kind, "is an integer, expected a tensor", out);
    if (!host::is_cpu(right.dl.device)) return;
    const std::vector<std::int64_t> sizes(right.dl.shape, right.dl.shape + right.dl.ndim);
    for (const ScalarType other : wrong_types(type)) {
      add(args, i, *tensor(right, other, sizes), Mistake::dtype,
          concat("has dtype ", name_of(other), ", expected ", name_of(type)), out);
    }
    std::vector<std::int64_t> more = sizes;
    more.insert(more.begin(), 2);
    add_sizes(args, i, more, Mistake::rank, out);
    if (sizes.size() > 1) {
      add_sizes(args, i, {host::count_elements(sizes)}, Mistake::rank, out);
    }
    if (right.shape_dynamism != TENON_SHAPE_STATIC || sizes.empty()) return;
    std::vector<std::int64_t> larger = sizes, smaller = sizes;
    for (std::int64_t& size : larger) ++size;
    for (std::int64_t& size : smaller) --size;
    add_sizes(args, i, larger, Mistake::size, out);
    // With a size of 1 the tensor would become empty, or broadcast.
    if (std::ranges::min(sizes) > 2) add_sizes(args, i, smaller, Mistake::size, out);
  }

  void add_sizes(std::span<tenon_value* const> args, std::size_t i,
                 const std::vector<std::int64_t>& sizes, Mistake mistake,
                 std::vector<WrongCall>& out) {
    const tenon_tensor& right = *args[i]->as.tensor;
    if (host::count_elements(sizes) > most_elements) return;
    add(args, i, *tensor(right, static_cast<ScalarType>(right.scalar_type), sizes), mistake,
        concat("has sizes ", shape_text(sizes), ", expected ",
               shape_text({right.dl.shape, static_cast<std::size_t>(right.dl.ndim)})),
        out);
  }

  /// One as wide as `type` and one of another width.
  static std::vector<ScalarType> wrong_types(ScalarType type) {
    switch (type) {
      case ScalarType::Float:
        return {ScalarType::Int, ScalarType::Double};
      case ScalarType::Int:
        return {ScalarType::Float, ScalarType::Long};
      case ScalarType::Double:
        return {ScalarType::Long, ScalarType::Float};
      case ScalarType::Long:
        return {ScalarType::Double, ScalarType::Int};
      case ScalarType::Half:
        return {ScalarType::BFloat16, ScalarType::Float};
      case ScalarType::BFloat16:
        return {ScalarType::Half, ScalarType::Float};
      case ScalarType::Bool:
        return {ScalarType::Byte, ScalarType::Float};
      default:
        return {ScalarType::Bool, ScalarType::Double};
    }
  }

  tenon_value* empty_value() {
    return &values_.emplace_back(tenon_value{sizeof(tenon_value), TENON_VALUE_NONE, {}});
  }
  /// Who takes the number for an address touches what is forbidden.
  tenon_value* integer() {
    GuardedMemory& trap = memory_.emplace_back(
        4096U, std::size_t{4096}, Forbidden{rule, "next to what an integer would point to"});
    trap.forbid({rule, "that an integer would point to, were it a tensor"});
    tenon_value* out = &values_.emplace_back(tenon_value{sizeof(tenon_value), TENON_VALUE_INT, {}});
    out->as.integer = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(trap.data()));
    return out;
  }

  struct Described {
    tenon_tensor tensor{};
    std::vector<std::int64_t> sizes, strides, bounds;
    std::vector<std::uint8_t> dim_order;
  };

  tenon_value* tensor(const tenon_tensor& like, ScalarType type,
                      const std::vector<std::int64_t>& sizes) {
    Described& made = tensors_.emplace_back();
    made.sizes = made.bounds = made.strides = sizes;
    made.dim_order.resize(sizes.size());
    std::iota(made.dim_order.begin(), made.dim_order.end(), std::uint8_t{0});
    if (sizes.size() == static_cast<std::size_t>(like.dl.ndim)) {
      std::copy_n(like.dim_order, sizes.size(), made.dim_order.begin());
      // The same bounds, so that only the dtype is wrong.
      if (std::ranges::equal(sizes, std::span(like.dl.shape, sizes.size()))) {
        made.bounds.assign(like.bounds, like.bounds + sizes.size());
      }
    }
    host::fill_strides(sizes, made.dim_order.data(), made.strides.data());
    const std::size_t element = size_of(type);
    const auto nbytes = static_cast<std::size_t>(host::count_elements(sizes)) * element;
    const std::size_t capacity =
        static_cast<std::size_t>(std::max<std::int64_t>(host::count_elements(made.bounds), 0)) *
        element;
    GuardedMemory& data =
        memory_.emplace_back(std::max(nbytes, capacity), element,
                             Forbidden{rule, "outside of the elements of a wrong argument"});
    tenon_tensor& tensor = made.tensor;
    tensor = like;
    tensor.scalar_type = static_cast<std::int32_t>(type);
    tensor.dl.dtype = scalar_types[static_cast<std::size_t>(type)].dl;
    tensor.dl.ndim = static_cast<std::int32_t>(sizes.size());
    tensor.dl.shape = made.sizes.data();
    tensor.dl.strides = made.strides.data();
    tensor.dl.data = data.data();
    tensor.dl.device = {TENON_DL_CPU, 0};
    tensor.bounds = made.bounds.data();
    tensor.dim_order = made.dim_order.data();
    tensor.nbytes = nbytes;
    tensor.capacity = data.size();
    tenon_value* out =
        &values_.emplace_back(tenon_value{sizeof(tenon_value), TENON_VALUE_TENSOR, {}});
    out->as.tensor = &tensor;
    return out;
  }

  static constexpr std::int64_t most_elements = std::int64_t{1} << 24;

  std::list<GuardedMemory> memory_;
  std::list<Described> tensors_;
  std::list<tenon_value> values_;
};

}  // namespace tenon::conformance
