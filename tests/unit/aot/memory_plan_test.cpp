// SPDX-License-Identifier: MIT
#include "tenon/aot/compiler/emit/memory_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tenon/aot/compiler/emit/method_memory.hpp"

namespace tenon::test::memory_plan {

using aot::Lifetime;
using aot::MemoryPlan;
using aot::MemoryRequest;
using aot::MethodData;
using aot::Place;
using aot::ProgramDevice;
using aot::ProgramDeviceType;
using aot::ValueIndex;

std::uint64_t round_up(std::uint64_t number) { return (number + 15) / 16 * 16; }

/// The most bytes that are needed at one time, which no plan can go below.
std::uint64_t peak(const std::vector<MemoryRequest>& requests) {
  std::uint64_t out = 0;
  for (const auto& at : requests) {
    std::uint64_t bytes = 0;
    for (const auto& one : requests) {
      if (one.first <= at.first && at.first <= one.last) bytes += round_up(one.nbytes);
    }
    out = std::max(out, bytes);
  }
  return out;
}

TEST_CASE("Random requests never share bytes at one time and never need more than their sum") {
  std::mt19937_64 random(3);
  std::uint64_t planned = 0;
  std::uint64_t least = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<MemoryRequest> requests(random() % 40);
    std::uint64_t sum = 0;
    for (auto& one : requests) {
      one.nbytes = random() % 5 == 0 ? 0 : random() % 5000;
      one.first = static_cast<std::uint32_t>(random() % 50);
      one.last = one.first + static_cast<std::uint32_t>(random() % 8);
      sum += round_up(one.nbytes);
    }
    const auto plan = aot::plan_memory(requests);
    REQUIRE(plan.ok());
    const auto proof = aot::check_memory_plan(requests, *plan);
    INFO(proof.text());
    REQUIRE(proof.ok());
    const auto size = plan->memories.size() == 1 ? 0 : plan->memories[1].nbytes;
    REQUIRE(size <= sum);
    REQUIRE(size >= peak(requests));
    planned += size;
    least += peak(requests);
    const auto again = aot::plan_memory(requests);
    REQUIRE(again->places == plan->places);
  }
  // Greedy planning is not perfect, but it is close.
  REQUIRE(planned < least + least / 5);
}

TEST_CASE("A chain of equal tensors needs the memory of two") {
  std::vector<MemoryRequest> requests;
  for (std::uint32_t i = 0; i < 100; ++i) requests.push_back({1000, i, i + 1, {}, 0});
  const auto plan = aot::plan_memory(requests);
  REQUIRE(plan.ok());
  REQUIRE(plan->memories.size() == 2);
  REQUIRE(plan->memories[1].nbytes == 2 * 1008);
}

TEST_CASE("Each device and pool gets a memory of its own, the CPU's first") {
  const ProgramDevice cuda{ProgramDeviceType::CUDA, 1};
  const std::vector<MemoryRequest> requests{
      {10, 0, 0, cuda, 0}, {20, 0, 0, {}, 1}, {30, 0, 0, {}, 0}, {40, 1, 1, cuda, 0}};
  const auto plan = aot::plan_memory(requests, 32);
  REQUIRE(plan.ok());
  REQUIRE(plan->memories == std::vector<aot::PlannedBuffer>{{}, {32, {}}, {32, {}}, {64, cuda}});
  REQUIRE(plan->places == std::vector<Place>{{3, 0}, {2, 0}, {1, 0}, {3, 0}});
  REQUIRE(aot::check_memory_plan(requests, *plan, 32).ok());
}

