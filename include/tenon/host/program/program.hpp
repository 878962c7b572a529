// SPDX-License-Identifier: MIT
//
// A program file, verified and readable: the entry of this directory. Next to it are data files,
// the facts of a method, and the checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/files/limits.hpp"
#include "tenon/host/files/mapped_file.hpp"
#include "tenon/host/program/key_index.hpp"
#include "tenon/host/program/method_meta.hpp"
#include "tenon/host/program/program_view.hpp"
#include "tenon/host/schema/forward.hpp"

namespace tenon::host {

/// A program: the contents of one `.pte` file that ExecuTorch 1.x wrote ("ET12").
///
/// Opening verifies all that a host reads of it (detail::verify_program lists it); a program that
/// is open can be read without checks. The cost is that of the flatbuffer; the bytes of segments
/// are not touched. Immutable: any thread may use it, and any number of methods share it.
/// Everything that a program returns points into it and is valid while it lives.
class Program {
 public:
  /// Maps the file at `path` and verifies it.
  ///
  /// errors: AccessFailed (MappedFile::open), InvalidProgram, NotSupported, InvalidExternalData,
  ///         OutOfResources for names, values and named data above `limits`
  ///         (detail::verify_program). The text begins with the path.
  [[nodiscard]] static Result<std::shared_ptr<const Program>> open(
      const std::filesystem::path& path, const HostLimits& limits = {});

  /// Verifies a program that is in memory already. `bytes` begins at a multiple of 16; it is not
  /// copied, and must not change while the program lives. `keep_alive` is held as long as the
  /// program and may own the bytes. `name` replaces the path in errors.
  ///
  /// errors: as `open`; InvalidArgument when `bytes` is not aligned.
  [[nodiscard]] static Result<std::shared_ptr<const Program>> from_bytes(
      std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive, std::string name,
      const HostLimits& limits = {});

  /// The path, as it was given to `open`, or the name given to `from_bytes`.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// The verified flatbuffer.
  [[nodiscard]] const schema::Program& flatbuffer() const noexcept { return view_.flatbuffer(); }
  [[nodiscard]] const ProgramView& view() const noexcept { return view_; }

  [[nodiscard]] std::size_t num_methods() const noexcept { return names_.methods.size(); }
  /// Name of method `index`, below `num_methods()`.
  [[nodiscard]] std::string_view method_name(std::size_t index) const noexcept;
  /// Names of all methods, in the order of the file.
  [[nodiscard]] std::vector<std::string_view> method_names() const;

  /// The plan of a method; InvalidArgument when there is none of that name (Program::load_method).
  [[nodiscard]] Result<const schema::ExecutionPlan*> plan(std::string_view method) const;

  /// Facts of a method; InvalidArgument when there is none of that name.
  [[nodiscard]] Result<MethodMeta> method_meta(std::string_view method) const;

  [[nodiscard]] std::size_t num_segments() const noexcept { return view_.num_segments(); }
  /// Segment `index`, below `num_segments()`. May be empty.
  [[nodiscard]] std::span<const std::byte> segment(std::size_t index) const noexcept;
  /// The blob of `delegate`, a delegate of this program.
  [[nodiscard]] std::span<const std::byte> delegate_data(
      const schema::BackendDelegate& delegate) const noexcept;
  /// See ProgramView::constant_data.
  [[nodiscard]] Result<std::span<const std::byte>> constant_data(std::size_t buffer_index,
                                                                 std::uint64_t nbytes) const;
  /// See ProgramView::mutable_data.
  [[nodiscard]] Result<std::span<const std::byte>> mutable_data(std::uint64_t segments_index,
                                                                std::size_t offset_index,
                                                                std::uint64_t nbytes) const;

  /// Named data of the program itself; tenon/host/program/merged_data_map.hpp joins it with data
  /// files.
  [[nodiscard]] std::uint32_t num_keys() const noexcept { return names_.named_data.size(); }
  /// Key `index`, below `num_keys()`.
  [[nodiscard]] std::string_view key(std::uint32_t index) const noexcept;
  /// The number of the key, or nothing when the program does not have it. Found by hash.
  [[nodiscard]] std::optional<std::uint32_t> find_key(std::string_view key) const noexcept;
  /// The bytes of key `index`, below `num_keys()`.
  [[nodiscard]] std::span<const std::byte> key_data(std::uint32_t index) const noexcept;

