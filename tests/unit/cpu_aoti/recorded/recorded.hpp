// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
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

/// All cases of a file.
inline std::vector<Case> read_cases(const char* path) {
  std::ifstream file(path);
  REQUIRE(file.good());
  std::vector<Case> out;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string what;
    line >> what;
    if (what == "#") continue;
    if (what == "case") {
      out.emplace_back();
      line >> out.back().name;
    } else if (what == "in") {
      out.back().inputs.emplace_back(line);
      out.back().given.push_back(true);
    } else if (what == "none") {
      out.back().given.push_back(false);
    } else if (what == "out") {
      out.back().outputs.emplace_back(line);
    } else if (what == "list") {
      std::string list;
      line >> list;
      out.back().lists.push_back(read_list(list));
    } else if (what == "text") {
      line >> out.back().texts.emplace_back();
    } else {
      REQUIRE(what == "number");
      std::string number;
      line >> number;
      out.back().numbers.push_back(std::strtod(number.c_str(), nullptr));
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

/// The kernels of the files, by the name that cases have.
[[nodiscard]] std::map<std::string, Kernel> kernels();

}  // namespace recorded_test
