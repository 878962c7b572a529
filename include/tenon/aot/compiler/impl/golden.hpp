// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/golden.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/named_data_store.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/layers/arrays/array.hpp"
#include "tenon/host/layers/arrays/output_memory.hpp"
#include "tenon/host/layers/arrays/value_array.hpp"
#include "tenon/host/layers/data/data_files.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/method/method.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

/// SplitMix64: the same numbers on every machine, which the standard's distributions are not.
class GoldenRandom {
 public:
  explicit GoldenRandom(std::uint64_t seed) noexcept : state_(seed) {}

  [[nodiscard]] std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  [[nodiscard]] std::int64_t between(std::int64_t min, std::int64_t max) noexcept {
    const auto range = static_cast<std::uint64_t>(max) - static_cast<std::uint64_t>(min) + 1;
    return min + static_cast<std::int64_t>(range == 0 ? next() : next() % range);
  }
  /// From -1 to 1.
  [[nodiscard]] double real() noexcept { return static_cast<double>(next() >> 11) * 0x1p-52 - 1; }

 private:
  std::uint64_t state_;
};

/// The binary16 of a number from -1 to 1, rounded towards 0.
[[nodiscard]] inline Half small_half(double value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t exponent = bits >> 23 & 0xffU;
  if (exponent < 113) return {static_cast<std::uint16_t>(sign)};  // Below the normal numbers.
  return {static_cast<std::uint16_t>(sign | (exponent - 112) << 10 | (bits >> 13 & 0x3ffU))};
}

[[nodiscard]] inline host::Array random_array(ScalarType type, std::vector<std::int64_t> shape,
                                              GoldenRandom& random) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  host::Array out{type, std::move(shape), host::ArrayBytes(count * size_of(type))};
  std::byte* at = out.data.data();
  const auto put = [&](auto value) {
    std::memcpy(at, &value, sizeof value);
    at += sizeof value;
  };
  const bool is_complex = type == ScalarType::ComplexFloat || type == ScalarType::ComplexDouble;
  for (std::size_t i = 0; i < (is_complex ? 2 * count : count); ++i) {
    switch (type) {
      case ScalarType::Float:
      case ScalarType::ComplexFloat:
        put(static_cast<float>(random.real()));
        break;
      case ScalarType::Double:
      case ScalarType::ComplexDouble:
        put(random.real());
        break;
      case ScalarType::Half:
        put(small_half(random.real()));
        break;
      case ScalarType::BFloat16:
        put(BFloat16::from_float(static_cast<float>(random.real())));
        break;
      default:  // Little-endian: the first byte of an integer.
        *at = static_cast<std::byte>(random.next() >> 63);
        at += size_of(type);
    }
  }
  return out;
}

/// The sizes of one case: the values of symbols.
class GoldenSizes {
 public:
  /// `number`: of the case.
  GoldenSizes(const EdgeProgram& graph, std::size_t number, GoldenRandom& random) {
    for (const ValueId id : graph.inputs()) {
      const EdgeValue value = graph.value(id);
      for (std::size_t i = 0; i < value.rank(); ++i) add(value.size(i), number, random);
    }
  }

  [[nodiscard]] Result<std::vector<std::int64_t>> of(const EdgeValue& value) const {
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < value.rank(); ++i) {
      const EdgeSize size = value.size(i);
      if (size.max == EdgeSize::unbounded) {
        return error(Error::InvalidArgument, "golden cases: input ", value.name(), ": size ", i,
                     " has no bound; export the model with one");
      }
      const auto known = values_.find(size.expression);
      out.push_back(are_symbols_ && known != values_.end() ? known->second : size.max);
    }
    return out;
  }

 private:
  void add(const EdgeSize& size, std::size_t number, GoldenRandom& random) {
    if (size.is_static() || size.max == EdgeSize::unbounded) return;
    const bool is_symbol = std::ranges::all_of(size.expression, [](char c) {
      return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
    });
    are_symbols_ &= is_symbol;
    if (values_.contains(size.expression)) return;
    values_[size.expression] = number == 0   ? size.max
                               : number == 1 ? size.max - 1
                                             : random.between(size.min, size.max);
  }

  std::map<std::string_view, std::int64_t> values_;
  bool are_symbols_ = true;
};

