// SPDX-License-Identifier: MIT
//
// Copies of methods whose delegates are on one device, counted; and copies from device to device.
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "device_support.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

/// Copies by the direction, as the stand-in counted them.
struct Copies {
  int to_device = 0;
  int to_host = 0;
  int between = 0;

  static Copies so_far() {
    return {far_memory().to_device, far_memory().to_host, far_memory().between};
  }
  Copies operator-(const Copies& before) const {
    return {to_device - before.to_device, to_host - before.to_host, between - before.between};
  }
  friend bool operator==(const Copies&, const Copies&) = default;
};

std::ostream& operator<<(std::ostream& out, const Copies& copies) {
  return out << copies.to_device << " to the device, " << copies.to_host << " to the host, "
             << copies.between << " between";
}

/// A block of a device of the stand-in.
class Block {
 public:
  Block(const FarRegistry& far, std::int32_t device) : Block(far.registry, device) {}
  Block(const host::BackendRegistry& registry, std::int32_t device)
      : memory(*host::DeviceMemory::of(*registry.lookup_backend("FarBackend"), cuda(device))),
        address(static_cast<std::byte*>(*memory.allocate(24, 256))) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { memory.free(address); }

  void write(std::span<const float> values) const {
    REQUIRE(memory.copy_to_device(address, values.data(), values.size_bytes()).ok());
  }
  [[nodiscard]] std::vector<float> read() const {
    std::vector<float> out(6);
    REQUIRE(memory.copy_to_host(out.data(), address, 24).ok());
    return out;
  }
  [[nodiscard]] host::InputTensor tensor() const {
    return {ScalarType::Float, two_by_three, std::span<const std::byte>(address, 24),
            memory.device()};
  }

  host::DeviceMemory memory;
  std::byte* address;
};

const std::vector<float> counted_values(counted.begin(), counted.end());
const std::vector<float> three_added{4, 7, 10, 13, 16, 19};  // 1 + 3 * counted

/// Checks the copies of a run of three delegates whose inputs and output are the host's.
void check_copies(Chain chain, const Copies& expected) {
  const FarRegistry far;
  const auto method = load_ok(chain_on_device(chain), far.options());
  set_inputs(*method);
  const Copies before = Copies::so_far();
  REQUIRE(method->execute().ok());
  CHECK(Copies::so_far() - before == expected);
  CHECK(floats(method->output(0)) == three_added);
}

/// Checks that an input in a block is copied between devices, and the run after it.
void check_copied_input(host::Method& method, const Block& block) {
  block.write(counted);
  const Copies before = Copies::so_far();
  REQUIRE(method.set_input(0, block.tensor()).ok());
  CHECK(Copies::so_far() - before == Copies{0, 0, 1});
  REQUIRE(method.execute().ok());
  CHECK(read_output(method) == counted_values);
}

}  // namespace

TEST_CASE("a chain of three delegates on a device copies its inputs and its output alone",
          "[device]") {
  check_copies(Chain::kept, {2, 1, 0});
}

TEST_CASE("a chain of three delegates whose inputs and outputs are on the device copies nothing",
          "[device]") {
  const FarRegistry far;
  const Block first(far, 0), second(far, 0);
  const auto method = load_ok(chain_on_device(Chain::resident), far.options());
  first.write(ones);
  second.write(counted);
  const Copies before = Copies::so_far();
  REQUIRE(method->set_input(0, first.tensor()).ok());
  REQUIRE(method->set_input(1, second.tensor()).ok());
  REQUIRE(method->execute().ok());
  CHECK(Copies::so_far() - before == Copies{});
  CHECK(read_output(*method) == three_added);
}

TEST_CASE("a program with copies around each delegate makes those that it names", "[device]") {
  check_copies(Chain::copied, {4, 3, 0});
}

TEST_CASE("the output of a method is the input of the next one without a copy", "[device]") {
  const FarRegistry far;
  const Block first(far, 0);
  const auto one = load_ok(resident_program(true), far.options());
  const auto next = load_ok(resident_program(true), far.options());
  first.write(counted);
  const Copies before = Copies::so_far();
  REQUIRE(one->set_input(0, first.tensor()).ok());
  REQUIRE(one->execute().ok());
  const tenon_tensor& made = *one->output(0).as.tensor;
  REQUIRE(next->set_input(
                  0, host::InputTensor{ScalarType::Float, two_by_three,
                                       std::span(static_cast<const std::byte*>(made.dl.data), 24),
                                       made.dl.device})
              .ok());
  REQUIRE(next->execute().ok());
  CHECK(Copies::so_far() - before == Copies{});
  CHECK(read_output(*next) == counted_values);
}

TEST_CASE("an input that has to be copied is copied on its device, not through the host",
          "[device]") {
  const FarRegistry far;
  const Block block(far, 0);
  // The output has the input's place, so that the input's bytes must be there.
  const auto method = load_ok(resident_program(true, 0), far.options());
  check_copied_input(*method, block);
}

