// SPDX-License-Identifier: MIT
//
// Instances on a device with memory of its own. The device here is simulated: its blocks are in the
// host's memory, and calls are counted.
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "models.hpp"
#include "support/catch.hpp"
#include "unit/core/test_tensor.hpp"

using namespace tenon;
using namespace tenon::aoti;
using namespace tenon::test;

namespace device_test {
namespace {

/// A device that records its calls and can fail at the Nth one.
struct FarDevice {
  std::set<std::byte*> blocks;
  int num_uploads = 0;
  int num_downloads = 0;
  int num_copies_within = 0;
  int num_waits = 0;
  int calls_until_failure = -1;
  Bytes reached{};  ///< Memory of the host that it works on where it is.
  bool copies_at_once = false;

  Status next_call(const char* name) {
    if (calls_until_failure < 0 || calls_until_failure-- > 0) return ok();
    return error(Error::Internal, "FarDevice: ", name, " failed");
  }
};

FarDevice& far(void* context) { return *static_cast<FarDevice*>(context); }

int own_stream = 0;
int other_stream = 0;

DeviceMemoryApi far_memory(const std::shared_ptr<FarDevice>& device) {
  DeviceMemoryApi out;
  out.device_type = TorchDeviceType::cuda;
  out.device_index = 1;
  out.dl_device = {TENON_DL_CUDA, 1};
  out.stream = &own_stream;
  out.context = device;
  out.allocate = [](void* context, std::size_t nbytes) -> Result<std::byte*> {
    TENON_RETURN_IF_ERROR(far(context).next_call("allocate"));
    TENON_TRY(std::byte* const block, allocate_host(nbytes));
    far(context).blocks.insert(block);
    return block;
  };
  out.free = [](void* context, std::byte* block) noexcept {
    CHECK(far(context).blocks.erase(block) == 1);
    std::free(block);
  };
  out.copy = [](void* context, void*, CopyKind kind, std::byte* to, const std::byte* from,
                std::size_t nbytes) -> Status {
    TENON_RETURN_IF_ERROR(far(context).next_call("copy"));
    far(context).num_uploads += kind == CopyKind::to_device;
    far(context).num_downloads += kind == CopyKind::to_host;
    far(context).num_copies_within += kind == CopyKind::within_device;
    std::memcpy(to, from, nbytes);
    return ok();
  };
  out.reaches = [](void* context, const std::byte* bytes, std::size_t nbytes) noexcept {
    const Bytes reached = far(context).reached;
    return bytes >= reached.data() && bytes + nbytes <= reached.data() + reached.size();
  };
  out.copies_at_once = device->copies_at_once;
  out.copy_strided = [](void* context, void*, const StridedCopy& copy) -> Status {
    TENON_RETURN_IF_ERROR(far(context).next_call("copy_strided"));
    copy_strided(copy.to, copy.to_strides, copy.from, copy.from_strides, copy.sizes,
                 copy.element_size);
    return ok();
  };
  out.zero = [](void* context, void*, std::byte* to, std::size_t nbytes) -> Status {
    TENON_RETURN_IF_ERROR(far(context).next_call("zero"));
    std::memset(to, 0, nbytes);
    return ok();
  };
  out.synchronize = [](void* context, void*) -> Status {
    ++far(context).num_waits;
    return far(context).next_call("synchronize");
  };
  return out;
}

/// The stand-in whose tensors are on a device, and that device.
struct OnDevice {
  explicit OnDevice(const char* name = "is_on_device") {
    auto loaded = ModelLibrary::load(stand_in(name).bytes(), &find_host_shim);
    INFO(loaded.text());
    REQUIRE(loaded.ok());
    library = std::make_unique<ModelLibrary>(*std::move(loaded));
    const float weight = 3;
    const float state = 10;
    std::memcpy(blob, &weight, sizeof weight);
    std::memcpy(blob + 64, &state, sizeof state);
  }
  Result<std::unique_ptr<Instance>> instance(DeviceWeights& weights) const {
    TENON_TRY(const ContainerApi api, ContainerApi::find(*library));
    return Instance::create(api, far_memory(device), "cuda:1",
                            {.blob = Bytes(blob), .on_device = &weights});
  }

