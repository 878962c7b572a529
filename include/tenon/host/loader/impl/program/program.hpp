// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/program/program.hpp"

#include <algorithm>
#include <utility>

#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/loader/impl/program/flatbuffer_root.hpp"
#include "tenon/host/loader/impl/program/verify.hpp"
#include "tenon/host/loader/program/file_header.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The alignment that fields of the flatbuffer need at most (schema: force_align).
inline constexpr std::size_t program_alignment = 16;

}  // namespace detail

Program::Program(MappedFile file, std::unique_ptr<Head> head,
                 std::shared_ptr<const void> keep_alive, std::string name,
                 Verified verified) noexcept
    : file_(std::move(file)),
      head_(std::move(head)),
      keep_alive_(std::move(keep_alive)),
      name_(std::move(name)),
      view_(verified.view),
      names_(std::move(verified.names)) {}

Result<std::shared_ptr<const Program>> Program::open(const std::filesystem::path& path,
                                                     const HostLimits& limits) {
  auto head = std::make_unique<Head>();
  std::span<std::byte> start(head->bytes);
  TENON_TRY(auto file, MappedFile::open(path, &start));
  const auto bytes = file.bytes();
  return make(bytes, start, std::move(file), std::move(head), nullptr, path_text(path), limits);
}

Result<std::shared_ptr<const Program>> Program::from_bytes(std::span<const std::byte> bytes,
                                                           std::shared_ptr<const void> keep_alive,
                                                           std::string name,
                                                           const HostLimits& limits) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % detail::program_alignment != 0) {
    return error(Error::InvalidArgument, name, ": the bytes begin at an address that is not a ",
                 "multiple of ", detail::program_alignment);
  }
  return make(bytes, bytes, MappedFile(), nullptr, std::move(keep_alive), std::move(name), limits);
}

std::string_view Program::method_name(std::size_t index) const noexcept {
  return detail::method_name_of(flatbuffer(), static_cast<std::uint32_t>(index));
}

std::vector<std::string_view> Program::method_names() const {
  std::vector<bool> is_hidden(num_methods());
  for (const ProgramVariant& variant : names_.variants) {
    if (!variant.is_default) is_hidden[variant.plan] = true;
  }
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < num_methods(); ++i) {
    if (!is_hidden[i]) names.push_back(method_name(i));
  }
  return names;
}

std::span<const ProgramVariant> Program::variants(std::string_view method) const noexcept {
  if (names_.variants.empty()) return {};
  const auto number_of = [this](std::string_view name) {
    return names_.methods.find(
        name, [this](std::uint32_t i) { return detail::method_name_of(flatbuffer(), i); });
  };
  const auto number = number_of(method);
  if (!number) return {};
  // They are in the order of their methods.
  const auto first =
      std::ranges::lower_bound(names_.variants, number, {},
                               [&](const ProgramVariant& one) { return number_of(one.method); });
  const auto last = std::find_if_not(first, names_.variants.end(), [&](const ProgramVariant& one) {
    return one.method == method;
  });
  return {first, last};
}

const ProgramVariant* Program::find_variant(std::string_view plan) const noexcept {
  for (const ProgramVariant& variant : names_.variants) {
    if (method_name(variant.plan) == plan) return &variant;
  }
  return nullptr;
}

Result<const schema::ExecutionPlan*> Program::plan(std::string_view method) const {
  const auto place = names_.methods.find(
      method, [this](std::uint32_t i) { return detail::method_name_of(flatbuffer(), i); });
  if (place) return flatbuffer().execution_plan()->Get(*place);
  return error(Error::InvalidArgument, name_, ": no method named ", quoted(method), "; ",
               list_of_methods());
}

std::string_view Program::key(std::uint32_t index) const noexcept {
  return detail::named_data_key_of(flatbuffer(), index);
}

std::optional<std::uint32_t> Program::find_key(std::string_view key) const noexcept {
  return names_.named_data.find(
      key, [this](std::uint32_t i) { return detail::named_data_key_of(flatbuffer(), i); });
}

