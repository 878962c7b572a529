// SPDX-License-Identifier: MIT
// Mistakes in a backend without mixins, and in TENON_PLUGIN.
#include "whole.hpp"

// expect: tenon: TENON_PLUGIN takes the names of backend classes
namespace not_a_class {
using X = int;
TENON_PLUGIN(X);
}  // namespace not_a_class

// expect: tenon: a backend derives publicly and directly from tenon::Backend<itself>
namespace base_of_another {
class Other;
struct X final : tenon::Backend<Other>, Whole {};
TENON_PLUGIN(X);
}  // namespace base_of_another

// expect: tenon: a backend derives publicly and directly from tenon::Backend<itself>
namespace private_base {
class X final : tenon::Backend<X>, public Whole {};
TENON_PLUGIN(X);
}  // namespace private_base

// expect: backends are final, one cannot derive from another
namespace nested_backend {
struct Base : tenon::Backend<Base>, Whole {};
struct Nested final : Base {};
TENON_PLUGIN(Nested);
}  // namespace nested_backend

// expect: tenon: backends are final: write `class MyBackend final
namespace not_final {
struct X : tenon::Backend<X>, Whole {};
TENON_PLUGIN(X);
}  // namespace not_final

// expect: tenon: the backend has no public `static constexpr std::string_view id
namespace missing_id {
struct X final : tenon::Backend<X>, Runs {};
TENON_PLUGIN(X);
}  // namespace missing_id

// expect: tenon: the backend has no public `static constexpr std::string_view id
namespace id_that_is_not_constexpr {
struct X final : tenon::Backend<X>, Runs {
  static inline std::string_view id = "X";
};
TENON_PLUGIN(X);
}  // namespace id_that_is_not_constexpr

// expect: tenon: the backend's id must have 1 to 63 characters of [A-Za-z0-9_.-]
namespace empty_id {
struct X final : tenon::Backend<X>, Runs {
  static constexpr std::string_view id = "";
};
TENON_PLUGIN(X);
}  // namespace empty_id

// expect: tenon: the backend's id must have 1 to 63 characters of [A-Za-z0-9_.-]
namespace id_with_newline {
struct X final : tenon::Backend<X>, Runs {
  static constexpr std::string_view id = "X\n";
};
TENON_PLUGIN(X);
}  // namespace id_with_newline

// expect: tenon: the backend's id must have 1 to 63 characters of [A-Za-z0-9_.-]
namespace id_with_other_letters {
struct X final : tenon::Backend<X>, Runs {
  static constexpr std::string_view id = "Acmé";
};
TENON_PLUGIN(X);
}  // namespace id_with_other_letters

// expect: tenon: the backend's id must have 1 to 63 characters of [A-Za-z0-9_.-]
namespace id_with_space {
struct X final : tenon::Backend<X>, Runs {
  static constexpr std::string_view id = "Acme Npu";
};
TENON_PLUGIN(X);
}  // namespace id_with_space

// expect: tenon: the backend's id must have 1 to 63 characters of [A-Za-z0-9_.-]
namespace long_id {
struct X final : tenon::Backend<X>, Runs {
  static constexpr std::string_view id =
      "0123456789012345678901234567890123456789012345678901234567890123";
};
TENON_PLUGIN(X);
}  // namespace long_id

// [TN-BIN-7]
// expect: tenon: the backend's `tags`, `description` and `cpu_features` must be static constexpr
namespace long_tags {
struct X final : tenon::Backend<X>, Whole {
  static constexpr std::string_view tags =
      "0123456789012345678901234567890123456789012345678901234567890123"
      "0123456789012345678901234567890123456789012345678901234567890123";
};
TENON_PLUGIN(X);
}  // namespace long_tags

// [TN-BIN-7]
// expect: tenon: the backend's `tags`, `description` and
namespace description_with_tab {
struct X final : tenon::Backend<X>, Whole {
  static constexpr std::string_view description = "one\ttwo";
};
TENON_PLUGIN(X);
}  // namespace description_with_tab

// expect: tenon: the backend's `payload_versions` must be
namespace payload_versions_swapped {
struct X final : tenon::Backend<X>, Whole {
  static constexpr tenon::PayloadVersions payload_versions = {3, 1};
};
TENON_PLUGIN(X);
}  // namespace payload_versions_swapped

// expect: tenon: the backend's `runs_embedded_code` must be a static constexpr bool
namespace runs_embedded_code_is_not_constexpr {
struct X final : tenon::Backend<X>, Whole {
  static inline bool runs_embedded_code = true;
};
TENON_PLUGIN(X);
}  // namespace runs_embedded_code_is_not_constexpr

// expect: tenon: the backend's `runs_embedded_code` must be a static constexpr bool
namespace runs_embedded_code_is_text {
struct X final : tenon::Backend<X>, Whole {
  static constexpr std::string_view runs_embedded_code = "yes";
};
TENON_PLUGIN(X);
}  // namespace runs_embedded_code_is_text

// expect: tenon: the backend has no public `struct Delegate`
namespace missing_delegate {
struct X final : tenon::Backend<X>, Named {
  tenon::Result<int> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) { return 0; }
  tenon::Status execute(tenon::ExecutionContext&, int&, tenon::Args) { return tenon::ok(); }
};
TENON_PLUGIN(X);
}  // namespace missing_delegate