TEST_CASE("Requests that make no sense are refused") {
  const auto refusal = [](const std::vector<MemoryRequest>& requests, std::uint64_t alignment) {
    const auto plan = aot::plan_memory(requests, alignment);
    REQUIRE(plan.error() == Error::InvalidArgument);
    return std::string(plan.text());
  };
  REQUIRE(refusal({}, 24) == "alignment is 24, expected a power of two");
  REQUIRE(refusal({}, 0) == "alignment is 0, expected a power of two");
  REQUIRE(refusal({{1, 0, 0, {}, 0}, {1, 2, 1, {}, 0}}, 16) ==
          "request 1 ends at 1, before it begins at 2");
  REQUIRE(
      refusal({{std::uint64_t{1} << 61, 0, 0, {}, 0}, {std::uint64_t{1} << 61, 0, 0, {}, 0}}, 16)
          .find("request 1: ") == 0);
  REQUIRE(refusal({{~std::uint64_t{0}, 0, 0, {}, 0}}, 16).find("request 0: ") == 0);
}

TEST_CASE("The proof finds each way in which a plan can be wrong") {
  const std::vector<MemoryRequest> requests{{16, 0, 2, {}, 0}, {16, 2, 3, {}, 0}};
  const MemoryPlan good{{{}, {32, {}}}, {{1, 0}, {1, 16}}};
  REQUIRE(aot::check_memory_plan(requests, good).ok());
  const auto refusal = [&](auto&& change) {
    MemoryPlan plan = good;
    change(plan);
    const auto status = aot::check_memory_plan(requests, plan);
    REQUIRE(status.error() == Error::InvalidProgram);
    return std::string(status.text());
  };
  REQUIRE(refusal([](MemoryPlan& plan) { plan.places[1].offset = 0; }) ==
          "request 0 and request 1 are needed at once and share memory 1 at 0");
  REQUIRE(refusal([](MemoryPlan& plan) { plan.places[1].offset = 8; }) ==
          "request 1: offset 8 is not a multiple of 16");
  REQUIRE(refusal([](MemoryPlan& plan) { plan.memories[1].nbytes = 31; }) ==
          "request 1: 16 bytes at 16 do not fit in memory 1, which has 31");
  REQUIRE(refusal([](MemoryPlan& plan) { plan.places[0].memory_id = 0; }) ==
          "request 0 is in memory 0 of 2");
  REQUIRE(refusal([](MemoryPlan& plan) { plan.places[0].memory_id = 2; }) ==
          "request 0 is in memory 2 of 2");
  REQUIRE(refusal([](MemoryPlan& plan) {
            plan.memories[1].device.type = ProgramDeviceType::CUDA;
          }) == "request 0 is in memory 1 of another device");
  REQUIRE(refusal([](MemoryPlan& plan) { plan.memories[0].nbytes = 1; }).find("memory 0") == 0);
  REQUIRE(refusal([](MemoryPlan& plan) { plan.places.pop_back(); }) ==
          "the plan has 1 places for 2 requests");
}

aot::TensorValue tensor(std::int32_t size) {
  aot::TensorValue out;
  out.layout = {ScalarType::Byte, {size}};
  out.data = aot::storage::Planned{};
  return out;
}

const Place& place_of(const MethodData& method, ValueIndex index) {
  return *std::get<aot::TensorValue>(method.values.at(static_cast<std::size_t>(index))).place();
}

/// x -> a -> b -> c -> y, each made from the one before.
struct Chain {
  MethodData method;
  ValueIndex x = method.add(tensor(64));
  ValueIndex a = method.add(tensor(64));
  ValueIndex b = method.add(tensor(64));
  ValueIndex c = method.add(tensor(64));
  ValueIndex y = method.add(tensor(64));

  Chain() {
    method.inputs = {x};
    method.outputs = {y};
    const auto op = method.op("aten::relu", "out");
    for (const ValueIndex from : {x, a, b, c}) {
      method.instructions.push_back(aot::KernelCall{op, {from, from + 1, from + 1}});
    }
  }
};

