// SPDX-License-Identifier: MIT
//
// Runs that are recorded once and enqueued as one command, and arguments that are used in place.
#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "opencl_host.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

using Values = std::vector<std::pair<std::string, OptionValue>>;

Values recorded(bool in_place = true) { return {{"command_buffer", "on"}, {"in_place", in_place}}; }
Values not_recorded() { return {{"command_buffer", "off"}}; }

/// Several kernels over [up to 6, 8]; a run with other sizes or places is another recording.
aot::ProgramData three_products() {
  Steps steps({1, 6, "s0"}, 8);
  const auto out = steps.delegate({steps.input()}, 1.25, 3);
  return std::move(steps).finish(out);
}

tenon_status double_kernel(void*, const tenon_execution_context*, tenon_value* const* args,
                           std::uint32_t) {
  const Tensor<const float> x(*args[0]->as.tensor);
  const Tensor<float> out(*args[1]->as.tensor);
  std::ranges::transform(x, out.begin(), [](float value) { return 2 * value; });
  return TENON_STATUS_OK;
}

}  // namespace

TEST_CASE("20 runs of one size on the same bytes are recorded once", "[opencl][command-buffer]") {
  const OpenClHost host;
  const auto program = three_products();
  const auto plain = host.load_ok(program, not_recorded());
  const auto method = host.load_ok(program, recorded());
  CHECK_THAT(host.log(), ContainsSubstring("runs are recorded as command buffers: the device has "
                                           "cl_khr_command_buffer"));
  const Numbers x(48);
  const auto expected = run(*plain, x.values(), 8);
  CHECK(expected[0] == -8.0F * 1.25F * 1.25F * 1.25F);
  const Calls calls;
  for (int i = 0; i < 20; ++i) CHECK(run(*method, x.values(), 8) == expected);
  CHECK(calls.of("clCreateCommandBufferKHR") == 1);
  CHECK(calls.of("clEnqueueCommandBufferKHR") == 20);
  CHECK(calls.of("clEnqueueNDRangeKernel") == 0);
}

TEST_CASE("20 runs that alternate between two sizes, or two places, are recorded twice",
          "[opencl][command-buffer]") {
  const OpenClHost host;
  const auto program = three_products();
  const auto plain = host.load_ok(program, not_recorded());
  const Numbers first(48);
  const Numbers second(48);
  second.values()[5] = 100;
  for (const bool in_place : {true, false}) {
    const auto method = host.load_ok(program, recorded(in_place));
    const Calls calls;
    for (int i = 0; i < 20; ++i) {
      const auto x = first.values().first(i % 2 == 0 ? 48 : 16);
      CHECK(run(*method, x, 8) == run(*plain, x, 8));
    }
    CHECK(calls.of("clCreateCommandBufferKHR") == 2);
    CHECK(calls.of("clEnqueueCommandBufferKHR") == 20);

    // What is copied has the same place in each run.
    const auto other = host.load_ok(program, recorded(in_place));
    const Calls later;
    for (int i = 0; i < 20; ++i) {
      const auto x = (i % 2 == 0 ? first : second).values();
      CHECK(run(*other, x, 8) == run(*plain, x, 8));
    }
    CHECK(later.of("clCreateCommandBufferKHR") == (in_place ? 2 : 1));
  }
}

TEST_CASE("a session keeps four recordings, and releases them all", "[opencl][command-buffer]") {
  const OpenClHost host;
  const auto program = three_products();
  const auto plain = host.load_ok(program, not_recorded());
  auto method = host.load_ok(program, recorded());
  const Numbers x(48);
  const Calls calls;
  for (int i = 0; i < 12; ++i) {
    const auto values = x.values().first(static_cast<std::size_t>(i % 6 + 1) * 8);
    CHECK(run(*method, values, 8) == run(*plain, values, 8));
  }
  CHECK(calls.of("clCreateCommandBufferKHR") == 12);
  CHECK(calls.of("clReleaseCommandBufferKHR") >= 8);
  method.reset();
  CHECK(calls.of("clReleaseCommandBufferKHR") == 12);
}

