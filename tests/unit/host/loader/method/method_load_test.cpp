// SPDX-License-Identifier: MIT

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "method_support.hpp"
#include "support/sanitizer.hpp"

using namespace tenon;
using namespace tenon::test;
using host::Method;

namespace {

/// Calls a function in one hook of each load.
class Hook final : public host::MethodLayer {
 public:
  using Admit = std::function<Status(const host::LoadedBackend&)>;
  using AfterInit = std::function<Status(Status)>;
  explicit Hook(Admit admit) : admit_(std::move(admit)) {}
  explicit Hook(AfterInit after_init) : after_init_(std::move(after_init)) {}

  Result<std::unique_ptr<host::detail::MethodPart>> attach(
      host::detail::LoadRequest&) const override {
    return std::make_unique<Part>(admit_, after_init_);
  }

 private:
  struct Part final : host::detail::PartOf<Part> {
    Part(Admit its_admit, AfterInit its_after_init)
        : admits(std::move(its_admit)), ends(std::move(its_after_init)) {}
    Status admit(host::detail::Loading&, const host::LoadedBackend& backend) override {
      return admits ? admits(backend) : ok();
    }
    Status after_init(host::detail::Loading&, host::detail::DelegateLoad&,
                      Status outcome) override {
      return ends ? ends(std::move(outcome)) : std::move(outcome);
    }
    Admit admits;
    AfterInit ends;
  };

  Admit admit_;
  AfterInit after_init_;
};

}  // namespace

TEST_CASE("delegates are initialised and destroyed in their order", "[method]") {
  calls().clear();
  auto method = load_ok(chain_of({"a", "b", "c"}));
  CHECK(calls() == std::vector<std::string>{"init a", "init b", "init c"});
  method.reset();
  CHECK(calls() == std::vector<std::string>{"init a", "init b", "init c", "destroy a", "destroy b",
                                            "destroy c"});
}

TEST_CASE("after a failed init the earlier delegates are destroyed and its error returns",
          "[method][TN-INI-1]") {
  calls().clear();
  const auto method = load(chain_of({"a", "b", "fail-init", "d"}));
  REQUIRE(method.error() == Error::DelegateInvalidCompatibility);
  CHECK_THAT(std::string(method.text()), ContainsSubstring("method forward") &&
                                             ContainsSubstring("delegate 2 (Test): init") &&
                                             ContainsSubstring("payload 9, expected 1 to 3"));
  CHECK(calls() ==
        std::vector<std::string>{"init a", "init b", "init fail-init", "destroy a", "destroy b"});
}

TEST_CASE("a plan may leave out its list of operators", "[method]") {
  AlignedBytes file = chain_of({"a"}).build();
  remove_field(*program_in(file).execution_plan()->Get(0), schema::ExecutionPlan::VT_OPERATORS);
  const auto program = host::Program::from_bytes(file.bytes(), nullptr, "test.pte");
  REQUIRE(program.ok());
  const auto method = Method::load(*program, "forward", with_registry());
  CHECK(method.ok());
}

TEST_CASE("a backend that is not registered is NotFound and names those that are", "[method]") {
  const auto method = load(chain_of({"a"}, "Tset"));
  REQUIRE(method.error() == Error::NotFound);
  CHECK_THAT(std::string(method.text()), ContainsSubstring("delegate 0 (Tset)") &&
                                             ContainsSubstring("'Tset'") &&
                                             ContainsSubstring("Test, Unavailable"));
}

TEST_CASE("a method with delegates but no registry is NotFound", "[method]") {
  CHECK(load(chain_of({"a"}), {}).error() == Error::NotFound);
}

TEST_CASE("a backend that is not available is NotFound with its reason and no init",
          "[method][TN-BCK-6]") {
  calls().clear();
  const auto method = load(chain_of({"a"}, "Unavailable"));
  REQUIRE(method.error() == Error::NotFound);
  CHECK_THAT(std::string(method.text()), ContainsSubstring("libacme.so.1 not found"));
  CHECK(calls().empty());
}

TEST_CASE("a layer refuses a backend before the backend is asked anything", "[method]") {
  calls().clear();
  std::vector<std::string> asked;
  const Hook hook(Hook::Admit([&](const host::LoadedBackend& backend) {
    asked.emplace_back(backend.id());
    return error(Error::AccessFailed, "not this one");
  }));
  for (const char* id : {"Test", "Unavailable"}) {
    auto options = with_registry();
    options.layers.add(hook);
    const auto method = load(chain_of({"a", "b"}, id), std::move(options));
    CHECK(method.error() == Error::AccessFailed);
    CHECK(method.text() == concat("test.pte: method forward: delegate 0 (", id, "): not this one"));
  }
  CHECK(asked == std::vector<std::string>{"Test", "Unavailable"});
  CHECK(calls().empty());
}

