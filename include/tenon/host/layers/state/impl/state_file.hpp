// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/host/layers/state/impl/state_memory.hpp"
#include "tenon/host/layers/trust/impl/field_hasher.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Of the program, its weights and the plugins, as far as they decide what a state means.
[[nodiscard]] inline Sha256 fingerprint_of(MethodState& method, const StateMemory& memory) {
  FieldHasher hasher;
  const schema::ExecutionPlan& plan = method.plan;
  const ProgramView& program = (*method.program).view();
  hasher.text(plan.name()->string_view());
  hasher.bytes(program.segment_area());
  for (std::uint32_t i = 0; i < num_operators(plan); ++i) {
    const schema::Operator& op = *plan.operators()->Get(i);
    hasher.text(op.name()->string_view());
    hasher.text(op.overload() ? op.overload()->string_view() : std::string_view());
  }
  for (const auto* chain : *plan.chains()) {
    for (const auto* instruction : *chain->instructions()) {
      hasher.number(static_cast<std::uint64_t>(instruction->instr_args_type()));
      const auto* kernel = instruction->instr_args_as_KernelCall();
      const auto* delegate = instruction->instr_args_as_DelegateCall();
      if (!kernel && !delegate) continue;
      hasher.number(
          static_cast<std::uint64_t>(kernel ? kernel->op_index() : delegate->delegate_index()));
      for (const std::int32_t arg : *(kernel ? kernel->args() : delegate->args())) {
        hasher.number(static_cast<std::uint64_t>(arg));
      }
    }
  }
  for (const tenon_value& value : method.values) {
    hasher.number(value.kind);
    if (value.kind == TENON_VALUE_TENSOR && (value.as.tensor->flags & TENON_TENSOR_CONSTANT)) {
      hasher.bytes({static_cast<const std::byte*>(value.as.tensor->dl.data),
                    static_cast<std::size_t>(value.as.tensor->nbytes)});
    }
  }
  for (flatbuffers::uoffset_t i = 0; i < plan.delegates()->size(); ++i) {
    const BackendRecord& record = method.delegates[i].use->backend->record();
    hasher.text(record.id);
    hasher.text(record.description);
    hasher.number(record.max_payload_version);
    hasher.bytes(program.delegate_data(*plan.delegates()->Get(i)));
  }
  const tenon_named_data_map* const data = method.named_data;
  for (std::uint32_t i = 0; data && i < data->num_keys; ++i) {
    const char* key = nullptr;
    std::uint64_t key_size = 0;
    if (data->get_key(data, i, &key, &key_size) != TENON_STATUS_OK) continue;
    hasher.text({key, static_cast<std::size_t>(key_size)});
    tenon_buffer found{};
    found.struct_size = sizeof found;
    if (data->get_data(data, key, key_size, &found) != TENON_STATUS_OK) continue;
    hasher.bytes(
        {static_cast<const std::byte*>(found.data), static_cast<std::size_t>(found.nbytes)});
  }
  for (const StateMemory::Part& part : memory.parts()) {
    hasher.text(part.name);
    hasher.number(part.nbytes);
  }
  return hasher.finish();
}

/// A state that was saved: a head, the image, the journal if it was saved too, and the hash of all.
struct StateFile {
  static constexpr std::string_view magic = "TenonSq1";
  static constexpr std::size_t head_size = 8 + 32 + 8 + 8;

  static std::vector<std::byte> write(const Sha256& fingerprint, std::uint64_t position,
                                      Bytes image, Bytes journal) {
    std::vector<std::byte> out;
    out.reserve(head_size + image.size() + journal.size() + 32);
    const auto add = [&](Bytes bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); };
    const auto number = [&](std::uint64_t value) { add(std::as_bytes(std::span(&value, 1))); };
    add(std::as_bytes(std::span(magic)));
    add(std::as_bytes(std::span(fingerprint.bytes)));
    number(position);
    number(image.size());
    add(image);
    add(journal);
    const Sha256 hash = sha256_of(out);
    add(std::as_bytes(std::span(hash.bytes)));
    return out;
  }

  std::uint64_t position = 0;
  Bytes image{}, journal{};  ///< The journal: `Journal::to_bytes`.

  /// The contents of `saved`, which is borrowed. `fingerprint` and `nbytes` are this method's.
  static Result<StateFile> read(std::span<const std::byte> saved, const Sha256& fingerprint,
                                std::size_t nbytes) {
    if (saved.size() < head_size + 32 || as_text(saved.first(magic.size())) != magic) {
      return error(Error::InvalidExternalData,
                   "a saved sequence: expected bytes that Sequence::save "
                   "gave, found ",
                   saved.size(), " other bytes");
    }
    const std::span<const std::byte> hash = saved.last(32);
    const Sha256 found = sha256_of(saved.first(saved.size() - 32));
    if (std::memcmp(hash.data(), found.bytes.data(), 32) != 0) {
      return error(Error::InvalidExternalData,
                   "a saved sequence: it is damaged, as its bytes do not match their SHA-256");
    }
    if (std::memcmp(saved.data() + magic.size(), fingerprint.bytes.data(), 32) != 0) {
      return error(Error::InvalidState,
                   "a saved sequence: expected this program, its weights and its plugin, found "
                   "another program, other weights or another plugin");
    }
    const auto number = [&](std::size_t at) { return *read_le<std::uint64_t>(saved, at); };
    const Bytes rest = saved.subspan(head_size, saved.size() - head_size - 32);
    if (number(48) == nbytes && rest.size() >= nbytes) {
      return StateFile{number(40), rest.first(nbytes), rest.subspan(nbytes)};
    }
    return error(Error::InvalidExternalData, "a saved sequence: expected a state of ", nbytes,
                 " bytes, found ", std::min<std::uint64_t>(number(48), rest.size()));
  }
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
