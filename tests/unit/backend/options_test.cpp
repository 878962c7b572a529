// SPDX-License-Identifier: MIT
#include <tenon/abi/static_plugin.h>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <tenon/tenon.hpp>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/idle_backend.hpp"
#include "unit/backend/fake_host.hpp"
#include "unit/core/test_tensor.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

constexpr std::array default_salt = {std::byte{1}, std::byte{2}};

/// Has one option of each type. A delegate keeps the values of its load.
class Tunable final : public Backend<Tunable>, public WithOptions<Tunable> {
 public:
  static constexpr std::string_view id = "TunableBackend";
  static constexpr std::array options{
      OptionSpec{"fast", true, "be fast"},
      OptionSpec{"threads", 4, "worker threads"},
      OptionSpec{"scale", 0.5, "factor", TENON_OPTION_AT_LOAD},
      OptionSpec{"device", "cpu", "where", TENON_OPTION_AT_RUNTIME},
      OptionSpec{"salt", Bytes(default_salt), "bytes"},
  };

  struct Delegate {
    OptionValues<Tunable> options;
  };

  Result<Delegate> init(InitContext& context, Blob, CompileSpecs) {
    TENON_TRY(auto values, option_values(context));
    return Delegate{std::move(values)};
  }

  /// Argument 0 receives the threads, the scale and whether it is fast.
  Status execute(ExecutionContext&, Delegate& delegate, Args args) {
    TENON_TRY(const auto out, args.tensor<double>(0));
    TENON_TRY(const auto threads, delegate.options.get<std::int64_t>("threads"));
    TENON_TRY(const auto scale, delegate.options.get<double>("scale"));
    TENON_TRY(const auto fast, delegate.options.get<bool>("fast"));
    out[0] = static_cast<double>(threads);
    out[1] = scale;
    out[2] = fast ? 1 : 0;
    if (delegate.options.get<double>("threads").error() != Error::InvalidType ||
        delegate.options.get<double>("none").error() != Error::NotFound) {
      return error(Error::Internal, "a wrong question was answered");
    }
    return ok();
  }

  Status on_set_option(std::string_view key, const OptionView& value) {
    if (key == "device" && value.string() == "moon") {
      return error(Error::AccessFailed, "no way to the moon");
    }
    if (key == "device" && value.string() == "sun") {
      throw std::runtime_error("too hot");
    }
    return ok();
  }
};

/// Declares an option and never asks for it.
class Careless final : public Backend<Careless>,
                       public IdleDelegates,
                       public WithOptions<Careless> {
 public:
  static constexpr std::string_view id = "CarelessBackend";
  static constexpr std::array options{OptionSpec{"threads", 1, "worker threads"}};
};

/// Has no options.
class Stubborn final : public Backend<Stubborn>, public IdleDelegates {
 public:
  static constexpr std::string_view id = "StubbornBackend";
};

/// Has a `get_option` of its own besides another function of that name.
class Overloading final : public Backend<Overloading>,
                          public IdleDelegates,
                          public WithOptions<Overloading> {
 public:
  static constexpr std::string_view id = "OverloadingBackend";
  static constexpr std::array options{OptionSpec{"threads", 1, "worker threads"}};
  Result<OptionValue> get_option(std::string_view) const { return OptionValue(std::int64_t{42}); }
  Result<OptionValue> get_option(std::size_t) const { return OptionValue(std::int64_t{43}); }
  Status on_set_option(std::string_view key, const OptionValue& value) {
    if (value.get<std::int64_t>() != 13) return ok();
    return error(Error::InvalidArgument, "option '", key, "': 13 is refused");
  }
};

/// Uses the name for a template, which is not for options.
class Templated final : public Backend<Templated>,
                        public IdleDelegates,
                        public WithOptions<Templated> {
 public:
  static constexpr std::string_view id = "TemplatedBackend";
  static constexpr std::array options{OptionSpec{"threads", 2, "worker threads"}};
  template <class T>
  T get_option(std::string_view) const {
    return {};
  }
};

/// Uses the name for itself.
class Secretive final : public Backend<Secretive>, public WithOptions<Secretive> {
 public:
  static constexpr std::string_view id = "SecretiveBackend";
  static constexpr std::array options{OptionSpec{"threads", 3, "worker threads"}};
  struct Delegate {};
  Result<Delegate> init(InitContext&, Blob, CompileSpecs) { return Delegate{}; }
  Status execute(ExecutionContext&, Delegate&, Args) {
    return get_option(std::string_view()).ok() ? ok() : error(Error::Internal, "no option");
  }

