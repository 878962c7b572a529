// SPDX-License-Identifier: MIT
#include "common/blob.hpp"

#include <algorithm>
#include <cstring>

namespace openvino_backend {
namespace {

using tenon::Error;

constexpr std::string_view ir_magic("TNOVIR\0\0", 8);
constexpr std::size_t ir_head = 32;
constexpr std::string_view cpu_magic = "RR_UPCVO";

template <class T>
void put(std::vector<std::byte>& out, T value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}

void put(std::vector<std::byte>& out, std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  out.insert(out.end(), first, first + text.size());
}

/// The value of `name` in requirements, empty when it is not there.
std::string_view requirement(std::string_view requirements, std::string_view name) {
  while (!requirements.empty()) {
    const std::size_t end = std::min(requirements.find(';'), requirements.size());
    std::string_view one = requirements.substr(0, end);
    requirements.remove_prefix(std::min(end + 1, requirements.size()));
    if (!one.starts_with(name)) continue;
    one.remove_prefix(name.size());
    if (one.starts_with('=')) return one.substr(1);
  }
  return {};
}

/// Whether `version` is `begin`, or begins with all numbers of it: "2026.4.10" is no "2026.4.1".
bool is_version(std::string_view version, std::string_view begin) {
  if (!version.starts_with(begin)) return false;
  const std::string_view rest = version.substr(begin.size());
  return begin.empty() || rest.empty() || rest[0] < '0' || rest[0] > '9';
}

}  // namespace

bool is_ir_blob(tenon::Bytes payload) noexcept {
  return tenon::as_text(payload).starts_with(ir_magic);
}

tenon::Result<IrBlob> read_ir_blob(tenon::Bytes payload) {
  if (!is_ir_blob(payload)) {
    return tenon::error(Error::DelegateInvalidCompatibility,
                        "payload: expected the magic TNOVIR of OpenVINO IR, found ", payload.size(),
                        " other bytes");
  }
  const auto version = tenon::read_le<std::uint32_t>(payload, 8);
  if (version && *version != payload_version) {
    return tenon::error(Error::DelegateInvalidCompatibility, "payload: expected version ",
                        payload_version, ", found ", *version);
  }
  if (payload.size() < ir_head) {
    return tenon::error(Error::InvalidProgram, "payload: expected a head of ", ir_head,
                        " bytes, found ", payload.size());
  }
  const auto key_size = *tenon::read_le<std::uint32_t>(payload, 12);
  const auto xml_size = *tenon::read_le<std::uint64_t>(payload, 16);
  const auto weights_size = *tenon::read_le<std::uint64_t>(payload, 24);
  const std::string_view rest = tenon::as_text(payload.subspan(ir_head));
  if (key_size > rest.size() || xml_size != rest.size() - key_size || xml_size == 0) {
    return tenon::error(Error::InvalidProgram, "payload: its head says a key of ", key_size,
                        " and XML of ", xml_size, " bytes, found ", rest.size(), " together");
  }
  if ((weights_size == 0) != (key_size == 0)) {
    return tenon::error(Error::InvalidProgram, "payload: weights of ", weights_size,
                        " bytes under a key of ", key_size);
  }
  return IrBlob{rest.substr(0, key_size), weights_size, rest.substr(key_size)};
}

std::vector<std::byte> write_ir_blob(const IrBlob& blob) {
  std::vector<std::byte> out;
  out.reserve(ir_head + blob.key.size() + blob.xml.size());
  put(out, ir_magic);
  put(out, payload_version);
  put(out, static_cast<std::uint32_t>(blob.key.size()));
  put(out, static_cast<std::uint64_t>(blob.xml.size()));
  put(out, blob.weights_size);
  put(out, blob.key);
  put(out, blob.xml);
  return out;
}

tenon::Result<ExportedBlob> read_exported_blob(tenon::Bytes payload) {
  const std::string_view text = tenon::as_text(payload);
  if (payload.empty()) {
    return tenon::error(Error::InvalidProgram,
                        "payload: expected an exported model of OpenVINO, found no bytes");
  }
  if (!text.starts_with(cpu_magic)) return ExportedBlob{};
  constexpr std::size_t fixed = 20;
  const auto size = tenon::read_le<std::uint64_t>(payload, 12);
  if (!size || *size > payload.size() - fixed) {
    return tenon::error(Error::InvalidProgram, "payload: its requirements end outside of its ",
                        payload.size(), " bytes");
  }
  ExportedBlob out;
  out.requirements = text.substr(fixed, static_cast<std::size_t>(*size));
  // Three parts, each an offset and a size, counted from here.
  const tenon::Bytes model = payload.subspan(fixed + static_cast<std::size_t>(*size));
  constexpr std::size_t parts = 3;
  for (std::size_t part = 0; part < parts; ++part) {
    const auto offset = tenon::read_le<std::uint64_t>(model, part * 16);
    const auto nbytes = tenon::read_le<std::uint64_t>(model, part * 16 + 8);
    if (!offset || !nbytes || *offset > model.size() || *nbytes > model.size() - *offset) {
      return tenon::error(Error::InvalidProgram, "payload: part ", part,
                          " of the exported model ends outside of its ", model.size(), " bytes");
    }
    out.graph_size = *nbytes;  // The last part is the graph.
  }
  return out;
}

tenon::Status check_origin(const ExportedBlob& blob, std::string_view version,
                           std::string_view required) {
  constexpr std::size_t shown = 80;  // Of texts from the blob.
  const std::string_view by = requirement(blob.requirements, "ov");
  if (!is_version(version, by)) {
    return tenon::error(Error::DelegateInvalidCompatibility, "payload: expected version ", version,
                        " of OpenVINO, found ", by.substr(0, shown), "; export the program again");
  }
  if (required.empty()) return tenon::ok();
  if (blob.requirements.empty()) {
    return tenon::error(Error::DelegateInvalidCompatibility,
                        "payload: expected OpenVINO IR or a model that OpenVINO ", version,
                        " exported for the CPU, found bytes with the magic of neither");
  }
  const std::string_view here = requirement(required, "isa");
  const std::string_view isa = requirement(blob.requirements, "isa");
  if (!here.empty() && !isa.empty() && here != isa) {
    return tenon::error(Error::DelegateInvalidCompatibility, "payload: expected instruction set '",
                        here, "' (OpenVINO ", version, "), found '", isa.substr(0, shown),
                        "'; export the program on this processor");
  }
  return tenon::ok();
}

}  // namespace openvino_backend