std::span<const std::byte> Program::key_data(std::uint32_t index) const noexcept {
  return view_.segment(flatbuffer().named_data()->Get(index)->segment_index());
}

Result<std::shared_ptr<const Program>> Program::make(std::span<const std::byte> bytes,
                                                     std::span<const std::byte> start,
                                                     MappedFile file, std::unique_ptr<Head> head,
                                                     std::shared_ptr<const void> keep_alive,
                                                     std::string name, const HostLimits& limits) {
  // Before anything of the mapping is touched.
  if (start.data() != bytes.data() && detail::seems_to_have_variants(FileBytes(start))) {
    file.read_alone(bytes, true);
  }
  auto verified = verify(bytes, start, limits);
  if (!verified.ok()) return shortened(std::move(verified).status().with_context(name));
  if (verified->in_file) head.reset();
  std::shared_ptr<const Program> program(new Program(std::move(file), std::move(head),
                                                     std::move(keep_alive), std::move(name),
                                                     *std::move(verified)));
  if (program->has_variants()) program->read_variants_alone();
  return program;
}

/// Segments of constants and of states are of all variants.
void Program::read_variants_alone() const noexcept {
  file_.read_alone(view_.segment_area(), true);
  const auto usual = [this](const schema::SubsegmentOffsets* of_all) {
    if (of_all) file_.read_alone(view_.segment(of_all->segment_index()), false);
  };
  if (view_.uses_constant_segment()) usual(flatbuffer().constant_segment());
  if (const auto* states = flatbuffer().mutable_data_segments()) {
    for (const auto* one : *states) usual(one);
  }
}

void Program::read_ahead(const ProgramVariant& variant) const {
  // Segments may overlap, and lists may name one again and again.
  std::size_t left = view_.segment_area().size();
  const auto ahead = [&](std::span<const std::byte> part) {
    if (part.size() > left) return;
    left -= part.size();
    file_.read_ahead(part);
  };
  const schema::ExecutionPlan& plan = *flatbuffer().execution_plan()->Get(variant.plan);
  for (const auto* delegate : *plan.delegates()) ahead(view_.delegate_data(*delegate));
  const auto table = find_key(variants_key);
  if (!table) return;
  const auto of_any = [&](std::string_view plan_name, std::string_view key) {
    if (plan_name != plan.name()->string_view()) return;
    if (const auto place = find_key(key)) ahead(key_data(*place));
  };
  detail::for_each_key_of_variants(as_text(key_data(*table)), of_any);
}

Result<Program::Verified> Program::verify(std::span<const std::byte> bytes,
                                          std::span<const std::byte> start,
                                          const HostLimits& limits) {
  TENON_TRY(const auto parts, detail::read_program_header(FileBytes(start), bytes.size()));
  const auto size = static_cast<std::size_t>(parts.flatbuffer_size);
  const auto flatbuffer = (size <= start.size() ? start : bytes).first(size);
  TENON_TRY(const auto* root, detail::verify_flatbuffer<schema::Program>(
                                  flatbuffer, schema::ProgramIdentifier(), Error::InvalidProgram));
  const ProgramView view(bytes, *root, parts.segment_base);
  TENON_TRY(auto names,
            detail::verify_program(view, parts.flatbuffer_size, parts.segment_size, limits));
  return Verified{view, std::move(names), size > start.size()};
}

std::string Program::list_of_methods() const {
  constexpr std::size_t most = 16;
  const std::vector<std::string_view> names = method_names();
  if (names.empty()) return "the program has no methods";
  std::string list = "the program has: ";
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) {
    if (i != 0) list += ", ";
    const auto name = quoted(names[i]);
    list += std::string_view(name).substr(1, name.size() - 2);
  }
  if (names.size() > most) list += ", ...";
  return list;
}

}}}  // namespace tenon::TENON_RELEASE::host