 private:
  Result<OptionValue> get_option(std::string_view) const { return OptionValue(std::int64_t{44}); }
};

/// Takes the key as a string, which no view converts to.
class Copying final : public Backend<Copying>, public IdleDelegates, public WithOptions<Copying> {
 public:
  static constexpr std::string_view id = "CopyingBackend";
  static constexpr std::array options{OptionSpec{"threads", 4, "worker threads"}};
  Result<OptionValue> get_option(const std::string& key) const {
    return OptionValue(static_cast<std::int64_t>(key.size()));
  }
};

/// Says what its options can be.
class Limited final : public Backend<Limited>, public IdleDelegates, public WithOptions<Limited> {
 public:
  static constexpr std::string_view id = "LimitedBackend";
  static constexpr std::array options{
      OptionSpec{"threads", 1, "worker threads"}.between(1, 16).in("threads"),
      OptionSpec{"scale", 0.5, "factor"}.at_least(0.0),
      OptionSpec{"device", "cpu", "use chip instead"}.one_of("cpu", "gpu").deprecated()};
};

}  // namespace

TENON_PLUGIN(Tunable, Careless, Stubborn, Overloading, Templated, Secretive, Copying, Limited);

namespace {

const LinkedPlugin plugin(tenon_static_plugin_Tunable);

/// The opened backend with its options table.
struct Tuned : OpenedBackend {
  Tuned(const FakeHost& host, std::size_t index = 0)
      : OpenedBackend(plugin.api(index), host),
        table(extension<tenon_options_v1>(TENON_EXTENSION_OPTIONS)) {
    REQUIRE(table != nullptr);
  }

  tenon_status set(const char* key, const OptionValue& value) {
    const tenon_option option = write_option(key, value);
    return table->set_option(backend, &option);
  }

  /// The value of `key`, or nothing when the sink was not called exactly once with that key.
  std::optional<OptionValue> get(const char* key, tenon_status expected = TENON_STATUS_OK) {
    struct Got {
      std::string key;
      std::optional<OptionValue> value;
      int calls = 0;
    } got;
    const auto sink = [](void* context, const tenon_option* option) {
      auto& out = *static_cast<Got*>(context);
      ++out.calls;
      out.key = option->key;
      if (auto value = read_option(*option); value.ok()) out.value = *std::move(value);
    };
    CHECK(table->get_option(backend, key, sink, &got) == expected);
    if (got.calls == 0) return std::nullopt;
    CHECK(got.calls == 1);
    CHECK(got.key == key);
    return got.value;
  }

  /// Threads, scale and fast of the delegate.
  std::vector<double> values_of_load() {
    TestTensor out(ScalarType::Double, {3});
    const TestArgs args({out.value()});
    CHECK(execute(args.data(), args.size()) == TENON_STATUS_OK);
    return out.elements<double>();
  }

  const tenon_options_v1* table;
};

}  // namespace

TEST_CASE("the options table declares every option with its first value", "[backend]") {
  const FakeHost host;
  const Tuned backend(host);
  CHECK(backend.table->struct_size == sizeof(tenon_options_v1));
  REQUIRE(backend.table->num_specs == 5);
  const std::string_view keys[] = {"fast", "threads", "scale", "device", "salt"};
  for (std::uint32_t i = 0; i < 5; ++i) {
    const tenon_option_spec& spec = backend.table->specs[i];
    CHECK(spec.struct_size == sizeof(tenon_option_spec));
    CHECK(spec.initial->struct_size == sizeof(tenon_option));
    CHECK(spec.initial->type == i + 1);
    CHECK(spec.initial->key == keys[i]);
  }
  const tenon_option_spec* specs = backend.table->specs;
  CHECK(specs[0].initial->as.boolean == 1);
  CHECK(specs[1].initial->as.integer == 4);
  CHECK(specs[2].initial->as.real == 0.5);
  CHECK(*read_option(*specs[3].initial) == OptionValue(std::string("cpu")));
  CHECK(*read_option(*specs[4].initial) ==
        OptionValue(std::vector<std::byte>(default_salt.begin(), default_salt.end())));
  CHECK(std::string(specs[1].description) == "worker threads");
  CHECK(specs[1].flags == (TENON_OPTION_AT_RUNTIME | TENON_OPTION_AT_LOAD));
  CHECK(specs[2].flags == TENON_OPTION_AT_LOAD);
  CHECK(specs[3].flags == TENON_OPTION_AT_RUNTIME);
}