  std::unique_ptr<ModelLibrary> library;
  alignas(64) std::byte blob[128]{};
  std::shared_ptr<FarDevice> device = std::make_shared<FarDevice>();
  std::shared_ptr<DeviceWeightStore> store = std::make_shared<DeviceWeightStore>();
};

Status run(Instance& instance, TestTensor& x, TestTensor& y) {
  const TestArgs args({x.value(), y.value()});
  return instance.run(args.view());
}

void put_on_device(TestTensor& tensor, std::int32_t index = 1) {
  tensor.raw().dl.device = {TENON_DL_CUDA, index};
}

/// An instance with arguments of one element each, which are the host's.
struct OneElement {
  explicit OneElement(bool copies_at_once = false) : weights(model.store) {
    model.device->copies_at_once = copies_at_once;
    auto made = model.instance(weights);
    INFO(made.text());
    REQUIRE(made.ok());
    instance = *std::move(made);
  }
  Status run_once() { return run(*instance, x, y); }

  OnDevice model;
  DeviceWeights weights;
  std::unique_ptr<Instance> instance;
  FarDevice& device = *model.device;
  TestTensor x{{1}, {1.0f}};
  TestTensor y{ScalarType::Float, {1}};
};

}  // namespace

TEST_CASE("arguments of the host are copied to the device and back", "[aoti]") {
  OnDevice model;
  DeviceWeights weights(model.store);
  {
    auto instance = model.instance(weights);
    INFO(instance.text());
    REQUIRE(instance.ok());
    model.device->num_uploads = model.device->num_waits = 0;
    TestTensor x({2}, {1.0f, 2.0f});
    TestTensor y(ScalarType::Float, {2});
    REQUIRE(run(**instance, x, y).ok());
    CHECK(y.elements<float>() == std::vector{13.0f, 16.0f});
    CHECK(model.device->num_uploads == 1);
    CHECK(model.device->num_downloads == 1);
    CHECK(model.device->num_copies_within == 0);
    CHECK(model.device->num_waits == 1);
    const std::size_t num_blocks = model.device->blocks.size();
    REQUIRE(run(**instance, x, y).ok());
    CHECK(y.elements<float>() == std::vector{14.0f, 17.0f});
    CHECK(model.device->blocks.size() == num_blocks);
  }
  CHECK(weights.nbytes() == 64);
}

TEST_CASE("arguments on the device are used in place", "[aoti]") {
  OnDevice model;
  DeviceWeights weights(model.store);
  auto instance = model.instance(weights);
  REQUIRE(instance.ok());
  model.device->num_uploads = 0;
  TestTensor x({2}, {1.0f, 2.0f});
  TestTensor y(ScalarType::Float, {2});
  put_on_device(x);
  put_on_device(y);
  REQUIRE(run(**instance, x, y).ok());
  CHECK(y.elements<float>() == std::vector{13.0f, 16.0f});
  CHECK(model.device->num_uploads == 0);
  CHECK(model.device->num_downloads == 0);
  CHECK(model.device->num_copies_within == 1);
}

namespace {

/// Memory of the host that a device works on where it is, and tensors of two elements in it.
struct Reached {
  explicit Reached(FarDevice& device) { device.reached = Bytes(bytes); }
  void put(TestTensor& tensor, std::size_t offset) { tensor.raw().dl.data = bytes + offset; }
  [[nodiscard]] std::vector<float> at(std::size_t offset) const {
    std::vector<float> out(2);
    std::memcpy(out.data(), bytes + offset, 2 * sizeof(float));
    return out;
  }
  void set(std::size_t offset, float first, float second) {
    const float values[] = {first, second};
    std::memcpy(bytes + offset, values, sizeof values);
  }
  alignas(64) std::byte bytes[256]{};
};

/// An instance whose device reaches the host's memory.
struct ReachedModel {
  explicit ReachedModel(const char* name) : model(name) { REQUIRE(instance.ok()); }