TEST_CASE("a delegate is destroyed when a layer refuses it, and when a layer lacks memory for that",
          "[method]") {
  for (const bool throws : {false, true}) {
    calls().clear();
    auto options = with_registry();
    options.layers.add(Hook(Hook::AfterInit([&](Status outcome) -> Status {
      if (calls().back() != "init b") return outcome;
      if (throws) throw std::bad_alloc();
      return error(Error::AccessFailed, "not this one");
    })));
    const auto method = load(chain_of({"a", "b", "c"}), std::move(options));
    CHECK(method.error() == (throws ? Error::MemoryAllocationFailed : Error::AccessFailed));
    std::ranges::sort(calls());
    CHECK(calls() == std::vector<std::string>{"destroy a", "destroy b", "init a", "init b"});
  }
}

TEST_CASE("an unknown method is InvalidArgument and names those there are", "[method]") {
  const auto method = Method::load(open_program(chain_of({"a"})), "backward", with_registry());
  REQUIRE(method.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(method.text()), ContainsSubstring("forward"));
}

TEST_CASE("compile specs arrive in order with values that are not terminated", "[method]") {
  calls().clear();
  ProgramBuilder builder = chain_of({"a"});
  PlanBuilder plan(*builder.program.execution_plan[0]);
  plan.compile_spec(0, "one", "1");
  plan.compile_spec(0, "two", std::string_view("x\0y", 3));
  plan.compile_spec(0, "one", "");
  const auto method = load_ok(builder);
  CHECK(calls()[0] == std::string("init a one=1 two=x\0y one=", 25));
}

TEST_CASE("a blob stored in the flatbuffer arrives like one in a segment", "[method]") {
  calls().clear();
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto blob = builder.inline_blob("inline");
  plan.delegate("Test", schema::DataLocation::INLINE, blob);
  const auto method = load_ok(builder);
  CHECK(calls() == std::vector<std::string>{"init inline"});
}

TEST_CASE("a backend may give its blob back in init", "[method]") {
  auto method = load_ok(chain_of({"release"}));
  const std::vector<float> x(4);
  REQUIRE(set_floats(*method, 0, x, {4}).ok());
  CHECK(method->execute().ok());
}

TEST_CASE("named data of the program reaches init", "[method]") {
  calls().clear();
  ProgramBuilder builder = chain_of({"named weights"});
  builder.named_data("weights", builder.segment(bytes_of("42")));
  const auto method = load_ok(builder);
  CHECK(calls() == std::vector<std::string>{"init named weights", "data 42"});
}

TEST_CASE("missing named data is NotFound and names the key", "[method]") {
  ProgramBuilder builder = chain_of({"named wieghts"});
  builder.named_data("weights", builder.segment(bytes_of("42")));
  const auto method = load(builder);
  REQUIRE(method.error() == Error::NotFound);
  CHECK_THAT(std::string(method.text()), ContainsSubstring("wieghts"));
}

TEST_CASE("a program without named data has no map", "[method]") {
  const auto method = load(chain_of({"named weights"}));
  REQUIRE(method.error() == Error::NotFound);
  CHECK_THAT(std::string(method.text()), ContainsSubstring("no named data map"));
}

TEST_CASE("options of a load reach the backend they are for", "[method]") {
  calls().clear();
  auto options = with_registry();
  options.backend_options.push_back({"Test", "label", std::string("L")});
  const auto method = load_ok(chain_of({"a"}), std::move(options));
  CHECK(calls() == std::vector<std::string>{"init a label=L"});
}

TEST_CASE("an unknown option, a wrong type and an unused backend are errors", "[method]") {
  auto unknown = with_registry();
  unknown.backend_options.push_back({"Test", "lable", std::string("L")});
  const auto first = load(chain_of({"a"}), std::move(unknown));
  CHECK(first.error() == Error::NotFound);
  CHECK_THAT(std::string(first.text()),
             ContainsSubstring("'lable'") && ContainsSubstring("factor, label"));

  auto wrong = with_registry();
  wrong.backend_options.push_back({"Test", "factor", std::string("two")});
  const auto second = load(chain_of({"a"}), std::move(wrong));
  CHECK(second.error() == Error::InvalidType);
  CHECK_THAT(std::string(second.text()), ContainsSubstring("expected double, found string"));

  auto unused = with_registry();
  unused.backend_options.push_back({"Other", "x", true});
  CHECK(load(chain_of({"a"}), std::move(unused)).error() == Error::InvalidArgument);
}

TEST_CASE("missing kernels are all named with their instructions", "[method]") {
  ProgramBuilder builder = chain_of({"a"});
  PlanBuilder plan(*builder.program.execution_plan[0]);
  plan.instruction(kernel_call(plan.op("aten::add", "out"), {0, 1}));
  plan.instruction(kernel_call(plan.op("aten::neg", ""), {0, 1}));
  plan.instruction(kernel_call(0, {0, 1}));
  calls().clear();
  const auto method = load(builder);
  REQUIRE(method.error() == Error::OperatorMissing);
  CHECK_THAT(std::string(method.text()),
             ContainsSubstring("aten::add.out (instruction 0:1, 0:3)") &&
                 ContainsSubstring("aten::neg (instruction 0:2)"));
  CHECK(calls() == std::vector<std::string>{"init a", "destroy a"});
}

