// SPDX-License-Identifier: MIT
//
// The application's streams. The stand-in does work only when a call waits for it, so an order that
// is not kept shows as other numbers.
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "app_stream.hpp"
#include "cuda_host.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

void* const legacy = reinterpret_cast<void*>(std::uintptr_t{1});
void* const per_thread = reinterpret_cast<void*>(std::uintptr_t{2});

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
  OnStream on;
  for (int i = 0; i < 3; ++i) on.model.execute();
  CHECK(waits_for(on.stream.get()) == 0);
  // Copies for the application are made after all of it.
  CHECK(on.model.weight.first() == 3.0f);
  CHECK(on.model.state.first() == 1.0f);
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
  OnStream on(true);
  auto bytes = filled(5, 64);
  REQUIRE(on.model.method->set_input(0, {ScalarType::Float, {&Resident::size, 1}, bytes}).ok());
  on.model.execute();
  CHECK(waits_for(on.stream.get()) == 1);
  const auto other = filled(6, 64);
  std::memcpy(bytes.data(), other.data(), bytes.size());
  on.model.execute();
  CHECK(on.model.state.first() == 5.0f);
}

TEST_CASE("outputs in the host's memory are complete when a run on the caller's stream returns",
          "[cuda][TN-STR-2]") {
  CudaHost host;
  const AppStream stream;
  const AppBlock x(host.backend(), 4);
  const auto method = host.load_ok({.input_on_device = true});
  REQUIRE(method->set_stream("CudaBackend", stream.get()).ok());
  REQUIRE(method->set_input(0, x.input(Resident::size)).ok());
  CHECK(run_and_read(*method)->state == 10.0f);
  CHECK(run_and_read(*method)->state == 4.0f);
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
  OnStream on;
  on.model.execute();
  const long before = cuda().num_calls();
  on.model.method.reset();
  CHECK(waits_for(on.stream.get(), before) >= 1);
  for (long i = before; i < cuda().num_calls(); ++i) {
    const std::string_view name = cuda().call(i).name;
    if (name == "cuStreamSynchronize" && cuda().call(i).stream == on.stream.get()) break;
    CHECK(name != "cuMemFree");
  }
}

TEST_CASE("an input that the application fills on the default stream is complete in a run",
          "[cuda]") {
  const bool as_graph = GENERATE(false, true);
  INFO((as_graph ? "as a graph" : "plain"));
  CudaHost host;
  Options options;
  if (as_graph) options.push_back(option("enable_cuda_graph_for_method", std::string("forward")));
  const AppDriver app;
  const AppBlock x(host.backend(), 1);
  const AppBlock one(host.backend(), 100);
  const AppBlock other(host.backend(), 200);
  const auto method = host.load_ok({.input_on_device = true}, options);
  REQUIRE(method->set_input(0, x.input(Resident::size)).ok());
  float state = 10;  // The state is the input of the run before.
  for (int i = 0; i < 8; ++i) {
    const AppBlock& source = i % 2 == 0 ? one : other;
    // As `kernel<<<1, 1>>>` would, and not waited for.
    app.copy_on(nullptr, x.bytes(), source.bytes());
    const auto out = run_and_read(*method);
    INFO(i << ": " << out.text() << misuses());
    REQUIRE(out.ok());
    CHECK(out->state == state);
    state = i % 2 == 0 ? 100.0f : 200.0f;
  }
  CHECK(count_calls("cuGraphLaunch") == (as_graph ? 5 : 0));
}

TEST_CASE("copies for the application come after its work on the default stream", "[cuda]") {
  CudaHost host;
  const AppDriver app;
  const AppBlock block(host.backend(), 1);
  const AppBlock source(host.backend(), 2);
  app.copy_on(nullptr, block.bytes(), source.bytes());
  CHECK(block.first() == 2.0f);
}

TEST_CASE("a delegate runs on the legacy default stream by its handle", "[cuda][TN-STR-3]") {
  CudaHost host;
  const AppDriver app;
  const Resident model(host);
  const AppBlock source(host.backend(), 7);
  REQUIRE(model.method->set_stream("CudaBackend", legacy).ok());
  app.copy_on(nullptr, model.x.bytes(), source.bytes());
  const long before = cuda().num_calls();
  model.execute();
  model.execute();
  CHECK(waits_for(legacy, before) == 0);
  CHECK(model.state.first() == 7.0f);
}

TEST_CASE("a run on a thread's default stream is complete when it returns",
          "[cuda][TN-STR-3][TN-STR-4]") {
  CudaHost host;
  Resident model(host);
  REQUIRE(model.method->set_stream("CudaBackend", per_thread).ok());
  Status status = ok();
  std::thread([&] {
    for (int i = 0; i < 2 && status.ok(); ++i) status = model.method->execute();
  }).join();
  INFO(status.text());
  REQUIRE(status.ok());
  CHECK(model.state.first() == 1.0f);  // Another thread has another stream of that handle.
  model.method.reset();
}