  /// Whether a tensor or a planned buffer of any method names a device that is not the CPU.
  [[nodiscard]] bool names_devices() const noexcept { return names_.has_devices; }

  /// Gives the memory of the whole pages inside `part` back to the system. The bytes stay readable,
  /// at the cost of reading them from the file again. Does nothing for a program in memory.
  void drop(std::span<const std::byte> part) const noexcept { file_.drop(part); }

 private:
  /// A copy of a file's first bytes. A flatbuffer that fits into them is used from there: a page
  /// fault in the mapping would cost more than everything else in `open`. Segments are never
  /// copied.
  struct Head {
    alignas(16) std::byte bytes[4096];
  };

  struct Verified {
    ProgramView view;
    detail::ProgramNames names;
    bool in_file;  ///< The flatbuffer is used where it is in the file.
  };

  Program(MappedFile file, std::unique_ptr<Head> head, std::shared_ptr<const void> keep_alive,
          std::string name, Verified verified) noexcept;

  static Result<std::shared_ptr<const Program>> make(std::span<const std::byte> bytes,
                                                     std::span<const std::byte> start,
                                                     MappedFile file, std::unique_ptr<Head> head,
                                                     std::shared_ptr<const void> keep_alive,
                                                     std::string name, const HostLimits& limits);
  /// `start` is a copy of the beginning of `bytes`, or `bytes` itself.
  static Result<Verified> verify(std::span<const std::byte> bytes, std::span<const std::byte> start,
                                 const HostLimits& limits);

  [[nodiscard]] std::string list_of_methods() const;

  MappedFile file_;
  std::unique_ptr<Head> head_;
  std::shared_ptr<const void> keep_alive_;
  std::string name_;
  ProgramView view_;
  detail::ProgramNames names_;
};

}  // namespace tenon::host

#if TENON_HOST_DEFINITIONS

#include <algorithm>
#include <utility>

#include "tenon/host/files/quoted.hpp"
#include "tenon/host/files/shortened.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/program/file_header.hpp"
#include "tenon/host/program/flatbuffer_root.hpp"
#include "tenon/host/program/verify.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::host {

namespace detail {

/// The alignment that fields of the flatbuffer need at most (schema: force_align).
inline constexpr std::size_t program_alignment = 16;

}  // namespace detail

TENON_COLD TENON_API Program::Program(MappedFile file, std::unique_ptr<Head> head,
                                      std::shared_ptr<const void> keep_alive, std::string name,
                                      Verified verified) noexcept
    : file_(std::move(file)),
      head_(std::move(head)),
      keep_alive_(std::move(keep_alive)),
      name_(std::move(name)),
      view_(verified.view),
      names_(std::move(verified.names)) {}

TENON_API Result<std::shared_ptr<const Program>> Program::open(const std::filesystem::path& path,
                                                               const HostLimits& limits) {
  auto head = std::make_unique<Head>();
  std::span<std::byte> start(head->bytes);
  TENON_TRY(auto file, MappedFile::open(path, &start));
  const auto bytes = file.bytes();
  return make(bytes, start, std::move(file), std::move(head), nullptr, path_text(path), limits);
}

TENON_API Result<std::shared_ptr<const Program>> Program::from_bytes(
    std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive, std::string name,
    const HostLimits& limits) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % detail::program_alignment != 0) {
    return error(Error::InvalidArgument, name, ": the bytes begin at an address that is not a ",
                 "multiple of ", detail::program_alignment);
  }
  return make(bytes, bytes, MappedFile(), nullptr, std::move(keep_alive), std::move(name), limits);
}

TENON_API std::string_view Program::method_name(std::size_t index) const noexcept {
  return detail::method_name_of(flatbuffer(), static_cast<std::uint32_t>(index));
}

TENON_API std::vector<std::string_view> Program::method_names() const {
  std::vector<std::string_view> names(num_methods());
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = method_name(i);
  return names;
}