/// Makes the cases of all methods, and owns what they refer to.
class GoldenMaker {
 public:
  GoldenMaker(const ProgramInMemory& reference, const host::MethodOptions& options,
              const GoldenOptions& golden)
      : reference_(reference), options_(options), golden_(golden), random_(golden.seed) {
    options_.layers.add(host::DataFiles(reference.data_files));
    cases_.seed = golden.seed;
  }

  [[nodiscard]] Status add(const EdgeProgram& graph) {
    TENON_TRY(const auto method,
              host::Method::load(reference_.program, graph.method_name(), options_));
    std::deque<host::ArrayBytes> outputs;
    TENON_RETURN_IF_ERROR(
        host::set_outputs(*method, host::HostLimits::none,
                          [&](std::size_t nbytes) { return outputs.emplace_back(nbytes).data(); }));
    for (std::size_t i = 0; i < golden_.cases; ++i) {
      TENON_RETURN_IF_ERROR(add_case(graph, *method, i).with_context(concat("golden case ", i)));
    }
    return ok();
  }

  [[nodiscard]] Result<SharedBytes> end() && {
    TENON_TRY(auto bytes, host::write_golden(cases_));
    return SharedBytes(std::move(bytes));
  }

 private:
  [[nodiscard]] Status add_case(const EdgeProgram& graph, host::Method& method,
                                std::size_t number) {
    host::GoldenCase& out = cases_.cases.emplace_back();
    out.method = graph.method_name();
    const GoldenSizes sizes(graph, number, random_);
    std::deque<host::ArrayBytes> copies;
    for (std::uint32_t i = 0; i < graph.inputs().size(); ++i) {
      const EdgeValue value = graph.value(graph.inputs()[i]);
      TENON_TRY(auto shape, sizes.of(value));
      const host::Array& array =
          arrays_.emplace_back(random_array(value.scalar_type(), std::move(shape), random_));
      out.inputs.push_back({i, array.type, array.shape, array.data.span(), {}});
      TENON_RETURN_IF_ERROR(host::set_array(method, i, array.view(), copies.emplace_back()));
    }
    TENON_RETURN_IF_ERROR(method.execute());
    for (std::uint32_t i = 0; i < method.num_outputs(); ++i) {
      if (method.output(i).kind != TENON_VALUE_TENSOR) continue;
      TENON_TRY(host::Array found, host::copy_output(method, i));
      const host::Array& array = arrays_.emplace_back(std::move(found));
      host::Tolerance tolerance = host::golden_tolerance(array.view());
      if (golden_.rtol) {
        if (tolerance.rtol != 0) tolerance.atol *= *golden_.rtol / tolerance.rtol;
        tolerance.rtol = *golden_.rtol;
      }
      out.outputs.push_back({i, array.type, array.shape, array.data.span(), tolerance});
    }
    return ok();
  }

  const ProgramInMemory& reference_;
  host::MethodOptions options_;
  const GoldenOptions& golden_;
  GoldenRandom random_;
  std::deque<host::Array> arrays_;
  host::GoldenCases cases_;
};

}  // namespace detail

Result<SharedBytes> make_golden(std::span<const EdgeProgram> methods,
                                const ProgramInMemory& reference,
                                const host::MethodOptions& options, const GoldenOptions& golden) {
  if (golden.cases > host::max_golden_cases / std::max<std::size_t>(methods.size(), 1)) {
    return error(Error::InvalidArgument, golden.cases, " golden cases of ", methods.size(),
                 " methods, expected at most ", host::max_golden_cases, " together");
  }
  detail::GoldenMaker maker(reference, options, golden);
  for (const EdgeProgram& method : methods) {
    TENON_RETURN_IF_ERROR(maker.add(method).with_context(concat("method ", method.method_name())));
  }
  return std::move(maker).end();
}

Status set_golden(ProgramData& program, SharedBytes golden) {
  std::erase_if(program.named_data.pte_data,
                [](const NamedEntry& one) { return one.key == host::golden_key; });
  NamedDataStore store;
  TENON_RETURN_IF_ERROR(store.merge_named_data_store(program.named_data));
  TENON_RETURN_IF_ERROR(store.add_named_data(host::golden_key, std::move(golden)));
  program.named_data = store.get_named_data_store_output();
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::aot