TEST_CASE("options of all types are got as they were declared and then as they were set",
          "[backend][TN-OPT-2]") {
  const FakeHost host;
  Tuned backend(host);
  CHECK(backend.get("fast") == OptionValue(true));
  CHECK(backend.get("threads") == OptionValue(std::int64_t{4}));
  CHECK(backend.get("scale") == OptionValue(0.5));
  CHECK(backend.get("device") == OptionValue(std::string("cpu")));

  const OptionValue salt = std::vector<std::byte>(3, std::byte{7});
  CHECK(backend.set("fast", false) == TENON_STATUS_OK);
  CHECK(backend.set("threads", std::int64_t{-9}) == TENON_STATUS_OK);
  CHECK(backend.set("device", std::string("cuda:1")) == TENON_STATUS_OK);
  CHECK(backend.set("salt", salt) == TENON_STATUS_OK);
  CHECK(backend.get("fast") == OptionValue(false));
  CHECK(backend.get("threads") == OptionValue(std::int64_t{-9}));
  CHECK(backend.get("device") == OptionValue(std::string("cuda:1")));
  CHECK(backend.get("salt") == salt);
  CHECK(host.num_errors == 0);
}

TEST_CASE("an option that cannot be set is refused by name and nothing changes",
          "[backend][TN-OPT-1]") {
  const FakeHost host;
  Tuned backend(host);
  CHECK(backend.set("thread", std::int64_t{1}) == TENON_STATUS_NOT_FOUND);
  CHECK(host.last_text ==
        "option 'thread' is unknown; the backend has: fast, threads, scale, device, salt");
  CHECK(backend.set("threads", 1.0) == TENON_STATUS_INVALID_TYPE);
  CHECK(host.last_text == "option 'threads': expected int64, found double");
  CHECK(backend.set("scale", 2.0) == TENON_STATUS_NOT_SUPPORTED);
  CHECK(host.last_text == "option 'scale' cannot be given for the whole backend");

  tenon_option broken = write_option("threads", OptionValue(std::int64_t{1}));
  broken.type = 99;
  CHECK(backend.table->set_option(backend.backend, &broken) == TENON_STATUS_INVALID_TYPE);
  CHECK(host.last_text == "option 'threads': expected int64, found ?");

  CHECK(backend.get("threads") == OptionValue(std::int64_t{4}));
  CHECK(backend.get("scale") == OptionValue(0.5));
}

TEST_CASE("limits, choices, a unit and deprecation are in the declaration", "[backend]") {
  const FakeHost host;
  const Tuned backend(host, 7);
  const tenon_option_spec* specs = backend.table->specs;
  CHECK(specs[0].minimum->as.integer == 1);
  CHECK(specs[0].maximum->as.integer == 16);
  CHECK(std::string(specs[0].unit) == "threads");
  CHECK(specs[0].choices == nullptr);
  CHECK(specs[1].minimum->as.real == 0);
  CHECK(specs[1].maximum == nullptr);
  CHECK(specs[1].unit == nullptr);
  REQUIRE(specs[2].num_choices == 2);
  CHECK(std::string(specs[2].choices[1]) == "gpu");
  CHECK((specs[2].flags & TENON_OPTION_DEPRECATED) != 0);
  CHECK((specs[1].flags & TENON_OPTION_DEPRECATED) == 0);
}