TEST_CASE("a copy waits for the application's streams that delegates use, and for no others",
          "[cuda]") {
  CudaHost host;
  const AppStream used;
  const AppStream unused;
  const Resident model(host);
  REQUIRE(model.method->set_stream("CudaBackend", used.get()).ok());
  model.execute();
  const long before = cuda().num_calls();
  CHECK(model.weight.first() == 3.0f);
  CHECK(waits_for(used.get(), before) == 1);
  CHECK(waits_for(unused.get(), before) == 0);
  CHECK(count_calls("cuCtxSynchronize") == 0);
  REQUIRE(model.method->set_stream("CudaBackend", nullptr).ok());
  const long later = cuda().num_calls();
  CHECK(model.weight.first() == 3.0f);
  CHECK(waits_for(used.get(), later) == 0);
}

namespace {

/// What another thread does while a delegate captures.
struct DuringCapture {
  const Resident* model;
  host::Method* graph;
  std::optional<float> copied;
  Status ran = error(Error::Internal, "did not run");
};

}  // namespace

TEST_CASE("another thread copies and runs while a delegate captures", "[cuda]") {
  CudaHost host;
  const Options as_graph = {option("enable_cuda_graph_for_method", std::string("forward"))};
  const AppStream stream;
  const Resident model(host);
  REQUIRE(model.method->set_stream("CudaBackend", stream.get()).ok());
  const auto capturing = host.load({}, as_graph);
  const auto other = host.load({}, as_graph);
  REQUIRE((capturing.ok() && other.ok()));
  for (int i = 0; i < 3; ++i) REQUIRE(run(**capturing, 1).ok());
  const auto input = filled(1, 64);
  REQUIRE((*other)->set_input(0, {ScalarType::Float, {&Resident::size, 1}, input}).ok());
  model.execute();
  DuringCapture during{&model, other->get(), {}};
  const auto meanwhile = [](void* context) {
    auto& work = *static_cast<DuringCapture*>(context);
    std::thread([&] {
      work.copied = work.model->weight.try_first();
      work.ran = work.graph->execute();
    }).join();
  };
  cuda().after_call("cuStreamBeginCapture", meanwhile, &during);
  const auto out = run(**capturing, 2);
  INFO(out.text() << during.ran.text() << host.log() << misuses());
  REQUIRE(out.ok());
  CHECK(out->state == 1.0f);
  CHECK(count_calls("cuGraphLaunch") == 1);
  CHECK(during.copied == 3.0f);
  CHECK(during.ran.ok());
  CHECK(host.log().find("without a CUDA graph") == std::string::npos);
}

TEST_CASE("a delegate's stream has the priority that the application asks for",
          "[cuda][TN-SCH-1]") {
  CudaHost host;
  REQUIRE(host.load({}).ok());
  CHECK(count_calls("cuStreamCreateWithPriority") == 0);
  const auto priority_with = [&](Priority priority, Options options = {}) -> long {
    cuda().reset();
    host.scheduling = {.priority = priority};
    const auto method = host.load_ok({}, std::move(options));
    for (long i = 0; i < cuda().num_calls(); ++i) {
      const stand_in_cuda::Call call = cuda().call(i);
      if (std::string_view(call.name) == "cuStreamCreateWithPriority") {
        return -static_cast<long>(call.nbytes);
      }
    }
    return 1;
  };
  CHECK(priority_with(Priority::Low) == 0);
  CHECK(priority_with(Priority::Normal) == -2);
  CHECK(priority_with(Priority::High) == -5);
  CHECK(priority_with(static_cast<Priority>(77)) == 1);
  CHECK(priority_with(Priority::High, {option("use_shared_cuda_stream", true)}) == 1);
  CHECK(priority_with(Priority::High, {option("enable_cuda_graph_for_method", "forward")}) == -5);
}

TEST_CASE("a failure of the driver with a priority fails the load", "[cuda]") {
  CudaHost host;
  host.scheduling = {.priority = Priority::High};
  REQUIRE(host.load({}).ok());
  for (const char* name : {"cuCtxGetStreamPriorityRange", "cuStreamCreateWithPriority"}) {
    cuda().reset();
    REQUIRE(host.load({}).ok());
    long index = 0;
    while (std::string_view(cuda().call(index).name) != name) ++index;
    cuda().reset();
    cuda().fail_at(index, 2);
    const auto failed = host.load({});
    CHECK_FALSE(failed.ok());
    REQUIRE(cuda().failed_call() != nullptr);
    CHECK(std::string_view(cuda().failed_call()) == name);
  }
}

