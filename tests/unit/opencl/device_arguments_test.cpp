// SPDX-License-Identifier: MIT
//
// Arguments of delegates in memory of the device. No program can name such a device, so these call
// the backend as a host with tensors of its own does.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "driver/device.hpp"
#include "opencl_host.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/plugin/calls.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"
#include "unit/core/test_tensor.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

constexpr std::size_t nbytes = 48 * sizeof(float);
constexpr tenon_dl_device first_device = {opencl_backend::dl_opencl, 0};

/// Two blocks of the first device: for two inputs, and for an output.
class Blocks {
 public:
  explicit Blocks(const OpenClHost& host)
      : memory_(*host::DeviceMemory::of(host.ref(), first_device)),
        in_(static_cast<std::byte*>(*memory_.allocate(2 * nbytes, 64))),
        out_(static_cast<std::byte*>(*memory_.allocate(nbytes, 64))) {}
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks() {
    memory_.free(in_);
    memory_.free(out_);
  }

  [[nodiscard]] std::byte* in() const { return in_; }
  [[nodiscard]] std::byte* out() const { return out_; }
  [[nodiscard]] const host::DeviceMemory& memory() const { return memory_; }

 private:
  host::DeviceMemory memory_;
  std::byte* in_;
  std::byte* out_;
};

/// A delegate, and its calls.
class Delegate {
 public:
  explicit Delegate(const OpenClHost& host) : backend_(host.ref()) {
    Steps steps(6, 8);
    const auto out = steps.delegate({steps.input()}, 1.5, 2);
    program_ = std::move(steps).finish(out);
    const auto blob = program_.methods[0].delegates[0].processed.bytes();
    processed_.struct_size = sizeof processed_;
    processed_.data = blob.data();
    processed_.nbytes = blob.size();
    processed_.release = [](tenon_buffer*) {};
    host::detail::InitCall context;
    context.host = backend_->host();
    context.method_name = "forward";
    context.processed = &processed_;
    context.runtime_allocator = arena_.table();
    const tenon_status status = backend_->api().init(backend_->raw(), &context, &delegate_);
    INFO(host::take_last_error(backend_->host(), status).text());
    REQUIRE(status == TENON_STATUS_OK);
  }
  Delegate(const Delegate&) = delete;
  Delegate& operator=(const Delegate&) = delete;
  ~Delegate() { backend_->api().destroy(backend_->raw(), delegate_); }

  /// The text of a run with these bytes of a device; empty for a success.
  [[nodiscard]] std::string run(const std::byte* in, const std::byte* out,
                                tenon_dl_device device = first_device,
                                ScalarType type = ScalarType::Float) const {
    TestTensor x(type, {6, 8}), y(ScalarType::Float, {6, 8});
    x.raw().dl.device = y.raw().dl.device = device;
    x.raw().dl.data = const_cast<std::byte*>(in);
    y.raw().dl.data = const_cast<std::byte*>(out);
    host::Arena arena;
    const host::detail::CallContext context(backend_->host(), "forward", arena.table(), nullptr);
    const TestArgs args({x.value(), y.value()});
    const tenon_status status =
        backend_->api().execute(backend_->raw(), delegate_, &context, args.data(), args.size());
    return status == TENON_STATUS_OK
               ? std::string()
               : std::string(host::take_last_error(backend_->host(), status).text());
  }

 private:
  host::BackendRef backend_;
  aot::ProgramData program_;
  tenon_buffer processed_{};
  host::Arena arena_;
  tenon_delegate* delegate_ = nullptr;
};

}  // namespace

TEST_CASE("arguments on the device are used in place, also within a block", "[opencl][device]") {
  const OpenClHost host;
  const Blocks blocks(host);
  const Delegate delegate(host);
  const Numbers x(48), found(48);
  for (const std::size_t offset : {std::size_t{0}, nbytes}) {
    std::byte* const place = blocks.in() + offset;
    REQUIRE(blocks.memory().copy_to_device(place, x.values().data(), nbytes).ok());
    const Calls calls;
    CHECK(delegate.run(place, blocks.out()).empty());
    CHECK(calls.copies() == 0);
    CHECK(calls.of("clEnqueueMapBuffer") == 0);
    REQUIRE(blocks.memory().copy_to_host(found.values().data(), blocks.out(), nbytes).ok());
    for (std::size_t i = 0; i < 48; ++i) CHECK(found.values()[i] == 2.25F * x.values()[i]);
  }
}

TEST_CASE("arguments that are not in a block of the device are refused by their number",
          "[opencl][device]") {
  const OpenClHost host;
  const Blocks blocks(host);
  const Delegate delegate(host);
  CHECK_THAT(delegate.run(blocks.in() + nbytes + 64, blocks.out()),
             ContainsSubstring("argument 0: expected an address in a block of OpenCL device 0"));
  CHECK_THAT(delegate.run(blocks.in() + 2, blocks.out()),
             ContainsSubstring("argument 0: ") && ContainsSubstring("it is no slice"));
  CHECK_THAT(delegate.run(blocks.in(), blocks.out(), {opencl_backend::dl_opencl, 9}),
             ContainsSubstring("argument 0: expected OpenCL device 0, found 9"));
  CHECK_THAT(delegate.run(blocks.in(), blocks.out(), first_device, ScalarType::Half),
             ContainsSubstring("argument 0: expected dtype Float, found Half"));
  CHECK(delegate.run(blocks.in(), blocks.out()).empty());
}
