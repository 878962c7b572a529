// SPDX-License-Identifier: MIT
//
// What the plugin says when its driver fails, and what it leaves as it was.
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "driver/device.hpp"
#include "driver/kept_process.hpp"
#include "opencl_host.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"
#include "tenon/host/prepared.hpp"
#include "tenon/host/schema/program_generated.h"

using namespace tenon;
using namespace tenon::test;

namespace {

aot::ProgramData one_product() {
  Steps steps(6, 8);
  const auto out = steps.delegate({steps.input()}, 1.5);
  return std::move(steps).finish(out);
}

std::string text_of(const Status& status) { return std::string(status.text()); }

std::vector<float> product_of(const OpenClHost& host, const host::MethodOptions& options = {}) {
  const auto method = host.load_ok(one_product(), {}, options);
  const Numbers x(48);
  return run(*method, x.values(), 8);
}

}  // namespace

TEST_CASE("a kernel that is not compiled is reported with the driver's build log",
          "[opencl][driver]") {
  const OpenClHost host;
  watch().break_sources(true);
  const auto method = host.load(one_product());
  watch().break_sources(false);
  REQUIRE_FALSE(method.ok());
  CHECK_THAT(std::string(method.text()), ContainsSubstring("compile the kernels for"));
  CHECK_THAT(std::string(method.text()),
             ContainsSubstring("CL_BUILD_PROGRAM_FAILURE; build log: "));
  CHECK_THAT(std::string(method.text()), ContainsSubstring("no_such_name"));
  CHECK(product_of(host)[0] == -12);
}

TEST_CASE("a binary that the driver refuses is compiled again", "[opencl][driver]") {
  const TemporaryDirectory directory;
  const auto cache = host::PreparedCache::open(directory.path());
  REQUIRE(cache.ok());
  host::MethodOptions options;
  options.layers.add(*cache);
  {
    const Calls calls;
    CHECK(product_of(OpenClHost(), options)[0] == -12);
    CHECK(calls.of("clCreateProgramWithSource") == 1);
  }
  {
    const Calls calls;
    CHECK(product_of(OpenClHost(), options)[0] == -12);
    CHECK(calls.of("clCreateProgramWithBinary") == 1);
    CHECK(calls.of("clCreateProgramWithSource") == 0);
  }
  const Calls calls;
  const Failing failing("clCreateProgramWithBinary", -42);
  CHECK(product_of(OpenClHost(), options)[0] == -12);
  CHECK(calls.of("clCreateProgramWithBinary") == 1);
  CHECK(calls.of("clCreateProgramWithSource") == 1);
}

TEST_CASE("a call of the driver that fails is named with its code", "[opencl][driver]") {
  const OpenClHost host;
  const auto refusal = [&](const char* name, int code) {
    const Failing failing(name, code);
    return std::string(host.load(one_product()).text());
  };
  CHECK_THAT(refusal("clCreateContext", -6),
             ContainsSubstring("OpenCL cannot create a context: CL_OUT_OF_HOST_MEMORY"));
  CHECK_THAT(refusal("clCreateCommandQueue", -35), ContainsSubstring("create a queue: "));
  CHECK_THAT(refusal("clCreateBuffer", -4),
             ContainsSubstring(" bytes: CL_MEM_OBJECT_ALLOCATION_FAILURE"));
  const auto method = host.load_ok(one_product(), {{"command_buffer", std::string("off")}});
  const Numbers x(48);
  const auto expected = run(*method, x.values(), 8);
  for (const char* name : {"clSetKernelArg", "clEnqueueNDRangeKernel", "clEnqueueMapBuffer",
                           "clEnqueueUnmapMemObject", "clEnqueueMarkerWithWaitList", "clFlush"}) {
    INFO(name);
    {
      const Failing failing(name, -9999);
      CHECK_THAT(text_of(method->execute()), ContainsSubstring("OpenCL error -9999"));
    }
    CHECK(run(*method, x.values(), 8) == expected);
  }
}

TEST_CASE("without a platform the backend says so, and looks again", "[opencl][driver]") {
  const OpenClHost host;
  {
    const Failing failing("clGetPlatformIDs", -1001);
    const Status status = host.backend().is_available();
    CHECK(status.error() == Error::NotFound);
    CHECK_THAT(text_of(status), ContainsSubstring("OpenCL has no platform: install a driver"));
  }
  CHECK(host.backend().is_available().ok());
}

TEST_CASE("a library that is not there is named, and another one is not taken after the first",
          "[opencl][driver]") {
  const OpenClHost nothing("/nonexistent/libOpenCL.so.1");
  CHECK_THAT(text_of(nothing.backend().is_available()),
             ContainsSubstring("OpenCL's loader is missing: /nonexistent/libOpenCL.so.1"));
  CHECK(nothing.backend().set_option("library", std::string(TENON_OPENCL_WATCH)).ok());
  REQUIRE(nothing.backend().is_available().ok());
  CHECK(nothing.backend().set_option("library", std::string(TENON_OPENCL_WATCH)).ok());
  CHECK_THAT(text_of(nothing.backend().set_option("library", std::string())),
             ContainsSubstring("OpenCL's library is in use: "));
  const OpenClHost other(TENON_GRAPH_BACKEND_PLUGIN);
  CHECK_THAT(text_of(other.backend().is_available()),
             ContainsSubstring("has no function clGetPlatformIDs: expected OpenCL 1.2 or later"));
}

