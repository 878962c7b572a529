// SPDX-License-Identifier: MIT
//
// The ahead-of-time half of a backend in C++ alone, without a boundary: the default of
// `preprocess_multimethod`, and what a class is judged by.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tenon/aot.hpp>
#include <tenon/aot/edge_program_builder.hpp>
#include <tenon/tenon.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/edge_programs.hpp"
#include "support/idle_backend.hpp"

namespace backend_details_test {

using namespace tenon;
using namespace tenon::aot;

/// Its blob is the first spec's key and the number of nodes.
class Counter final : public Backend<Counter>,
                      public test::IdleDelegates,
                      public BackendDetails<Counter> {
 public:
  static constexpr std::string_view id = "Counter";

  static Result<PreprocessResult> preprocess(const EdgeProgram& program, CompileSpecs specs) {
    if (program.num_nodes() == 0) {
      return error(Error::NotSupported, "method '", program.method_name(), "' has no nodes");
    }
    PreprocessResult result;
    result.processed_bytes =
        SharedBytes::copy_of(concat(specs[0].key, ":", std::to_string(program.num_nodes())));
    return result;
  }
};

tenon_compile_spec spec(const char* key) { return {sizeof(tenon_compile_spec), 0, key, "", 0}; }

std::string text_of(const PreprocessResult& result) {
  const Bytes bytes = result.processed_bytes.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_CASE("a backend that leaves preprocess_multimethod out compiles part after part",
          "[aot][S0.9]") {
  const OwnedEdgeProgram one = test::relus("encode", 1);
  const OwnedEdgeProgram two = test::relus("encode", 2);
  const OwnedEdgeProgram three = test::relus("decode", 3);
  const tenon_compile_spec a = spec("a");
  const tenon_compile_spec b = spec("b");
  const tenon_compile_spec c = spec("c");
  const ProgramsByMethod programs = {{"encode", {one.view(), two.view()}},
                                     {"decode", {three.view()}}};
  const SpecsByMethod specs = {{"encode", {CompileSpecs(&a, 1), CompileSpecs(&b, 1)}},
                               {"decode", {CompileSpecs(&c, 1)}}};
  const auto results = Counter::preprocess_multimethod(programs, specs);
  INFO(results.text());
  REQUIRE(results.ok());
  REQUIRE(results->at("encode").size() == 2);
  CHECK(text_of(results->at("encode")[0]) == "a:1");
  CHECK(text_of(results->at("encode")[1]) == "b:2");
  REQUIRE(results->at("decode").size() == 1);
  CHECK(text_of(results->at("decode")[0]) == "c:3");
}

TEST_CASE("a method without compile specs, or with too few, is refused by name", "[aot][S0.9]") {
  const OwnedEdgeProgram one = test::relus("encode", 1);
  const tenon_compile_spec a = spec("a");
  const ProgramsByMethod programs = {{"encode", {one.view(), one.view()}}};
  const auto missing = Counter::preprocess_multimethod(programs, {});
  CHECK(missing.error() == Error::InvalidArgument);
  CHECK(missing.text() == "missing compile specs for method 'encode'");
  const auto short_of_one =
      Counter::preprocess_multimethod(programs, {{"encode", {CompileSpecs(&a, 1)}}});
  CHECK(short_of_one.error() == Error::InvalidArgument);
  CHECK(short_of_one.text() == "method 'encode' has 2 partitions but compile specs for 1");
}

TEST_CASE("the first part that cannot be compiled ends it, with the backend's reason", "[aot]") {
  const OwnedEdgeProgram good = test::relus("encode", 1);
  const OwnedEdgeProgram empty = test::relus("encode", 0);
  const tenon_compile_spec a = spec("a");
  const auto results =
      Counter::preprocess_multimethod({{"encode", {good.view(), empty.view()}}},
                                      {{"encode", {CompileSpecs(&a, 1), CompileSpecs(&a, 1)}}});
  CHECK(results.error() == Error::NotSupported);
  CHECK(results.text() == "method 'encode' has no nodes");
}

TEST_CASE("a result holds nothing until something is put in", "[aot][S0.2][S0.3][S0.9]") {
  const PreprocessResult result;
  CHECK(result.processed_bytes.empty());
  CHECK(result.debug_handle_map.empty());
  CHECK(result.data_store_output.buffers.empty());
  CHECK(result.data_store_output.pte_data.empty());
  CHECK(result.data_store_output.external_data.empty());
  CHECK(result.delegate_info.empty());
}

TEST_CASE("events of a debug handle map are sorted, and are found by name and by number", "[aot]") {
  DebugHandleMap by_name;
  for (const char* name : {"relu", "add", "softmax", "mul"}) by_name.add(name, std::array{1u});
  by_name.add("relu", std::array{5u, 4u});
  by_name.add("nothing", {});
  std::string names;
  for (const DebugHandleMap::Event& event : by_name.events()) names += event.name + " ";
  CHECK(names == "add mul nothing relu softmax ");
  CHECK(*by_name.find("relu") == std::vector<std::uint32_t>{1, 5, 4});
  CHECK(by_name.find("nothing")->empty());
  CHECK(by_name.size() == 5);
  by_name.add("add", std::array{6u});
  by_name.add("zero", std::array{9u});
  by_name.add("add", std::array{2u});
  CHECK(by_name.size() == 6);
  CHECK(*by_name.find("add") == std::vector<std::uint32_t>{1, 6, 2});
  CHECK(by_name.find("re") == nullptr);
  CHECK(by_name.find(0) == nullptr);

  DebugHandleMap by_number;
  DebugHandleMap in_other_order;
  for (const std::int64_t id : {-4, 0, 7}) by_number.add(id, std::array{2u});
  for (const std::int64_t id : {7, -4, 0}) in_other_order.add(id, std::array{2u});
  CHECK(by_number == in_other_order);
  CHECK(*by_number.find(-4) == std::vector<std::uint32_t>{2});
  CHECK(by_number.find(1) == nullptr);
  in_other_order.add(0, std::array{3u});
  CHECK_FALSE(by_number == in_other_order);
}

TEST_CASE("copies of compile specs keep their order, equal keys and bytes", "[aot]") {
  const std::array given = {tenon_compile_spec{sizeof(tenon_compile_spec), 0, "b", "x\0y", 3},
                            tenon_compile_spec{sizeof(tenon_compile_spec), 0, "a", nullptr, 0},
                            tenon_compile_spec{sizeof(tenon_compile_spec), 0, "b", "z", 1}};
  const auto copies = copy_specs(CompileSpecs(given.data(), 3));
  REQUIRE(copies.size() == 3);
  CHECK((copies[0].key == "b" && copies[1].key == "a" && copies[2].key == "b"));
  CHECK(as_text(copies[0].value.bytes()) == std::string_view("x\0y", 3));
  CHECK(copies[1].value.empty());
  CHECK(as_text(copies[2].value.bytes()) == "z");
}

TEST_CASE("a program that a backend gets cannot be changed through it", "[aot][S0.7]") {
  // Every way that leads from a view to the program ends in what is const.
  STATIC_REQUIRE(
      std::is_const_v<std::remove_reference_t<decltype(std::declval<EdgeProgram&>().raw())>>);
  STATIC_REQUIRE(
      std::is_const_v<std::remove_reference_t<decltype(std::declval<EdgeNode&>().raw())>>);
  STATIC_REQUIRE(
      std::is_const_v<std::remove_reference_t<decltype(std::declval<EdgeValue&>().raw())>>);
  STATIC_REQUIRE(
      std::is_const_v<std::remove_reference_t<decltype(std::declval<EdgeArgument&>().raw())>>);
  STATIC_REQUIRE(
      std::is_same_v<decltype(std::declval<EdgeProgram&>().inputs()), std::span<const ValueId>>);
  STATIC_REQUIRE(std::is_same_v<decltype(std::declval<EdgeValue&>().data()), Bytes>);
  STATIC_REQUIRE(std::is_const_v<Bytes::element_type>);
}

TEST_CASE("nodes of a partition result are left to kernels until they are tagged", "[aot]") {
  PartitionResult result;
  CHECK(result.tag_of(0).empty());
  result.tag_node(2, "p0");
  CHECK(result.node_tags.size() == 3);
  CHECK(result.tag_of(0).empty());
  CHECK(result.tag_of(2) == "p0");
  CHECK(result.tag_of(99).empty());
  result.tag_node(2, "p1");
  CHECK(result.tag_of(2) == "p1");
}

}  // namespace backend_details_test
