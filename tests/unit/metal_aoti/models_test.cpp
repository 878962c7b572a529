// SPDX-License-Identifier: MIT
//
// Programs that ExecuTorch's exporter wrote for Metal, on the stand-in for a device.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "device/shared_device.hpp"
#include "metal_programs.hpp"
#include "stand_in_device.hpp"
#include "support/environment.hpp"
#include "support/model_code.hpp"

using namespace metal_test;
using tenon::metal_stand_in::control;

namespace {

constexpr const char* all_programs[] = {"addmul", "conv",      "conv_pool", "conv_state",
                                        "delta",  "embedding", "experts",   "half",
                                        "mlp",    "quantized", "stateful"};

std::size_t num_lines(const char* file) {
  std::ifstream lines(file);
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(lines), {}, '\n'));
}

std::size_t num_descriptors() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

std::string refusal(Host& host, const Fixture& fixture, host::MethodOptions options = {}) {
  const auto method = host.load(fixture, std::move(options));
  REQUIRE_FALSE(method.ok());
  return std::string(method.text());
}

/// One variable of the environment for a scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;
  ~ScopedVariable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

}  // namespace

TEST_CASE("a program for Metal is loaded, or refused with the CPU features that it lacks",
          "[metal][processor]") {
  Host host;
  for (const char* name : all_programs) {
    const Fixture fixture(name);
    const auto method = host.load(fixture);
    tenon::test::check_loaded_or_refused(fixture.program().string(), method.ok(), method.text());
  }
}

TEST_CASE("programs for Metal give the numbers of eager PyTorch", "[metal][D14][processor]") {
  Host host;
  for (const char* name :
       {"addmul", "mlp", "conv", "conv_pool", "embedding", "half", "quantized", "experts"}) {
    INFO(name);
    const Fixture fixture(name);
    auto method = host.load(fixture);
    INFO(method.text());
    REQUIRE(method.ok());
    for (int run = 0; run < 2; ++run) {
      const Status status = execute(**method, fixture.inputs());
      INFO(status.text());
      REQUIRE(status.ok());
      CHECK(difference(**method, fixture.outputs()[0]) <
            (std::string(name) == "half" ? 2e-3 : 1e-5));
    }
  }
}

TEST_CASE("a buffer that the model writes to is kept from run to run", "[metal]") {
  Host host;
  // The first run of conv_state shows that its convolution is to be contiguous, and is repeated.
  for (const char* name : {"stateful", "delta", "conv_state"}) {
    INFO(name);
    const Fixture fixture(name);
    auto method = host.load(fixture);
    INFO(method.text());
    REQUIRE(method.ok());
    auto other = host.load(fixture);
    REQUIRE(other.ok());
    for (int run = 0; run < 3; ++run) {
      INFO(run);
      const Status status = execute(**method, fixture.inputs(run));
      INFO(status.text());
      REQUIRE(status.ok());
      CHECK(difference(**method, fixture.outputs(run)[0]) < 1e-6);
    }
    REQUIRE(execute(**other, fixture.inputs(0)).ok());
    CHECK(difference(**other, fixture.outputs(0)[0]) < 1e-6);
  }
}

TEST_CASE("destroying one delegate leaves the others as they are", "[metal][D12]") {
  Host host;
  const Fixture mlp("mlp");
  const Fixture stateful("stateful");
  auto first = host.load(mlp);
  auto second = host.load(mlp);
  auto third = host.load(stateful);
  REQUIRE((first.ok() && second.ok() && third.ok()));
  REQUIRE(execute(**first, mlp.inputs()).ok());
  REQUIRE(execute(**second, mlp.inputs()).ok());
  REQUIRE(execute(**third, stateful.inputs(0)).ok());
  first->reset();
  REQUIRE(execute(**second, mlp.inputs()).ok());
  CHECK(difference(**second, mlp.outputs()[0]) < 1e-6);
  REQUIRE(execute(**third, stateful.inputs(1)).ok());
  CHECK(difference(**third, stateful.outputs(1)[0]) < 1e-6);
}

TEST_CASE("a hundred loads leave no buffer, queue, mapping or descriptor", "[metal][D2][D7]") {
  Host host;
  const Fixture fixture("embedding");
  const auto round = [&] {
    auto method = host.load(fixture);
    REQUIRE(method.ok());
    REQUIRE(execute(**method, fixture.inputs()).ok());
  };
  for (int i = 0; i < 5; ++i) round();
  const int buffers = control().num_buffers;
  const int queues = control().num_queues;
  const std::size_t mappings = num_lines("/proc/self/maps");
  const std::size_t descriptors = num_descriptors();
  for (int i = 0; i < 100; ++i) round();
  CHECK(control().num_buffers == buffers);
  CHECK(control().num_queues == queues);
  CHECK(num_lines("/proc/self/maps") <= mappings + 8);  // The heap's own.
  CHECK(num_descriptors() == descriptors);
  CHECK(buffers == 0);
  CHECK(queues == 0);
}