  OnDevice model;
  Reached memory{*model.device};
  DeviceWeights weights{model.store};
  Result<std::unique_ptr<Instance>> instance = model.instance(weights);
  TestTensor x{ScalarType::Float, {2}};
  TestTensor y{ScalarType::Float, {2}};
};

}  // namespace

TEST_CASE("arguments that the device reaches are used in place", "[aoti]") {
  ReachedModel reached("is_on_device");
  float state = 10;
  const auto runs = [&](std::size_t x_at, std::size_t y_at, int uploads, int downloads) {
    CAPTURE(x_at, y_at, state);
    reached.memory.put(reached.x, x_at);
    reached.memory.put(reached.y, y_at);
    reached.memory.set(x_at, 1, 2);
    *reached.model.device = {reached.model.device->blocks, 0, 0, 0, 0, -1,
                             reached.model.device->reached};
    REQUIRE(run(**reached.instance, reached.x, reached.y).ok());
    CHECK(reached.memory.at(y_at) == std::vector{3 + state, 6 + state});
    CHECK(reached.model.device->num_uploads == uploads);
    CHECK(reached.model.device->num_downloads == downloads);
    CHECK(reached.model.device->num_copies_within == 0);
    CHECK(reached.model.device->num_waits == 1);
    state += 1;
  };
  runs(0, 64, 0, 1);  // Which tensor the model returns is not known before.
  runs(0, 64, 0, 0);
  const std::size_t num_blocks = reached.model.device->blocks.size();
  runs(64, 0, 0, 0);  // Other places.
  runs(128, 192, 0, 0);
  runs(4, 192, 1, 0);  // Not aligned as kernels need it.
  runs(128, 68, 0, 1);
  runs(0, 0, 0, 1);  // One memory for both.
  runs(0, 64, 0, 0);
  CHECK(reached.model.device->blocks.size() == num_blocks);
  // Partly outside of what it reaches.
  reached.model.device->reached = Bytes(reached.memory.bytes).first(68);
  runs(0, 64, 0, 1);
  runs(64, 0, 1, 0);
}

TEST_CASE("outputs are right when a model makes its tensors in another order", "[aoti]") {
  ReachedModel reached("makes_two_in_turns");
  TestTensor negative(ScalarType::Float, {2});
  reached.memory.put(reached.x, 0);
  reached.memory.put(reached.y, 64);
  reached.memory.put(negative, 128);
  reached.memory.set(0, 1, 2);
  for (float state = 10; state < 16; state += 1) {
    reached.memory.set(64, 0, 0);
    reached.memory.set(128, 0, 0);
    const TestArgs args({reached.x.value(), reached.y.value(), negative.value()});
    const Status status = (*reached.instance)->run(args.view());
    INFO(status.text());
    REQUIRE(status.ok());
    CHECK(reached.memory.at(64) == std::vector{3 + state, 6 + state});
    CHECK(reached.memory.at(128) == std::vector{-3 - state, -6 - state});
  }
  CHECK(reached.model.device->num_downloads == 12);
  CHECK((*reached.instance)->pool().num_live() == 2);  // The constants.
}

TEST_CASE("an argument on another device is refused", "[aoti][TN-EXE-5]") {
  OneElement one;
  put_on_device(one.y, 0);
  const Status status = one.run_once();
  CHECK(status.error() == Error::NotSupported);
  CHECK_THAT(std::string(status.text()),
             ContainsSubstring("argument 1: expected CPU memory or DLPack device type 2 index 1, "
                               "found type 2 index 0"));
}

TEST_CASE("weights are on the device once for each content, and states for each instance",
          "[aoti]") {
  OnDevice model;
  {
    DeviceWeights first_weights(model.store);
    DeviceWeights second_weights(model.store);
    auto first = model.instance(first_weights);
    auto second = model.instance(second_weights);
    auto session = model.instance(first_weights);
    REQUIRE((first.ok() && second.ok() && session.ok()));
    CHECK(model.store->nbytes() == 64);
    CHECK((*first)->own_weights() == 64);
    CHECK(model.device->blocks.size() == 4);  // One parameter and three states.
    TestTensor x({1}, {0.0f});
    TestTensor y(ScalarType::Float, {1});
    for (int i = 0; i < 3; ++i) REQUIRE(run(**first, x, y).ok());
    REQUIRE(run(**session, x, y).ok());
    CHECK(y.elements<float>() == std::vector{10.0f});
    const float other = 4;
    std::memcpy(model.blob, &other, sizeof other);
    DeviceWeights third_weights(model.store);
    auto third = model.instance(third_weights);
    REQUIRE(third.ok());
    CHECK(model.store->nbytes() == 128);
  }
  CHECK(model.store->nbytes() == 0);
  CHECK(model.device->blocks.empty());
}

TEST_CASE("a run on the caller's stream is waited for where it uses the host's memory",
          "[aoti][TN-STR-2][TN-STR-3]") {
  OneElement one;
  one.device.num_waits = 0;
  REQUIRE(one.instance->set_stream(&other_stream).ok());
  CHECK(one.device.num_waits == 1);  // For what was on the stream before.
  REQUIRE(one.run_once().ok());
  CHECK(one.device.num_waits == 2);
  put_on_device(one.x);
  put_on_device(one.y);
  REQUIRE(one.run_once().ok());
  CHECK(one.device.num_waits == 2);
  REQUIRE(one.instance->set_stream(nullptr).ok());
  REQUIRE(one.run_once().ok());
  CHECK(one.device.num_waits == 4);
}

TEST_CASE("copies that are complete at once are no reason to wait on the caller's stream",
          "[aoti]") {
  OneElement one(true);
  REQUIRE(one.instance->set_stream(&other_stream).ok());
  one.device.num_waits = 0;
  REQUIRE(one.run_once().ok());
  CHECK(one.device.num_waits == 0);
  // In place they are not complete before the run is.
  one.device.reached = Bytes(static_cast<const std::byte*>(one.x.raw().dl.data), sizeof(float));
  REQUIRE(one.run_once().ok());
  CHECK(one.device.num_waits == 1);
}

TEST_CASE("a run that is left unfinished is not waited for, wherever its arguments are", "[aoti]") {
  OneElement one;
  const Bytes input(static_cast<const std::byte*>(one.x.raw().dl.data), sizeof(float));
  for (const Bytes reached : {Bytes{}, input}) {
    one.device.reached = reached;
    one.device.num_waits = 0;
    one.instance->leave_unfinished(true);
    REQUIRE(one.run_once().ok());
    CHECK(one.device.num_waits == 0);
    one.instance->leave_unfinished(false);
    REQUIRE(one.run_once().ok());
    CHECK(one.device.num_waits == 1);
  }
}

TEST_CASE("a device that fails at any call is an error that names it, and nothing is left",
          "[aoti]") {
  OnDevice model;
  int num_failures = 0;
  for (int n = 0;; ++n) {
    model.device->calls_until_failure = n;
    const Status status = [&]() -> Status {
      DeviceWeights weights(model.store);
      TENON_TRY(auto instance, model.instance(weights));
      TestTensor x({1}, {1.0f});
      TestTensor y(ScalarType::Float, {1});
      return run(*instance, x, y);
    }();
    const bool is_through = model.device->calls_until_failure >= 0;
    model.device->calls_until_failure = -1;
    CHECK(model.device->blocks.empty());
    if (status.ok() && is_through) break;
    if (status.ok())
      continue;  // The destructor of an instance cannot report a failure of its wait.
    ++num_failures;
    INFO("call " << n << ": " << status.text());
    CHECK_THAT(std::string(status.text()), ContainsSubstring("FarDevice"));
  }
  CHECK(num_failures >= 8);
}

TEST_CASE("a pool of a device lends blocks of the host's memory too", "[aoti]") {
  const auto device = std::make_shared<FarDevice>();
  TensorPool pool(far_memory(device));
  const std::int64_t sizes[] = {10};
  aoti::ModelTensor* far_tensor =
      pool.empty_strided(sizes, nullptr, ScalarType::Float, TorchDeviceType::cuda, 1);
  aoti::ModelTensor* near_tensor =
      pool.empty_strided(sizes, nullptr, ScalarType::Float, TorchDeviceType::cpu, 0);
  REQUIRE((far_tensor && near_tensor));
  CHECK(device->blocks.size() == 1);
  CHECK(device->blocks.contains(far_tensor->data));
  CHECK(pool.empty_strided(sizes, nullptr, ScalarType::Float, TorchDeviceType::mps, 0) == nullptr);
  const std::byte* const block = near_tensor->data;
  pool.release(near_tensor);
  near_tensor = pool.empty_strided(sizes, nullptr, ScalarType::Float, TorchDeviceType::cpu, 0);
  CHECK(near_tensor->data == block);
  pool.release(near_tensor);
  pool.release(far_tensor);
}

TEST_CASE("tensors are cloned, copied and zeroed wherever they are", "[aoti]") {
  const auto device = std::make_shared<FarDevice>();
  TensorPool pool(far_memory(device));
  const CurrentPool current(pool);
  namespace shims = tenon::aoti::shims::on_device;
  const std::int64_t sizes[] = {2, 3};
  const std::int64_t transposed[] = {1, 2};
  const std::int64_t padded[] = {4, 1};
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  const auto element = [&](const aoti::ModelTensor& tensor, std::int64_t row, std::int64_t column) {
    return tensor.as<float>()[row * tensor.strides[0] + column * tensor.strides[1]];
  };
  const auto fill = [&](const aoti::ModelTensor& tensor) {
    for (std::int64_t i = 0; i < 6; ++i) {
      tensor.as<float>()[i / 3 * tensor.strides[0] + i % 3 * tensor.strides[1]] =
          numbers[static_cast<std::size_t>(i)];
    }
  };
  const std::int64_t* const layouts[] = {nullptr, transposed, padded};
  const TorchDeviceType devices[] = {TorchDeviceType::cpu, TorchDeviceType::cuda};
  for (const auto* from_layout : layouts) {
    for (const auto* to_layout : layouts) {
      for (const TorchDeviceType from_device : devices) {
        for (const TorchDeviceType to_device : devices) {
          aoti::ModelTensor* from =
              pool.empty_strided(sizes, from_layout, ScalarType::Float, from_device, 0);
          aoti::ModelTensor* to =
              pool.empty_strided(sizes, to_layout, ScalarType::Float, to_device, 0);
          REQUIRE((from && to));
          fill(*from);
          REQUIRE(shims::aoti_torch_copy_(to, from, 0) == shim_ok);
          aoti::ModelTensor* clone = nullptr;
          REQUIRE(shims::aoti_torch_clone(to, &clone) == shim_ok);
          for (std::int64_t i = 0; i < 6; ++i) {
            CHECK(element(*to, i / 3, i % 3) == numbers[static_cast<std::size_t>(i)]);
            CHECK(element(*clone, i / 3, i % 3) == numbers[static_cast<std::size_t>(i)]);
          }
          REQUIRE(shims::aoti_torch_zero_(to) == shim_ok);
          CHECK(element(*to, 1, 2) == 0);
          CHECK(element(*clone, 1, 2) == 6);
          for (aoti::ModelTensor* tensor : {from, to, clone}) pool.release(tensor);
        }
      }
    }
  }
  CHECK(pool.num_live() == 0);
}

TEST_CASE("one element is read from the device", "[aoti]") {
  const auto device = std::make_shared<FarDevice>();
  TensorPool pool(far_memory(device));
  const CurrentPool current(pool);
  const std::int64_t sizes[] = {1};
  aoti::ModelTensor* tensor =
      pool.empty_strided(sizes, nullptr, ScalarType::Bool, TorchDeviceType::cuda, 1);
  REQUIRE(tensor);
  *tensor->as<bool>() = true;
  bool out = false;
  CHECK(aoti::shims::on_device::aoti_torch_item_bool(tensor, &out) == shim_ok);
  CHECK(out);
  CHECK(device->num_downloads == 1);
  float number = 0;
  CHECK(aoti::shims::on_device::aoti_torch_item_float32(tensor, &number) == shim_failed);
  CHECK_THAT(pool.take_failure(), ContainsSubstring("expected one element of dtype Float"));
  pool.release(tensor);
}

}  // namespace device_test
