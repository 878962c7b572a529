// SPDX-License-Identifier: MIT
//
// CpuAotiBackend as a plugin, with stand-ins for compiled models. D1 to D22 name the defects of
// ExecuTorch's own AOTI backends (docs/aoti/loading.md) that a test here rules out.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "program.hpp"
#include "support/environment.hpp"
#include "support/rounds.hpp"
#include "tenon/abi/draft/aoti_export.h"
#include "unit/host/loader/plugin/process.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

const std::string zoo_of_failures[] = {"asks_for_nothing", "fails_to_create",
                                       "fails_to_load_weights", "has_no_outputs_function"};

host::MethodOptions with_option(std::string key, OptionValue value) {
  host::MethodOptions options;
  options.backend_options.push_back({"CpuAotiBackend", std::move(key), std::move(value)});
  return options;
}

std::string refusal(const ModelParts& parts, host::MethodOptions options = {}) {
  AotiHost aoti;
  const auto method = aoti.load(parts, std::move(options));
  CHECK_FALSE(method.ok());
  return std::string(method.text());
}

}  // namespace

TEST_CASE("a program with a compiled model runs through the plugin", "[aoti][D7]") {
  AotiHost aoti;
  const auto method = aoti.load_ok({.weight = 3.0f, .state = 1.0f});
  CHECK(*run(*method, 2.0f) == 7.0f);
  CHECK(*run(*method, 2.0f) == 8.0f);  // The state grew.
}

TEST_CASE("a model whose shims have a private prefix runs", "[aoti]") {
  AotiHost aoti;
  const auto method = aoti.load_ok({.model = "has_private_prefix", .weight = 3.0f, .state = 1.0f});
  CHECK(*run(*method, 2.0f) == 7.0f);
}

TEST_CASE("lists leave a backend of AOTInductor models out unless asked, and programs run it",
          "[aoti]") {
  using Ids = std::vector<std::string>;
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(std::filesystem::path(TENON_TEST_CPU_AOTI)).ok());
  CHECK(registry.list_backends() == Ids{});
  CHECK(registry.list_backends({"debug"}) == Ids{"CpuAotiBackend"});

  AotiHost aoti;
  CHECK(aoti.registry().list_backends() == Ids{});
  const auto method = aoti.load_ok({.weight = 3.0f});
  CHECK(*run(*method, 2.0f) == 6.0f);
}

TEST_CASE("exporters read from the plugin what they need", "[aoti][S3.13][TN-AEX-1][TN-AEX-3]") {
  AotiHost aoti;
  const auto backend = aoti.registry().lookup_backend("CpuAotiBackend");
  REQUIRE(backend.ok());
  const auto table = (*backend)->extension<tenon_aoti_export_v1>(TENON_EXTENSION_AOTI_EXPORT);
  REQUIRE(table.has_value());
  CHECK(std::string(table->device_name) == "cpu");
  CHECK(std::string(table->torch_device) == "cpu");
  CHECK(std::string(table->decompositions) == "{}");
  CHECK_THAT(std::string(table->compile_options),
             ContainsSubstring("\"aot_inductor.link_libtorch\": false"));
  REQUIRE(table->num_fallback_kernels > 20);
  for (std::uint32_t i = 0; i < table->num_fallback_kernels; ++i) {
    INFO(table->fallback_kernels[i]);
    CHECK(table->serves((*backend)->raw(), table->fallback_kernels[i]) == 1);
  }
  CHECK(table->serves((*backend)->raw(), "aoti_torch_get_numel") == 1);
  CHECK(table->serves((*backend)->raw(), "aoti_torch_cpu_no_such_operator") == 0);
}

TEST_CASE("a program without keys is read by its method's name", "[aoti][D10][D19]") {
  AotiHost aoti;
  const auto method = aoti.load_ok({.blob = ""});
  CHECK(*run(*method, 2.0f) == 4.0f);
}

TEST_CASE("destroying a delegate leaves the others intact", "[aoti][D12][TN-DES-1]") {
  AotiHost aoti;
  auto first = aoti.load({.weight = 2.0f});
  auto second = aoti.load({.weight = 5.0f});
  REQUIRE((first.ok() && second.ok()));
  CHECK(*run(**first, 1.0f) == 2.0f);
  first->reset();
  CHECK(*run(**second, 1.0f) == 5.0f);
  auto third = aoti.load_ok({.weight = 7.0f});
  CHECK(*run(*third, 1.0f) == 7.0f);
  CHECK(*run(**second, 1.0f) == 6.0f);
}

TEST_CASE("two delegates with the same library do not mix", "[aoti][D1]") {
  AotiHost aoti;
  const auto method = aoti.load_ok({.weight = 3.0f, .num_delegates = 3});
  CHECK(*run(*method, 1.0f) == 27.0f);
  CHECK(*run(*method, 1.0f) == 27.0f + 9.0f + 3.0f + 1.0f);  // Each has a state of its own.
}

