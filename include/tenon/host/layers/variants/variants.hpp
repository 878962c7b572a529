// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The variants of a program's methods: the same method compiled for several backends, or for
/// several targets of one (docs/hosts/variants.md). Each is an execution plan of its own, of which
/// one has the method's name: other runtimes run that one. The table that joins them is named data
/// under this key, which other runtimes do not ask for. It is text, in lines whose fields are
/// separated by tabs:
///
///     tenon.variants/1
///     variant METHOD PLAN PRIORITY NAME
///     needs BACKEND PAYLOAD_VERSION TARGET CPU_FEATURES
///     data KEY
///
/// `needs` and `data` are of the variant before them: a backend that its delegates name, each once,
/// and a key of named data that they use. Fields behind these, and lines that begin with another
/// word, are for later versions and skipped.
inline constexpr std::string_view variants_key = "tenon.variants/1";

/// The needs of one backend's delegates in a variant.
struct VariantNeed {
  std::string_view backend_id;
  /// The device or processor that they were compiled for, in the backend's words; may be empty.
  std::string_view target;
  std::uint32_t payload_version = 0;  ///< Of their blobs; 0 when it is not stated.
  /// Features of the CPU without which they do not run, as in the records of plugins.
  std::vector<std::string_view> cpu_features;
};

/// One variant of a method. Its texts are in the program.
struct ProgramVariant {
  std::string_view method;    ///< The name by which applications load it.
  std::string_view name;      ///< Of the variant; differs among the variants of one method.
  std::uint32_t plan = 0;     ///< Number of its plan among the program's methods.
  std::int32_t priority = 0;  ///< Of those that run equally well the highest is taken.
  bool is_default = false;    ///< Its plan has the method's name.
  std::vector<VariantNeed> needs;
};

/// The variants of the methods of one program, which must outlive this view and all that it
/// returns. A value, immutable; any thread.
class Variants {
 public:
  /// Reads and checks the table of variants at the first call for a program, which keeps the
  /// result: later calls find one key of its named data. From then on, reading a page of a program
  /// with variants brings in no other pages, so that reading one variant reads nothing of another.
  ///
  /// errors: InvalidProgram, and OutOfResources for a field longer than `name_bytes` of the
  ///         program's limits (detail::read_variants). The text begins with the program's name.
  [[nodiscard]] static Result<Variants> of(const Program& program) {
    if (program.num_keys() == 0) return Variants(program, {});
    return read(program);
  }

  /// Opens the program at `path`, and reads its table of variants. Nothing of a variant is read
  /// with the flatbuffer, as `Program::open` may do.
  ///
  /// errors: as `Program::open` and `of`.
  [[nodiscard]] static Result<std::shared_ptr<const Program>> open(
      const std::filesystem::path& path, const HostLimits& limits = {});

  /// Whether no method has variants.
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  /// The variants of a method, by falling priority; empty for a method that has a single form.
  [[nodiscard]] std::span<const ProgramVariant> of_method(std::string_view method) const noexcept;
  /// The variant whose plan has this name; null when no variant has it. A variant can be loaded by
  /// that name as well.
  [[nodiscard]] const ProgramVariant* find(std::string_view plan) const noexcept;
  /// Names of the methods, in the order of the file, without the plans that are a variant of one.
  [[nodiscard]] std::vector<std::string_view> visible_methods() const;

 private:
  Variants(const Program& program, std::span<const ProgramVariant> all) noexcept
      : program_(&program), all_(all) {}

  static Result<Variants> read(const Program& program);

  const Program* program_;
  /// By method, in the order of the plans; the variants of one method by falling priority.
  std::span<const ProgramVariant> all_;
};

}}}  // namespace tenon::TENON_RELEASE::host
