// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tenon/abi/version.h"

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
  std::string_view name;      ///< Of the variant; differs among those of one method.
  std::uint32_t plan = 0;     ///< Number of its plan among the program's methods.
  std::int32_t priority = 0;  ///< Of those that run equally well the highest is taken.
  bool is_default = false;    ///< Its plan has the method's name.
  std::vector<VariantNeed> needs;
};

}}}  // namespace tenon::TENON_RELEASE::host
