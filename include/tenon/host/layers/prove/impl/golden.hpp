// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/prove/golden.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <complex>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "tenon/core/bytes.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/host/layers/arrays/element.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// Bytes of the elements of `shape`; nothing when 64 bits do not hold them or a size is negative.
[[nodiscard]] inline std::optional<std::uint64_t> golden_nbytes(
    ScalarType type, std::span<const std::int64_t> shape) noexcept {
  std::uint64_t out = size_of(type);
  for (const std::int64_t size : shape) {
    if (size < 0 || (size != 0 && out > UINT64_MAX / static_cast<std::uint64_t>(size))) {
      return std::nullopt;
    }
    out *= static_cast<std::uint64_t>(size);
  }
  return out;
}

/// Reads the lines, and gives each tensor its bytes.
class GoldenReader {
 public:
  explicit GoldenReader(std::span<const std::byte> bytes) noexcept : text_(as_text(bytes)) {}

  /// Once.
  [[nodiscard]] Result<GoldenCases> read() && {
    const std::size_t end = text_.find("\n\n");
    if (end == std::string_view::npos) {
      return error(Error::InvalidProgram, golden_key, ": no empty line ends its ", text_.size(),
                   " bytes of text");
    }
    data_ = std::as_bytes(std::span(text_.substr(end + 2)));
    std::string_view lines = text_.substr(0, end);
    for (std::size_t number = 1; !lines.empty(); ++number) {
      const std::string_view line = lines.substr(0, lines.find('\n'));
      lines.remove_prefix(std::min(lines.size(), line.size() + 1));
      Status added = number == 1 ? check_first(line) : add(line);
      if (!added.ok()) {
        return std::move(added).with_context(concat(golden_key, ": line ", number));
      }
    }
    if (data_.empty()) return std::move(out_);
    return error(Error::InvalidProgram, golden_key, ": ", data_.size(),
                 " bytes are behind its tensors");
  }

 private:
  template <class... Pieces>
  static Status refuse(const Pieces&... pieces) {
    return error(Error::InvalidProgram, pieces...);
  }

  template <class Number>
  static Status read_number(std::string_view text, std::string_view what, Number& out) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (failed == std::errc() && end == text.data() + text.size()) return ok();
    return refuse(what, " is ", quoted(text), ", expected a number");
  }

  static Status check_first(std::string_view line) {
    return line == golden_key ? ok() : refuse("found ", quoted(line), ", expected ", golden_key);
  }

  /// The fields that this version reads; more are skipped.
  struct Fields {
    std::array<std::string_view, 6> at{};
    std::size_t count = 0;

    explicit Fields(std::string_view line) noexcept {
      for (std::size_t begin = 0; count < at.size();) {
        const std::size_t end = line.find('\t', begin);
        at[count++] = line.substr(begin, end - begin);
        if (end == std::string_view::npos) return;
        begin = end + 1;
      }
    }
  };

  Status add(std::string_view line) {
    const Fields fields(line);
    const std::string_view word = fields.at[0];
    const std::size_t needed = word == "seed" || word == "case" ? 2
                               : word == "input"                ? 4
                               : word == "output"               ? 6
                                                                : 0;
    if (fields.count < needed) {
      return refuse(word, " has ", fields.count - 1, " fields, expected ", needed - 1);
    }
    if (word == "seed") return read_number(fields.at[1], "the seed", out_.seed.emplace());
    if (word == "case") return add_case(fields.at[1]);
    return needed == 0 ? ok() : add_tensor(fields, word == "output");
  }

  Status add_case(std::string_view method) {
    if (out_.cases.size() == max_golden_cases) {
      return refuse("more than ", max_golden_cases, " cases");
    }
    out_.cases.push_back({method, {}, {}});
    return ok();
  }

  Status add_tensor(const Fields& fields, bool is_output) {
    const std::string_view word = fields.at[0];
    if (out_.cases.empty()) return refuse(word, " before the first case");
    GoldenCase& of = out_.cases.back();
    std::vector<GoldenTensor>& list = is_output ? of.outputs : of.inputs;
    if (of.inputs.size() + of.outputs.size() == max_golden_tensors) {
      return refuse("more than ", max_golden_tensors, " tensors in one case");
    }
    GoldenTensor tensor;
    TENON_RETURN_IF_ERROR(read_number(fields.at[1], "the index", tensor.index));
    if (!list.empty() && tensor.index <= list.back().index) {
      return refuse(word, " ", tensor.index, " behind ", word, " ", list.back().index);
    }
    const ScalarTypeInfo* const type = find_scalar_type(fields.at[2]);
    if (!type)
      return refuse("the dtype is ", quoted(fields.at[2]), ", expected ExecuTorch's name of one");
    tensor.type = type->type;
    TENON_RETURN_IF_ERROR(read_sizes(fields.at[3], tensor.shape));
    if (is_output) {
      TENON_RETURN_IF_ERROR(read_tolerance(fields.at[4], tensor.tolerance.rtol));
      TENON_RETURN_IF_ERROR(read_tolerance(fields.at[5], tensor.tolerance.atol));
    }
    const auto nbytes = golden_nbytes(tensor.type, tensor.shape);
    if (!nbytes || *nbytes > data_.size()) {
      return refuse(word, " ", tensor.index, " has ", type->name, " of sizes ",
                    quoted(fields.at[3]), ", and ", data_.size(), " bytes are left");
    }
    tensor.data = data_.first(static_cast<std::size_t>(*nbytes));
    data_ = data_.subspan(tensor.data.size());
    list.push_back(std::move(tensor));
    return ok();
  }

  static Status read_sizes(std::string_view text, std::vector<std::int64_t>& out) {
    constexpr std::ptrdiff_t most = 64;
    if (text.empty()) return ok();  // A scalar.
    if (std::ranges::count(text, ',') >= most) return refuse("more than ", most, " sizes");
    for (const std::string_view one : split(text, ',')) {
      TENON_RETURN_IF_ERROR(read_number(one, "a size", out.emplace_back()));
      if (out.back() < 0) return refuse("a size is ", out.back());
    }
    return ok();
  }

  static Status read_tolerance(std::string_view text, double& out) {
    TENON_RETURN_IF_ERROR(read_number(text, "a tolerance", out));
    return std::isfinite(out) && out >= 0
               ? ok()
               : refuse("a tolerance is ", quoted(text), ", expected a finite number from 0 on");
  }

  std::string_view text_;
  std::span<const std::byte> data_;  ///< Of tensors that follow.
  GoldenCases out_;
};

