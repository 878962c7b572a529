// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string_view>

#include "model.hpp"
#include "sections.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/hex.hpp"

namespace tenon::inspect {
namespace {

constexpr std::size_t short_list = 12;  // Rows of a list without --verbose.

std::string bytes_text(std::uint64_t count) {
  return concat(count, count == 1 ? " byte" : " bytes");
}

std::string tensor_text(const TensorFacts& tensor) {
  std::string out = concat(tensor.dtype, " [");
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    out += concat(i == 0 ? "" : ", ", tensor.sizes[i]);
  }
  return out + "]";
}

bool is_text(std::string_view value) {
  return !value.empty() && value.size() <= 200 &&
         std::ranges::all_of(value, [](char c) { return c >= 0x20 && c < 0x7f; });
}

std::string spec_text(const SpecFacts& spec) {
  if (is_text(spec.value)) return concat("spec ", spec.key, " = \"", spec.value, "\"");
  constexpr std::size_t shown = 16;
  std::string hex;
  for (const char c : spec.value.substr(0, shown)) {
    hex += ' ';
    append_hex(hex, static_cast<std::byte>(c));
  }
  return concat("spec ", spec.key, ": ", bytes_text(spec.value.size()), hex.empty() ? "" : ":", hex,
                spec.value.size() > shown ? " ..." : "");
}

class ModelText : private Sections {
 public:
  ModelText(const ModelReport& report, bool verbose, bool color)
      : Sections(color), report_(report), verbose_(verbose) {}

  [[nodiscard]] std::string write() && {
    title(report_.path);
    if (report_.kind == FileKind::program) {
      line("ExecuTorch program, ", bytes_text(report_.nbytes), ", ", report_.segments.size(),
           report_.segments.size() == 1 ? " segment" : " segments");
    } else {
      line("data of ExecuTorch programs, ", bytes_text(report_.nbytes));
    }
    for (const MethodFacts& method : report_.methods) write_method(method);
    write_named_data();
    if (!report_.extracted.empty()) title(concat("written: ", report_.extracted));
    return std::move(*this).take();
  }

 private:
  void write_values(std::string_view what, const std::vector<ValueFacts>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const ValueFacts& value = values[i];
      if (!value.tensor) {
        line(what, " ", i, ": ", value.kind);
        continue;
      }
      line(what, " ", i, ": ", value.kind, " ", value.is_dynamic ? "up to " : "",
           tensor_text(*value.tensor), value.device == "cpu" ? "" : " on ",
           value.device == "cpu" ? "" : value.device,
           value.is_memory_planned ? "" : ", not in planned memory");
    }
  }

  void write_method(const MethodFacts& method) {
    title(concat("method ", method.name));
    write_values("input", method.inputs);
    write_values("output", method.outputs);
    for (std::size_t i = 0; i < method.delegates.size(); ++i) {
      const DelegateFacts& delegate = method.delegates[i];
      line("delegate ", i, ": ", delegate.backend, ", blob ", delegate.blob, " of ",
           bytes_text(delegate.nbytes),
           delegate.segment ? concat(" in segment ", *delegate.segment)
                            : std::string(" in the flatbuffer"));
      for (const SpecFacts& spec : delegate.compile_specs) line("  ", spec_text(spec));
    }
    std::uint64_t total = 0;
    for (const PlannedBuffer& buffer : method.planned_buffers) total += buffer.nbytes;
    line("memory plan: ", method.planned_buffers.size(),
         method.planned_buffers.size() == 1 ? " buffer, " : " buffers, ", bytes_text(total));
    for (std::size_t i = 0; i < method.planned_buffers.size(); ++i) {
      const PlannedBuffer& buffer = method.planned_buffers[i];
      line("  buffer ", i + 1, ": ", bytes_text(buffer.nbytes), " on ", buffer.device);
    }
    std::string operators;
    for (const std::string& name : method.operators) {
      operators += concat(operators.empty() ? ", kernels: " : ", ", name);
    }
    line("instructions: ", method.num_instructions, operators);
  }

  void write_named_data() {
    if (report_.named_data.empty()) return;
    title(concat("named data: ", report_.named_data.size()));
    const std::size_t shown =
        verbose_ ? report_.named_data.size() : std::min(short_list, report_.named_data.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const NamedDataFacts& data = report_.named_data[i];
      line(data.key, ": ", bytes_text(data.nbytes), data.tensor ? ", " : "",
           data.tensor ? tensor_text(*data.tensor) : std::string());
    }
    if (shown != report_.named_data.size()) line("... (all with --verbose)");
  }

  const ModelReport& report_;
  bool verbose_;
};

}  // namespace

std::string to_text(const ModelReport& report, bool verbose, bool color) {
  // A file that cannot be read has no facts; a blob that cannot be written leaves all of them.
  if (report.code == ExitCode::invalid_file) return {};
  return ModelText(report, verbose, color).write();
}

}  // namespace tenon::inspect
