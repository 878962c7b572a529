// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <map>
#include <string>
#include <vector>

#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/partition_result.hpp"
#include "tenon/aot/preprocess_result.hpp"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/compile_specs.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Partitions, their compile specs, and what was made of them, by method, in the order in which
/// they are called.
using ProgramsByMethod = std::map<std::string, std::vector<EdgeProgram>, std::less<>>;
using SpecsByMethod = std::map<std::string, std::vector<CompileSpecs>, std::less<>>;
using ResultsByMethod = std::map<std::string, std::vector<PreprocessResult>, std::less<>>;

namespace detail {

// A function of the ahead-of-time half is static, or a const member of the open backend: `Has...`
// is met by both forms.
template <class B>
concept IsStaticPreprocess = requires(const EdgeProgram& program, CompileSpecs specs) {
  { B::preprocess(program, specs) } -> std::same_as<Result<PreprocessResult>>;
};
template <class B>
concept HasPreprocess = requires(const B& backend, const EdgeProgram& program, CompileSpecs specs) {
  { backend.preprocess(program, specs) } -> std::same_as<Result<PreprocessResult>>;
};
template <class B>
concept NamesPreprocess = requires { &B::preprocess; } ||
                          requires(B& backend, const EdgeProgram& program, CompileSpecs specs) {
                            backend.preprocess(program, specs);
                          };
template <class B>
concept HasPreprocessThatIsNotConst =
    requires(B& backend, const EdgeProgram& program, CompileSpecs specs) {
      { backend.preprocess(program, specs) } -> std::same_as<Result<PreprocessResult>>;
    };

template <class B>
concept HasPreprocessMultimethod =
    requires(const B& backend, const ProgramsByMethod& programs, const SpecsByMethod& specs) {
      { backend.preprocess_multimethod(programs, specs) } -> std::same_as<Result<ResultsByMethod>>;
    };

/// The author's own, not the default of BackendDetails, whose address a template has not.
template <class B>
concept OverridesPreprocessMultimethod = requires { &B::preprocess_multimethod; };

// Optional functions: an error when they exist with another signature.
template <class B>
concept HasPartition =
    requires(const B& backend, const EdgeProgram& program, CompileSpecs options) {
      { backend.partition(program, options) } -> std::same_as<Result<PartitionResult>>;
    };
template <class B>
concept NamesPartition = requires { &B::partition; } ||
                         requires(B& backend, const EdgeProgram& program, CompileSpecs options) {
                           backend.partition(program, options);
                         };

template <class B>
concept HasOpsToNotDecompose = requires(const B& backend, const EdgeProgram& program) {
  { backend.ops_to_not_decompose(program) } -> std::same_as<Result<std::vector<std::string>>>;
};
template <class B>
concept NamesOpsToNotDecompose = requires {
  &B::ops_to_not_decompose;
} || requires(B& backend, const EdgeProgram& program) { backend.ops_to_not_decompose(program); };

/// Stops the compilation with the first function that is missing or wrong.
template <class B>
consteval bool check_functions() {
  using tenon::detail::always_false;
  if constexpr (!NamesPreprocess<B>) {
    static_assert(always_false<B>,
                  "tenon: BackendDetails needs a public `static "
                  "tenon::Result<tenon::aot::PreprocessResult> preprocess(const "
                  "tenon::aot::EdgeProgram&, tenon::CompileSpecs)`");
  } else if constexpr (!HasPreprocess<B> && HasPreprocessThatIsNotConst<B>) {
    static_assert(always_false<B>, "tenon: the backend's `preprocess` must be static or const");
  } else if constexpr (!HasPreprocess<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend's `preprocess` must be `static "
                  "tenon::Result<tenon::aot::PreprocessResult> preprocess(const "
                  "tenon::aot::EdgeProgram&, tenon::CompileSpecs)`, or const in place of static");
  } else if constexpr (!HasPreprocessMultimethod<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend's `preprocess_multimethod` must be `static "
                  "tenon::Result<tenon::aot::ResultsByMethod> preprocess_multimethod(const "
                  "tenon::aot::ProgramsByMethod&, const tenon::aot::SpecsByMethod&)`, or const in "
                  "place of static");
  } else if constexpr (NamesPartition<B> && !HasPartition<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend's `partition` must be `static "
                  "tenon::Result<tenon::aot::PartitionResult> partition(const "
                  "tenon::aot::EdgeProgram&, tenon::CompileSpecs)`, or const in place of static");
  } else if constexpr (NamesOpsToNotDecompose<B> && !HasOpsToNotDecompose<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend's `ops_to_not_decompose` must be `static "
                  "tenon::Result<std::vector<std::string>> ops_to_not_decompose(const "
                  "tenon::aot::EdgeProgram&)`, or const in place of static");
  } else {
    return true;
  }
  return false;
}

}  // namespace detail

}}}  // namespace tenon::TENON_RELEASE::aot