TEST_CASE("Tensors of a method live from their first to their last use") {
  Chain chain;
  const auto lifetimes = aot::method_lifetimes(chain.method);
  REQUIRE(lifetimes[0] == Lifetime{0, 1});
  REQUIRE(lifetimes[1] == Lifetime{1, 2});
  REQUIRE(lifetimes[4] == Lifetime{4, 5});
  REQUIRE(aot::plan_method_memory(chain.method).ok());
  REQUIRE(chain.method.planned_memory.size() == 2);
  REQUIRE(chain.method.planned_memory[1].nbytes == 128);
  REQUIRE(aot::check_method_memory(chain.method).ok());

  const auto* placed = std::get_if<aot::TensorValue>(&chain.method.values[0]);
  REQUIRE(placed->place()->memory_id == 1);
}

TEST_CASE("Inputs and outputs may be left to the caller") {
  Chain chain;
  aot::MethodMemoryOptions options;
  options.plan_inputs = false;
  options.plan_outputs = false;
  REQUIRE(aot::plan_method_memory(chain.method, options).ok());
  for (const ValueIndex index : {chain.x, chain.y}) {
    const auto& value = chain.method.values[static_cast<std::size_t>(index)];
    REQUIRE(
        std::holds_alternative<aot::storage::FromCaller>(std::get<aot::TensorValue>(value).data));
  }
  REQUIRE(chain.method.planned_memory[1].nbytes == 128);
}

TEST_CASE("Each memory has room behind it for backends that read on") {
  Chain chain;
  aot::MethodMemoryOptions options;
  options.extra_bytes = 64;
  REQUIRE(aot::plan_method_memory(chain.method, options).ok());
  REQUIRE(chain.method.planned_memory[1].nbytes == 128 + 64);
  REQUIRE(chain.method.planned_memory[0].nbytes == 0);
}

TEST_CASE("A mutable buffer shares its memory with nothing") {
  Chain chain;
  aot::TensorValue state = tensor(64);
  state.data = aot::storage::InitialState{};
  const auto index = chain.method.add(state);
  aot::TensorValue external = tensor(64);
  external.data = aot::storage::External{Place{}};
  chain.method.add(external);
  std::get<aot::KernelCall>(chain.method.instructions[1]).args.push_back(index);
  REQUIRE(aot::plan_method_memory(chain.method).ok());
  REQUIRE(chain.method.planned_memory[1].nbytes == 128 + 64 + 64);
  REQUIRE(aot::check_method_memory(chain.method).ok());
}

TEST_CASE("A list that is used keeps its tensors, and a moved tensor keeps its other name") {
  Chain chain;
  const auto list = chain.method.add(aot::OptionalTensorList{{chain.x, -1, chain.a}});
  std::get<aot::KernelCall>(chain.method.instructions[3]).args.push_back(list);
  const auto moved = chain.method.add(tensor(64));
  chain.method.instructions.insert(chain.method.instructions.begin() + 2,
                                   aot::MoveCall{chain.b, moved});
  chain.method.outputs.push_back(moved);
  const auto lifetimes = aot::method_lifetimes(chain.method);
  REQUIRE(lifetimes[0] == Lifetime{0, 5});
  REQUIRE(lifetimes[1] == Lifetime{1, 5});
  REQUIRE(lifetimes[2] == Lifetime{2, 6});
  REQUIRE(lifetimes[static_cast<std::size_t>(moved)] == Lifetime{2, 6});
  REQUIRE(aot::plan_method_memory(chain.method).ok());
  REQUIRE(aot::check_method_memory(chain.method).ok());
}

TEST_CASE("Tensors of a moved list live as long as the list's other name") {
  Chain chain;
  const auto list = chain.method.add(aot::TensorList{{chain.x}});
  const auto other = chain.method.add(aot::TensorList{{}});
  chain.method.instructions.insert(chain.method.instructions.begin(), aot::MoveCall{list, other});
  chain.method.outputs.push_back(other);
  REQUIRE(aot::method_lifetimes(chain.method)[0] == Lifetime{0, 6});
}

