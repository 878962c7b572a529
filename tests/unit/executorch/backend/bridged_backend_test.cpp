// SPDX-License-Identifier: MIT
//
// A backend written for ExecuTorch (probe_backend.cpp) in our host.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "probe_backend.hpp"
#include "support/catch.hpp"
#include "support/program_builder.hpp"
#include "tenon/host.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"
#include "tenon/host/schema/program_generated.h"
#include "tenon/tenon.hpp"

using namespace tenon;
using namespace tenon::test;

namespace bridged_backend_test {

/// The backend opened for one test, and what it logged.
class Opened {
 public:
  Opened() {
    host::HostInfo info;
    info.log = [this](std::int32_t level, std::string_view, std::string_view text) {
      lines.push_back(concat(level, " ", text));
    };
    auto loaded =
        host::Plugin::from_static(tenon_static_plugin_ProbePlugin, host::all_layers(info));
    REQUIRE(loaded.ok());
    auto opened = (*loaded)->backend("Probe");
    INFO(opened.text());
    REQUIRE(opened.ok());
    backend = host::BackendRef(*std::move(opened));
    probe() = {.num_alive = probe().num_alive};
  }

  Result<std::unique_ptr<host::Method>> load(const ProgramBuilder& builder,
                                             host::MethodOptions options = {}) const {
    auto bytes = std::make_shared<AlignedBytes>(builder.build());
    auto program = host::Program::from_bytes(std::as_const(*bytes).bytes(), bytes, "test.pte");
    INFO(program.text());
    REQUIRE(program.ok());
    options.backends = {backend};
    return host::Method::load(*std::move(program), "forward", std::move(options));
  }
  std::unique_ptr<host::Method> load_ok(const ProgramBuilder& builder,
                                        host::MethodOptions options = {}) const {
    auto method = load(builder, std::move(options));
    INFO(method.text());
    REQUIRE(method.ok());
    return *std::move(method);
  }

  host::BackendRef backend;
  std::vector<std::string> lines;
};

/// Hands a tensor of up to four floats to a delegate with that blob, and gives such a tensor back.
ProgramBuilder program_of(const std::string& blob) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(16);
  auto in = tensor(ScalarType::Float, {4});
  auto out = planned_tensor(ScalarType::Float, {4}, memory, 0);
  in.shape_dynamism = out.shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_BOUND;
  const auto x = plan.input(std::move(in));
  const auto y = plan.output(std::move(out));
  const auto delegate =
      plan.delegate("Probe", schema::DataLocation::SEGMENT, builder.segment(bytes_of(blob)));
  plan.compile_spec(delegate, "first", "one");
  plan.compile_spec(delegate, "first", std::string_view("\0two", 4));
  plan.instruction(delegate_call(delegate, {x, y}));
  return builder;
}

Status run(host::Method& method, const std::vector<float>& in) {
  const std::int64_t sizes[] = {static_cast<std::int64_t>(in.size())};
  TENON_RETURN_IF_ERROR(
      method.set_input(0, {ScalarType::Float, sizes, std::as_bytes(std::span(in))}));
  return method.execute();
}

std::vector<float> output_of(const host::Method& method) {
  const Tensor<const float> out(*method.output(0).as.tensor);
  return {out.begin(), out.end()};
}

/// The output of the process on stderr while `body` runs.
template <class Body>
std::string stderr_of(const Body& body) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const int kept = ::dup(2);
  ::dup2(ends[1], 2);
  body();
  std::fflush(stderr);
  ::dup2(kept, 2);
  ::close(kept);
  ::close(ends[1]);
  std::string out(4096, '\0');
  const auto size = ::read(ends[0], out.data(), out.size());
  ::close(ends[0]);
  out.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return out;
}

}  // namespace bridged_backend_test
using namespace bridged_backend_test;

TEST_CASE("an ExecuTorch backend runs in our host", "[executorch]") {
  {
    const Opened opened;
    CHECK(probe().num_alive == 1);
    const auto method = opened.load_ok(program_of("plain"));
    CHECK(probe().num_delegates == 1);
    CHECK(probe().method_name == "forward");
    CHECK(probe().compile_specs ==
          std::vector<std::string>{"first=one", std::string("first=\0two", 10)});
    REQUIRE(run(*method, {1, 2, 3, 4}).ok());
    CHECK(output_of(*method) == std::vector<float>{2, 3, 4, 5});
    // The backend resizes the output to what the input has.
    REQUIRE(run(*method, {5, 6}).ok());
    CHECK(output_of(*method) == std::vector<float>{6, 7});
    REQUIRE(run(*method, {}).ok());
    CHECK(output_of(*method).empty());
    REQUIRE(run(*method, {1, 2, 3}).ok());
    CHECK(output_of(*method) == std::vector<float>{2, 3, 4});
    CHECK(opened.lines.empty());
  }
  CHECK(probe().num_delegates == 0);
  CHECK(probe().num_alive == 0);
}

