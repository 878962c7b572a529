// SPDX-License-Identifier: MIT
//
// What a host sees of a plugin's extensions through the boundary of the kit.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "support/catch.hpp"
#include "tenon/conformance/boundary.hpp"
#include "tenon/core/extensions.hpp"

namespace watched_extensions_test {
namespace {

using namespace tenon;
using namespace tenon::conformance;
using Names = std::vector<std::string>;

/// The last call of a plugin's function: what the watch calls it, and the delegate that it got.
struct Seen {
  std::string function;
  std::uint32_t number = 0;
  const void* delegate = nullptr;
};
Seen seen;

void* pointer_in(tenon_delegate* delegate) { return delegate; }
template <class Other>
void* pointer_in(const Other&) {
  return nullptr;
}

template <class Type>
struct Fake;
template <class Result, class First, class... Rest>
struct Fake<Result(TENON_CALL*)(First, Rest...)> {
  static Result call(First, Rest... rest) {
    void* delegate = nullptr;
    static_cast<void>(((delegate = pointer_in(rest)) || ...));
    seen = {current_call().function, current_call().delegate, delegate};
    return Result();
  }
};

/// Calls `function` with arguments that are all 0 but for the backend and the delegate.
template <class Result, class... Rest>
void call(Result(TENON_CALL* function)(tenon_backend*, Rest...), tenon_backend* backend,
          tenon_delegate*) {
  static_cast<void>(function(backend, Rest()...));
}
template <class Result, class... Rest>
void call(Result(TENON_CALL* function)(tenon_backend*, tenon_delegate*, Rest...),
          tenon_backend* backend, tenon_delegate* delegate) {
  static_cast<void>(function(backend, delegate, Rest()...));
}

template <class Table, class Do>
void for_each_function(const Do& what) {
  const auto each = [&]<class... Functions>(TypeList<Functions...>) {
    (what(Functions(),
          concat(std::string_view(BackendExtension<Table>::id).substr(6), ".", Functions::name)),
     ...);
  };
  each(typename BackendExtension<Table>::Functions());
}
template <class Do>
void for_each_table(const Do& what) {
  const auto each = [&]<class... Tables>(TypeList<Tables...>) { (what(Tables()), ...); };
  each(BackendExtensions());
}

/// A plugin with one extension.
template <class Table>
struct Plugin {
  static inline Table table;

  static const void* get_extension(tenon_backend*, const char* id) {
    return std::string_view(id) == BackendExtension<Table>::id ? &table : nullptr;
  }

  explicit Plugin(bool has_functions) {
    // What is not a function is passed on, so it is anything.
    std::memset(static_cast<void*>(&table), 0x11, sizeof table);
    table.struct_size = sizeof table;
    for_each_function<Table>([&]<class Function>(Function, const std::string&) {
      table.*Function::member = has_functions ? &Fake<typename Function::Type>::call : nullptr;
    });
    api.struct_size = sizeof api;
    api.get_extension = &get_extension;
    boundary = std::make_unique<Boundary>(api, nullptr, OnFinding());
  }

  [[nodiscard]] const Table* shown() {
    return static_cast<const Table*>(
        boundary->api().get_extension(boundary->handle(), BackendExtension<Table>::id));
  }

  tenon_backend_api api{};
  std::unique_ptr<Boundary> boundary;
};

}  // namespace

/// Whether the first argument of a function is a backend, and the second a delegate.
template <class Function>
constexpr bool is_of_backend = false;
template <class Result, class... Arguments>
constexpr bool is_of_backend<Result(TENON_CALL*)(tenon_backend*, Arguments...)> = true;
template <class Function>
constexpr bool is_of_delegate = false;
template <class Result, class... Arguments>
constexpr bool is_of_delegate<Result(TENON_CALL*)(tenon_backend*, tenon_delegate*, Arguments...)> =
    true;

TEST_CASE("a host gets every extension that the kit knows, with each call watched",
          "[conformance]") {
  // They need contexts of a host; the tests of the zoo call them.
  const Names not_called = {
      "check_blob/1.check_blob", "estimate/1.estimate",       "sessions/1.create_session",
      "kernels/1.create_kernel", "kernels/1.run_kernel",      "kernels/1.destroy_kernel",
      "events/1.start",          "memory_info/1.memory_info",
  };
  Names hidden;
  for_each_table([&]<class Table>(Table) {
    Plugin<Table> plugin(true);
    const Table* const shown = plugin.shown();
    if (!shown) return hidden.emplace_back(BackendExtension<Table>::id), void();
    CHECK(plugin.shown() == shown);
    CHECK(shown->struct_size == sizeof(Table));
    auto delegate = plugin.boundary->watched().new_delegate(tenon_init_context{});
    delegate->theirs = reinterpret_cast<tenon_delegate*>(&plugin);
    tenon_delegate* const lent = plugin.boundary->watched().lend_to_host(std::move(delegate));
    Table without_functions = *shown;
    for_each_function<Table>([&]<class Function>(Function, const std::string& name) {
      CAPTURE(name);
      const auto function = shown->*Function::member;
      REQUIRE(function != nullptr);
      CHECK(function != Plugin<Table>::table.*Function::member);
      without_functions.*Function::member = Plugin<Table>::table.*Function::member;
      if (std::ranges::find(not_called, name) != not_called.end()) return;
      if constexpr (is_of_backend<typename Function::Type>) {
        seen = {};
        call(function, plugin.boundary->handle(), lent);
        CHECK(seen.function == Function::name);
        const bool has_delegate = is_of_delegate<typename Function::Type>;
        CHECK(seen.number == (has_delegate ? 1u : 0u));
        CHECK(seen.delegate == (has_delegate ? &plugin : nullptr));
      }
    });
    // The data is the plugin's own, except for members that no function reads.
    Table expected = Plugin<Table>::table;
    if constexpr (requires { expected.reserved; }) expected.reserved = 0;
    CHECK(std::memcmp(&without_functions, &expected, sizeof expected) == 0);
    const auto returned = plugin.boundary->watched().take_back(lent);
  });
  CHECK(hidden == Names{TENON_EXTENSION_AOTI_EXPORT});
}

TEST_CASE("a host sees which functions a plugin leaves out, where it may or a test looks",
          "[conformance]") {
  Names required;
  for_each_table([&]<class Table>(Table) {
    Plugin<Table> plugin(false);
    const Table* const shown = plugin.shown();
    if (!shown) return;
    for_each_function<Table>([&]<class Function>(Function, const std::string& name) {
      CAPTURE(name);
      const bool is_missing = !(shown->*Function::member);
      if (is_missing && !Function::may_be_null) required.push_back(name);
      if (Function::may_be_null) CHECK(is_missing);
    });
  });
  CHECK(required == Names{"estimate/1.estimate", "events/1.create_event", "events/1.start",
                          "events/1.record", "events/1.wait", "events/1.query", "events/1.wait_on",
                          "events/1.destroy_event", "preprocess/1.partition",
                          "preprocess/1.ops_to_not_decompose", "preprocess/1.preprocess"});
}

TEST_CASE("a host does not get an extension that is not in the headers", "[conformance]") {
  Plugin<tenon_cancel_v1> plugin(true);
  plugin.api.get_extension = [](tenon_backend*, const char*) -> const void* {
    return &Plugin<tenon_cancel_v1>::table;
  };
  Boundary boundary(plugin.api, nullptr, {});
  CHECK(boundary.api().get_extension(boundary.handle(), "acme.toy/1") == nullptr);
  CHECK(boundary.api().get_extension(boundary.handle(), TENON_EXTENSION_CANCEL) != nullptr);
}

}  // namespace watched_extensions_test