TEST_CASE("the device reads weights where the program has them", "[metal][D8]") {
  Host host;
  const Fixture fixture("embedding");
  const auto run = [&](host::Method& method) {
    REQUIRE(execute(method, fixture.inputs()).ok());
    CHECK(difference(method, fixture.outputs().front()) < 1e-4);
  };
  const int before = control().num_buffers;
  {
    auto first = host.load(fixture);
    INFO(first.text());
    REQUIRE(first.ok());
    CHECK(control().num_adopted == 1);
    CHECK(control().num_buffers == before);
    run(**first);
    auto second = host.load(fixture);
    REQUIRE(second.ok());
    CHECK(control().num_adopted == 2);  // Of the program that was opened again.
    run(**second);
    first->reset();
    CHECK(control().num_adopted == 1);
    run(**second);
  }
  CHECK(control().num_adopted == 0);
  CHECK(control().num_buffers == before);
}

TEST_CASE("weights are copied where the device has memory of its own, and on request",
          "[metal][D8]") {
  Host host;
  const Fixture fixture("embedding");
  const int before = control().num_buffers;
  auto copied = host.load(fixture, with_option("weights_in_place", false));
  REQUIRE(copied.ok());
  CHECK(control().num_adopted == 0);
  CHECK(control().num_buffers > before);
  control().adopts = false;
  auto refused = host.load(fixture);
  control().adopts = true;
  REQUIRE(refused.ok());
  CHECK(control().num_adopted == 0);
  for (const auto& method : {copied->get(), refused->get()}) {
    REQUIRE(execute(*method, fixture.inputs()).ok());
    CHECK(difference(*method, fixture.outputs().front()) < 1e-4);
  }
}

TEST_CASE("pages with the weights of several models are one buffer until the last is gone",
          "[metal]") {
  auto opened = metal_aoti::open_metal_device();
  REQUIRE(opened.ok());
  metal_aoti::SharedDevice device(*std::move(opened));
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const mapped =
      ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  auto* const pages = static_cast<std::byte*>(mapped);
  const auto buffer_of = [&](std::size_t at) { return device.find(pages + at).buffer; };
  // In the second page, from there to the third, and in the second again.
  REQUIRE(device.adopt({pages + page + 64, 100}));
  CHECK(buffer_of(page)->contents() == pages + page);
  CHECK(buffer_of(page)->nbytes() == page);
  CHECK(buffer_of(2 * page) == nullptr);
  CHECK_FALSE(device.adopt({pages + page + 512, page}));
  REQUIRE(device.adopt({pages + page + 256, 100}));
  REQUIRE(device.adopt({pages + page + 64, 100}));
  // Pages that begin before, and end in the same one.
  REQUIRE(device.adopt({pages, page + 64}));
  CHECK(device.num_buffers() == 2);
  CHECK(buffer_of(0)->nbytes() == 2 * page);
  device.free(pages + page + 64);
  device.free(pages + page + 256);
  CHECK(buffer_of(page + 64)->contents() == pages + page);
  const auto generation = device.generation();
  device.free(pages + page + 64);
  CHECK(device.generation() != generation);
  CHECK(buffer_of(page + 64)->contents() == pages);
  device.free(pages);
  CHECK(device.num_buffers() == 0);
  CHECK(control().num_adopted == 0);
  ::munmap(mapped, 4 * page);
}

TEST_CASE("weights are on the device once for all delegates that have them", "[metal][D8]") {
  Host host;
  // Where they are copied.
  control().adopts = false;
  const Fixture fixture("embedding");
  auto first = host.load(fixture);
  REQUIRE(first.ok());
  const int alone = control().num_buffers;
  auto second = host.load(fixture);
  REQUIRE(second.ok());
  CHECK(control().num_buffers == alone);
  auto third = host.load(fixture, with_option("share_weights", false));
  REQUIRE(third.ok());
  CHECK(control().num_buffers == 2 * alone);
  control().adopts = true;
}

TEST_CASE("a second run makes no buffer", "[metal]") {
  Host host;
  const Fixture fixture("embedding");
  auto method = host.load(fixture);
  REQUIRE(method.ok());
  REQUIRE(execute(**method, fixture.inputs()).ok());
  const int before = control().num_buffers;
  control().calls_until_failure = -1;
  REQUIRE(execute(**method, fixture.inputs()).ok());
  CHECK(control().num_buffers == before);
}

TEST_CASE("kernels are collected, and submitted as often as the option requests", "[metal]") {
  Host host;
  const Fixture fixture("mlp");
  const auto commits = [&](std::int64_t interval) {
    auto method = host.load(fixture, with_option("flush_interval", interval));
    REQUIRE(method.ok());
    const int before = control().num_commits;
    const int dispatched = control().num_dispatches;
    REQUIRE(execute(**method, fixture.inputs()).ok());
    CHECK(control().num_dispatches > dispatched + 2);
    return control().num_commits - before;
  };
  const int at_end = commits(0);
  CHECK(at_end == 1);
  CHECK(commits(1) >= 4);
}

