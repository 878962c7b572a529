// SPDX-License-Identifier: MIT
// Mistakes in a backend that compiles ahead of time.
#include <string_view>
#include <tenon/aot.hpp>
#include <vector>

#include "whole.hpp"

using tenon::aot::BackendDetails;
using tenon::aot::EdgeProgram;
using tenon::aot::PartitionResult;
using tenon::aot::PreprocessResult;

struct Compiles : Whole {
  static tenon::Result<PreprocessResult> preprocess(const EdgeProgram&, tenon::CompileSpecs) {
    return PreprocessResult{};
  }
};

// expect: tenon: backends are final
namespace ahead_of_time_backend_not_final {
struct X : tenon::Backend<X>, BackendDetails<X>, Compiles {};
TENON_PLUGIN(X);
}  // namespace ahead_of_time_backend_not_final

// expect: tenon: a backend derives publicly and directly from tenon::Backend<itself>
namespace nested_ahead_of_time_backend {
struct X : tenon::Backend<X>, BackendDetails<X>, Compiles {};
struct Y final : X {
  static constexpr std::string_view id = "Y";
};
TENON_PLUGIN(Y);
}  // namespace nested_ahead_of_time_backend

// expect: must derive directly from tenon::Backend<itself> and BackendDetails<itself>
namespace class_between_ahead_of_time {
template <class Derived>
struct Between : BackendDetails<Derived> {};
struct X final : tenon::Backend<X>, Between<X>, Compiles {};
TENON_PLUGIN(X);
}  // namespace class_between_ahead_of_time

// expect: tenon: the backend's mixins must be public bases
namespace private_backend_details {
class X final : public tenon::Backend<X>, public Compiles, BackendDetails<X> {};
TENON_PLUGIN(X);
}  // namespace private_backend_details

// expect: tenon: the backend's `find_extension` must be `static
namespace find_extension_may_throw {
struct X final : tenon::Backend<X>, BackendDetails<X>, Compiles {
  static const void* find_extension(std::string_view) { return nullptr; }
};
TENON_PLUGIN(X);
}  // namespace find_extension_may_throw

// expect: tenon: the backend's `find_extension` must be `static
namespace find_extension_not_static {
struct X final : tenon::Backend<X>, BackendDetails<X>, Compiles {
  const void* find_extension(std::string_view) noexcept { return nullptr; }
};
TENON_PLUGIN(X);
}  // namespace find_extension_not_static

// expect: tenon: BackendDetails needs a public `static
namespace preprocess_missing {
struct X final : tenon::Backend<X>, BackendDetails<X>, Whole {};
TENON_PLUGIN(X);
}  // namespace preprocess_missing

// expect: tenon: BackendDetails needs a public `static
namespace preprocess_private {
class X final : public tenon::Backend<X>, public BackendDetails<X>, public Whole {
  static tenon::Result<PreprocessResult> preprocess(const EdgeProgram&, tenon::CompileSpecs) {
    return PreprocessResult{};
  }
};
TENON_PLUGIN(X);
}  // namespace preprocess_private

// expect: tenon: the backend's `preprocess` must be `static
namespace preprocess_changes_program {
struct X final : tenon::Backend<X>, BackendDetails<X>, Whole {
  static tenon::Result<PreprocessResult> preprocess(EdgeProgram&, tenon::CompileSpecs) {
    return PreprocessResult{};
  }
};
TENON_PLUGIN(X);
}  // namespace preprocess_changes_program

// expect: tenon: the backend's `preprocess` must be static or const
namespace preprocess_not_static {
struct X final : tenon::Backend<X>, BackendDetails<X>, Whole {
  tenon::Result<PreprocessResult> preprocess(const EdgeProgram&, tenon::CompileSpecs) {
    return PreprocessResult{};
  }
};
TENON_PLUGIN(X);
}  // namespace preprocess_not_static

// expect: tenon: the backend's `preprocess` must be `static
namespace preprocess_other_parameters {
struct X final : tenon::Backend<X>, BackendDetails<X>, Whole {
  static tenon::Result<PreprocessResult> preprocess(tenon::Blob) { return PreprocessResult{}; }
};
TENON_PLUGIN(X);
}  // namespace preprocess_other_parameters

// expect: tenon: the backend's `preprocess` must be `static
namespace preprocess_returns_bytes {
struct X final : tenon::Backend<X>, BackendDetails<X>, Whole {
  static std::vector<std::byte> preprocess(const EdgeProgram&, tenon::CompileSpecs) { return {}; }
};
TENON_PLUGIN(X);
}  // namespace preprocess_returns_bytes

// expect: tenon: the backend's `preprocess_multimethod` must be `static
namespace preprocess_multimethod_not_static {
struct X final : tenon::Backend<X>, BackendDetails<X>, Compiles {
  tenon::Result<tenon::aot::ResultsByMethod> preprocess_multimethod(
      const tenon::aot::ProgramsByMethod&, const tenon::aot::SpecsByMethod&) {
    return tenon::aot::ResultsByMethod{};
  }
};
TENON_PLUGIN(X);
}  // namespace preprocess_multimethod_not_static

// expect: tenon: the backend's `preprocess_multimethod` must be `static
namespace preprocess_multimethod_other_parameters {
struct X final : tenon::Backend<X>, BackendDetails<X>, Compiles {
  static tenon::Result<tenon::aot::ResultsByMethod> preprocess_multimethod(
      const tenon::aot::ProgramsByMethod&) {
    return tenon::aot::ResultsByMethod{};
  }
};
TENON_PLUGIN(X);
}  // namespace preprocess_multimethod_other_parameters

// expect: tenon: the backend's `ops_to_not_decompose` must be `static
namespace ops_to_not_decompose_of_views {
struct X final : tenon::Backend<X>, BackendDetails<X>, Compiles {
  static std::vector<std::string_view> ops_to_not_decompose(const EdgeProgram&) {
    return {"aten.linear.default"};
  }
};
TENON_PLUGIN(X);
}  // namespace ops_to_not_decompose_of_views

// expect: EdgeProgram&, tenon::CompileSpecs)`, or const in place of static
namespace partition_not_const {
struct X final : tenon::Backend<X>, BackendDetails<X>, Whole {
  tenon::Result<PreprocessResult> preprocess(const EdgeProgram&, tenon::CompileSpecs) const {
    return PreprocessResult{};
  }
  tenon::Result<PartitionResult> partition(const EdgeProgram&, tenon::CompileSpecs) {
    return PartitionResult{};
  }
};
TENON_PLUGIN(X);
}  // namespace partition_not_const

// expect: tenon: the backend's `partition` must be `static
namespace partition_not_static {
struct X final : tenon::Backend<X>, BackendDetails<X>, Compiles {
  tenon::Result<PartitionResult> partition(const EdgeProgram&, tenon::CompileSpecs) {
    return PartitionResult{};
  }
};
TENON_PLUGIN(X);
}  // namespace partition_not_static

// expect: tenon: the backend's `partition` must be `static
namespace partition_without_result {
struct X final : tenon::Backend<X>, BackendDetails<X>, Compiles {
  static PartitionResult partition(const EdgeProgram&, tenon::CompileSpecs) { return {}; }
};
TENON_PLUGIN(X);
}  // namespace partition_without_result
