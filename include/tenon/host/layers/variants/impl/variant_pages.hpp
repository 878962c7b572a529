// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "tenon/core/bytes.hpp"
#include "tenon/host/layers/variants/impl/read_variants.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/schema/program_generated.h"

/// Pages of a file of which a load reads one variant.
namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Segments of constants and of states are of all variants.
inline void read_variants_alone(const Program& program) noexcept {
  const ProgramView& view = program.view();
  program.read_alone(view.segment_area(), true);
  const auto usual = [&](const schema::SubsegmentOffsets* of_all) {
    if (of_all) program.read_alone(view.segment(of_all->segment_index()), false);
  };
  if (view.uses_constant_segment()) usual(program.flatbuffer().constant_segment());
  if (const auto* states = program.flatbuffer().mutable_data_segments()) {
    for (const auto* one : *states) usual(one);
  }
}

/// Lets the system begin to read what a variant alone uses of the file, in one piece.
inline void read_variant_ahead(const Program& program, const ProgramVariant& variant) {
  const ProgramView& view = program.view();
  // Segments may overlap, and lists may name one again and again.
  std::size_t left = view.segment_area().size();
  const auto ahead = [&](std::span<const std::byte> part) {
    if (part.size() > left) return;
    left -= part.size();
    program.read_ahead(part);
  };
  const schema::ExecutionPlan& plan = *program.flatbuffer().execution_plan()->Get(variant.plan);
  for (const auto* delegate : *plan.delegates()) ahead(view.delegate_data(*delegate));
  const auto table = program.find_key(variants_key);
  if (!table) return;
  const auto of_any = [&](std::string_view plan_name, std::string_view key) {
    if (plan_name != plan.name()->string_view()) return;
    if (const auto place = program.find_key(key)) ahead(program.key_data(*place));
  };
  for_each_key_of_variants(as_text(program.key_data(*table)), of_any);
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