TEST_CASE("weights that are missing, short, or not aligned", "[aoti][D3][D4]") {
  CHECK_THAT(refusal({.has_weights = false}), ContainsSubstring("128 bytes of weights"));
  CHECK_THAT(refusal({.weights_nbytes = 127}),
             ContainsSubstring("the model of method 'forward': its weights: expected 128 bytes, "
                               "found 127"));
  AotiHost aoti;
  const auto method = aoti.load_ok({.weight = 3.0f, .weights_aligned = false});
  CHECK(*run(*method, 2.0f) == 6.0f);
}

TEST_CASE("a program without the library, or with something else in its place", "[aoti][D5]") {
  CHECK_THAT(refusal({.has_library = false}),
             ContainsSubstring("the library of method 'forward': ") &&
                 ContainsSubstring("library_so_blob"));
  CHECK_THAT(refusal({.has_library = false, .has_weights = false}),
             ContainsSubstring("library_so_blob"));
  CHECK_THAT(refusal({.library_bytes = "this is no library"}),
             ContainsSubstring("expected an ELF file"));
  CHECK_THAT(refusal({.library_bytes = std::string()}), ContainsSubstring("expected an ELF file"));
}

TEST_CASE("CPU features that a program names are needed", "[aoti][processor]") {
  AotiHost aoti;
  const auto refusal = [&](const std::string& features) {
    ModelParts parts;
    parts.cpu_features = features;
    const auto method = aoti.load(parts);
    return method.ok() ? std::string() : std::string(method.text());
  };
  CHECK(refusal("").empty());
  CHECK_THAT(refusal("no_such_feature"),
             ContainsSubstring("the library of method 'forward': the model needs what is missing "
                               "here: 1 CPU feature: no_such_feature"));
  CHECK_THAT(refusal("a b"), ContainsSubstring("named data 'library_cpu_features': its CPU "
                                               "features: expected names with commas"));
}

TEST_CASE("keys that look like paths are only looked up", "[aoti][D1]") {
  AotiHost aoti;
  const auto method = aoti.load_ok({.blob = "../../etc/passwd\n/dev/zero"});
  CHECK(*run(*method, 2.0f) == 4.0f);
}

TEST_CASE("a payload of no known generation is refused", "[aoti][D19][TN-INI-2]") {
  for (const std::string blob : {"library_so_blob", "ETCUDAFQN3....", "\xff\xff\n\x01"}) {
    CHECK_THAT(refusal({.blob = blob, .has_weights = false}),
               ContainsSubstring("understood are no bytes"));
  }
}

TEST_CASE("options that are unknown or out of range are refused", "[aoti][D11]") {
  CHECK_THAT(refusal({}, with_option("weight_sharing", true)),
             ContainsSubstring("'weight_sharing' is unknown") &&
                 ContainsSubstring("threads, share_weights, model_copies"));
  CHECK_THAT(refusal({}, with_option("threads", std::int64_t{-1})),
             ContainsSubstring("expected 0 to 1024, found -1"));
  CHECK_THAT(refusal({}, with_option("threads", std::string("two"))),
             ContainsSubstring("expected int64, found string"));
  CHECK_THAT(refusal({}, with_option("model_copies", std::int64_t{65})),
             ContainsSubstring("expected 1 to 64, found 65"));
  CHECK_THAT(refusal({}, with_option("model_copies", std::int64_t{2})),
             ContainsSubstring("keeps state between runs"));
  CHECK_THAT(refusal({}, with_option("seed", std::int64_t{-2})),
             ContainsSubstring("option 'seed': expected -1 or more, found -2"));
}

