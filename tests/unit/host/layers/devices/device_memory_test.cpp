// SPDX-License-Identifier: MIT
//
// Methods with memory on a device. The device is the stand-in of tests/plugins/far/far_memory.cpp,
// whose memory kills a process that touches it from the host.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "device_support.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

std::vector<float> read_floats(const host::Method& method, std::size_t output) {
  std::vector<float> out(6);
  const Status read = method.read_output(output, std::as_writable_bytes(std::span(out)));
  INFO(read.text());
  REQUIRE(read.ok());
  return out;
}

/// Whether a process that reads a byte at `address` dies of it.
bool kills_a_reader(const void* address) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGSEGV, SIG_DFL);
    const auto byte = *static_cast<const volatile unsigned char*>(address);
    ::_exit(byte == 0 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

/// A block of the stand-in that an application made by itself.
class OwnBlock {
 public:
  explicit OwnBlock(const FarRegistry& far)
      : memory(*host::DeviceMemory::of(*far.registry.lookup_backend("FarBackend"), cuda())),
        address(static_cast<std::byte*>(*memory.allocate(24, 256))) {}
  OwnBlock(const OwnBlock&) = delete;
  OwnBlock& operator=(const OwnBlock&) = delete;
  ~OwnBlock() { memory.free(address); }

  [[nodiscard]] std::span<std::byte> bytes() const { return {address, 24}; }

  host::DeviceMemory memory;
  std::byte* address;
};

}  // namespace

TEST_CASE("a program with memory on a device runs, and no host code touches that memory",
          "[device][TN-DEV-2][TN-DEV-3][TN-DEV-8]") {
  const FarRegistry far;
  const auto method = load_ok(device_program(), far.options());
  CHECK(far_memory().live == 1);
  CHECK(far_memory().bytes == 96);
  check_adds(*method);
  check_adds(*method);
}

TEST_CASE("a host that read the stand-in's memory would crash", "[device]") {
  const FarRegistry far;
  const OwnBlock block(far);
  CHECK(kills_a_reader(block.address));
  const int here = 0;
  CHECK_FALSE(kills_a_reader(&here));
}

TEST_CASE("tensors in a buffer on a device have its DLPack device and address", "[device]") {
  const FarRegistry far;
  const auto method = load_ok(resident_program(true), far.options());
  const tenon_tensor& input = *method->input(0).as.tensor;
  CHECK(host::is_same_device(input.dl.device, cuda()));
  CHECK((input.flags & TENON_TENSOR_MEMORY_PLANNED) != 0);
  CHECK(reinterpret_cast<std::uintptr_t>(input.dl.data) % 256 == 0);
  CHECK(static_cast<std::byte*>(method->output(0).as.tensor->dl.data) -
            static_cast<std::byte*>(input.dl.data) ==
        32);
}

TEST_CASE("an output on a device is not read as memory of the CPU", "[device]") {
  const FarRegistry far;
  const auto method = load_ok(resident_program(true), far.options());
  CHECK(describe(method->output<float>(0).status()) ==
        "NotSupported (0x10): output 0: expected CPU memory, found DLPack device type 2");
}

TEST_CASE("each buffer is on the device of its index", "[device]") {
  const FarRegistry far;
  check_adds(*load_ok(device_program("add", 1), far.options()));
}

TEST_CASE("a tensor that is tagged for a device but planned on the CPU is on the CPU", "[device]") {
  ProgramBuilder builder = chain_of({"scale"});
  for (auto& value : builder.program.execution_plan[0]->values) {
    *value->val.AsTensor() = tagged(std::move(*value->val.AsTensor()));
  }
  const auto method = load_ok(builder);
  CHECK(host::is_cpu(method->input(0).as.tensor->dl.device));
  const std::array<float, 4> in{1, 2, 3, 4};
  REQUIRE(set_floats(*method, 0, in, {4}).ok());
  REQUIRE(method->execute().ok());
  CHECK(floats(method->output(0)) == std::vector<float>{2, 4, 6, 8});
}

TEST_CASE("memory on a device begins as zeroes", "[device]") {
  const FarRegistry far;
  const auto method = load_ok(resident_program(true), far.options());
  CHECK(read_floats(*method, 0) == std::vector<float>(6));
}

TEST_CASE("a large buffer on a device is zeroed to its end", "[device]") {
  const FarRegistry far;
  ProgramBuilder builder = resident_program(true, (std::uint64_t{9} << 20) + 8);
  builder.program.execution_plan[0]->non_const_buffer_sizes[1] = (std::int64_t{9} << 20) + 32;
  const auto method = load_ok(builder, far.options());
  CHECK(read_floats(*method, 0) == std::vector<float>(6));
}

TEST_CASE("the initial state of a tensor on a device is copied there", "[device]") {
  const FarRegistry far;
  ProgramBuilder builder = resident_program(true);
  std::string bytes(24, '\0');
  std::memcpy(bytes.data(), counted.data(), bytes.size());
  builder.mutable_data({bytes});
  builder.program.execution_plan[0]->values[0]->val.AsTensor()->data_buffer_idx = 1;
  builder.program.execution_plan[0]->inputs.clear();
  const auto method = load_ok(builder, far.options());
  REQUIRE(method->execute().ok());
  CHECK(read_floats(*method, 0) == std::vector<float>(counted.begin(), counted.end()));
}