namespace cuda_copies_test {
namespace {

long copies_by_the_host() {
  return count_calls("cuMemcpyHtoDAsync") + count_calls("cuMemcpyDtoHAsync") +
         count_calls("cuMemHostAlloc");
}

/// A block of any device.
class Block {
 public:
  Block(CudaHost& host, std::int32_t device, float value)
      : memory(*host::DeviceMemory::of(host.backend(), {TENON_DL_CUDA, device})),
        address(*memory.allocate(64, 256)) {
    REQUIRE(memory.copy_to_device(address, filled(value, 64).data(), 64).ok());
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { memory.free(address); }

  [[nodiscard]] float first() const {
    std::vector<std::byte> bytes(64);
    REQUIRE(memory.copy_to_host(bytes.data(), address, 64).ok());
    const auto value = read_le<float>(bytes);
    REQUIRE(value.has_value());
    return *value;
  }

  host::DeviceMemory memory;
  void* address;
};

}  // namespace

TEST_CASE("a chain of three delegates on one device makes no copy through the host", "[cuda]") {
  CudaHost host;
  const Resident first(host), second(host), third(host);
  // A delegate's state is the input of its run before, 10 at first.
  REQUIRE(second.method->set_input(0, first.state.input(Resident::size)).ok());
  REQUIRE(third.method->set_input(0, second.state.input(Resident::size)).ok());
  const long before = copies_by_the_host();
  for (int i = 0; i < 4; ++i) {
    for (const Resident* each : {&first, &second, &third}) each->execute();
  }
  CHECK(copies_by_the_host() == before);
  CHECK(third.state.first() == 1.0f);
}

TEST_CASE("a copy from device to device has no bytes on the host", "[cuda][TN-DEV-9]") {
  CudaHost host({.num_devices = 2});
  const std::int32_t target = GENERATE(0, 1);
  const Block from(host, 0, 5), to(host, target, 6);
  const long before = copies_by_the_host();
  const Status copied =
      to.memory.copy_on(nullptr, to.address, from.memory.device(), from.address, 64);
  INFO(copied.text() << misuses());
  REQUIRE(copied.ok());
  CHECK(copies_by_the_host() == before);
  CHECK(count_calls("cuMemcpyAsync") == 1);
  CHECK(to.first() == 5.0f);
  CHECK(from.first() == 5.0f);
}

TEST_CASE("a copy from device to device comes after runs on the caller's stream",
          "[cuda][TN-DEV-7]") {
  CudaHost host;
  const AppStream stream;
  const Resident model(host);
  const Block to(host, 0, 6);
  REQUIRE(model.method->set_stream("CudaBackend", stream.get()).ok());
  model.execute();
  REQUIRE(to.memory.copy_on(nullptr, to.address, AppBlock::device, model.state.bytes().data(), 64)
              .ok());
  CHECK(to.first() == 10.0f);
}

TEST_CASE("a copy on the caller's stream is enqueued there, in order", "[cuda][TN-DEV-10]") {
  CudaHost host;
  const AppStream stream;
  const Resident model(host);
  const Block to(host, 0, 6);
  REQUIRE(model.method->set_stream("CudaBackend", stream.get()).ok());
  model.execute();
  const long waits = count_calls("cuStreamSynchronize");
  REQUIRE(
      to.memory.copy_on(stream.get(), to.address, AppBlock::device, model.state.bytes().data(), 64)
          .ok());
  model.execute();  // The state is another one after it.
  CHECK(count_calls("cuStreamSynchronize") == waits);
  CHECK(cuda().num_pending(stream.get()) > 0);
  CHECK(to.first() == 10.0f);
}

TEST_CASE("a failed copy from device to device is an error, and an unknown device is refused",
          "[cuda]") {
  CudaHost host;
  const Block from(host, 0, 5), to(host, 0, 6);
  const auto copy = [&](tenon_dl_device device) {
    return to.memory.copy_on(nullptr, to.address, device, from.address, 64);
  };
  CHECK(copy({TENON_DL_CPU, 0}).error() == Error::InvalidArgument);
  CHECK_FALSE(copy({TENON_DL_CUDA, 9}).ok());
  for (const char* const name : {"cuMemcpyAsync", "cuStreamSynchronize"}) {
    cuda().reset();
    REQUIRE(copy({TENON_DL_CUDA, 0}).ok());
    long index = 0;
    while (std::string_view(cuda().call(index).name) != name) ++index;
    cuda().reset();
    cuda().fail_at(index, 1);
    CHECK_FALSE(copy({TENON_DL_CUDA, 0}).ok());
    cuda().fail_at(-1, 0);
  }
}

}  // namespace cuda_copies_test