TEST_CASE("why an ExecuTorch backend failed is in the error and in the host's log, not on stderr",
          "[executorch]") {
  Opened opened;
  const std::string printed = stderr_of([&] {
    const auto refused = opened.load(program_of("init-fails"));
    CHECK(refused.error() == Error::DelegateInvalidCompatibility);
    CHECK_THAT(std::string(refused.text()),
               ContainsSubstring("init: blob: expected version 1, found 2; cannot load it"));
    REQUIRE(opened.lines.size() == 2);
    CHECK_THAT(opened.lines[0], ContainsSubstring("2 probe_backend.cpp:"));

    const auto silent = opened.load(program_of("init-says-nothing"));
    CHECK(silent.error() == Error::NotSupported);
    CHECK_THAT(std::string(silent.text()), ContainsSubstring("NotSupported and logged no reason"));

    const auto method = opened.load_ok(program_of("says-info fails"));
    const Status failed = run(*method, {1, 2, 3, 4});
    CHECK(failed.error() == Error::InvalidArgument);
    CHECK_THAT(std::string(failed.text()),
               ContainsSubstring("execute: argument 0: expected something else"));
    CHECK_THAT(opened.lines[2], ContainsSubstring("1 probe_backend.cpp:"));
    CHECK_THAT(opened.lines[2], ContainsSubstring("about to run"));
  });
  CHECK(printed.empty());
  CHECK(probe().num_delegates == 0);
}

TEST_CASE("a check of ExecuTorch's that fails is an error and not the end of the process",
          "[executorch]") {
  const Opened opened;
  const std::string printed = stderr_of([&] {
    const auto refused = opened.load(program_of("init-checks"));
    CHECK(refused.error() == Error::Internal);
    CHECK_THAT(std::string(refused.text()), ContainsSubstring("there are 2 specs"));
    const auto method = opened.load_ok(program_of("checks"));
    for (int i = 0; i < 2; ++i) {
      const Status failed = run(*method, {1, 2, 3, 4});
      CHECK(failed.error() == Error::Internal);
      CHECK_THAT(std::string(failed.text()), ContainsSubstring("there are 2 arguments"));
    }
    const auto throwing = opened.load_ok(program_of("throws"));
    CHECK(run(*throwing, {1}).error() == Error::Internal);
  });
  CHECK(printed.empty());
}

TEST_CASE("runtime specs reach an ExecuTorch backend as its options", "[executorch]") {
  const Opened opened;
  const auto load_with = [&](const std::string& key, OptionValue value) {
    host::MethodOptions options;
    options.backend_options = {{"Probe", key, std::move(value)}};
    return opened.load(program_of("plain"), std::move(options));
  };
  REQUIRE(load_with("level", std::int64_t{-12}).ok());
  CHECK(probe().runtime_specs == std::vector<std::string>{"level=-12"});
  REQUIRE(load_with("unavailable", true).ok());
  CHECK(probe().runtime_specs == std::vector<std::string>{"unavailable=true"});
  REQUIRE(load_with("name", std::string(255, 'n')).ok());
  CHECK(probe().runtime_specs == std::vector<std::string>{"name=" + std::string(255, 'n')});

  const auto refuse = [&](const std::string& key, OptionValue value, Error code,
                          const std::string& text) {
    const auto refused = load_with(key, std::move(value));
    CHECK(refused.error() == code);
    CHECK_THAT(std::string(refused.text()), ContainsSubstring(text));
  };
  refuse("level", std::int64_t{1} << 31, Error::InvalidArgument,
         "option 'level': ExecuTorch's numbers have 32 bits, found 2147483648");
  refuse("name", std::string(256, 'n'), Error::InvalidArgument, "at most 255 bytes");
  refuse("name", std::string("a\0b", 3), Error::InvalidArgument, "no NUL");
  refuse("level", true, Error::InvalidType, "expected int64, found bool");
  refuse("other", true, Error::NotFound, "'other' is unknown");
}

