// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/core/result.hpp"
#include "tenon/host/key_index.hpp"
#include "tenon/host/program_verify_plan.hpp"

namespace tenon::host::detail {

/// Name of method `index` of a verified program.
[[nodiscard]] inline std::string_view method_name_of(const schema::Program& program,
                                                     std::uint32_t index) noexcept {
  return program.execution_plan()->Get(index)->name()->string_view();
}

/// Key of named data `index` of a verified program.
[[nodiscard]] inline std::string_view named_data_key_of(const schema::Program& program,
                                                        std::uint32_t index) noexcept {
  return program.named_data()->Get(index)->key()->string_view();
}

/// Checks offsets into a segment (constant_segment and mutable_data_segments).
[[nodiscard]] inline Status verify_subsegments(const ProgramView& view,
                                               const schema::SubsegmentOffsets& where,
                                               WorkLimit& limit) {
  const auto* offsets = where.offsets();
  if (offsets == nullptr) return error(Error::InvalidProgram, "offsets is missing");
  if (!aligned(*offsets)) {
    return error(Error::InvalidProgram, "offsets is not aligned to 8 bytes");
  }
  if (!limit.take(offsets->size() * sizeof(std::uint64_t))) {
    return shared_too_often(Error::InvalidProgram);
  }
  TENON_CHECK(
      verify_index(where.segment_index(), view.num_segments(), "segments", "segment_index"));
  const auto size = view.segment(where.segment_index()).size();
  for (flatbuffers::uoffset_t i = 0; i < offsets->size(); ++i) {
    if (offsets->Get(i) <= size) continue;
    return error(Error::InvalidProgram, "offsets[", i, "] is ", offsets->Get(i), ", but segment ",
                 where.segment_index(), " has ", size, " bytes");
  }
  return ok();
}

[[nodiscard]] inline Status verify_constants(const ProgramView& view, WorkLimit& limit) {
  const auto& program = view.flatbuffer();
  if (view.uses_constant_segment()) {
    if (program.constant_buffer() != nullptr && program.constant_buffer()->size() != 0) {
      return error(Error::InvalidProgram, "constant_buffer has ", program.constant_buffer()->size(),
                   " entries and constant_segment has ",
                   program.constant_segment()->offsets()->size(), ", expected only one of them");
    }
    TENON_CHECK(
        within(verify_subsegments(view, *program.constant_segment(), limit), "constant_segment"));
  }
  const auto* mutable_data = program.mutable_data_segments();
  for (flatbuffers::uoffset_t i = 0; mutable_data != nullptr && i < mutable_data->size(); ++i) {
    TENON_CHECK(within(verify_subsegments(view, *mutable_data->Get(i), limit),
                       "mutable_data_segments[", i, "]"));
  }
  return ok();
}

/// What is found by name in a program.
struct ProgramNames {
  KeyIndex methods;
  KeyIndex named_data;
};

/// Checks all that a host reads of a program, once, so that later code may follow any index in it.
///
/// Afterwards the following holds. Lists called "there" are present, though they may be empty.
///
/// - Segments lie in `segment_size` bytes. Constant and mutable data lists name existing segments,
///   and their offsets lie inside them. Constants are not both in a segment and in the flatbuffer.
/// - Named data has distinct keys and existing segments. Method names are there and distinct.
/// - Of each plan `values`, `inputs`, `outputs`, `delegates` and `non_const_buffer_sizes` are
/// there,
///   there is a chain, and each chain has `instructions`. `operators` may be absent when no
///   instruction needs it. Names of methods and operators,
///   ids of backends and keys of compile specs hold no NUL.
/// - Each index (inputs, outputs, arguments, operators, delegates, moves, conditions, freed values,
///   list items) is in range. A jump goes to an instruction of its chain or to its end.
/// - Each value has a known kind and its table. Lists have items of the right kind; a boolean is 0
///   or 1. Tensors have what `verify_layout` checks, a storage offset of 0, a bounded shape, known
///   enumerators, and a source of data that holds all their bytes, aligned to the element size. (An
///   initial state is copied and need not be aligned.)
/// - Planned buffers have sizes of 0 or more (entry 0 is reserved) and at most one device each.
/// - Each delegate has an id, a blob that exists, and compile specs with keys and values.
///
/// Not checked, because nothing of the host relies on it: `stacktrace`, `container_meta_type`,
/// `requires_grad`, `layout`, the overload of an operator, and whether instructions ever end.
///
/// errors: InvalidProgram for whatever a correct writer cannot have written. NotSupported for a
///         storage offset and for unbounded shapes, InvalidExternalData for an external tensor
///         without a name (tensor_parser_portable.cpp, tensor_parser_exec_aten.cpp). The text names
///         the plan, the value or instruction, the field, what was expected and what was found.
[[nodiscard]] inline Result<ProgramNames> verify_program(const ProgramView& view,
                                                         std::uint64_t flatbuffer_size,
                                                         std::uint64_t segment_size) {
  constexpr auto code = Error::InvalidProgram;
  const auto& program = view.flatbuffer();
  WorkLimit limit(flatbuffer_size);
  if (program.version() > 0) {
    return error(code, "version is ", program.version(), ", this host reads version 0");
  }
  for (std::uint32_t i = 0; i < view.num_segments(); ++i) {
    TENON_CHECK(within(verify_segment(*program.segments()->Get(i), segment_size, code), "segments[",
                       i, "]"));
  }
  TENON_CHECK(verify_constants(view, limit));

  const auto* named_data = program.named_data();
  const std::uint32_t num_keys = named_data == nullptr ? 0 : named_data->size();
  for (std::uint32_t i = 0; i < num_keys; ++i) {
    const auto& entry = *named_data->Get(i);
    TENON_CHECK(within(verify_text(entry.key(), "key", limit, code), "named_data[", i, "]"));
    TENON_CHECK(verify_index(entry.segment_index(), view.num_segments(), "segments", "named_data[",
                             i, "]: segment_index"));
  }
  const auto* plans = program.execution_plan();
  if (plans == nullptr) return error(code, "execution_plan is missing");
  for (std::uint32_t i = 0; i < plans->size(); ++i) {
    TENON_CHECK(within(verify_c_string(plans->Get(i)->name(), "name", limit, code), "plan ", i));
  }
  const auto method_name = [&](std::uint32_t i) { return method_name_of(program, i); };
  const auto key = [&](std::uint32_t i) { return named_data_key_of(program, i); };
  TENON_TRY(auto methods, KeyIndex::build(plans->size(), method_name, code, "execution_plan"));
  TENON_TRY(auto keys, KeyIndex::build(num_keys, key, code, "named_data"));
  for (std::uint32_t i = 0; i < plans->size(); ++i) {
    TENON_CHECK(
        within(verify_plan(view, *plans->Get(i), limit), "plan ", i, " ", quoted(method_name(i))));
  }
  return ProgramNames{std::move(methods), std::move(keys)};
}

}  // namespace tenon::host::detail
