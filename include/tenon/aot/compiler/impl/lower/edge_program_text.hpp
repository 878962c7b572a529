// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/lower/edge_program_text.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "tenon/aot/edge_argument.hpp"
#include "tenon/aot/edge_value.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

/// Writes one program; see `to_text`.
class EdgeProgramText {
 public:
  explicit EdgeProgramText(const EdgeProgram& program) : program_(program) {}

  [[nodiscard]] std::string write() {
    line("method {}", quoted(program_.method_name()));
    write_ranges();
    for (const ValueId id : program_.inputs()) {
      line("input {}: {}", name(id), type(program_.value(id)));
    }
    for (ValueId id = 0; id < program_.num_values(); ++id) {
      const EdgeValue value = program_.value(id);
      if (!value.has_fqn()) continue;
      line("{} {} {}: {}", origin(value.origin()), name(id), quoted(value.fqn()), type(value));
    }
    for (std::size_t i = 0; i < program_.num_nodes(); ++i) write_node(program_.node(i));
    for (std::size_t i = 0; i < program_.num_outputs(); ++i) write_output(program_.output(i));
    return std::move(out_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_.push_back('\n');
  }

  static std::string quoted(std::string_view text) {
    constexpr std::size_t longest = 200;
    return fmt::format("\"{}\"", host::printable(text, longest));
  }
  static std::string plain(std::string_view text) {
    constexpr std::size_t longest = 200;
    return host::printable(text, longest);
  }
  [[nodiscard]] std::string name(ValueId id) const {
    return id == no_value ? "None" : plain(program_.value(id).name());
  }

  static std::string_view origin(EdgeOrigin origin) {
    switch (origin) {
      case EdgeOrigin::Parameter:
        return "parameter";
      case EdgeOrigin::Buffer:
        return "buffer";
      case EdgeOrigin::Constant:
        return "constant";
      default:
        return "value";
    }
  }

  /// Ranges of the sizes that are expressions, each once.
  void write_ranges() {
    std::map<std::string, EdgeSize> ranges;
    const auto add = [&](const EdgeSize& size) {
      if (!size.is_static()) ranges.emplace(size.expression, size);
    };
    for (ValueId id = 0; id < program_.num_values(); ++id) {
      const EdgeValue value = program_.value(id);
      for (std::size_t i = 0; i < value.rank(); ++i) add(value.size(i));
      if (value.kind() == EdgeValueKind::SymInt) add(value.range());
    }
    for (const auto& [expression, size] : ranges) {
      line("size {}: {} to {}", plain(expression), end(size.min), end(size.max));
    }
  }
  static std::string end(std::int64_t number) {
    if (number == EdgeSize::unbounded) return "any";
    if (number == std::numeric_limits<std::int64_t>::min()) return "-any";
    return std::to_string(number);
  }

  static std::string size(const EdgeSize& size) {
    return size.is_static() ? std::to_string(size.min) : plain(size.expression);
  }

  /// "Float[s77, 3] channels last", "int s77", "bool Eq(s77, 2)".
  [[nodiscard]] static std::string type(const EdgeValue& value) {
    switch (value.kind()) {
      case EdgeValueKind::SymInt:
        return fmt::format("int {}", size(value.range()));
      case EdgeValueKind::SymFloat:
        return fmt::format("float {}", size(value.range()));
      case EdgeValueKind::SymBool:
        return fmt::format("bool {}", size(value.range()));
      default:
        break;
    }
    std::string out = fmt::format("{}[", name_of(value.scalar_type()));
    for (std::size_t i = 0; i < value.rank(); ++i) {
      if (i != 0) out += ", ";
      out += size(value.size(i));
    }
    out += ']';
    bool in_order = true;
    std::string order;
    for (std::size_t i = 0; i < value.rank(); ++i) {
      in_order = in_order && value.dim_order()[i] == i;
      fmt::format_to(std::back_inserter(order), "{}{}", i == 0 ? "" : ",", value.dim_order()[i]);
    }
    if (!in_order) out += fmt::format(" order {}", order);
    if (value.device().device_type != TENON_DL_CPU) {
      out += fmt::format(" device {}:{}", value.device().device_type, value.device().device_id);
    }
    return out;
  }

  template <class List, class Write>
  static std::string list(const List& items, Write&& write) {
    std::string out = "[";
    bool first = true;
    for (const auto item : items) {
      if (!first) out += ", ";
      first = false;
      out += write(item);
    }
    return out + "]";
  }

  [[nodiscard]] std::string text(const EdgeArgument& argument) const {
    const auto number = [](auto value) { return fmt::format("{}", value); };
    const auto boolean = [](auto value) { return std::string(value ? "true" : "false"); };
    const tenon_edge_argument& raw = argument.raw();
    switch (argument.kind()) {
      case EdgeArgumentKind::None:
        return "None";
      case EdgeArgumentKind::Value:
        return name(raw.as.value);
      case EdgeArgumentKind::Values:
        return list(*argument.values(), [&](ValueId id) { return name(id); });
      case EdgeArgumentKind::Bool:
        return boolean(raw.as.boolean);
      case EdgeArgumentKind::Int:
        return number(raw.as.integer);
      case EdgeArgumentKind::Double:
        return number(raw.as.real);
      case EdgeArgumentKind::String:
        return quoted(raw.as.string);
      case EdgeArgumentKind::Bools:
        return list(*argument.booleans(), boolean);
      case EdgeArgumentKind::Ints:
        return ints(argument);
      case EdgeArgumentKind::Doubles:
        return list(*argument.doubles(), number);
      case EdgeArgumentKind::ScalarType:
        return std::string(name_of(*argument.scalar_type()));
      case EdgeArgumentKind::Layout:
        return raw.as.integer == 0 ? "strided" : fmt::format("layout {}", raw.as.integer);
      case EdgeArgumentKind::MemoryFormat:
        return memory_format(raw.as.integer);
      case EdgeArgumentKind::Device:
        return device(raw.as.device);
    }
    return "?";
  }

  [[nodiscard]] std::string ints(const EdgeArgument& argument) const {
    const auto numbers = argument.mixed_integers();
    const auto symbols = argument.symbols();
    std::string out = "[";
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const bool is_symbol = !symbols.empty() && symbols[i] != no_value;
      if (i != 0) out += ", ";
      out += is_symbol ? name(symbols[i]) : std::to_string(numbers[i]);
    }
    return out + "]";
  }