TEST_CASE("options of the whole backend can be set and read", "[executorch]") {
  const Opened opened;
  REQUIRE(opened.backend->set_option("level", std::int64_t{5}).ok());
  REQUIRE(opened.backend->set_option("name", std::string("somebody")).ok());
  CHECK(probe().options == std::vector<std::string>{"level=5", "name=somebody"});
  // The value of the backend takes precedence; else it is the value that was set.
  const auto level = opened.backend->get_option("level");
  REQUIRE(level.ok());
  CHECK(*level == OptionValue(std::int64_t{40}));
  const auto name = opened.backend->get_option("name");
  REQUIRE(name.ok());
  CHECK(*name == OptionValue(std::string("somebody")));
  const auto odd = opened.backend->get_option("odd");
  CHECK(odd.error() == Error::InvalidType);
  CHECK_THAT(std::string(odd.text()), ContainsSubstring("declared as int64"));

  const Status refused = opened.backend->set_option("level", std::int64_t{-1});
  CHECK(refused.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("expected 0 or more, found -1"));
  CHECK(opened.backend->get_option("nothing").error() == Error::NotFound);

  REQUIRE(opened.backend->set_option("unavailable", true).ok());
  const Status available = opened.backend->is_available();
  CHECK(available.error() == Error::NotFound);
  CHECK_THAT(std::string(available.text()), ContainsSubstring("there is no device today"));
}

TEST_CASE("named data reaches an ExecuTorch backend", "[executorch]") {
  const Opened opened;
  const auto without = opened.load(program_of("init-data"));
  CHECK(without.error() == Error::NotFound);

  ProgramBuilder builder = program_of("init-data");
  builder.named_data("weights", builder.segment(bytes_of("some weights")));
  builder.named_data("other", builder.segment(bytes_of("x")));
  const auto method = opened.load_ok(builder);
  CHECK(probe().keys == std::vector<std::string>{"weights", "other"});
  CHECK(probe().weights == "some weights");
  CHECK(probe().missing == concat(static_cast<std::uint32_t>(Error::NotFound)));
}

TEST_CASE("an ExecuTorch backend may free its blob in init", "[executorch]") {
  const Opened opened;
  const auto method = opened.load_ok(program_of("init-frees"));
  REQUIRE(run(*method, {1}).ok());
  CHECK(output_of(*method) == std::vector<float>{2});
}

TEST_CASE("all delegates of a method see one runtime allocator, and another method's another one",
          "[executorch]") {
  const Opened opened;
  ProgramBuilder builder = program_of("plain");
  PlanBuilder plan(*builder.program.execution_plan[0]);
  plan.delegate("Probe", schema::DataLocation::SEGMENT, builder.segment(bytes_of("second")));
  const auto first = opened.load_ok(builder);
  const auto second = opened.load_ok(builder);
  REQUIRE(probe().runtime_allocators.size() == 4);
  CHECK(probe().runtime_allocators[0] == probe().runtime_allocators[1]);
  CHECK(probe().runtime_allocators[2] == probe().runtime_allocators[3]);
  CHECK(probe().runtime_allocators[0] != probe().runtime_allocators[2]);
}

TEST_CASE("an ExecuTorch backend that replaces a data pointer gets an error", "[executorch]") {
  const Opened opened;
  const auto method = opened.load_ok(program_of("swaps"));
  const void* const own = method->output(0).as.tensor->dl.data;
  const Status swapped = run(*method, {1, 2, 3, 4});
  CHECK(swapped.error() == Error::NotSupported);
  CHECK_THAT(std::string(swapped.text()),
             ContainsSubstring("argument 1: ExecuTorch's code gave the tensor another data"));
  CHECK(method->output(0).as.tensor->dl.data == own);
}

TEST_CASE("an ExecuTorch backend whose output is a constant of the program gets an error",
          "[executorch]") {
  const Opened opened;
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  builder.constants({std::string(16, '\0')});
  const auto x = plan.input(tensor(ScalarType::Float, {4}));
  const auto y = plan.output(constant_tensor(ScalarType::Float, {4}, 1));
  const auto delegate =
      plan.delegate("Probe", schema::DataLocation::SEGMENT, builder.segment(bytes_of("plain")));
  plan.instruction(delegate_call(delegate, {x, y}));
  const auto method = opened.load_ok(builder);
  for (int i = 0; i < 2; ++i) {
    const Status ran = run(*method, {1, 2, 3, 4});
    CHECK(ran.error() == Error::InvalidProgram);
    CHECK_THAT(std::string(ran.text()), ContainsSubstring("an output is a constant"));
    CHECK(output_of(*method) == std::vector<float>(4));
  }
}

