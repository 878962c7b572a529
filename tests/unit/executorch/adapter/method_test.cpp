// SPDX-License-Identifier: MIT
//
// Programs of the stock runtime, whose delegates are plugins.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "unit/executorch/adapter/stock.hpp"

using namespace tenon;
using namespace tenon::test;

namespace method_test {

et::Error run(StockMethod& method, const std::vector<float>& values) {
  auto in = floats({static_cast<std::int32_t>(values.size())}, values);
  REQUIRE(method->set_input(in.value(), 0) == et::Error::Ok);
  return method->execute();
}

/// The resident pages of this process.
std::size_t resident_pages() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident;
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

}  // namespace method_test

using namespace method_test;

TEST_CASE("ExecuTorch initialises, runs and destroys delegates of a plugin in its order",
          "[executorch]") {
  const StockProgram program(chain_of({"a", "b"}));
  calls().clear();
  {
    StockMethod method(program);
    REQUIRE(method.ok());
    CHECK(run(method, {1, 2, 3, 4}) == et::Error::Ok);
  }
  CHECK(calls() == std::vector<std::string>{"init a", "init b", "execute a", "execute b",
                                            "destroy a", "destroy b"});
}

TEST_CASE("the demo backend computes the same in ExecuTorch as in Tenon's host", "[executorch]") {
  const std::string op = "op:demo::aten.sin.default, numel:4, dtype:torch.float32<debug_handle>1#";
  const StockProgram program(chain_of({"1version:0#" + op}, {.id = "BackendWithCompilerDemo"}));
  StockMethod method(program);
  REQUIRE(method.ok());
  for (const float x : {0.25f, -3.0f}) {
    REQUIRE(run(method, {x, 1, 2, 3}) == et::Error::Ok);
    CHECK(method.output() ==
          std::vector<float>{std::sin(x), std::sin(1.f), std::sin(2.f), std::sin(3.f)});
  }
}

TEST_CASE("several delegates and methods of one plugin keep their own state", "[executorch]") {
  const StockProgram program(chain_of({"scale", "a", "scale"}));
  StockMethod first(program), second(program);
  REQUIRE(run(first, {1, 2, 3, 4}) == et::Error::Ok);
  REQUIRE(run(second, {5, 6, 7, 8}) == et::Error::Ok);
  CHECK(first.output() == std::vector<float>{2, 4, 6, 8});
  CHECK(second.output() == std::vector<float>{10, 12, 14, 16});
}

TEST_CASE("a plugin resizes an output of dynamic shape up to its room and no further",
          "[executorch]") {
  const StockProgram program(chain_of({"scale"}, {.dynamic = true}));
  StockMethod method(program);
  for (const std::vector<float>& values :
       {std::vector<float>{1, 2}, {1, 2, 3, 4}, {}, {7}, {1, 2, 3}}) {
    REQUIRE(run(method, values) == et::Error::Ok);
    std::vector<float> expected = values;
    for (float& each : expected) each *= 2;
    CHECK(method.output() == expected);
    const auto sizes = method->get_output(0).toTensor().sizes();
    REQUIRE(sizes.size() == 1);
    CHECK(static_cast<std::size_t>(sizes[0]) == values.size());
  }

  const StockProgram growing(chain_of({"grow"}, {.id = "Values", .dynamic = true}));
  StockMethod greedy(growing);
  CHECK(run(greedy, {1, 2, 3, 4}) == et::Error::NotSupported);
  CHECK_THAT(last_text(), ContainsSubstring("backend Values: execute: argument 1: cannot resize"));
  CHECK(greedy->get_output(0).toTensor().numel() == 4);
}

TEST_CASE("a failed init leaves nothing, and its number and text arrive",
          "[executorch][TN-INI-1]") {
  const StockProgram program(chain_of({"a", "fail-init", "c"}));
  calls().clear();
  const StockMethod method(program);
  CHECK(method.error == et::Error::DelegateInvalidCompatibility);
  CHECK(calls() == std::vector<std::string>{"init a", "init fail-init", "destroy a"});
  CHECK(bridge::last_error().error() == Error::DelegateInvalidCompatibility);
  CHECK(last_text() == "backend Test: init: payload 9, expected 1 to 3");
}