TEST_CASE("memory planned on a device is refused with a message", "[method]") {
  ProgramBuilder builder = chain_of({"a"});
  auto& plan = *builder.program.execution_plan[0];
  plan.non_const_buffer_device.push_back(
      std::make_unique<schema::objects::NonConstBufferDeviceT>());
  plan.non_const_buffer_device[0]->buffer_idx = 1;
  plan.non_const_buffer_device[0]->device_type = schema::DeviceType::CUDA;
  const auto method = load(builder);
  REQUIRE(method.error() == Error::NotFound);
  CHECK_THAT(std::string(method.text()),
             ContainsSubstring("planned buffer 1 of 32 bytes on CUDA device 0: no backend serves "
                               "CUDA device 0: Test: backend Test has no memory on devices"));
}

TEST_CASE("a memory plan that no machine can serve is MemoryAllocationFailed", "[method]") {
  ProgramBuilder builder = chain_of({"a"});
  for (const std::int64_t size : {std::int64_t{1} << 60, INT64_MAX}) {
    builder.program.execution_plan[0]->non_const_buffer_sizes[1] = size;
    host::MethodOptions options = with_registry();
    options.limits.planned_bytes = host::HostLimits::none;
    const auto method = load(builder, std::move(options));
    REQUIRE(method.error() == Error::MemoryAllocationFailed);
    CHECK_THAT(std::string(method.text()), ContainsSubstring(std::to_string(size)));
  }
}

TEST_CASE("an external constant without a data file is InvalidExternalData", "[method]") {
  ProgramBuilder builder = chain_of({"a"});
  PlanBuilder plan(*builder.program.execution_plan[0]);
  auto weight = tensor(ScalarType::Float, {2});
  weight.extra_tensor_info = std::make_unique<schema::objects::ExtraTensorInfoT>();
  weight.extra_tensor_info->fully_qualified_name = "layer.weight";
  weight.extra_tensor_info->location = schema::TensorDataLocation::EXTERNAL;
  plan.value(std::move(weight));
  const auto method = load(builder);
  REQUIRE(method.error() == Error::InvalidExternalData);
  CHECK_THAT(std::string(method.text()), ContainsSubstring("layer.weight"));
}

#if !defined(TENON_TEST_HAS_SANITIZER) && defined(__GLIBC__)
TEST_CASE("loading a method takes two allocations besides what its plugin takes", "[method]") {
  const auto load_one = [](std::size_t delegates) {
    const auto program =
        open_program(chain_of(std::vector<std::string>(delegates, "quiet"), "Test"));
    const auto loaded = Method::load(program, "forward", with_registry());  // And the plugin.
    REQUIRE(loaded.ok());
    const std::size_t before = num_allocations();
    const auto method = Method::load(program, "forward", with_registry());
    const std::size_t after = num_allocations();
    REQUIRE(method.ok());
    return after - before;
  };
  // Of the test backend, for each delegate.
  const std::size_t none = load_one(0);
  const std::size_t one = load_one(1);
  const std::size_t hundred = load_one(100);
  CHECK(none == 2);
  CHECK(hundred - one == 99 * (one - none));
}
#endif

TEST_CASE("planned memory is aligned and zeroed, in the arena and beside it", "[method]") {
  for (const std::int32_t bytes : {48, 1 << 16}) {
    ProgramBuilder builder;
    auto plan = builder.plan("forward");
    const auto first = plan.buffer(16);  // Leaves the next one unaligned in an arena.
    const auto memory = plan.buffer(bytes);
    plan.output(planned_tensor(ScalarType::Float, {4}, first, 0));
    plan.output(planned_tensor(ScalarType::Byte, {bytes}, memory, 0));
    const auto method = load_ok(builder, {});
    for (std::size_t i = 0; i < 2; ++i) {
      const TensorView tensor(*method->output(i).as.tensor);
      CHECK(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64 == 0);
      const auto* data = static_cast<const std::byte*>(tensor.data());
      CHECK(std::all_of(data, data + tensor.nbytes(),
                        [](std::byte each) { return each == std::byte{0}; }));
    }
  }
}

TEST_CASE("a method larger than what its lists let expect is loaded all the same", "[method]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(1 << 12);
  std::vector<std::int32_t> arguments;
  for (int i = 0; i < 64; ++i) {
    arguments.push_back(
        plan.value(planned_tensor(ScalarType::Float, std::vector<std::int32_t>(16, 1), memory,
                                  64 * static_cast<std::uint64_t>(i))));
  }
  const auto segment = builder.segment(bytes_of("quiet"));
  const auto delegate = plan.delegate("Test", schema::DataLocation::SEGMENT, segment);
  for (int i = 0; i < 64; ++i) plan.instruction(delegate_call(delegate, arguments));
  const auto method = load_ok(builder);
  CHECK(method->execute().ok());
}