// expect: tenon: the backend's `Delegate` must be movable
namespace delegate_that_cannot_move {
struct X final : tenon::Backend<X>, Named {
  struct Delegate {
    Delegate() = default;
    Delegate(const Delegate&) = delete;
  };
  tenon::Status init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) { return tenon::ok(); }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};
TENON_PLUGIN(X);
}  // namespace delegate_that_cannot_move

// expect: tenon: the backend has no public `tenon::Result<Delegate> init(
namespace missing_init {
struct X final : tenon::Backend<X>, Named {
  struct Delegate {};
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};
TENON_PLUGIN(X);
}  // namespace missing_init

// expect: tenon: the backend has no public `tenon::Result<Delegate> init(
namespace private_init {
class X final : public tenon::Backend<X>, public Whole {
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
};
TENON_PLUGIN(X);
}  // namespace private_init

// expect: tenon: the backend has no public `tenon::Result<Delegate> init(tenon::InitContext&,
// tenon::Blob, tenon::CompileSpecs)`
namespace init_returns_a_pointer {
struct X final : tenon::Backend<X>, Whole {
  tenon::Result<Delegate*> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return new Delegate{};
  }
};
TENON_PLUGIN(X);
}  // namespace init_returns_a_pointer

// expect: tenon: the backend has no public `tenon::Result<Delegate> init(
namespace init_with_other_parameters {
struct X final : tenon::Backend<X>, Whole {
  tenon::Result<Delegate> init(tenon::Blob) { return Delegate{}; }
};
TENON_PLUGIN(X);
}  // namespace init_with_other_parameters

// expect: tenon: the backend has no public `tenon::Result<Delegate> init(
namespace init_without_result {
struct X final : tenon::Backend<X>, Whole {
  Delegate init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) { return {}; }
};
TENON_PLUGIN(X);
}  // namespace init_without_result

// expect: tenon: the backend has no public `tenon::Status execute(
namespace missing_execute {
struct X final : tenon::Backend<X>, Named, Loads {};
TENON_PLUGIN(X);
}  // namespace missing_execute

// expect: tenon: the backend has no public `tenon::Status execute(
namespace execute_returns_void {
struct X final : tenon::Backend<X>, Whole {
  void execute(tenon::ExecutionContext&, Delegate&, tenon::Args) {}
};
TENON_PLUGIN(X);
}  // namespace execute_returns_void

// expect: tenon: the backend's `open` must be `tenon::Status open()`
namespace open_returns_void {
struct X final : tenon::Backend<X>, Whole {
  void open() {}
};
TENON_PLUGIN(X);
}  // namespace open_returns_void

// expect: tenon: the backend's `is_available` must be `tenon::Status is_available()`
namespace is_available_returns_bool {
struct X final : tenon::Backend<X>, Whole {
  bool is_available() { return true; }
};
TENON_PLUGIN(X);
}  // namespace is_available_returns_bool

// expect: tenon: the backend needs a public default constructor
namespace no_default_constructor {
struct X final : tenon::Backend<X>, Whole {
  explicit X(int) {}
};
TENON_PLUGIN(X);
}  // namespace no_default_constructor

// expect: must derive directly from tenon::Backend<itself> and BackendDetails<itself>
namespace class_between {
template <class Derived>
struct Between : tenon::Backend<Derived> {};
struct X final : Between<X>, Whole {};
TENON_PLUGIN(X);
}  // namespace class_between

// expect: tenon: the backend has no public `tenon::Status execute(
namespace one_of_two_is_wrong {
struct X final : tenon::Backend<X>, Whole {};
struct Y final : tenon::Backend<Y>, Loads {
  static constexpr std::string_view id = "Y";
};
TENON_PLUGIN(X, Y);
}  // namespace one_of_two_is_wrong

// [TN-BIN-6]
// expect: tenon: two backends of this plugin have the same id
namespace same_id_twice {
struct X final : tenon::Backend<X>, Whole {};
struct Y final : tenon::Backend<Y>, Whole {};
TENON_PLUGIN(X, Y);
}  // namespace same_id_twice

// expect: ignoring return
namespace result_ignored {
tenon::Result<int> run();
void call() { run(); }
}  // namespace result_ignored

// expect: ignoring return
namespace status_ignored {
tenon::Status run();
void call() { run(); }
}  // namespace status_ignored

// expect: tensor
namespace wrong_element_type {
tenon::Status run(tenon::Args args) { return args.tensor<char*>(0).status(); }
}  // namespace wrong_element_type

// expect: tenon: TENON_PLUGIN_VERSION must have at most 63 bytes
namespace long_plugin_version {
struct X final : tenon::Backend<X>, Whole {};
#undef TENON_PLUGIN_VERSION
#define TENON_PLUGIN_VERSION "0123456789012345678901234567890123456789012345678901234567890123"
TENON_PLUGIN(X);
#undef TENON_PLUGIN_VERSION
#define TENON_PLUGIN_VERSION ""
}  // namespace long_plugin_version

// expect: tenon_plugin_v1
namespace plugin_twice {
struct X final : tenon::Backend<X>, Whole {};
struct Y final : tenon::Backend<Y>, Runs {
  static constexpr std::string_view id = "Y";
};
#undef tenon_plugin_v1
TENON_PLUGIN(X);
TENON_PLUGIN(Y);
}  // namespace plugin_twice
