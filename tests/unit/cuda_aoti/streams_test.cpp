// SPDX-License-Identifier: MIT
//
// The application's streams. The stand-in does work only when a call waits for it, so an order that
// is not kept shows as other numbers.
#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <optional>

#include "cuda_host.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

/// A stream as an application makes one, with the driver itself.
class AppStream {
 public:
  AppStream() : library_(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    REQUIRE(call("cuDevicePrimaryCtxRetain", &context_, 0) == 0);
    REQUIRE(call("cuCtxPushCurrent_v2", context_) == 0);
    REQUIRE(call("cuStreamCreate", &stream_, 1u) == 0);
    pop();
  }
  AppStream(const AppStream&) = delete;
  AppStream& operator=(const AppStream&) = delete;
  ~AppStream() {
    static_cast<void>(call("cuCtxPushCurrent_v2", context_));
    static_cast<void>(call("cuStreamDestroy_v2", stream_));
    pop();
    static_cast<void>(call("cuDevicePrimaryCtxRelease_v2", 0));
  }
  [[nodiscard]] void* get() const noexcept { return stream_; }

 private:
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    return reinterpret_cast<int (*)(Arguments...)>(::dlsym(library_, name))(arguments...);
  }
  void pop() const {
    void* popped = nullptr;
    static_cast<void>(call("cuCtxPopCurrent_v2", &popped));
  }

  void* library_;
  void* context_ = nullptr;
  void* stream_ = nullptr;
};

/// A method with all its tensors on the device, in blocks of the application.
struct Resident {
  explicit Resident(CudaHost& host, bool host_input = false)
      : x(host.backend(), 1), weight(host.backend(), 0), state(host.backend(), 0) {
    auto loaded = host.load({.input_on_device = !host_input, .outputs_on_device = true});
    INFO(loaded.text());
    REQUIRE(loaded.ok());
    method = *std::move(loaded);
    if (!host_input) REQUIRE(method->set_input(0, x.input(size)).ok());
    REQUIRE(method->set_output(0, weight.bytes(), AppBlock::device).ok());
    REQUIRE(method->set_output(1, state.bytes(), AppBlock::device).ok());
  }
  void execute() const {
    const Status status = method->execute();
    INFO(status.text() << misuses());
    REQUIRE(status.ok());
  }

  static constexpr std::int64_t size = 16;
  AppBlock x;
  AppBlock weight;
  AppBlock state;
  std::unique_ptr<host::Method> method;
};

long waits_for(const void* stream, long first = 0) {
  long count = 0;
  for (long i = first; i < cuda().num_calls(); ++i) {
    const stand_in_cuda::Call call = cuda().call(i);
    count += call.stream == stream && std::string_view(call.name) == "cuStreamSynchronize";
  }
  return count;
}

}  // namespace

TEST_CASE("a run on the caller's stream with all on the device is enqueued and not waited for",
          "[cuda][TN-STR-3]") {
  CudaHost host;
  const AppStream stream;
  const Resident model(host);
  REQUIRE(model.method->set_stream("CudaBackend", stream.get()).ok());
  for (int i = 0; i < 3; ++i) model.execute();
  CHECK(waits_for(stream.get()) == 0);
  // Copies for the application are made after all of it.
  CHECK(model.weight.first() == 3.0f);
  CHECK(model.state.first() == 1.0f);
}

TEST_CASE("what was enqueued on one stream comes before what is enqueued on the next",
          "[cuda][TN-STR-3]") {
  CudaHost host;
  const AppStream first;
  const AppStream second;
  const Resident model(host);
  float expected = 10;  // The state is the input of the run before.
  float x = 1;
  for (void* const stream : {first.get(), second.get(), static_cast<void*>(nullptr), first.get()}) {
    REQUIRE(model.method->set_stream("CudaBackend", stream).ok());
    model.execute();
    CHECK(model.state.first() == expected);
    expected = x;
    model.x.fill(++x);
    model.execute();  // Left as it is when the stream changes.
    expected = x;
  }
  REQUIRE(model.method->set_stream("CudaBackend", nullptr).ok());
  model.execute();
  CHECK(model.state.first() == expected);
}

TEST_CASE("inputs in the host's memory are read when a run on the caller's stream returns",
          "[cuda][TN-STR-2]") {
  CudaHost host;
  const AppStream stream;
  const Resident model(host, true);
  REQUIRE(model.method->set_stream("CudaBackend", stream.get()).ok());
  auto bytes = filled(5, 64);
  REQUIRE(model.method->set_input(0, {ScalarType::Float, {&Resident::size, 1}, bytes}).ok());
  model.execute();
  CHECK(waits_for(stream.get()) == 1);
  const auto other = filled(6, 64);
  std::memcpy(bytes.data(), other.data(), bytes.size());
  model.execute();
  CHECK(model.state.first() == 5.0f);
}

TEST_CASE("outputs in the host's memory are complete when a run on the caller's stream returns",
          "[cuda][TN-STR-2]") {
  CudaHost host;
  const AppStream stream;
  const AppBlock x(host.backend(), 4);
  const auto method = host.load({.input_on_device = true});
  REQUIRE(method.ok());
  REQUIRE((*method)->set_stream("CudaBackend", stream.get()).ok());
  REQUIRE((*method)->set_input(0, x.input(Resident::size)).ok());
  CHECK(run_and_read(**method)->state == 10.0f);
  CHECK(run_and_read(**method)->state == 4.0f);
  CHECK(waits_for(stream.get()) == 2);
}

TEST_CASE("a stream is not used after the delegate has another", "[cuda][TN-STR-5]") {
  CudaHost host;
  std::optional<AppStream> stream(std::in_place);
  const Resident model(host);
  REQUIRE(model.method->set_stream("CudaBackend", stream->get()).ok());
  model.execute();
  REQUIRE(model.method->set_stream("CudaBackend", nullptr).ok());
  stream.reset();  // A later use is a misuse, which CudaHost looks for.
  model.execute();
  CHECK(model.state.first() == 1.0f);
}

TEST_CASE("destroying a delegate waits for its work on the caller's stream", "[cuda][TN-STR-4]") {
  CudaHost host;
  const AppStream stream;
  Resident model(host);
  REQUIRE(model.method->set_stream("CudaBackend", stream.get()).ok());
  model.execute();
  const long before = cuda().num_calls();
  model.method.reset();
  CHECK(waits_for(stream.get(), before) >= 1);
  for (long i = before; i < cuda().num_calls(); ++i) {
    const std::string_view name = cuda().call(i).name;
    if (name == "cuStreamSynchronize" && cuda().call(i).stream == stream.get()) break;
    CHECK(name != "cuMemFree");
  }
}
