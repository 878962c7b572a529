// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>

#include "tenon/abi/draft/preprocess.h"
#include "tenon/aot/backend_concepts.hpp"
#include "tenon/aot/preprocess_extension.hpp"
#include "tenon/aot/preprocess_result.hpp"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Mixin: the ahead-of-time half of a backend (ExecuTorch: exir/backend/backend_details.py). The
/// author of `class Acme final : public Backend<Acme>, public aot::BackendDetails<Acme>` adds
///
///     static Result<aot::PreprocessResult> preprocess(const aot::EdgeProgram&, CompileSpecs);
///
/// which compiles one partition, and may add, detected by name:
///
///     static Result<aot::PartitionResult> partition(const aot::EdgeProgram&, CompileSpecs);
///     static Result<std::vector<std::string>> ops_to_not_decompose(const aot::EdgeProgram&);
///     static Result<aot::ResultsByMethod> preprocess_multimethod(const aot::ProgramsByMethod&,
///                                                                const aot::SpecsByMethod&);
///
/// `partition` chooses the nodes that the backend takes (aot::partition_by_support does most of
/// it); without it a program is compiled as a whole. `ops_to_not_decompose` names operators that an
/// exporter should keep. `preprocess_multimethod` compiles all partitions of a program at once, so
/// that they may share data.
///
/// At run time `execute` gets the inputs of the partition's program, then its outputs.
///
/// Each of the functions is static, as above, or a const member, which is called on the open
/// backend and may use the library that it has loaded and the options that were set:
///
///     Result<aot::PreprocessResult> preprocess(const aot::EdgeProgram&, CompileSpecs) const;
///
/// Either way nothing is kept from one call to the next, no device is needed, and equal programs,
/// specs and options give equal bytes. Functions may be called from several threads at the same
/// time, a const member also while an option is set. Programs and specs are valid during the call.
template <class Derived>
class BackendDetails {
 public:
  /// Compiles partition after partition, as ExecuTorch's does. InvalidArgument when a method has no
  /// compile specs, or not one list for each partition.
  ///
  /// A template, so that the table of the boundary can distinguish it from the author's own. A
  /// backend without one then has none of the maps, which are several hundred functions.
  template <class B = Derived>
  [[nodiscard]] static Result<ResultsByMethod> preprocess_multimethod(
      const ProgramsByMethod& programs, const SpecsByMethod& compile_specs)
    requires detail::IsStaticPreprocess<B>
  {
    return preprocess_each(programs, compile_specs,
                           [](const auto&... given) { return Derived::preprocess(given...); });
  }
  /// Compiles partition after partition with a `preprocess` that is a const member.
  template <class B = Derived>
  [[nodiscard]] Result<ResultsByMethod> preprocess_multimethod(
      const ProgramsByMethod& programs, const SpecsByMethod& compile_specs) const
    requires(!detail::IsStaticPreprocess<B>)
  {
    return preprocess_each(programs, compile_specs, [this](const auto&... given) {
      return static_cast<const Derived&>(*this).preprocess(given...);
    });
  }

 private:
  // Private: backends derive directly (ExecuTorch: BackendDetails.__init_subclass__).
  friend Derived;
  BackendDetails() = default;

  template <class Preprocess>
  static Result<ResultsByMethod> preprocess_each(const ProgramsByMethod& programs,
                                                 const SpecsByMethod& compile_specs,
                                                 const Preprocess& preprocess) {
    ResultsByMethod results;
    for (const auto& [method, partitions] : programs) {
      const auto specs = compile_specs.find(method);
      if (specs == compile_specs.end()) {
        return error(Error::InvalidArgument, "missing compile specs for method '", method, "'");
      }
      if (specs->second.size() != partitions.size()) {
        return error(Error::InvalidArgument, "method '", method, "' has ", partitions.size(),
                     " partitions but compile specs for ", specs->second.size());
      }
      auto& made = results[method];
      for (std::size_t i = 0; i < partitions.size(); ++i) {
        TENON_TRY(PreprocessResult result, preprocess(partitions[i], specs->second[i]));
        made.push_back(std::move(result));
      }
    }
    return results;
  }
};

}}}  // namespace tenon::TENON_RELEASE::aot

namespace tenon { inline namespace TENON_RELEASE { namespace detail {

template <>
struct MixinOf<tenon_preprocess_v1> : Mixin<aot::BackendDetails, aot::detail::PreprocessExtension> {
};

}}}  // namespace tenon::TENON_RELEASE::detail
