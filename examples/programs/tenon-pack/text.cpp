// SPDX-License-Identifier: MIT
#include <string_view>

#include "pack.hpp"
#include "tenon/aot/compiler/emit/tensor_text.hpp"
#include "tenon/core/concat.hpp"
#include "tool.hpp"

namespace tenon::pack {
namespace {

std::string bytes_text(std::uint64_t nbytes) {
  return concat(nbytes, " byte", nbytes == 1 ? "" : "s");
}

void append_tensors(std::string& out, std::string_view kind,
                    const std::vector<aot::TensorValue>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    out += concat("  ", kind, " ", i, ": ", tensor_text(tensors[i]), "\n");
  }
}

}  // namespace

std::string to_text(const Report& report) {
  if (!report.program) return {};
  const Call& call = report.call;
  std::string out = concat("method ", printable(call.method), ": ", printable(call.backend),
                           ", blob of ", bytes_text(call.blob.size()), "\n");
  append_tensors(out, "input", call.inputs);
  append_tensors(out, "output", call.outputs);
  for (const auto& spec : call.specs) {
    out += concat("  spec ", printable(spec.key), ": ", bytes_text(spec.value.size()), "\n");
  }
  for (const auto& [key, bytes] : call.data) {
    out += concat("  data ", printable(key), ": ", bytes_text(bytes.size()), "\n");
  }
  return out +
         concat(printable(report.program->path), ": ", bytes_text(report.program->nbytes), "\n");
}

}  // namespace tenon::pack