TEST_CASE("the loader of drivers finds none", "[no-driver]") {
  const OpenClHost host("");
  const Status status = host.backend().is_available();
  CHECK(status.error() == Error::NotFound);
  CHECK_THAT(text_of(status), ContainsSubstring("OpenCL has no platform: install a driver"));
  const auto method = host.load(one_product());
  CHECK(method.error() == Error::NotFound);
  CHECK_THAT(std::string(method.text()), ContainsSubstring("OpenCL has no platform"));
}

TEST_CASE("the memory of a blob is estimated without the driver", "[opencl][driver]") {
  const OpenClHost host;
  const Calls calls;
  const auto program = write_and_open(one_product());
  const auto plan = program->plan("forward");
  REQUIRE(plan.ok());
  const auto estimate = [&] {
    auto found = host::estimate_delegate(host.backend(), *program, "forward",
                                         *(*plan)->delegates()->Get(0), nullptr);
    INFO(found.text());
    REQUIRE((found.ok() && !found->needs.empty()));
    return std::move(found->needs);
  };
  const auto unknown = estimate();
  REQUIRE(unknown.size() == 2);
  CHECK(unknown[0].device.device_type == opencl_backend::dl_opencl);
  CHECK(unknown[0].workspace == 2 * 192);
  // What a driver of such a device keeps in the process.
  CHECK(unknown[1].device.device_type == TENON_DL_CPU);
  CHECK(unknown[1].weights > 24 * 1024);
  CHECK(calls.of("clGetPlatformIDs") == 0);
  REQUIRE(host.backend().is_available().ok());
  const auto known = estimate();
  REQUIRE(known.size() == 1);
  CHECK(known[0].device.device_type == TENON_DL_CPU);
  CHECK(known[0].workspace == 2 * 192 + 1024);  // The driver is in this process: its one call, too.
}

TEST_CASE("blocks of the device are filled and read, and freed ones are no more",
          "[opencl][driver]") {
  const OpenClHost host;
  const auto memory = host::DeviceMemory::of(host.ref(), {opencl_backend::dl_opencl, 0});
  INFO(memory.text());
  REQUIRE(memory.ok());
  auto* const block = static_cast<std::byte*>(*memory->allocate(256, 64));
  CHECK(reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
  const std::vector<float> numbers = {1, 2, 3, 4};
  REQUIRE(memory->copy_to_device(block + 240, numbers.data(), 16).ok());
  std::vector<float> found(4);
  REQUIRE(memory->copy_to_host(found.data(), block + 240, 16).ok());
  CHECK(found == numbers);
  CHECK_THAT(text_of(memory->copy_to_device(block + 248, numbers.data(), 16)),
             ContainsSubstring("no block of OpenCL device 0 has 16 bytes at that address"));
  {
    const Failing failing("clEnqueueReadBuffer", -5);
    CHECK_THAT(text_of(memory->copy_to_host(found.data(), block, 16)),
               ContainsSubstring("OpenCL cannot copy to the host: CL_OUT_OF_RESOURCES"));
  }
  memory->free(block);
  CHECK_FALSE(memory->copy_to_host(found.data(), block, 16).ok());
  CHECK_FALSE(host::DeviceMemory::of(host.ref(), {opencl_backend::dl_opencl, 9}).ok());
  CHECK_THAT(std::string(memory->allocate(std::uint64_t{1} << 50U, 64).text()),
             ContainsSubstring("in one"));
}

TEST_CASE("signals and the environment are put back", "[opencl][driver]") {
  REQUIRE(::setenv("OPENCL_TEST_KEPT", "before", 1) == 0);
  REQUIRE(::setenv("OPENCL_TEST_REMOVED", "before", 1) == 0);
  struct sigaction before{};
  REQUIRE(::sigaction(SIGUSR1, nullptr, &before) == 0);
  {
    const opencl_backend::KeptProcess kept;
    REQUIRE(std::signal(SIGUSR1, SIG_IGN) != SIG_ERR);
    REQUIRE(::setenv("OPENCL_TEST_KEPT", "after", 1) == 0);
    REQUIRE(::setenv("OPENCL_TEST_ADDED", "after", 1) == 0);
    REQUIRE(::unsetenv("OPENCL_TEST_REMOVED") == 0);
  }
  struct sigaction after{};
  REQUIRE(::sigaction(SIGUSR1, nullptr, &after) == 0);
  CHECK(after.sa_handler == before.sa_handler);
  CHECK(std::string(std::getenv("OPENCL_TEST_KEPT")) == "before");
  CHECK(std::string(std::getenv("OPENCL_TEST_REMOVED")) == "before");
  CHECK(std::getenv("OPENCL_TEST_ADDED") == nullptr);
}
