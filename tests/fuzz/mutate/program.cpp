// SPDX-License-Identifier: MIT
#include "program.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/mutate/plan_mutator.hpp"
#include "fuzz/mutate/words.hpp"
#include "support/aligned_bytes.hpp"
#include "support/program_builder.hpp"
#include "support/random_program.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "unit/host/layers/data/data_file_builder.hpp"

namespace tenon::fuzz {
namespace {

using test::AlignedBytes;
using test::DataFileBuilder;
using test::ProgramBuilder;
namespace data_objects = flat_tensor_schema::objects;

template <class Segment>
void change_segments(std::vector<std::unique_ptr<Segment>>& segments, Random& random) {
  if (segments.empty() || random.one_in(6)) {
    segments.push_back(std::make_unique<Segment>());
    return;
  }
  Segment& one = *random.pick(segments);
  auto& number = random.one_in(2) ? one.offset : one.size;
  number = other_number(number, static_cast<std::size_t>(one.offset + one.size), random);
}

template <class Entry>
void change_names(std::vector<std::unique_ptr<Entry>>& entries, std::size_t num_segments,
                  Random& random) {
  if (entries.empty() || random.one_in(4)) {
    auto& added = *entries.emplace_back(std::make_unique<Entry>());
    added.key = "key" + std::to_string(entries.size());
  }
  Entry& one = *random.pick(entries);
  if (random.one_in(2)) {
    mutate_text(one.key, 16);
  } else {
    one.segment_index = static_cast<std::uint32_t>(random.one_in(8) ? other_number(0, 8, random)
                                                                    : random.below(num_segments));
  }
}

/// Constants or initial states: a segment and offsets in it.
void change_offsets(std::unique_ptr<objects::SubsegmentOffsetsT>& part, std::size_t num_segments,
                    Random& random) {
  if (!part) part = std::make_unique<objects::SubsegmentOffsetsT>();
  switch (random.below(3)) {
    case 0:
      part->segment_index = static_cast<std::uint32_t>(
          random.one_in(8) ? other_number(0, 8, random) : random.below(num_segments));
      return;
    case 1:
      part->offsets.push_back(random.below(8) * 16);
      return;
    default:
      if (part->offsets.empty()) return;
      random.pick(part->offsets) =
          random.one_in(4) ? other_number(16, 128, random) : random.below(8) * 16;
  }
}

void change_program(ProgramBuilder& builder, Random& random) {
  objects::ProgramT& program = builder.program;
  switch (random.below(24)) {
    case 0:
      return change_segments(program.segments, random);
    case 1:
      return change_names(program.named_data, program.segments.size(), random);
    case 2:
      return change_offsets(program.constant_segment, program.segments.size(), random);
    case 3:
      if (program.mutable_data_segments.empty() || random.one_in(4)) {
        program.mutable_data_segments.push_back(std::make_unique<objects::SubsegmentOffsetsT>());
      }
      return change_offsets(random.pick(program.mutable_data_segments), program.segments.size(),
                            random);
    case 4:
      if (program.segments.size() < 16) {
        (void)builder.segment(test::bytes_of(std::string(random.below(96), 's')), 16);
      }
      return;
    case 5:
      (void)builder.inline_blob(std::string(random.below(40), 'b'));
      return;
    case 6:
      if (program.constant_buffer.size() < 4) {
        program.constant_buffer.emplace_back(std::make_unique<objects::BufferT>());
        program.constant_buffer.back()->storage.resize(random.below(9) * 16);
      }
      return;
    case 7:
      if (program.execution_plan.size() < 4) (void)builder.plan("other");
      return;
    default:
      if (program.execution_plan.empty()) {
        (void)builder.plan("forward");
        return;
      }
      return PlanMutator(program, *random.pick(program.execution_plan), random).change();
  }
}

/// A valid program that uses all of the format, with the backends of touch_backends.hpp.
std::vector<std::byte> new_program(Random& random) {
  aot::ProgramData program = test::RandomProgram(random.next()).make();
  for (aot::MethodData& method : program.methods) {
    for (aot::DelegateData& delegate : method.delegates) {
      delegate.id = random.one_in(2) ? "NoopBackend" : "DeviceBackend";
    }
  }
  const auto image = aot::make_pte(program);
  return image.ok() ? image->bytes() : std::vector<std::byte>();
}

/// The bytes of a built file.
std::vector<std::byte> bytes_in(const AlignedBytes& file) {
  return {file.bytes().begin(), file.bytes().end()};
}

/// Empty, as the others below, when the bytes cannot be opened.
std::vector<std::byte> changed_program(std::span<const std::byte> bytes, Random& random) {
  const AlignedBytes file(bytes);
  const auto program = host::Program::from_bytes(file.bytes(), nullptr, "fuzz.pte");
  if (!program.ok()) return {};
  ProgramBuilder builder = ProgramBuilder::of(file.bytes());
  for (std::size_t i = 0, count = 1 + random.below(4); i < count; ++i) {
    change_program(builder, random);
  }
  return bytes_in(builder.build());
}

void change_layout(data_objects::NamedDataT& entry, Random& random) {
  if (!entry.tensor_layout) {
    entry.tensor_layout = std::make_unique<data_objects::TensorLayoutT>();
    return;
  }
  auto& layout = *entry.tensor_layout;
  switch (random.below(4)) {
    case 0:
      layout.dim_order.push_back(static_cast<std::uint8_t>(layout.dim_order.size()));
      layout.sizes.push_back(static_cast<std::int32_t>(random.below(4)));
      return;
    case 1:
      if (layout.sizes.empty()) return;
      random.pick(layout.sizes) = static_cast<std::int32_t>(
          random.one_in(4) ? other_number(1, 8, random) : random.below(9));
      return;
    case 2:
      if (layout.dim_order.empty()) return;
      random.pick(layout.dim_order) =
          static_cast<std::uint8_t>(random.below(layout.dim_order.size() + 1));
      return;
    default:
      layout.scalar_type = static_cast<schema::ScalarType>(random.below(46));
  }
}

std::vector<std::byte> changed_data_file(std::span<const std::byte> bytes, Random& random) {
  const AlignedBytes file(bytes);
  const auto opened = host::DataFile::from_bytes(file.bytes(), nullptr, "fuzz.ptd");
  if (!opened.ok()) return {};
  DataFileBuilder builder = DataFileBuilder::of(file.bytes());
  auto& root = builder.root;
  for (std::size_t i = 0, count = 1 + random.below(3); i < count; ++i) {
    switch (random.below(5)) {
      case 0:
        change_segments(root.segments, random);
        break;
      case 1:
        change_names(root.named_data, root.segments.size(), random);
        break;
      case 2:
        (void)builder.data("added" + std::to_string(random.below(3)),
                           std::string(random.below(40), 'd'));
        break;
      default:
        if (!root.named_data.empty()) change_layout(*random.pick(root.named_data), random);
    }
  }
  return bytes_in(builder.build());
}

/// A data file with what the program's external tensors need.
std::vector<std::byte> data_file_for(std::span<const std::byte> bytes) {
  const AlignedBytes file(bytes);
  const auto program = host::Program::from_bytes(file.bytes(), nullptr, "fuzz.pte");
  if (!program.ok()) return {};
  constexpr std::uint64_t largest = 4096;
  const ProgramBuilder builder = ProgramBuilder::of(file.bytes());
  DataFileBuilder data;
  for (const auto& plan : builder.program.execution_plan) {
    for (const auto& value : plan->values) {
      const auto* tensor = value->val.AsTensor();
      if (!tensor || !tensor->extra_tensor_info ||
          tensor->extra_tensor_info->location != schema::TensorDataLocation::EXTERNAL) {
        continue;
      }
      const host::StoredTensorLayout layout{static_cast<ScalarType>(tensor->scalar_type),
                                            tensor->sizes, tensor->dim_order};
      if (layout.nbytes() > largest) continue;
      auto& entry = data.data(tensor->extra_tensor_info->fully_qualified_name,
                              std::string(static_cast<std::size_t>(layout.nbytes()), 'e'));
      entry.tensor_layout = std::make_unique<data_objects::TensorLayoutT>();
      entry.tensor_layout->scalar_type = tensor->scalar_type;
      entry.tensor_layout->sizes = tensor->sizes;
      entry.tensor_layout->dim_order = tensor->dim_order;
    }
  }
  return bytes_in(data.build());
}

/// The two files one behind the other.
std::vector<std::byte> joined(std::span<const std::byte> program, std::span<const std::byte> data) {
  std::vector<std::byte> out(program.begin(), program.end());
  if (data.empty()) return out;
  out.resize((out.size() + 15) / 16 * 16);
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

}  // namespace

ProgramInput split_input(std::span<std::byte> bytes) {
  for (std::size_t at = 16; at + 8 <= bytes.size(); at += 16) {
    if (std::memcmp(&bytes[at + 4], "FT01", 4) == 0) {
      return {bytes.first(at), bytes.subspan(at)};
    }
  }
  return {bytes, {}};
}

std::size_t mutate_program(std::span<std::uint8_t> input, std::size_t size, Random& random) {
  const ProgramInput parts = split_input(std::as_writable_bytes(input.first(size)));
  std::vector<std::byte> changed;
  std::vector<std::byte> out;
  switch (random.below(16)) {
    case 0:
      return mutate_words(input, size, random);
    case 1:
      if (random.one_in(8)) out = new_program(random);
      break;
    case 2:
      changed = data_file_for(parts.program);
      if (!changed.empty()) out = joined(parts.program, changed);
      break;
    case 3:
      if (!parts.data.empty()) changed = changed_data_file(parts.data, random);
      if (!changed.empty()) out = joined(parts.program, changed);
      break;
    default:
      changed = changed_program(parts.program, random);
      if (!changed.empty()) out = joined(changed, parts.data);
  }
  if (!out.empty() && replace(input, size, out)) return size;
  return mutate_words(input, size, random);
}

std::size_t mutate_data_file(std::span<std::uint8_t> input, std::size_t size, Random& random) {
  if (random.one_in(3)) return mutate_words(input, size, random);
  const auto changed = changed_data_file(std::as_bytes(input.first(size)), random);
  if (!changed.empty() && replace(input, size, changed)) return size;
  return mutate_words(input, size, random);
}

}  // namespace tenon::fuzz
