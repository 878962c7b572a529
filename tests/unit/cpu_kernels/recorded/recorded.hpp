// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <istream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../kernel_support.hpp"
#include "support/catch.hpp"

/// Calls of kernels and PyTorch's results, from files (tests/live/exporters/record_kernels.py has
/// their format).
namespace recorded_test {

using namespace kernel_test;
using tenon::aoti::ShimError;

inline ScalarType type_of(const std::string& name) {
  for (std::int32_t number = 0; number < 64; ++number) {
    const auto type = static_cast<ScalarType>(number);
    if (tenon::size_of(type) != 0 && tenon::name_of(type) == name) return type;
  }
  FAIL("no dtype " << name);
  return ScalarType::Byte;
}

inline bool is_complex(ScalarType type) {
  return type == ScalarType::ComplexFloat || type == ScalarType::ComplexDouble;
}

inline ScalarType part_type(ScalarType type) {
  if (!is_complex(type)) return type;
  return type == ScalarType::ComplexFloat ? ScalarType::Float : ScalarType::Double;
}

inline Shape read_list(const std::string& text) {
  Shape out;
  std::istringstream numbers(text == "-" ? "" : text);
  for (std::string one; std::getline(numbers, one, ',');) out.push_back(std::stoll(one));
  return out;
}

/// A tensor of the file. Complex elements are two numbers. Without elements it is of zeroes.
struct Recorded {
  ScalarType type{};
  Shape sizes, strides;
  std::int64_t offset = 0;
  std::vector<double> values;

  explicit Recorded(std::istream& line) {
    std::string dtype, shape, step;
    line >> dtype >> shape >> step;
    type = type_of(dtype);
    sizes = read_list(shape);
    const auto at = step.find('@');
    if (at != std::string::npos) offset = std::stoll(step.substr(at + 1));
    strides = read_list(step.substr(0, at));
    for (std::string one; line >> one;) values.push_back(std::strtod(one.c_str(), nullptr));
  }

  Handle make_tensor() const {
    auto& pool = tenon::aoti::current_pool();
    std::int64_t last = offset;
    for (std::size_t d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
    const Handle memory = make({std::max<std::int64_t>(last + 1, 0)}, type);
    Handle out(pool.view(*memory, sizes, strides.data(), offset));
    const std::int64_t parts = is_complex(type) ? 2 : 1;
    for (std::int64_t i = 0; i < out->numel * parts; ++i) {
      write(part_type(type), out->data, offset_of(*out, i / parts) * parts + i % parts,
            values.empty() ? 0 : values[static_cast<std::size_t>(i)]);
    }
    return out;
  }
};

struct Case {
  std::string name;
  std::vector<Recorded> inputs, outputs;
  std::vector<bool> given;  ///< For each tensor argument in order; false for `none`.
  std::vector<double> numbers;
  std::vector<Shape> lists;
  std::vector<std::string> texts;
};

inline std::vector<Case> read_cases(std::istream& file) {
  std::vector<Case> out;
  for (std::string text; std::getline(file, text);) {
    if (text.starts_with("#")) continue;
    std::istringstream parts(text);
    Case& one = out.emplace_back();
    std::getline(parts, one.name, ';');
    for (std::string part; std::getline(parts, part, ';');) {
      std::istringstream words(part);
      std::string what, word;
      words >> what;
      if (what == "in") {
        one.inputs.emplace_back(words);
        one.given.push_back(true);
        continue;
      }
      if (what == "out") {
        one.outputs.emplace_back(words);
        continue;
      }
      words >> word;
      if (what == "none") {
        one.given.push_back(false);
      } else if (what == "list") {
        one.lists.push_back(read_list(word));
      } else if (what == "text") {
        one.texts.push_back(word);
      } else {
        REQUIRE(what == "number");
        one.numbers.push_back(std::strtod(word.c_str(), nullptr));
      }
    }
  }
  return out;
}

/// The arguments of one call, and its results.
struct Call {
  const Case& of;
  std::vector<ModelTensor*> tensors;  ///< Null where none is given.
  std::vector<Handle> owned;
  Handle results[4];

  explicit Call(const Case& one) : of(one) {
    auto input = one.inputs.begin();
    for (const bool given : one.given) {
      if (given) owned.push_back((input++)->make_tensor());
      tensors.push_back(given ? owned.back().get() : nullptr);
    }
  }
  ModelTensor* in(std::size_t i) const { return tensors[i]; }
  double number(std::size_t i) const { return of.numbers[i]; }
  std::int64_t whole(std::size_t i) const { return static_cast<std::int64_t>(of.numbers[i]); }
  std::int32_t flag(std::size_t i) const { return static_cast<std::int32_t>(of.numbers[i]); }
  const std::int64_t* list(std::size_t i) const { return of.lists[i].data(); }
  std::int64_t length(std::size_t i) const { return static_cast<std::int64_t>(of.lists[i].size()); }
  ModelTensor** out(std::size_t i = 0) { return results[i].out(); }
  /// A list of optional tensors from the one with number `first` on.
  std::vector<ModelTensor* const*> optional_from(std::size_t first) const {
    std::vector<ModelTensor* const*> out;
    for (std::size_t i = first; i < tensors.size(); ++i) {
      out.push_back(tensors[i] ? &tensors[i] : nullptr);
    }
    return out;
  }
  /// The result of a function that writes to a given tensor.
  ModelTensor* made_out() {
    results[0] = make(of.outputs[0].sizes, of.outputs[0].type, of.outputs[0].strides);
    return results[0].get();
  }
};

using Kernel = std::function<ShimError(Call&)>;

/// Arguments of a kernel, taken in the order of its parameters: of each kind the next one of the
/// case. A pointer is an optional argument, null where the case has no more of its kind. The last
/// parameters of type ModelTensor** are the results; without them the first tensor is the result.
class ArgumentsInOrder {
 public:
  ArgumentsInOrder(Call& call, std::size_t num_tensor_pointers)
      : call_(call), num_pointers_(num_tensor_pointers), writes_to_given_(num_pointers_ == 0) {}