TEST_CASE("auto records a run that comes again, and none that does not",
          "[opencl][command-buffer]") {
  const OpenClHost host;
  const auto program = three_products();
  const auto plain = host.load_ok(program, not_recorded());
  CHECK_THAT(host.log(), ContainsSubstring("runs are not recorded as command buffers: option "
                                           "command_buffer is off"));
  const auto method = host.load_ok(program);
  const Numbers x(48);
  const Calls calls;
  for (int i = 0; i < 12; ++i) {
    const auto values = x.values().first(static_cast<std::size_t>(i % 6 + 1) * 8);
    CHECK(run(*method, values, 8) == run(*plain, values, 8));
  }
  CHECK(calls.of("clCreateCommandBufferKHR") == 0);
  for (int i = 0; i < 20; ++i) {
    const auto values = x.values().first(i % 2 == 0 ? 8 : 16);
    CHECK(run(*method, values, 8) == run(*plain, values, 8));
  }
  CHECK(calls.of("clCreateCommandBufferKHR") == 2);
  CHECK(calls.of("clEnqueueCommandBufferKHR") == 18);
}

TEST_CASE("command buffers that the driver does not have are refused, and not used by themselves",
          "[opencl][command-buffer]") {
  watch().hide_extensions(true);
  const OpenClHost host;
  CHECK(host.load(three_products()).ok());
  CHECK_THAT(host.log(), ContainsSubstring("has no function clCreateCommandBufferKHR"));
  const auto refused = host.load(three_products(), {{"command_buffer", "on"}});
  watch().hide_extensions(false);
  CHECK(refused.error() == Error::NotSupported);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("option command_buffer is on: "));
  const auto unknown = host.load(three_products(), {{"command_buffer", "yes"}});
  CHECK(unknown.error() == Error::InvalidArgument);
  CHECK_THAT(
      std::string(unknown.text()),
      ContainsSubstring("option 'command_buffer': expected one of auto, on, off, found 'yes'"));
}

TEST_CASE("a recording that cannot be made or enqueued fails the run, and the next one works",
          "[opencl][command-buffer]") {
  const OpenClHost host;
  const auto method = host.load_ok(three_products(), recorded());
  const Numbers x(48);
  const auto expected = run(*host.load_ok(three_products(), not_recorded()), x.values(), 8);
  for (const char* name : {"clCreateCommandBufferKHR", "clCommandNDRangeKernelKHR",
                           "clFinalizeCommandBufferKHR", "clEnqueueCommandBufferKHR"}) {
    const std::vector<std::int64_t> sizes = {6, 8};
    REQUIRE(set_floats(*method, 0, x.values(), sizes).ok());
    {
      const Failing failing(name, -5);
      const Status ran = method->execute();
      INFO(name);
      CHECK_THAT(std::string(ran.text()), ContainsSubstring("CL_OUT_OF_RESOURCES"));
    }
    if (std::string_view(name) == "clEnqueueCommandBufferKHR") {
      CHECK(run(*method, x.values(), 8) == expected);
    }
  }
}