TEST_CASE("a value that the declaration excludes is refused, by set_option and by init",
          "[backend][TN-OPT-5]") {
  const FakeHost host;
  Tuned backend(host, 7);
  FakeBuffer blob("");
  const auto refuses = [&](const char* key, const OptionValue& value, const std::string& text) {
    host.last_text.clear();
    CHECK(backend.set(key, value) == TENON_STATUS_INVALID_ARGUMENT);
    CHECK(host.last_text == text);
    host.last_text.clear();
    const std::array specs = {write_option(key, value)};
    CHECK(backend.init(blob, specs) == TENON_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(host.last_text, ContainsSubstring(text));
  };
  for (const std::int64_t wrong : {0, 17, -1}) {
    refuses("threads", wrong, concat("option 'threads': expected 1 to 16, found ", wrong));
  }
  refuses("scale", -0.5, "option 'scale': expected 0 or more, found -0.5");
  refuses("scale", std::numeric_limits<double>::quiet_NaN(),
          "option 'scale': expected 0 or more, found nan");
  refuses("device", std::string("tpu"), "option 'device': expected one of cpu, gpu, found 'tpu'");
  refuses("device", std::string("cpu\0", 4),
          "option 'device': expected one of cpu, gpu, found 'cpu\\x00'");
  CHECK(backend.get("threads") == OptionValue(std::int64_t{1}));
  CHECK(backend.get("device") == OptionValue(std::string("cpu")));

  CHECK(backend.set("threads", std::int64_t{16}) == TENON_STATUS_OK);
  CHECK(backend.set("scale", 0.0) == TENON_STATUS_OK);
  CHECK(backend.set("device", std::string("gpu")) == TENON_STATUS_OK);
}

TEST_CASE("a backend's own get_option answers, and functions that only share the name do not",
          "[backend][TN-OPT-2]") {
  const FakeHost host;
  CHECK(Tuned(host, 3).get("threads") == OptionValue(std::int64_t{42}));
  CHECK(Tuned(host, 4).get("threads") == OptionValue(std::int64_t{2}));
  CHECK(Tuned(host, 5).get("threads") == OptionValue(std::int64_t{3}));
  CHECK(Tuned(host, 6).get("threads") == OptionValue(std::int64_t{7}));
}

TEST_CASE("an unknown option is not got and the sink is not called", "[backend][TN-OPT-2]") {
  const FakeHost host;
  Tuned backend(host);
  CHECK(backend.get("none", TENON_STATUS_NOT_FOUND) == std::nullopt);
  CHECK_THAT(host.last_text, ContainsSubstring("'none' is unknown"));
}

TEST_CASE("on_set_option may refuse or throw and nothing changes", "[backend][TN-OPT-1]") {
  const FakeHost host;
  Tuned backend(host);
  CHECK(backend.set("device", std::string("moon")) == TENON_STATUS_ACCESS_FAILED);
  CHECK(host.last_text == "no way to the moon");
  CHECK(backend.set("device", std::string("sun")) == TENON_STATUS_INTERNAL);
  CHECK(host.last_text == "too hot");
  CHECK(backend.get("device") == OptionValue(std::string("cpu")));
  CHECK(backend.set("device", std::string("mars")) == TENON_STATUS_OK);
  CHECK(backend.get("device") == OptionValue(std::string("mars")));
}

TEST_CASE("on_set_option may take a copy of the value", "[backend][TN-OPT-1]") {
  const FakeHost host;
  Tuned backend(host, 3);
  CHECK(backend.set("threads", std::int64_t{13}) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(host.last_text == "option 'threads': 13 is refused");
  CHECK(backend.set("threads", std::int64_t{12}) == TENON_STATUS_OK);
}

TEST_CASE("a load sees the options given for it, then those that were set, then the declared",
          "[backend]") {
  const FakeHost host;
  Tuned backend(host);
  FakeBuffer blob("");
  REQUIRE(backend.init(blob) == TENON_STATUS_OK);
  CHECK(backend.values_of_load() == std::vector{4.0, 0.5, 1.0});
  tenon_delegate* const early = backend.delegate;

  CHECK(backend.set("threads", std::int64_t{8}) == TENON_STATUS_OK);
  CHECK(backend.set("fast", false) == TENON_STATUS_OK);
  const std::array specs = {write_option("scale", OptionValue(3.0)),
                            write_option("threads", OptionValue(std::int64_t{16}))};
  REQUIRE(backend.init(blob, specs) == TENON_STATUS_OK);
  CHECK(backend.values_of_load() == std::vector{16.0, 3.0, 0.0});
  backend.destroy();

  // Options of one load do not stay, and a delegate keeps those it was loaded with.
  REQUIRE(backend.init(blob) == TENON_STATUS_OK);
  CHECK(backend.values_of_load() == std::vector{8.0, 0.5, 0.0});
  backend.destroy();
  backend.delegate = early;
  CHECK(backend.values_of_load() == std::vector{4.0, 0.5, 1.0});
  backend.destroy();
}

TEST_CASE("of an option that is given twice the last counts", "[backend]") {
  const FakeHost host;
  Tuned backend(host);
  FakeBuffer blob("");
  const std::array specs = {write_option("threads", OptionValue(std::int64_t{1})),
                            write_option("threads", OptionValue(std::int64_t{2}))};
  REQUIRE(backend.init(blob, specs) == TENON_STATUS_OK);
  CHECK(backend.values_of_load()[0] == 2.0);
  backend.destroy();
}

TEST_CASE("runtime specs of a newer host are walked by their own size", "[backend]") {
  struct NewerOption {
    tenon_option known;
    std::uint64_t poison[2];
  };
  const FakeHost host;
  Tuned backend(host);
  std::array<NewerOption, 2> specs{};
  specs[0] = {write_option("threads", OptionValue(std::int64_t{11})), {~0ull, ~0ull}};
  specs[1] = {write_option("scale", OptionValue(7.0)), {~0ull, ~0ull}};
  for (NewerOption& spec : specs) spec.known.struct_size = sizeof(NewerOption);

  FakeBuffer blob("");
  tenon_init_context context{};
  context.struct_size = sizeof context;
  context.host = &host;
  context.method_name = "forward";
  context.processed = &blob;
  context.runtime_allocator = &backend.runtime_allocator;
  context.runtime_specs = &specs[0].known;
  context.num_runtime_specs = 2;
  REQUIRE(backend.api.init(backend.backend, &context, &backend.delegate) == TENON_STATUS_OK);
  CHECK(backend.values_of_load() == std::vector{11.0, 7.0, 1.0});
  backend.destroy();
}

TEST_CASE("runtime specs that are wrong are refused before the load", "[backend]") {
  const FakeHost host;
  FakeBuffer blob("");
  OpenedBackend tunable(plugin.api(0), host);
  const std::array not_at_load = {write_option("device", OptionValue(std::string("cuda")))};
  CHECK(tunable.init(blob, not_at_load) == TENON_STATUS_NOT_SUPPORTED);
  CHECK(host.last_text == "option 'device' cannot be given for one load");

  // Also when the author never asks for the options, and when there are none.
  OpenedBackend careless(plugin.api(1), host);
  const std::array unknown = {write_option("thread", OptionValue(std::int64_t{1}))};
  CHECK(careless.init(blob, unknown) == TENON_STATUS_NOT_FOUND);
  CHECK(host.last_text == "option 'thread' is unknown; the backend has: threads");
  const std::array wrong_type = {write_option("threads", OptionValue(std::string("1")))};
  CHECK(careless.init(blob, wrong_type) == TENON_STATUS_INVALID_TYPE);
  CHECK(host.last_text == "option 'threads': expected int64, found string");
  CHECK(careless.delegate == nullptr);

  OpenedBackend stubborn(plugin.api(2), host);
  CHECK(stubborn.init(blob, unknown) == TENON_STATUS_NOT_FOUND);
  CHECK(host.last_text == "option 'thread' is unknown; the backend has no options");
  CHECK(stubborn.delegate == nullptr);
  REQUIRE(stubborn.init(blob) == TENON_STATUS_OK);
  stubborn.destroy();
}

TEST_CASE("an option that is set for one opened backend is not set for another", "[backend]") {
  const FakeHost host;
  Tuned first(host);
  Tuned second(host);
  CHECK(first.set("threads", std::int64_t{8}) == TENON_STATUS_OK);
  CHECK(second.get("threads") == OptionValue(std::int64_t{4}));
}

TEST_CASE("options may be set, got and used by loads from several threads", "[backend]") {
  const FakeHost host;
  Tuned backend(host, 1);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const tenon_option option = write_option("threads", OptionValue(t));
        const auto sink = [](void*, const tenon_option*) {};
        FakeBuffer blob("");
        tenon_init_context context{};
        context.struct_size = sizeof context;
        context.host = &host;
        context.method_name = "forward";
        context.processed = &blob;
        context.runtime_specs = &option;
        context.num_runtime_specs = 1;
        tenon_delegate* delegate = nullptr;
        wrong += backend.table->set_option(backend.backend, &option) != TENON_STATUS_OK;
        wrong +=
            backend.table->get_option(backend.backend, "threads", sink, nullptr) != TENON_STATUS_OK;
        wrong += backend.api.init(backend.backend, &context, &delegate) != TENON_STATUS_OK;
        backend.api.destroy(backend.backend, delegate);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