TEST_CASE("settings are read strictly", "[metal][D11]") {
  Host host;
  const Fixture fixture("addmul");
  CHECK_THAT(refusal(host, fixture, with_option("buffer_pool_size_mb", std::int64_t{0})),
             ContainsSubstring("option 'buffer_pool_size_mb': expected a number from 1 to 16384, "
                               "found '0'"));
  CHECK_THAT(refusal(host, fixture, with_option("flush_interval", std::int64_t{-2})),
             ContainsSubstring("option 'flush_interval'"));
  CHECK_THAT(refusal(host, fixture, with_option("pool", std::int64_t{1})),
             ContainsSubstring("buffer_pool_size_mb"));
  for (const char* text : {"12x", "", " 1", "0", "16385", "99999999999999999999"}) {
    const ScopedVariable variable("ET_METAL_BUFFER_POOL_SIZE_MB", text);
    CHECK_THAT(refusal(host, fixture), ContainsSubstring("ET_METAL_BUFFER_POOL_SIZE_MB"));
    // An option takes precedence over the environment.
    CHECK(host.load(fixture, with_option("buffer_pool_size_mb", std::int64_t{16384})).ok());
  }
  for (const char* text : {"-1", "3.5", "many"}) {
    const ScopedVariable variable("ET_METAL_FLUSH_INTERVAL", text);
    CHECK_THAT(refusal(host, fixture), ContainsSubstring("ET_METAL_FLUSH_INTERVAL"));
  }
  const ScopedVariable pool("ET_METAL_BUFFER_POOL_SIZE_MB", "16384");
  const ScopedVariable interval("ET_METAL_FLUSH_INTERVAL", "0");
  CHECK(host.load(fixture).ok());
}

TEST_CASE("a device that fails at any call is an error that says so, and nothing is left",
          "[metal][D2]") {
  Host host;
  int num_failures = 0;
  for (const char* name : {"mlp", "conv", "experts", "delta"}) {
    const Fixture fixture(name);
    const auto inputs = fixture.inputs();
    {
      // Compiles the kernels that are kept for the life of the device.
      auto method = host.load(fixture);
      REQUIRE(method.ok());
      REQUIRE(execute(**method, inputs).ok());
    }
    for (int n = 0;; ++n) {
      control().calls_until_failure = n;
      const Status status = [&]() -> Status {
        TENON_TRY(auto method, host.load(fixture));
        return execute(*method, inputs);
      }();
      const bool is_through = control().calls_until_failure >= 0;
      control().calls_until_failure = -1;
      INFO(name << ", call " << n << ": " << status.text());
      CHECK(control().num_buffers == 0);
      CHECK(control().num_queues == 0);
      if (is_through) {
        CHECK(status.ok());
        break;
      }
      if (status.ok()) continue;  // The destructor of a queue cannot report a failure of its wait.
      ++num_failures;
      CHECK_THAT(std::string(status.text()), ContainsSubstring("as requested"));
    }
  }
  CHECK(num_failures > 60);
}

TEST_CASE("after a failed run the next one is right, and no tensor is left", "[metal]") {
  Host host;
  for (const char* name : {"mlp", "conv", "experts"}) {
    const Fixture fixture(name);
    auto method = host.load(fixture);
    REQUIRE(method.ok());
    REQUIRE(execute(**method, fixture.inputs()).ok());
    const int buffers = control().num_buffers;
    for (int n = 0; n < 4; ++n) {
      for (int round = 0; round < 3; ++round) {
        control().calls_until_failure = n;
        const Status status = execute(**method, fixture.inputs());
        control().calls_until_failure = -1;
        INFO(name << ", call " << n << ": " << status.text());
        CHECK_FALSE(status.ok());
      }
      REQUIRE(execute(**method, fixture.inputs()).ok());
      CHECK(difference(**method, fixture.outputs()[0]) < 1e-5);
      CHECK(control().num_buffers == buffers);
    }
  }
}

TEST_CASE("two threads run two delegates of one program", "[metal][D13]") {
  Host host;
  const Fixture fixture("mlp");
  auto first = host.load(fixture);
  auto second = host.load(fixture);
  REQUIRE((first.ok() && second.ok()));
  const auto inputs = fixture.inputs();
  int num_failed[2] = {};
  const auto work = [&](host::Method& method, int& failed) {
    for (int i = 0; i < 20; ++i) failed += !execute(method, inputs).ok();
  };
  std::thread other([&] { work(**second, num_failed[1]); });
  work(**first, num_failed[0]);
  other.join();
  CHECK(num_failed[0] + num_failed[1] == 0);
  CHECK(difference(**first, fixture.outputs()[0]) < 1e-6);
  CHECK(difference(**second, fixture.outputs()[0]) < 1e-6);
}