TEST_CASE("a chain of two delegates with a kernel of the host between makes no copy on a CPU",
          "[opencl][in-place]") {
  Steps steps(6, 8);
  const auto first = steps.delegate({steps.input()}, 1.5, 2);
  const auto out = steps.delegate({steps.kernel("test::double", first)}, 0.5, 2);
  const auto program = std::move(steps).finish(out);
  host::KernelTable kernels;
  REQUIRE(kernels.add("test::double", host::Kernel{&double_kernel, nullptr}).ok());
  host::MethodOptions options;
  options.kernels = &kernels;
  const OpenClHost host;
  const auto method = host.load_ok(program, {}, options);
  const auto copying = host.load_ok(program, {{"in_place", false}}, options);
  const Numbers x(48);
  std::vector<float> expected;
  for (const float value : x.values()) expected.push_back(value * 2.25F * 2 * 0.25F);
  CHECK(run(*method, x.values(), 8) == expected);
  const Calls calls;
  for (int i = 0; i < 10; ++i) CHECK(run(*method, x.values(), 8) == expected);
  CHECK(calls.copies() == 0);
  // Each of two delegates has an input and an output, which the device gets and gives back.
  CHECK(calls.of("clEnqueueMapBuffer") == 40);
  CHECK(calls.of("clEnqueueUnmapMemObject") == 40);

  const Calls of_copies;
  for (int i = 0; i < 10; ++i) CHECK(run(*copying, x.values(), 8) == expected);
  CHECK(of_copies.of("clEnqueueWriteBuffer") == 20);
  CHECK(of_copies.of("clEnqueueReadBuffer") == 20);
  CHECK(of_copies.of("clEnqueueMapBuffer") == 0);
}

TEST_CASE("arguments that are not aligned, and those that share bytes, are copied",
          "[opencl][in-place]") {
  const OpenClHost host;
  const auto method = host.load_ok(three_products());
  const Numbers aligned(48);
  const Numbers shifted(48, 1);
  const auto expected = run(*method, aligned.values(), 8);
  {
    const Calls calls;
    CHECK(run(*method, shifted.values(), 8) == expected);
    CHECK(calls.of("clEnqueueWriteBuffer") == 1);
    CHECK(calls.of("clEnqueueReadBuffer") == 0);
  }
  // One value as both arguments.
  Steps steps(6, 8);
  const auto program = std::move(steps).finish(steps.delegate({steps.input(), steps.input()}, 1));
  const auto twice = host.load_ok(program);
  const Calls calls;
  const auto found = run(*twice, aligned.values(), 8);
  CHECK(found[0] == -16);
  CHECK(calls.of("clEnqueueWriteBuffer") == 1);
}

TEST_CASE("time of a run, recorded and not", "[.measure]") {
  const OpenClHost host;
  for (const char* name : {"mlp", "transformer", "vision"}) {
    const auto program = host::Program::open(
        concat(TENON_TEST_FIXTURES, "/../conformance/cases/opencl/", name, "/model.pte"));
    REQUIRE(program.ok());
    struct Way {
      const char* name;
      std::vector<std::pair<std::string, OptionValue>> values;
      double least = 1e9;
      std::unique_ptr<host::Method> method{};
    };
    std::array<Way, 4> ways = {
        {{"copied", {{"command_buffer", "off"}, {"in_place", false}}},
         {"copied, recorded", {{"command_buffer", "on"}, {"in_place", false}}},
         {"in place", {{"command_buffer", "off"}}},
         {"in place, recorded", {{"command_buffer", "on"}}}}};
    std::optional<Numbers> x;
    for (Way& way : ways) {
      host::MethodOptions options;
      options.registry = &host.registry();
      for (const auto& [key, value] : way.values) {
        options.backend_options.push_back({TENON_GRAPH_BACKEND_ID, key, value});
      }
      auto method = host::Method::load(*program, "forward", options);
      INFO(method.text());
      REQUIRE(method.ok());
      way.method = *std::move(method);
      const TensorView input(*way.method->input(0).as.tensor);
      if (!x) x.emplace(static_cast<std::size_t>(input.numel()));
      REQUIRE(
          way.method->set_input(0, {ScalarType::Float, input.sizes(), std::as_bytes(x->values())})
              .ok());
    }
    for (int i = 0; i < 3000; ++i) {
      for (Way& way : ways) {
        const auto start = std::chrono::steady_clock::now();
        REQUIRE(way.method->execute().ok());
        const std::chrono::duration<double, std::micro> time =
            std::chrono::steady_clock::now() - start;
        way.least = std::min(way.least, time.count());
      }
    }
    for (const Way& way : ways) {
      std::cout << name << ", " << way.name << ": " << way.least << " us\n";
    }
  }
}