  template <class Parameter>
  Parameter take() {
    if constexpr (std::is_same_v<Parameter, ModelTensor*>) {
      if (std::exchange(writes_to_given_, false)) return call_.made_out();
      return call_.in(next(tensor_, call_.tensors.size(), "tensor"));
    } else if constexpr (std::is_same_v<Parameter, ModelTensor**>) {
      const bool is_result = num_pointers_-- <= call_.of.outputs.size();
      if (is_result) return call_.out(result_++);
      if (tensor_ == call_.tensors.size()) return nullptr;
      ModelTensor** const given = &call_.tensors[tensor_++];
      return *given ? given : nullptr;
    } else if constexpr (std::is_same_v<Parameter, ModelTensor* const*>) {
      length_ = static_cast<std::int64_t>(call_.tensors.size() - tensor_);
      return call_.tensors.data() + std::exchange(tensor_, call_.tensors.size());
    } else if constexpr (std::is_same_v<Parameter, ModelTensor* const* const*>) {
      optional_ = call_.optional_from(std::exchange(tensor_, call_.tensors.size()));
      length_ = static_cast<std::int64_t>(optional_.size());
      return optional_.data();
    } else if constexpr (std::is_same_v<Parameter, const std::int64_t*>) {
      const std::size_t list = next(list_, call_.of.lists.size(), "list");
      length_ = call_.length(list);
      return call_.list(list);
    } else if constexpr (std::is_same_v<Parameter, const char*>) {
      return call_.of.texts[next(text_, call_.of.texts.size(), "text")].c_str();
    } else if constexpr (std::is_same_v<Parameter, const char**>) {
      if (text_ == call_.of.texts.size()) return nullptr;
      return &optional_texts_.emplace_back(call_.of.texts[text_++].c_str());
    } else if constexpr (std::is_same_v<Parameter, void**>) {
      return nullptr;  // A generator, which no case has.
    } else if constexpr (std::is_pointer_v<Parameter>) {
      if (number_ == call_.of.numbers.size()) return nullptr;
      const double number = call_.number(number_++);
      if constexpr (std::is_same_v<Parameter, double*>) {
        return &optional_numbers_.emplace_back(number);
      } else if constexpr (std::is_same_v<Parameter, std::int64_t*>) {
        return &optional_wholes_.emplace_back(static_cast<std::int64_t>(number));
      } else {
        return &optional_flags_.emplace_back(static_cast<std::int32_t>(number));
      }
    } else {
      static_assert(std::is_arithmetic_v<Parameter>);
      if (length_) return static_cast<Parameter>(*std::exchange(length_, std::nullopt));
      return static_cast<Parameter>(call_.number(next(number_, call_.of.numbers.size(), "number")));
    }
  }

  /// Throws where the case has arguments that no parameter took.
  void finish() const {
    const Case& of = call_.of;
    if (tensor_ != call_.tensors.size() || number_ != of.numbers.size() ||
        list_ != of.lists.size() || text_ != of.texts.size()) {
      throw std::invalid_argument("the case has arguments that the kernel does not take");
    }
  }

 private:
  static std::size_t next(std::size_t& at, std::size_t count, const char* what) {
    if (at == count) throw std::invalid_argument(std::string("the case lacks a ") + what);
    return at++;
  }

  Call& call_;
  std::size_t num_pointers_;
  bool writes_to_given_;
  std::size_t tensor_ = 0, result_ = 0, number_ = 0, list_ = 0, text_ = 0;
  std::optional<std::int64_t> length_;  ///< Of the list that was taken just now.
  std::vector<ModelTensor* const*> optional_;
  std::deque<const char*> optional_texts_;
  std::deque<double> optional_numbers_;
  std::deque<std::int64_t> optional_wholes_;
  std::deque<std::int32_t> optional_flags_;
};

/// A kernel whose cases have its arguments in the order of its parameters.
template <class... Parameters>
Kernel in_order(ShimError (*function)(Parameters...) noexcept) {
  return [function](Call& call) {
    ArgumentsInOrder in_case(
        call, (std::size_t{0} + ... + (std::is_same_v<Parameters, ModelTensor**> ? 1U : 0U)));
    // Braces, as the order counts.
    const std::tuple<Parameters...> arguments{in_case.take<Parameters>()...};
    in_case.finish();
    return std::apply(function, arguments);
  };
}

/// The kernels of the files, by the name that cases have: all of the list, and operators that
/// models call by number.
[[nodiscard]] std::map<std::string, Kernel> kernels();

}  // namespace recorded_test
