// SPDX-License-Identifier: MIT
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "models.hpp"
#include "support/catch.hpp"
#include "unit/core/test_tensor.hpp"

using namespace tenon;
using namespace tenon::aoti;
using namespace tenon::test;

namespace {

/// Weights of the stand-in: w[0], then s[0], each in 64 bytes.
class WeightsBlob {
 public:
  WeightsBlob(float weight, float state) {
    std::memcpy(data_, &weight, sizeof weight);
    std::memcpy(data_ + 64, &state, sizeof state);
  }
  [[nodiscard]] Bytes bytes() const { return data_; }

 private:
  alignas(64) std::byte data_[128]{};
};

/// A loaded stand-in, with a function that makes instances of it.
struct Loaded {
  explicit Loaded(const std::string& name,
                  const void* (*find)(std::string_view) = &find_host_shim) {
    auto loaded = ModelLibrary::load(stand_in(name).bytes(), find);
    INFO(loaded.text());
    REQUIRE(loaded.ok());
    library = std::make_unique<ModelLibrary>(*std::move(loaded));
  }
  Result<std::unique_ptr<Instance>> instance(std::optional<Bytes> blob, bool in_place = true) {
    TENON_TRY(const ContainerApi api, ContainerApi::find(*library));
    return Instance::create(api, host_memory(), "cpu", {.blob = blob, .in_place = in_place});
  }
  /// With its weights by name, as a table of generation 3 has them.
  Result<std::unique_ptr<Instance>> instance(Bytes weight, Bytes state) {
    TENON_TRY(const ContainerApi api, ContainerApi::find(*library));
    NamedWeight each{};
    each.scalar_type = ScalarType::Float;
    each.device_type = TorchDeviceType::cpu;
    each.sizes = {16};
    each.strides = {1};
    std::vector<NamedWeight> named(2, each);
    named[0].name = "layer.weight";
    named[1].name = "_frozen_param7";
    const Bytes bytes[] = {weight, state};
    return Instance::create(api, host_memory(), "cpu", {.named = named, .named_bytes = bytes});
  }
  std::unique_ptr<ModelLibrary> library;
};

/// Whether each constant that a model took by name is fixed, in the model's order.
std::vector<bool> taken;

/// `find_host_shim`, with a function that notes the constants that a model takes.
const void* find_noting_shim(std::string_view name) {
  using NewHandle = ShimError (*)(ModelTensor*, ModelTensor**);
  if (name != "aoti_torch_new_tensor_handle") return find_host_shim(name);
  static constexpr NewHandle note = [](ModelTensor* from, ModelTensor** out) -> ShimError {
    taken.push_back(from->storage->is_fixed);
    const auto real = reinterpret_cast<NewHandle>(
        const_cast<void*>(find_host_shim("aoti_torch_new_tensor_handle")));
    return real(from, out);
  };
  return reinterpret_cast<const void*>(note);
}

Status run(Instance& instance, TestTensor& x, TestTensor& y) {
  const TestArgs args({x.value(), y.value()});
  return instance.run(args.view());
}

/// The output for `input`.
std::vector<float> run_on(Instance& instance, std::initializer_list<float> input) {
  const auto size = static_cast<std::int64_t>(input.size());
  TestTensor x({size}, input);
  TestTensor y(ScalarType::Float, {size});
  const Status status = run(instance, x, y);
  INFO(status.text());
  REQUIRE(status.ok());
  return y.elements<float>();
}

}  // namespace

TEST_CASE("a model runs with its weights and keeps its state", "[aoti]") {
  const WeightsBlob blob(3.0f, 10.0f);
  Loaded model("good");
  for (const bool in_place : {true, false}) {
    auto instance = model.instance(blob.bytes(), in_place);
    INFO(instance.text());
    REQUIRE(instance.ok());
    CHECK(run_on(**instance, {1.0f, 2.0f}) == std::vector{13.0f, 16.0f});
    CHECK(run_on(**instance, {1.0f, 2.0f}) == std::vector{14.0f, 17.0f});
    CHECK((*instance)->has_state());
    CHECK((*instance)->own_weights() == (in_place ? 64u : 128u));
  }
  // The state belongs to the instance: the blob is unchanged.
  CHECK(std::memcmp(blob.bytes().data(), WeightsBlob(3.0f, 10.0f).bytes().data(), 128) == 0);
}

TEST_CASE("weights are used in place", "[aoti]") {
  WeightsBlob blob(3.0f, 0.0f);
  Loaded model("good");
  auto instance = model.instance(blob.bytes());
  REQUIRE(instance.ok());
  blob = WeightsBlob(5.0f, 100.0f);  // The parameter is read from here; the state was copied.
  CHECK(run_on(**instance, {1.0f}) == std::vector{5.0f});
}

TEST_CASE("what the compiler folded is no state and is used in place", "[aoti]") {
  const WeightsBlob blob(3.0f, 10.0f);
  for (const bool is_frozen : {true, false}) {
    Loaded model(is_frozen ? "is_frozen" : "is_named_otherwise");
    auto instance = model.instance(blob.bytes());
    INFO(instance.text());
    REQUIRE(instance.ok());
    CHECK((*instance)->has_state() == !is_frozen);
    CHECK((*instance)->own_weights() == (is_frozen ? 0u : 64u));
    CHECK(run_on(**instance, {1.0f}) == std::vector{13.0f});
  }
}