TEST_CASE("a load that fails at any step leaves nothing behind", "[aoti][D2][TN-INI-1]") {
  const TemporaryDirectory directory;
  AotiHost aoti;
  const ::test::ScopedEnvironment temporary({{"TMPDIR", directory.path().native()}});
  REQUIRE(aoti.load({}).ok());  // Allocates what the plugin keeps for its life.
  const Footprint before = Footprint::now();
  for (int round = 0; round < 20; ++round) {
    for (const std::string& model : zoo_of_failures)
      REQUIRE_FALSE(aoti.load({.model = model}).ok());
    REQUIRE_FALSE(aoti.load({.weights_nbytes = 64}).ok());
    REQUIRE_FALSE(aoti.load({.has_weights = false}).ok());
    REQUIRE_FALSE(aoti.load({.library_bytes = "nothing"}).ok());
    REQUIRE_FALSE(aoti.load({}, with_option("model_copies", std::int64_t{2})).ok());
  }
  const Footprint after = Footprint::now();
  CHECK(after.mappings == before.mappings);
  CHECK(after.descriptors == before.descriptors);
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("a thousand loads and runs are flat in memory, descriptors and mappings", "[aoti][D7]") {
  AotiHost aoti;
  const auto once = [&] {
    const auto method = aoti.load_ok({});
    REQUIRE(run(*method, 1.0f).ok());
  };
  for (int i = 0; i < 20; ++i) once();
  const Footprint before = Footprint::now();
  for (int i = 0; i < rounds(1000); ++i) once();
  const Footprint after = Footprint::now();
  CHECK(after.mappings == before.mappings);
  CHECK(after.descriptors == before.descriptors);
  // The allocator rounds; a leak of one model would be a hundred times this.
  CHECK(after.heap_bytes < before.heap_bytes + 65'536);
}

TEST_CASE("a failure of the model while it runs is its own words", "[aoti][D15][TN-EXE-3]") {
  AotiHost aoti;
  const auto method = aoti.load_ok({.model = "fails_to_run"});
  for (int i = 0; i < 2; ++i) {
    CHECK_THAT(std::string(run(*method, 1.0f).text()), ContainsSubstring("not in the mood"));
  }
}

TEST_CASE("sessions keep states of their own over one set of weights",
          "[aoti][TN-SES-1][TN-SES-2][TN-SES-3]") {
  AotiHost aoti;
  const auto method = aoti.load_ok({.weight = 3.0f, .num_delegates = 2});
  const auto y = [&](const host::Session* session) {
    method->use_session(session);
    const auto out = run(*method, 1.0f);
    REQUIRE(out.ok());
    return *out;
  };
  CHECK(y(nullptr) == 9.0f);
  CHECK(y(nullptr) == 13.0f);
  auto first = method->create_session();
  auto second = method->create_session();
  INFO(first.text());
  REQUIRE((first.ok() && second.ok()));
  CHECK(y(first->get()) == 9.0f);  // The state after `init`, not the delegate's current one.
  CHECK(y(first->get()) == 13.0f);
  CHECK(y(second->get()) == 9.0f);
  CHECK(y(nullptr) == 17.0f);
  CHECK(y(first->get()) == 17.0f);
  first->reset();  // The method returns to its own state.
  const auto out = run(*method, 1.0f);
  CHECK((out.ok() && *out == 21.0f));
  CHECK(y(second->get()) == 13.0f);
}

TEST_CASE("eight threads run a delegate each", "[aoti][D13]") {
  AotiHost aoti;
  std::vector<std::unique_ptr<host::Method>> methods;
  for (int i = 0; i < 8; ++i) {
    auto method = aoti.load({.weight = static_cast<float>(i)});
    REQUIRE(method.ok());
    methods.push_back(*std::move(method));
  }
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < methods.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 200; ++round) {
        const auto y = run(*methods[i], 3.0f);
        wrong += !y.ok() || *y != 3.0f * static_cast<float>(i) + static_cast<float>(round);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("threads load, run and drop models at the same time", "[aoti][D12][D13]") {
  AotiHost aoti[4];
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (AotiHost& each : aoti) {
    threads.emplace_back([&] {
      for (int round = 0; round < 25; ++round) {
        const auto method = each.load({.weight = 2.0f});
        const auto y = method.ok() ? run(**method, 4.0f) : Result<float>(0.0f);
        wrong += !y.ok() || *y != 8.0f;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("a policy that denies embedded code refuses the model before it is touched", "[aoti]") {
  host::MethodOptions options;
  options.layers.add(host::EmbeddedCodePolicy::deny());
  CHECK_THAT(refusal({}, std::move(options)),
             ContainsSubstring("CpuAotiBackend") && ContainsSubstring("deny"));
}

TEST_CASE("no constructor of a model runs before its code is permitted", "[aoti]") {
  constexpr const char* mark = "TENON_TEST_MODEL_WAS_LOADED";
  const auto load = [&](const std::string& policy) {
    ::setenv(mark, "no", 1);
    host::MethodOptions options;
    options.layers.add(*host::EmbeddedCodePolicy::parse(policy));
    AotiHost aoti;
    const std::string text(aoti.load({}, std::move(options)).text());
    const std::string was_loaded = std::getenv(mark);
    ::unsetenv(mark);
    return std::pair(text, was_loaded);
  };
  const auto [text, was_loaded] = load("sha256:");
  CHECK_THAT(text, ContainsSubstring("which the policy for embedded code does not list"));
  CHECK(was_loaded == "no");
  const std::string hash = text.substr(text.rfind("sha256:"));
  CHECK(load(hash) == std::pair<std::string, std::string>("", "yes"));
  CHECK(load("deny").second == "no");
}
