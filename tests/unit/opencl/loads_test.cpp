// SPDX-License-Identifier: MIT
//
// Memory that stays after many loads, against what stays after the same calls of the bare driver.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <string_view>

#include "driver/library.hpp"
#include "opencl_host.hpp"
#include "run/kernel_source.hpp"

using namespace tenon;
using namespace tenon::test;
using namespace opencl_backend;

namespace {

struct Memory {
  std::int64_t allocated = 0;  ///< By malloc, in all threads.
  std::int64_t resident = 0;

  static Memory now() {
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    const auto info = ::mallinfo2();
    return {static_cast<std::int64_t>(info.uordblks + info.hblkhd),
            pages * ::sysconf(_SC_PAGESIZE)};
  }
};

/// Bytes that stay after each of `count` calls, the first of which do not count.
struct Growth {
  double allocated = 0;
  double resident = 0;
};

Growth growth(std::string_view what, int count, const std::function<void()>& call) {
  for (int i = 0; i < count / 10 + 2; ++i) call();
  const Memory before = Memory::now();
  for (int i = 0; i < count; ++i) call();
  const Memory after = Memory::now();
  const Growth out{static_cast<double>(after.allocated - before.allocated) / count,
                   static_cast<double>(after.resident - before.resident) / count};
  std::cout << what << ": " << out.allocated << " bytes allocated and " << out.resident
            << " bytes resident stay, each of " << count << "\n";
  return out;
}

/// The driver without the plugin: the calls of its life, in their order.
class Bare {
 public:
  Bare() : api_(*load_api(default_library)) {
    cl_platform_id platform = nullptr;
    REQUIRE(api_.GetPlatformIDs(1, &platform, nullptr) == CL_SUCCESS);
    REQUIRE(api_.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device_, nullptr) == CL_SUCCESS);
  }

  struct Opened {
    cl_context context;
    cl_program program;
  };
  [[nodiscard]] Opened open() const {
    cl_int code = CL_SUCCESS;
    Opened out{api_.CreateContext(nullptr, 1, &device_, nullptr, nullptr, &code), nullptr};
    REQUIRE(code == CL_SUCCESS);
    const char* source = kernel_source;
    out.program = api_.CreateProgramWithSource(out.context, 1, &source, nullptr, &code);
    REQUIRE(code == CL_SUCCESS);
    REQUIRE(api_.BuildProgram(out.program, 1, &device_, "", nullptr, nullptr) == CL_SUCCESS);
    return out;
  }
  void close(const Opened& opened) const {
    REQUIRE(api_.ReleaseProgram(opened.program) == CL_SUCCESS);
    REQUIRE(api_.ReleaseContext(opened.context) == CL_SUCCESS);
  }

  /// A load and a run: a queue, three buffers, a kernel.
  void load(const Opened& opened) const {
    cl_int code = CL_SUCCESS;
    cl_command_queue queue = api_.CreateCommandQueue(opened.context, device_, 0, &code);
    REQUIRE(code == CL_SUCCESS);
    std::array<cl_mem, 3> buffers{};
    for (cl_mem& one : buffers) {
      one = api_.CreateBuffer(opened.context, CL_MEM_READ_WRITE, 192, nullptr, &code);
      REQUIRE(code == CL_SUCCESS);
    }
    cl_kernel kernel = api_.CreateKernel(opened.program, "clear", &code);
    REQUIRE(code == CL_SUCCESS);
    const cl_ulong first = 0;
    const std::int64_t count = 4;
    api_.SetKernelArg(kernel, 0, sizeof(cl_mem), static_cast<const void*>(buffers.data()));
    api_.SetKernelArg(kernel, 1, sizeof first, &first);
    api_.SetKernelArg(kernel, 2, sizeof count, &count);
    constexpr std::size_t items = 64;
    REQUIRE(api_.EnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &items, 0, nullptr,
                                      nullptr) == CL_SUCCESS);
    REQUIRE(api_.Finish(queue) == CL_SUCCESS);
    api_.ReleaseKernel(kernel);
    for (cl_mem one : buffers) api_.ReleaseMemObject(one);
    api_.ReleaseCommandQueue(queue);
  }

 private:
  Api api_;
  cl_device_id device_ = nullptr;
};

aot::ProgramData loaded_program() {
  Steps steps(6, 8);
  const auto out = steps.delegate({steps.input()}, 1.5);
  return std::move(steps).finish(out);
}

/// What may stay of a load without being a leak of it: blocks of malloc that other threads hold.
constexpr double allowed_bytes = 64;

}  // namespace

TEST_CASE("1,000 loads leave no more than the driver's own calls do", "[opencl][loads]") {
  const Numbers x(48);
  const auto data = loaded_program();
  OpenClHost host(default_library);
  for (const char* recorded : {"off", "on"}) {
    const auto loads = growth(concat("load, run, destroy; command_buffer ", recorded), 1000, [&] {
      const auto method = host.load_ok(data, {{"command_buffer", std::string(recorded)}});
      REQUIRE(run(*method, x.values(), 8)[0] == -12);
      host.forget_log();
    });
    const Bare bare;
    const auto opened = bare.open();
    const auto control =
        growth("the bare driver: queue, buffers, kernel", 1000, [&] { bare.load(opened); });
    bare.close(opened);
    CHECK(loads.allocated <= std::max(control.allocated, 0.0) + allowed_bytes);
  }
}

TEST_CASE("opening and closing the backend leaves no more than the driver's own calls do",
          "[opencl][loads]") {
  const Numbers x(48);
  const auto data = loaded_program();
  constexpr int count = 40;
  const Bare bare;
  const auto control = growth("the bare driver: context, program, queue, kernel", count, [&] {
    const auto opened = bare.open();
    bare.load(opened);
    bare.close(opened);
  });
  // Of a program, the driver keeps as much as it did for each kernel that was compiled.
  const double allowed = std::max(control.allocated, 0.0) * 1.25 + 4096;
  // Threads of the driver free some of it later: what stays each time is a leak.
  double least = std::numeric_limits<double>::infinity();
  for (int attempt = 0; attempt < 3 && least > allowed; ++attempt) {
    const auto opens = growth("plugin loaded, opened, load, run, closed, unloaded", count, [&] {
      const OpenClHost host(default_library);
      const auto method = host.load_ok(data);
      REQUIRE(run(*method, x.values(), 8)[0] == -12);
    });
    least = std::min(least, opens.allocated);
  }
  CHECK(least <= allowed);
}