TEST_CASE("a failed execute returns its number and text, and the method runs again",
          "[executorch][TN-EXE-3]") {
  const StockProgram program(chain_of({"fail-execute"}));
  StockMethod method(program);
  for (int i = 0; i < 2; ++i) {
    bridge::clear_last_error();
    CHECK(run(method, {1, 2, 3, 4}) == et::Error::OutOfResources);
    CHECK(last_text() == "backend Test: execute: the device is gone");
  }
  const StockProgram throwing(chain_of({"throw"}));
  StockMethod thrown(throwing);
  CHECK(run(thrown, {1, 2, 3, 4}) == et::Error::Internal);
  CHECK_THAT(last_text(), ContainsSubstring("thrown by the author"));
}

TEST_CASE("a long text is kept whole and logged in lines that ExecuTorch does not cut",
          "[executorch]") {
  const StockProgram program(chain_of({"long"}, {.id = "Values"}));
  StockMethod method(program);
  CHECK(run(method, {1, 2, 3, 4}) == et::Error::DelegateInvalidHandle);
  const std::string text = last_text();
  CHECK(text == "backend Values: execute: " + std::string(300, 'a') + " " + std::string(300, 'b') +
                    "\\nsecond line \xc3\xa9");
  std::string_view rest = text;
  std::string joined;
  while (!rest.empty()) {
    const std::size_t size = bridge::detail::log_piece(rest, 240);
    REQUIRE(size <= 240);
    REQUIRE(size > 0);
    joined += rest.substr(0, size);
    rest.remove_prefix(size);
    if (!rest.empty() && (rest.front() == ' ' || rest.front() == '\n')) {
      joined += rest.front();
      rest.remove_prefix(1);
    }
  }
  CHECK(joined == text);
  // A character of two bytes is not torn apart.
  CHECK(bridge::detail::log_piece(std::string(239, 'x') + "\xc3\xa9", 240) == 239);
}

TEST_CASE("named data reaches a plugin, and buffers that it keeps are freed after it",
          "[executorch]") {
  const StockProgram program(
      chain_of({"keep weights", "release weights", "keys"},
               {.id = "Values", .named_data = {{"weights", "42"}, {"other", ""}}}));
  seen().clear();
  StockMethod method(program);
  REQUIRE(method.ok());
  CHECK(seen() == std::vector<std::string>{"data 42", "data 42", "key weights", "key other"});

  const StockProgram missing(
      chain_of({"keep wieghts"}, {.id = "Values", .named_data = {{"weights", "42"}}}));
  CHECK(StockMethod(missing).error == et::Error::NotFound);
  CHECK_THAT(last_text(), ContainsSubstring("wieghts"));
  seen().clear();
  CHECK(StockMethod(StockProgram(chain_of({"keys"}, {.id = "Values"}))).ok());
  CHECK(seen() == std::vector<std::string>{"no keys"});
}

TEST_CASE("tensors of a data file reach a plugin with their layout", "[executorch]") {
  const AlignedBytes bytes = data_file();
  ::executorch::extension::BufferDataLoader loader(bytes.bytes().data(), bytes.bytes().size());
  const auto data = ::executorch::extension::FlatTensorDataMap::load(&loader);
  REQUIRE(data.ok());
  const StockProgram program(chain_of({"keep weights", "keys"}, {.id = "Values"}));
  seen().clear();
  const StockMethod method(program, {nullptr, nullptr, &*data});
  REQUIRE(method.ok());
  const float one = 1, two = 2;
  std::string raw(sizeof one + sizeof two, '\0');
  std::memcpy(raw.data(), &one, sizeof one);
  std::memcpy(raw.data() + sizeof one, &two, sizeof two);
  CHECK(seen() == std::vector<std::string>{"data " + raw, "key weights Float [2, 1] order [0, 1]"});
}

