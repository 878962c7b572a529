// SPDX-License-Identifier: MIT
//
// A program file, verified and readable: the entry of this directory. Next to it are data files,
// the facts of a method, and the checks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"
#include "tenon/host/loader/program/key_index.hpp"
#include "tenon/host/loader/program/named_data_table.hpp"
#include "tenon/host/loader/program/program_view.hpp"
#include "tenon/host/platform/file_identity.hpp"
#include "tenon/host/schema/forward.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Facts that a layer reads out of a program once; `Program::keep` keeps them.
class KeptFacts {
 public:
  KeptFacts() = default;
  KeptFacts(const KeptFacts&) = delete;
  KeptFacts& operator=(const KeptFacts&) = delete;
  virtual ~KeptFacts() = default;
};

/// A program: the contents of one `.pte` file that ExecuTorch 1.x wrote ("ET12").
///
/// Opening verifies all that a host reads of it (detail::verify_program lists it); a program that
/// is open can be read without checks. The cost grows with the flatbuffer; the bytes of segments
/// are not touched. Immutable: any thread may use it, and any number of methods share it.
/// Everything that a program returns points into it and is valid while it lives.
class Program : public NamedDataTable<Program> {
 public:
  /// Maps the file at `path` and verifies it.
  ///
  /// errors: AccessFailed (MappedFile::open), InvalidProgram, NotSupported, InvalidExternalData,
  ///         OutOfResources for names, values and named data above `limits`
  ///         (detail::verify_program). The text begins with the path.
  ///
  /// `reads_alone` may be null. It gets the file's first bytes, of which nothing was checked, and
  /// says whether the system shall read each page of the file alone (`read_alone`): verifying
  /// touches the flatbuffer, and the system reads up to megabytes around what is touched.
  [[nodiscard]] static Result<std::shared_ptr<const Program>> open(
      const std::filesystem::path& path, const HostLimits& limits = {},
      bool (*reads_alone)(std::span<const std::byte> start) noexcept = nullptr);

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

  /// The file that `open` mapped; all zero for a program in memory.
  [[nodiscard]] const FileIdentity& identity() const noexcept { return file_.identity(); }
  /// All of its bytes; of a file, where it is mapped.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

  /// The limits that it was opened with.
  [[nodiscard]] const HostLimits& limits() const noexcept { return limits_; }

  /// The verified flatbuffer.
  [[nodiscard]] const schema::Program& flatbuffer() const noexcept { return view_.flatbuffer(); }
  /// Segments, blobs of delegates, constants and initial states.
  [[nodiscard]] const ProgramView& view() const noexcept { return view_; }

  [[nodiscard]] std::size_t num_methods() const noexcept { return names_.methods.size(); }
  /// Name of method `index`, below `num_methods()`.
  [[nodiscard]] std::string_view method_name(std::size_t index) const noexcept;
  /// Names of all methods, in the order of the file. Each plan is one (layer variants hides some).
  [[nodiscard]] std::vector<std::string_view> method_names() const;
  /// The number of the method, or nothing when there is none of that name. Found by hash.
  [[nodiscard]] std::optional<std::uint32_t> find_method(std::string_view name) const noexcept;

  /// The plan of a method; InvalidArgument when there is none of that name (Program::load_method).
  [[nodiscard]] Result<const schema::ExecutionPlan*> plan(std::string_view method) const;

  /// Named data of the program itself, which plugins see as `named_data()`.
  [[nodiscard]] std::uint32_t num_keys() const noexcept { return names_.named_data.size(); }
  /// Key `index`, below `num_keys()`.
  [[nodiscard]] std::string_view key(std::uint32_t index) const noexcept;
  /// The number of the key, or nothing when the program does not have it. Found by hash.
  [[nodiscard]] std::optional<std::uint32_t> find_key(std::string_view key) const noexcept;
  /// The bytes of key `index`, below `num_keys()`.
  [[nodiscard]] std::span<const std::byte> key_data(std::uint32_t index) const noexcept;

  /// Whether a tensor or a planned buffer of any method names a device that is not the CPU.
  [[nodiscard]] bool names_devices() const noexcept { return names_.has_devices; }

  /// `MappedFile::read_alone` and `read_ahead` of the program's file. Nothing is done for a program
  /// in memory.
  void read_alone(std::span<const std::byte> part, bool alone) const noexcept {
    file_.read_alone(part, alone);
  }
  void read_ahead(std::span<const std::byte> part) const noexcept { file_.read_ahead(part); }

  /// Gives the memory of the whole pages inside `part` back to the system. The bytes stay readable,
  /// at the cost of reading them from the file again. Does nothing for a program in memory.
  void drop(std::span<const std::byte> part) const noexcept { file_.drop(part); }

  /// The facts that a layer keeps with this program; null before `keep`. There is room for one
  /// layer, variants.
  [[nodiscard]] const KeptFacts* kept() const noexcept {
    return kept_.load(std::memory_order_acquire);
  }
  /// Keeps `facts` while the program lives, and returns them; or those that another thread kept
  /// sooner.
  const KeptFacts& keep(std::unique_ptr<const KeptFacts> facts) const noexcept;

  ~Program() { delete kept(); }

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
    std::span<const std::byte> bytes;
  };

  Program(MappedFile file, std::unique_ptr<Head> head, std::shared_ptr<const void> keep_alive,
          std::string name, const HostLimits& limits, Verified verified) noexcept;

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
  HostLimits limits_;
  std::span<const std::byte> bytes_;
  ProgramView view_;
  detail::ProgramNames names_;
  mutable std::atomic<const KeptFacts*> kept_ = nullptr;
};

}}}  // namespace tenon::TENON_RELEASE::host