TENON_API Result<const schema::ExecutionPlan*> Program::plan(std::string_view method) const {
  const auto place = names_.methods.find(
      method, [this](std::uint32_t i) { return detail::method_name_of(flatbuffer(), i); });
  if (place) return flatbuffer().execution_plan()->Get(*place);
  return error(Error::InvalidArgument, name_, ": no method named ", quoted(method), "; ",
               list_of_methods());
}

TENON_API Result<MethodMeta> Program::method_meta(std::string_view method) const {
  TENON_TRY(const auto* found, plan(method));
  return MethodMeta(view_, *found);
}

TENON_API std::span<const std::byte> Program::segment(std::size_t index) const noexcept {
  return view_.segment(index);
}

TENON_API std::span<const std::byte> Program::delegate_data(
    const schema::BackendDelegate& delegate) const noexcept {
  return view_.delegate_data(delegate);
}

TENON_API Result<std::span<const std::byte>> Program::constant_data(std::size_t buffer_index,
                                                                    std::uint64_t nbytes) const {
  return view_.constant_data(buffer_index, nbytes);
}

TENON_API Result<std::span<const std::byte>> Program::mutable_data(std::uint64_t segments_index,
                                                                   std::size_t offset_index,
                                                                   std::uint64_t nbytes) const {
  return view_.mutable_data(segments_index, offset_index, nbytes);
}

TENON_API std::string_view Program::key(std::uint32_t index) const noexcept {
  return detail::named_data_key_of(flatbuffer(), index);
}

TENON_API std::optional<std::uint32_t> Program::find_key(std::string_view key) const noexcept {
  return names_.named_data.find(
      key, [this](std::uint32_t i) { return detail::named_data_key_of(flatbuffer(), i); });
}

TENON_API std::span<const std::byte> Program::key_data(std::uint32_t index) const noexcept {
  return segment(flatbuffer().named_data()->Get(index)->segment_index());
}

TENON_COLD TENON_API Result<std::shared_ptr<const Program>> Program::make(
    std::span<const std::byte> bytes, std::span<const std::byte> start, MappedFile file,
    std::unique_ptr<Head> head, std::shared_ptr<const void> keep_alive, std::string name,
    const HostLimits& limits) {
  auto verified = verify(bytes, start, limits);
  if (!verified.ok()) return shortened(std::move(verified).status().with_context(name));
  if (verified->in_file) head.reset();
  return std::shared_ptr<const Program>(new Program(std::move(file), std::move(head),
                                                    std::move(keep_alive), std::move(name),
                                                    *std::move(verified)));
}

TENON_COLD TENON_API Result<Program::Verified> Program::verify(std::span<const std::byte> bytes,
                                                               std::span<const std::byte> start,
                                                               const HostLimits& limits) {
  TENON_TRY(const auto parts, detail::read_program_header(detail::FileBytes(start), bytes.size()));
  const auto size = static_cast<std::size_t>(parts.flatbuffer_size);
  const auto flatbuffer = (size <= start.size() ? start : bytes).first(size);
  TENON_TRY(const auto* root, detail::verify_flatbuffer<schema::Program>(
                                  flatbuffer, schema::ProgramIdentifier(), Error::InvalidProgram));
  const ProgramView view(bytes, *root, parts.segment_base);
  TENON_TRY(auto names,
            detail::verify_program(view, parts.flatbuffer_size, parts.segment_size, limits));
  return Verified{view, std::move(names), size > start.size()};
}

TENON_COLD TENON_API std::string Program::list_of_methods() const {
  constexpr std::size_t most = 16;
  if (num_methods() == 0) return "the program has no methods";
  std::string list = "the program has: ";
  for (std::size_t i = 0; i < std::min(num_methods(), most); ++i) {
    if (i != 0) list += ", ";
    const auto name = quoted(method_name(i));
    list += std::string_view(name).substr(1, name.size() - 2);
  }
  if (num_methods() > most) list += ", ...";
  return list;
}

}  // namespace tenon::host

#endif  // TENON_HOST_DEFINITIONS