TEST_CASE("an ExecuTorch backend is not run with a tensor that was freed", "[executorch]") {
  const Opened opened;
  ProgramBuilder builder = program_of("plain");
  builder.program.execution_plan[0]->chains[0]->instructions.insert(
      builder.program.execution_plan[0]->chains[0]->instructions.begin(),
      make_union<schema::objects::InstructionT>(
          free_call(builder.program.execution_plan[0]->inputs[0])));
  const auto method = opened.load_ok(builder);
  const Status ran = run(*method, {1, 2, 3, 4});
  CHECK(ran.error() == Error::InvalidState);
  CHECK_THAT(std::string(ran.text()), ContainsSubstring("argument 0: the tensor has no data"));
}

TEST_CASE("numbers that an ExecuTorch backend makes are the program's", "[executorch]") {
  const Opened opened;
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto count = plan.input(int_value(41));
  const std::vector<std::int32_t> args{count, plan.output(int_value(0)),
                                       plan.output(double_value(0)),
                                       plan.output(bool_value(false))};
  const auto delegate =
      plan.delegate("Probe", schema::DataLocation::SEGMENT, builder.segment(bytes_of("counts")));
  plan.instruction(delegate_call(delegate, args));
  const auto method = opened.load_ok(builder);
  REQUIRE(method->set_input(0, std::int64_t{41}).ok());
  REQUIRE(method->execute().ok());
  CHECK(method->output(0).as.integer == 42);
  CHECK(method->output(1).as.real == 0.5);
  CHECK(method->output(2).as.boolean == 1);
}

TEST_CASE("a delegate that is called from two places keeps them apart", "[executorch]") {
  const Opened opened;
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(32);
  const auto x = plan.input(tensor(ScalarType::Float, {4}));
  const auto between = plan.value(planned_tensor(ScalarType::Float, {4}, memory, 0));
  const auto y = plan.output(planned_tensor(ScalarType::Float, {4}, memory, 16));
  const auto delegate =
      plan.delegate("Probe", schema::DataLocation::SEGMENT, builder.segment(bytes_of("plain")));
  plan.instruction(delegate_call(delegate, {x, between}));
  plan.instruction(delegate_call(delegate, {between, y}));
  const auto method = opened.load_ok(builder);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(run(*method, {1, 2, 3, 4}).ok());
    CHECK(output_of(*method) == std::vector<float>{3, 4, 5, 6});
  }
}

TEST_CASE("events of an ExecuTorch backend are in the host's trace", "[executorch]") {
  const Opened opened;
  host::Trace trace;
  host::MethodOptions options;
  options.layers.add(trace);
  const auto method = opened.load_ok(program_of("traces"), std::move(options));
  REQUIRE(run(*method, {1}).ok());
  const std::string json = trace.json();
  CHECK_THAT(json, ContainsSubstring("\"named\""));
  CHECK_THAT(json, ContainsSubstring("\"logged\""));
  CHECK_THAT(json, ContainsSubstring("\"debug_handle\":\"7\""));

  // Nobody listens: the same blob runs as well.
  const auto untraced = opened.load_ok(program_of("traces"));
  CHECK(run(*untraced, {1}).ok());
}

TEST_CASE("memory that a host does not give is an error of ExecuTorch's backend", "[executorch]") {
  const Opened opened;
  tenon_allocator nothing{};
  nothing.struct_size = sizeof nothing;
  nothing.allocate = [](tenon_allocator*, std::uint64_t, std::uint64_t) -> void* {
    return nullptr;
  };
  const std::string blob = "init-memory";
  tenon_buffer processed{};
  processed.struct_size = sizeof processed;
  processed.data = blob.data();
  processed.nbytes = blob.size();
  processed.release = [](tenon_buffer*) {};
  tenon_init_context context{};
  context.struct_size = sizeof context;
  context.host = opened.backend->host();
  context.method_name = "forward";
  context.processed = &processed;
  context.runtime_allocator = &nothing;
  tenon_delegate* delegate = nullptr;
  const auto& api = opened.backend->api();
  const tenon_status status = api.init(opened.backend->raw(), &context, &delegate);
  CHECK(status == TENON_STATUS_MEMORY_ALLOCATION_FAILED);
  CHECK(probe().num_delegates == 0);
  CHECK_FALSE(host::take_last_error(opened.backend->host(), status).text().empty());
}
