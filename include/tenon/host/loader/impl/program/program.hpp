// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/program/program.hpp"

#include <algorithm>
#include <utility>

#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/loader/impl/program/flatbuffer_root.hpp"
#include "tenon/host/loader/impl/program/named_data_entries.hpp"
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
                 std::shared_ptr<const void> keep_alive, std::string name, const HostLimits& limits,
                 Verified verified) noexcept
    : NamedDataTable(verified.names.named_data.size()),
      file_(std::move(file)),
      head_(std::move(head)),
      keep_alive_(std::move(keep_alive)),
      name_(std::move(name)),
      limits_(limits),
      bytes_(verified.bytes),
      view_(verified.view),
      names_(std::move(verified.names)) {}

Result<std::shared_ptr<const Program>> Program::open(
    const std::filesystem::path& path, const HostLimits& limits,
    bool (*reads_alone)(std::span<const std::byte>) noexcept) {
  auto head = std::make_unique<Head>();
  std::span<std::byte> start(head->bytes);
  TENON_TRY(auto file, MappedFile::open(path, &start));
  const auto bytes = file.bytes();
  // Before anything of the mapping is touched.
  if (reads_alone != nullptr && reads_alone(start)) file.read_alone(bytes, true);
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
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < num_methods(); ++i) names.push_back(method_name(i));
  return names;
}

std::optional<std::uint32_t> Program::find_method(std::string_view name) const noexcept {
  return names_.methods.find(
      name, [this](std::uint32_t i) { return detail::method_name_of(flatbuffer(), i); });
}

Result<const schema::ExecutionPlan*> Program::plan(std::string_view method) const {
  if (const auto place = find_method(method)) return flatbuffer().execution_plan()->Get(*place);
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
  auto verified = verify(bytes, start, limits);
  if (!verified.ok()) return shortened(std::move(verified).status().with_context(name));
  if (verified->in_file) head.reset();
  return std::shared_ptr<const Program>(new Program(std::move(file), std::move(head),
                                                    std::move(keep_alive), std::move(name), limits,
                                                    *std::move(verified)));
}

const KeptFacts& Program::keep(std::unique_ptr<const KeptFacts> facts) const noexcept {
  const KeptFacts* sooner = nullptr;
  if (!kept_.compare_exchange_strong(sooner, facts.get(), std::memory_order_acq_rel)) {
    return *sooner;
  }
  return *facts.release();
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
  return Verified{view, std::move(names), size > start.size(), bytes};
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