TEST_CASE("constants by name are fixed where nothing writes to them and they are in place",
          "[aoti]") {
  const WeightsBlob blob(3.0f, 10.0f);
  const Bytes weight = blob.bytes().first(64), state = blob.bytes().subspan(64);
  alignas(64) std::byte moved[128];
  std::memcpy(moved + 1, weight.data(), weight.size());
  for (const bool is_frozen : {true, false}) {
    for (const bool is_aligned : {true, false}) {
      INFO("frozen " << is_frozen << " aligned " << is_aligned);
      taken.clear();
      Loaded model(is_frozen ? "is_frozen" : "is_named_otherwise", &find_noting_shim);
      auto instance = model.instance(is_aligned ? weight : Bytes(moved + 1, 64), state);
      INFO(instance.text());
      REQUIRE(instance.ok());
      CHECK((*instance)->has_state() == !is_frozen);
      CHECK(taken == std::vector{is_aligned, is_frozen});
      CHECK(run_on(**instance, {1.0f}) == std::vector{13.0f});
    }
  }
}

TEST_CASE("instances share weights and not state", "[aoti]") {
  const WeightsBlob blob(1.0f, 0.0f);
  Loaded model("good");
  auto first = model.instance(blob.bytes());
  auto second = model.instance(blob.bytes());
  REQUIRE((first.ok() && second.ok()));
  TestTensor x({1}, {0.0f});
  TestTensor y(ScalarType::Float, {1});
  for (int i = 0; i < 3; ++i) REQUIRE(run(**first, x, y).ok());
  REQUIRE(run(**second, x, y).ok());
  CHECK(y.elements<float>() == std::vector{0.0f});
}

TEST_CASE("weights that are missing or too short are refused", "[aoti]") {
  const WeightsBlob blob(1.0f, 0.0f);
  Loaded model("good");
  const auto missing = model.instance(std::nullopt);
  CHECK(missing.error() == Error::NotFound);
  CHECK_THAT(std::string(missing.text()), ContainsSubstring("128 bytes of weights"));
  const auto too_short = model.instance(blob.bytes().first(127));
  CHECK(too_short.error() == Error::InvalidExternalData);
  CHECK_THAT(std::string(too_short.text()), ContainsSubstring("expected 128 bytes, found 127"));
}

TEST_CASE("a failure of the model comes with its own words", "[aoti]") {
  const WeightsBlob blob(1.0f, 0.0f);
  Loaded create("fails_to_create");
  CHECK_THAT(std::string(create.instance(blob.bytes()).text()),
             ContainsSubstring("AOTInductorModelContainerCreateWithDevice failed: no model today"));
  Loaded weights("fails_to_load_weights");
  CHECK_THAT(std::string(weights.instance(blob.bytes()).text()),
             ContainsSubstring("these weights are not mine"));
  Loaded functions("has_no_outputs_function");
  const auto instance = functions.instance(blob.bytes());
  CHECK(instance.error() == Error::InvalidProgram);
  CHECK_THAT(std::string(instance.text()),
             ContainsSubstring("AOTInductorModelContainerGetNumOutputs"));
}

TEST_CASE("a run that fails leaves the instance ready for the next one", "[aoti][TN-EXE-3]") {
  const WeightsBlob blob(1.0f, 0.0f);
  Loaded fails("fails_to_run");
  auto instance = fails.instance(blob.bytes());
  REQUIRE(instance.ok());
  TestTensor x({1}, {1.0f});
  TestTensor y(ScalarType::Float, {1});
  for (int i = 0; i < 3; ++i) {
    const Status status = run(**instance, x, y);
    CHECK(status.error() == Error::Internal);
    CHECK_THAT(std::string(status.text()), ContainsSubstring("not in the mood"));
  }
}

TEST_CASE("a check of the model that fails ends its run and not the process", "[aoti]") {
  const WeightsBlob blob(1.0f, 0.0f);
  Loaded model("good");
  auto instance = model.instance(blob.bytes());
  REQUIRE(instance.ok());
  TestTensor wide({1, 1}, {1.0f});
  TestTensor y(ScalarType::Float, {1});
  const Status status = run(**instance, wide, y);
  CHECK_THAT(std::string(status.text()), ContainsSubstring("expected one dimension of float32"));
  TestTensor x({1}, {1.0f});
  CHECK(run(**instance, x, y).ok());
}

TEST_CASE("memory that the model cannot get is a failure that names the function", "[aoti]") {
  const WeightsBlob blob(1.0f, 0.0f);
  Loaded greedy("asks_for_too_much");
  auto instance = greedy.instance(blob.bytes());
  REQUIRE(instance.ok());
  TestTensor x({1}, {1.0f});
  TestTensor y(ScalarType::Float, {1});
  CHECK_THAT(std::string(run(**instance, x, y).text()), ContainsSubstring("no memory for"));
}

TEST_CASE("arguments that do not fit the model are refused", "[aoti][TN-EXE-5]") {
  const WeightsBlob blob(1.0f, 0.0f);
  Loaded model("good");
  auto instance = model.instance(blob.bytes());
  REQUIRE(instance.ok());
  TestTensor x({1}, {1.0f});
  TestTensor y(ScalarType::Float, {1});
  const TestArgs one({x.value()});
  CHECK_THAT(std::string((*instance)->run(one.view()).text()),
             ContainsSubstring("expected 2, found 1"));
  tenon_host host{};
  host.resize_tensor = [](const tenon_host*, tenon_tensor*, const std::int64_t*,
                          std::uint32_t) -> tenon_status { return TENON_STATUS_NOT_SUPPORTED; };
  TestTensor larger(ScalarType::Float, {5});
  CHECK((*instance)->run(TestArgs({x.value(), larger.value()}).view(&host)).error() ==
        Error::NotSupported);
  TestTensor whole(ScalarType::Long, {1});
  CHECK((*instance)->run(TestArgs({x.value(), whole.value()}).view()).error() ==
        Error::InvalidType);
  CHECK(run(**instance, x, y).ok());
}