  static std::string memory_format(std::int64_t number) {
    constexpr std::string_view names[] = {"contiguous", "preserve", "channels last",
                                          "channels last 3d"};
    const auto index = static_cast<std::size_t>(number);
    return index < std::size(names) ? std::string(names[index])
                                    : fmt::format("memory format {}", number);
  }
  static std::string device(tenon_dl_device device) {
    return device.device_type == TENON_DL_CPU
               ? std::string("cpu")
               : fmt::format("device {}:{}", device.device_type, device.device_id);
  }

  void write_node(const EdgeNode& node) {
    std::string outputs;
    for (const ValueId id : node.outputs()) {
      if (!outputs.empty()) outputs += ", ";
      outputs += fmt::format("{}: {}", name(id), type(program_.value(id)));
    }
    std::string arguments;
    for (std::size_t i = 0; i < node.num_arguments(); ++i) {
      const EdgeArgument argument = node.argument(i);
      if (i != 0) arguments += ", ";
      arguments += fmt::format("{}={}", plain(argument.name()), text(argument));
    }
    line("{} {}{}{}({}){}{}", node.debug_handle(), outputs, outputs.empty() ? "" : " = ",
         plain(node.target()), arguments, node.module_path().empty() ? "" : "  # ",
         plain(node.module_path()));
  }

  void write_output(const EdgeOutput& output) {
    if (output.kind == EdgeOutputKind::UserOutput) return line("output {}", name(output.value));
    line("{} {} becomes {}", output.kind == EdgeOutputKind::BufferMutation ? "buffer" : "input",
         name(output.target), name(output.value));
  }

  EdgeProgram program_;
  std::string out_;
};

}  // namespace detail

std::string to_text(const EdgeProgram& program) { return detail::EdgeProgramText(program).write(); }

}}}  // namespace tenon::TENON_RELEASE::aot
