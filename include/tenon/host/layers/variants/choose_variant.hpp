// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/extensions/check_blob.h"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

class Program;
struct MethodOptions;

/// Whether one variant can run here.
struct VariantAnswer {
  const ProgramVariant* variant = nullptr;  ///< The program's.
  Status refused;                           ///< Why it cannot; Ok when nothing is known against it.
  /// False for a variant that the program's table alone refused, or that was not reached: no plugin
  /// was loaded for it, and none of its blobs was touched.
  bool was_asked = false;
  /// TENON_BLOB_...: the worst of its delegates. A delegate whose backend does not judge, and a
  /// variant without delegates, is USABLE.
  std::uint32_t verdict = TENON_BLOB_USABLE;
  std::string reason;  ///< Of the verdict, when it is not OPTIMAL.
};

/// Which variant of a method is to be loaded.
struct VariantChoice {
  std::vector<VariantAnswer>
      answers;                        ///< By falling priority; empty for a method without variants.
  std::optional<std::size_t> chosen;  ///< Among the answers.
  std::vector<BackendRef> backends;   ///< Backends that were asked, which stay loaded with this.

  /// NotFound with a line for each variant when none can run here.
  [[nodiscard]] Status status() const;
};

/// Which variants are asked.
enum class AskVariants {
  until_optimal,  ///< By falling priority, up to the first optimal one: no later one is better.
  all,            ///< For reports.
};

/// Chooses the variant of a method: of those that can run here one with the best verdict, of
/// equally good ones the one with the highest priority.
///
/// The table is compared first, without loading anything: whether the CPU of the
/// registry has the features, whether there is a plugin for each backend, whether it reads the
/// version of the blobs, and whether an `EmbeddedCodePolicy` in `options.layers` lets it run code
/// of the program. Then operators and external tensors, and only then the plugins are loaded and
/// asked: `is_available`, and `check_blob` for each delegate. No `init` is called.
///
/// Uses of `options` the registry, the backends, their options, the kernels, the policy, and the
/// layers `DataFiles`, `Variant` and `Isolation`; a variant that `Variant` names is the only one
/// that is looked at.
///
/// threads: any. errors: InvalidArgument when the program has no method or no variant of the name;
/// MemoryAllocationFailed; otherwise as MergedDataMap::create.
[[nodiscard]] Result<VariantChoice> choose_variant(const std::shared_ptr<const Program>& program,
                                                   std::string_view method,
                                                   const MethodOptions& options,
                                                   AskVariants asked = AskVariants::until_optimal);

}}}  // namespace tenon::TENON_RELEASE::host