TEST_CASE("What a loop uses lives through the loop, and through each loop that it reaches") {
  Chain chain;
  const auto condition = chain.method.add(false);
  // Back to the instruction that makes b; and a loop around the end of that one.
  chain.method.instructions.insert(chain.method.instructions.begin() + 3,
                                   aot::JumpFalseCall{condition, 1});
  chain.method.instructions.push_back(aot::JumpFalseCall{condition, 3});
  const auto lifetimes = aot::method_lifetimes(chain.method);
  REQUIRE(lifetimes[0] == Lifetime{0, 1});
  REQUIRE(lifetimes[1] == Lifetime{1, 6});
  REQUIRE(lifetimes[2] == Lifetime{2, 6});
  REQUIRE(lifetimes[4] == Lifetime{2, 7});
  REQUIRE(aot::plan_method_memory(chain.method).ok());
  REQUIRE(aot::check_method_memory(chain.method).ok());
}

TEST_CASE("Existing places stay, and a second plan follows the first") {
  Chain chain;
  REQUIRE(aot::plan_method_memory(chain.method).ok());
  const auto before = place_of(chain.method, chain.x);
  auto late = tensor(32);
  late.device = {ProgramDeviceType::CUDA, 0};
  const auto index = chain.method.add(late);
  REQUIRE(aot::plan_method_memory(chain.method).ok());
  REQUIRE(place_of(chain.method, chain.x) == before);
  REQUIRE(place_of(chain.method, index) == Place{2, 0});
  REQUIRE(chain.method.planned_memory[2] == aot::PlannedBuffer{32, late.device});
}

TEST_CASE("Two tensors of a method that share bytes are named") {
  Chain chain;
  REQUIRE(aot::plan_method_memory(chain.method).ok());
  *std::get<aot::TensorValue>(chain.method.values[1]).place() = place_of(chain.method, chain.x);
  const auto status = aot::check_method_memory(chain.method);
  REQUIRE(status.error() == Error::InvalidProgram);
  REQUIRE_THAT(std::string(status.text()), ContainsSubstring("method 'forward': value 0"));
  REQUIRE_THAT(std::string(status.text()), ContainsSubstring("method 'forward': value 1"));
}

TEST_CASE("Wrong indices and layouts are refused before anything is planned") {
  const auto refuse = [](auto&& change, std::string_view expected) {
    Chain chain;
    change(chain.method);
    const auto memories = chain.method.planned_memory.size();
    for (const auto& status :
         {aot::plan_method_memory(chain.method), aot::check_method_memory(chain.method)}) {
      REQUIRE(status.error() == Error::InvalidArgument);
      REQUIRE_THAT(std::string(status.text()), ContainsSubstring(std::string(expected)));
    }
    REQUIRE(chain.method.planned_memory.size() == memories);
  };
  refuse([](MethodData& method) { method.inputs.push_back(-1); }, "value -1 does not exist");
  refuse([](MethodData& method) { method.outputs.push_back(5); }, "value 5 does not exist");
  refuse([](MethodData& method) { method.add(aot::TensorList{{-1}}); }, "value -1 does not exist");
  refuse([](MethodData& method) { method.add(aot::OptionalTensorList{{-2}}); }, "value -2");
  refuse([](MethodData& method) { method.instructions.push_back(aot::KernelCall{0, {9}}); },
         "value 9");
  refuse([](MethodData& method) { method.instructions.push_back(aot::DelegateCall{0, {9}}); },
         "value 9");
  refuse([](MethodData& method) { method.instructions.push_back(aot::MoveCall{0, 9}); }, "value 9");
  refuse([](MethodData& method) { method.instructions.push_back(aot::JumpFalseCall{9, 0}); },
         "value 9");
  refuse([](MethodData& method) { method.instructions.push_back(aot::FreeCall{9}); }, "value 9");
  refuse([](MethodData& method) { method.add(tensor(-1)); }, "sizes[0] is -1");
}

}  // namespace tenon::test::memory_plan