[[nodiscard]] inline double as_inexact(auto integer) noexcept {
  return static_cast<double>(integer);
}
[[nodiscard]] inline std::complex<double> as_inexact(std::complex<double> value) noexcept {
  return value;
}

[[nodiscard]] inline std::string golden_number(double value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

[[nodiscard]] inline Status write_golden_tensor(std::string_view word, const GoldenTensor& tensor,
                                                std::string& text) {
  const auto nbytes = golden_nbytes(tensor.type, tensor.shape);
  if (!nbytes || *nbytes != tensor.data.size()) {
    return error(Error::InvalidArgument, word, " ", tensor.index, " has ", tensor.data.size(),
                 " bytes, its shape ", nbytes.value_or(UINT64_MAX));
  }
  text += concat(word, "\t", tensor.index, "\t", name_of(tensor.type), "\t",
                 join(tensor.shape, ",", [](std::int64_t size) { return concat(size); }));
  if (word == "output") {
    text += concat("\t", golden_number(tensor.tolerance.rtol), "\t",
                   golden_number(tensor.tolerance.atol));
  }
  text += '\n';
  return ok();
}

}  // namespace detail

std::size_t GoldenCases::count(std::string_view method) const noexcept {
  return static_cast<std::size_t>(std::ranges::count(cases, method, &GoldenCase::method));
}

Tolerance golden_tolerance(const ArrayView& expected) {
  double rtol = 0;
  switch (expected.type) {
    case ScalarType::Half:
    case ScalarType::ComplexHalf:
      rtol = 1e-2;
      break;
    case ScalarType::BFloat16:
      rtol = 3e-2;
      break;
    case ScalarType::Float:
    case ScalarType::ComplexFloat:
      rtol = 1e-3;
      break;
    case ScalarType::Double:
    case ScalarType::ComplexDouble:
      rtol = 1e-6;
      break;
    default:
      return {};
  }
  double largest = 0;
  for (std::size_t i = 0; i < expected.data.size() / size_of(expected.type); ++i) {
    const double one = std::visit([](auto value) { return std::abs(detail::as_inexact(value)); },
                                  element_at(expected.type, expected.data, i));
    if (std::isfinite(one)) largest = std::max(largest, one);
  }
  return {rtol, rtol * (largest == 0 ? 1 : largest)};
}

Result<GoldenCases> read_golden(std::span<const std::byte> bytes) {
  return detail::GoldenReader(bytes).read();
}

Result<GoldenCases> golden_cases_of(const Program& program) {
  const auto place = program.find_key(golden_key);
  if (!place) return GoldenCases();
  auto read = read_golden(program.key_data(*place));
  if (!read.ok()) return shortened(std::move(read).status().with_context(program.name()));
  return read;
}

Result<std::vector<std::byte>> write_golden(const GoldenCases& cases) {
  if (cases.cases.size() > max_golden_cases) {
    return error(Error::InvalidArgument, cases.cases.size(), " golden cases, expected at most ",
                 max_golden_cases);
  }
  std::string text = concat(golden_key, "\n");
  if (cases.seed) text += concat("seed\t", *cases.seed, "\n");
  std::string data;
  for (const GoldenCase& one : cases.cases) {
    const bool has_control = std::ranges::any_of(
        one.method, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
    if (has_control) {
      return error(Error::InvalidArgument, "method ", quoted(one.method),
                   " has a control character, which golden cases cannot hold");
    }
    text += concat("case\t", one.method, "\n");
    const auto add = [&](std::string_view word, const std::vector<GoldenTensor>& list) -> Status {
      for (const GoldenTensor& tensor : list) {
        TENON_RETURN_IF_ERROR(detail::write_golden_tensor(word, tensor, text));
        data += as_text(tensor.data);
      }
      return ok();
    };
    TENON_RETURN_IF_ERROR(add("input", one.inputs));
    TENON_RETURN_IF_ERROR(add("output", one.outputs));
  }
  text += "\n" + data;
  const auto bytes = std::as_bytes(std::span(text));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

}}}  // namespace tenon::TENON_RELEASE::host
