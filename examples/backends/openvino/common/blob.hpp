// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tenon/core/bytes.hpp>
#include <tenon/core/result.hpp>
#include <vector>

namespace openvino_backend {

/// Version of the payload that the ahead-of-time half writes.
inline constexpr std::uint32_t payload_version = 1;

/// The payload of the ahead-of-time half: OpenVINO IR. The views refer to the payload.
///
/// Little-endian: magic "TNOVIR\0\0", u32 version, u32 size of the key, u64 size of the XML, u64
/// size of the weights, the key, the XML. Nothing is between the parts or behind them.
struct IrBlob {
  std::string_view key;            ///< Of the weights among the named data; empty without weights.
  std::uint64_t weights_size = 0;  ///< Bytes; 0 exactly when `key` is empty.
  std::string_view xml;            ///< IR version 11; its offsets are places in the weights.
};

/// True for payloads with the magic of `IrBlob`, complete or not.
[[nodiscard]] bool is_ir_blob(tenon::Bytes payload) noexcept;

/// DelegateInvalidCompatibility for another version or magic, InvalidProgram for other faults.
[[nodiscard]] tenon::Result<IrBlob> read_ir_blob(tenon::Bytes payload);

[[nodiscard]] std::vector<std::byte> write_ir_blob(const IrBlob& blob);

/// The payload that `ov::CompiledModel::export_model` wrote. OpenVINO 2026.4 begins those for CPUs
/// with what they require; others begin in other ways, and `requirements` is empty.
struct ExportedBlob {
  std::string_view requirements;  ///< "meta=1.0;ov=2026.4.1;isa=Intel AVX-512 ...".
  std::uint64_t graph_size = 0;   ///< Bytes of the layers; 0 without `requirements`.
};

/// Checks what can be checked without OpenVINO: of blobs for CPUs, that their parts are inside
/// them. InvalidProgram when they are not, and for no bytes.
[[nodiscard]] tenon::Result<ExportedBlob> read_exported_blob(tenon::Bytes payload);

/// DelegateInvalidCompatibility when `blob` was exported by another version of OpenVINO or for
/// another processor, or not exported at all. `version` is the local OpenVINO's
/// ("2026.4.1-22982-..."), and `required` what it requires of blobs for the device
/// (`Cores::requirements`), empty where that is not known: `version` alone is then compared.
[[nodiscard]] tenon::Status check_origin(const ExportedBlob& blob, std::string_view version,
                                         std::string_view required);

}  // namespace openvino_backend