TEST_CASE("running a program with memory on a device allocates nothing on the host", "[device]") {
  const FarRegistry far;
  const auto method = load_ok(device_program(), far.options());
  set_inputs(*method);
  REQUIRE(method->execute().ok());
  const std::size_t before = num_allocations();
  const int blocks = far_memory().allocations;
  for (int i = 0; i < 3; ++i) CHECK(method->execute().ok());
  CHECK(num_allocations() == before);
  CHECK(far_memory().allocations == blocks);
}

TEST_CASE("host bytes for an input on a device are copied there at once", "[device]") {
  const FarRegistry far;
  const auto method = load_ok(resident_program(true), far.options());
  {
    std::vector<float> gone(counted.begin(), counted.end());
    REQUIRE(set_floats(*method, 0, gone, two_by_three).ok());
  }
  REQUIRE(method->execute().ok());
  CHECK(read_floats(*method, 0) == std::vector<float>(counted.begin(), counted.end()));
}

TEST_CASE("bytes on a device are an input without a copy", "[device]") {
  const FarRegistry far;
  const OwnBlock block(far);
  const bool planned = GENERATE(true, false);
  const auto method = load_ok(resident_program(planned), far.options());
  const host::InputTensor input{ScalarType::Float, two_by_three, block.bytes(), cuda()};
  REQUIRE(block.memory.copy_to_device(block.address, ones.data(), 24).ok());
  REQUIRE(method->set_input(0, input).ok());
  CHECK(method->input(0).as.tensor->dl.data == block.address);
  const OwnBlock result(far);
  if (!planned) REQUIRE(method->set_output(0, result.bytes(), cuda()).ok());
  // Not copied: what comes there later is seen.
  REQUIRE(block.memory.copy_to_device(block.address, counted.data(), 24).ok());
  REQUIRE(method->execute().ok());
  CHECK(read_floats(*method, 0) == std::vector<float>(counted.begin(), counted.end()));
}

TEST_CASE("bytes on a device are copied when their input's planned memory has a second name",
          "[device]") {
  const FarRegistry far;
  const OwnBlock block(far);
  // The output has the input's place.
  const auto method = load_ok(resident_program(true, 0), far.options());
  REQUIRE(block.memory.copy_to_device(block.address, counted.data(), 24).ok());
  REQUIRE(
      method
          ->set_input(0, host::InputTensor{ScalarType::Float, two_by_three, block.bytes(), cuda()})
          .ok());
  CHECK(method->input(0).as.tensor->dl.data != block.address);
  REQUIRE(method->execute().ok());
  CHECK(read_floats(*method, 0) == std::vector<float>(counted.begin(), counted.end()));
}

TEST_CASE("bytes on the wrong side are refused as inputs and outputs", "[device]") {
  const FarRegistry far;
  const auto resident = load_ok(resident_program(false), far.options());
  const auto refusal = [](const Status& status) {
    CHECK(status.error() == Error::InvalidArgument);
    return std::string(status.text());
  };
  CHECK_THAT(refusal(set_floats(*resident, 0, ones, two_by_three)),
             ContainsSubstring("input 0: expected data on CUDA device 0, found data on CPU"));
  std::array<float, 6> room{};
  CHECK_THAT(refusal(resident->set_output(0, std::as_writable_bytes(std::span(room)))),
             ContainsSubstring("output 0: expected bytes on CUDA device 0, found bytes on CPU"));

  const auto planned = load_ok(resident_program(true), far.options());
  const host::InputTensor elsewhere{ScalarType::Float, two_by_three, std::as_bytes(std::span(ones)),
                                    cuda(7)};
  CHECK_THAT(refusal(planned->set_input(0, elsewhere)),
             ContainsSubstring("expected data on CUDA device 0 or the CPU, found data on CUDA "
                               "device 7"));

  const auto around = load_ok(device_program(), far.options());
  CHECK_THAT(refusal(around->set_input(0, elsewhere)),
             ContainsSubstring("expected data on CPU, found data on CUDA device 7"));
}

TEST_CASE("reading an output says what is wrong with it", "[device]") {
  const FarRegistry far;
  const auto method = load_ok(resident_program(false), far.options());
  std::array<std::byte, 24> room{};
  CHECK(method->read_output(1, room).error() == Error::InvalidArgument);
  CHECK(method->read_output(0, std::span(room).first(23)).error() == Error::InvalidArgument);
  const Status nothing = method->read_output(0, room);
  CHECK(nothing.error() == Error::InvalidState);
  CHECK_THAT(std::string(nothing.text()), ContainsSubstring("output 0: the tensor has no data"));

  // On the CPU it is an ordinary copy.
  const auto around = load_ok(device_program(), far.options());
  set_inputs(*around);
  REQUIRE(around->execute().ok());
  CHECK(read_floats(*around, 0) == one_more);
}

TEST_CASE("methods with memory on a device run at the same time", "[device][threads]") {
  const FarRegistry far;
  const auto program = open_program(device_program());
  std::vector<int> good(2);
  std::vector<std::thread> threads;
  for (int& count : good) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        auto method = host::Method::load(program, "forward", far.options());
        if (!method.ok()) return;
        if (!set_floats(**method, 0, ones, two_by_three).ok()) return;
        if (!set_floats(**method, 1, counted, two_by_three).ok()) return;
        if (!(*method)->execute().ok()) return;
        const Tensor<const float> out(*(*method)->output(0).as.tensor);
        if (std::ranges::equal(out, one_more)) ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == std::vector<int>{20, 20});
}