TEST_CASE("an input on another device of the backend is copied from there", "[device]") {
  const FarRegistry far;
  const Block block(far, 1);
  const auto method = load_ok(resident_program(true), far.options());
  check_copied_input(*method, block);

  far_memory().fail_copy = 1;
  const Status failed = method->set_input(0, block.tensor());
  CHECK(failed.error() == Error::AccessFailed);
  CHECK_THAT(std::string(failed.text()),
             ContainsSubstring("input 0: backend FarBackend: copy_on: set to fail a copy of 24"));
}

TEST_CASE("a copy from device to device is complete on return, or in the order of a stream",
          "[device][TN-DEV-9][TN-DEV-10]") {
  const FarRegistry far;
  const Block from(far, 0), to(far, 1), last(far, 1);
  from.write(counted);
  to.write(ones);
  REQUIRE(to.memory.copy_on(nullptr, to.address, cuda(0), from.address, 24).ok());
  CHECK(to.read() == counted_values);
  CHECK(from.read() == counted_values);

  to.write(ones);
  FarStream stream;
  REQUIRE(to.memory.copy_on(&stream, to.address, cuda(0), from.address, 24).ok());
  REQUIRE(last.memory.copy_on(&stream, last.address, cuda(1), to.address, 24).ok());
  CHECK(stream.pending() == 2);
  CHECK(last.read() == counted_values);  // Copies to the host come after all that is enqueued.
  CHECK(stream.pending() == 0);
}

TEST_CASE("a copy from device to device that cannot be made says why", "[device]") {
  const FarRegistry far;
  const Block block(far, 0);
  const auto copy = [&](tenon_dl_device device, const void* from, std::uint64_t nbytes) {
    return block.memory.copy_on(nullptr, block.address, device, from, nbytes);
  };
  CHECK(block.memory.has_copy_on());
  CHECK(block.memory.is_of_backend(cuda(1)));
  CHECK_FALSE(block.memory.is_of_backend(cuda(2)));
  CHECK(copy(cuda(0), nullptr, 0).ok());
  const int before = far_memory().between;
  CHECK(copy(cuda(9), block.address, 4).error() == Error::InvalidArgument);
  const std::array<float, 6> here{};
  const Status refused = copy(cuda(0), here.data(), 24);
  CHECK(refused.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(refused.text()),
             ContainsSubstring("backend FarBackend: copy_on: no block of device 0 has 24 bytes"));
  CHECK(far_memory().between <= before + 2);
}

TEST_CASE("where a backend copies no bytes from device to device, the host does", "[device]") {
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(std::filesystem::path(TENON_FAR_PLAIN_PLUGIN)).ok());
  const Block from(registry, 1), to(registry, 0);
  CHECK_FALSE(to.memory.has_copy_on());
  from.write(counted);
  to.write(ones);
  REQUIRE(to.memory.copy_on(nullptr, to.address, cuda(1), from.address, 24).ok());
  CHECK(to.read() == counted_values);
  CHECK(to.memory.copy_on(nullptr, to.address, cuda(1), nullptr, 0).ok());
  const Status missing = to.memory.copy_on(nullptr, to.address, cuda(9), from.address, 24);
  CHECK(missing.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(missing.text()), ContainsSubstring("copy_to_host: there is no device"));

  // More than is copied by the host at once.
  constexpr std::size_t large = (std::size_t{9} << 20) + 5;
  std::vector<std::byte> bytes(large), found(large);
  for (std::size_t i = 0; i < large; ++i) bytes[i] = static_cast<std::byte>(i * 31 + (i >> 12));
  void* const source = *from.memory.allocate(large, 256);
  void* const target = *to.memory.allocate(large, 256);
  REQUIRE(from.memory.copy_to_device(source, bytes.data(), large).ok());
  REQUIRE(to.memory.copy_on(nullptr, target, cuda(1), source, large).ok());
  REQUIRE(to.memory.copy_to_host(found.data(), target, large).ok());
  CHECK(std::memcmp(found.data(), bytes.data(), large) == 0);
  from.memory.free(source);
  to.memory.free(target);

  host::MethodOptions options;
  options.registry = &registry;
  const auto method = load_ok(resident_program(true), options);
  REQUIRE(method->set_input(0, from.tensor()).ok());
  REQUIRE(method->execute().ok());
  CHECK(read_output(*method) == counted_values);
}

TEST_CASE("a copy of the host is in the order of no stream", "[device]") {
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(std::filesystem::path(TENON_FAR_PLAIN_PLUGIN)).ok());
  const Block from(registry, 1), to(registry, 0);
  FarStream stream;
  CHECK(to.memory.copy_on(&stream, to.address, cuda(1), from.address, 24).error() ==
        Error::NotSupported);
}

TEST_CASE("a stream of another kind reaches no copy", "[device][TN-STR-7]") {
  const FarRegistry far;
  const Block from(far, 0), to(far, 1);
  FarStream stream;
  const Copies before = Copies::so_far();
  const Status refused = to.memory.copy_on({TENON_KIND_METAL_COMMAND_QUEUE, &stream}, to.address,
                                           cuda(0), from.address, 24);
  CHECK(refused.error() == Error::InvalidArgument);
  CHECK(refused.text() ==
        "backend FarBackend: expected a stream of kind 'cuda.stream', found one of kind "
        "'metal.command_queue'");
  CHECK(Copies::so_far() - before == Copies{});
}