TEST_CASE("the method's name, compile specs, options of the load and the blob reach init",
          "[executorch]") {
  const StockProgram program(
      chain_of({"context"}, {.id = "Values", .compile_specs = {{"one", "1"}, {"two", ""}}}));
  et::BackendOptions<4> options;
  REQUIRE(options.set_option("fast", true) == et::Error::Ok);
  REQUIRE(options.set_option("count", 9) == et::Error::Ok);
  REQUIRE(options.set_option("scale", "0.25") == et::Error::Ok);
  REQUIRE(options.set_option("label", "here") == et::Error::Ok);
  et::LoadBackendOptionsMap map;
  REQUIRE(map.set_options("Values", options.view()) == et::Error::Ok);
  seen().clear();
  const StockMethod method(program, {nullptr, &map});
  REQUIRE(method.ok());
  CHECK(seen() == std::vector<std::string>{"method forward", "spec one=1", "spec two=",
                                           "options true 9 0.25 here", "blob of 0 bytes"});

  et::BackendOptions<1> wrong;
  REQUIRE(wrong.set_option("fats", true) == et::Error::Ok);
  et::LoadBackendOptionsMap wrong_map;
  REQUIRE(wrong_map.set_options("Values", wrong.view()) == et::Error::Ok);
  CHECK(StockMethod(program, {nullptr, &wrong_map}).error == et::Error::NotFound);
  CHECK_THAT(last_text(), ContainsSubstring("'fats'") && ContainsSubstring("fast, count"));
}

TEST_CASE("memory of the method and of one call reaches a plugin", "[executorch]") {
  const StockProgram program(chain_of({"runtime 4096", "temp 100000"}, {.id = "Values"}));
  StockMethod method(program);
  REQUIRE(method.ok());
  for (int i = 0; i < 3; ++i) CHECK(run(method, {1, 2, 3, 4}) == et::Error::Ok);
}

TEST_CASE("a warm execute through the adapter asks for no memory", "[executorch]") {
  const StockProgram program(chain_of({"quiet", "scale"}, {.dynamic = true}));
  StockMethod method(program);
  REQUIRE(run(method, {1, 2, 3, 4}) == et::Error::Ok);
  REQUIRE(method->execute() == et::Error::Ok);
  const std::size_t before = num_allocations();
  for (int i = 0; i < 100; ++i) {
    if (method->execute() != et::Error::Ok) FAIL();
  }
  CHECK(num_allocations() == before);
}

TEST_CASE("a thousand loads and destroys leave nothing behind", "[executorch]") {
  const StockProgram program(
      chain_of({"keep weights", "runtime 64"},
               {.id = "Values", .named_data = {{"weights", std::string(5000, 'w')}}}));
  const StockProgram failing(chain_of({"quiet", "fail-init"}));
  const auto round = [&] {
    StockMethod method(program);
    if (!method.ok() || run(method, {1, 2, 3, 4}) != et::Error::Ok) FAIL();
  };
  for (int i = 0; i < 50; ++i) round();
  const std::size_t pages = resident_pages();
  const std::size_t descriptors = open_descriptors();
  for (int i = 0; i < 1000; ++i) {
    round();
    seen().clear();
  }
  // A page for each round would be a leak; the allocator's own noise is far below that. Sanitizers
  // keep what was freed, and have a leak check of their own.
  const bool is_sanitized = num_allocations() == 0;
  CHECK((is_sanitized || resident_pages() <= pages + 256));
  CHECK(open_descriptors() == descriptors);
}

TEST_CASE("two threads run methods of one plugin at the same time", "[executorch][threads]") {
  const StockProgram program(chain_of({"quiet", "scale"}, {.dynamic = true}));
  std::array<std::thread, 2> threads;
  std::array<int, 2> good{};
  for (std::size_t t = 0; t < threads.size(); ++t) {
    threads[t] = std::thread([&, t] {
      for (int round = 0; round < 20; ++round) {
        StockMethod method(program);
        for (int i = 0; i < 20; ++i) {
          std::vector<float> values(1 + static_cast<std::size_t>(i) % 4, static_cast<float>(t + 1));
          auto in = floats({static_cast<std::int32_t>(values.size())}, values);
          if (!method.ok() || method->set_input(in.value(), 0) != et::Error::Ok) continue;
          if (method->execute() != et::Error::Ok) continue;
          for (float& each : values) each *= 2;
          if (method.output() == values) ++good[t];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == std::array<int, 2>{400, 400});
}

TEST_CASE("each thread has a last error of its own", "[executorch][threads]") {
  const StockProgram program(chain_of({"fail-execute"}));
  StockMethod method(program);
  bridge::clear_last_error();
  std::thread([&] {
    auto in = floats({4}, {1, 2, 3, 4});
    static_cast<void>(method->set_input(in.value(), 0));
    static_cast<void>(method->execute());
  }).join();
  CHECK(bridge::last_error().ok());
}
