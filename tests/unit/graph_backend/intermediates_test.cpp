// SPDX-License-Identifier: MIT
//
// What happened inside of a delegate: the results of the nodes of a transformer, by debug handle.
#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "transformer.hpp"

using namespace tenon;
using namespace tenon::test;

namespace graph_intermediates_test {
namespace {

std::vector<float> some_tokens(std::size_t step) {
  std::vector<float> out(Transformer::num_tokens * Transformer::width);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(i * step % 7) * 0.25F - static_cast<float>(i % 3);
  }
  return out;
}

std::vector<std::size_t> all_of(const std::vector<host::Intermediate>& known) {
  std::vector<std::size_t> out(known.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

void run(host::Method& method, const std::vector<float>& x) {
  REQUIRE(set_floats(method, 0, x, {Transformer::num_tokens, Transformer::width}).ok());
  const Status ran = method.execute();
  INFO(ran.text());
  REQUIRE(ran.ok());
}

std::unique_ptr<host::Method> load_transformer(bool debug_handles = true) {
  const auto program = Transformer(2).build();
  auto method = load(compile_whole(program, debug_handles));
  INFO(method.text());
  REQUIRE(method.ok());
  return *std::move(method);
}

}  // namespace

TEST_CASE("a program with debug handles names the node of each intermediate result",
          "[graph_backend][intermediates]") {
  const auto method = load_transformer();
  const auto known = method->intermediates();
  INFO(known.text());
  REQUIRE(known.ok());
  REQUIRE(known->size() > 30);
  std::set<std::uint32_t> handles;
  for (std::size_t i = 0; i < known->size(); ++i) {
    const host::Intermediate& one = (*known)[i];
    CHECK(one.delegate == 0U);
    CHECK(one.handle == static_cast<std::int64_t>(i));
    REQUIRE_FALSE(one.debug_handles.empty());
    handles.insert(one.debug_handles.back());
    REQUIRE(one.nodes.size() == one.debug_handles.size());
  }
  CHECK(handles.size() == known->size());
  CHECK((*known)[0].nodes.back() == "layers_0_norm1");
}

TEST_CASE("a program without debug handles has the backend's names alone",
          "[graph_backend][intermediates]") {
  const auto method = load_transformer(false);
  const auto known = method->intermediates();
  REQUIRE(known.ok());
  REQUIRE_FALSE(known->empty());
  CHECK((*known)[0].debug_handles.empty());
  CHECK((*known)[0].name == "LayerNorm");
}

TEST_CASE("a run gives what was asked for, and outputs stay what they are",
          "[graph_backend][intermediates]") {
  const auto method = load_transformer();
  const auto known = method->intermediates();
  REQUIRE(known.ok());
  const auto x = some_tokens(1);
  run(*method, x);
  CHECK(method->recorded_intermediates().empty());
  const auto expected = floats(method->output(0));

  const auto numbers = all_of(*known);
  REQUIRE(method->record_intermediates(numbers).ok());
  run(*method, x);
  CHECK(floats(method->output(0)) == expected);
  const auto recorded = method->recorded_intermediates();
  REQUIRE(recorded.size() == known->size());
  CHECK(recorded.front().shape == std::vector<std::int64_t>{4, 8});
  // The last node is the output.
  const auto& last = recorded.back();
  REQUIRE(last.data.size() == expected.size() * sizeof(float));
  CHECK(std::memcmp(last.data.data(), expected.data(), last.data.size()) == 0);

  // Another input gives other results, and the same input the same.
  std::vector<std::byte> before = recorded[5].data;
  run(*method, some_tokens(3));
  CHECK(method->recorded_intermediates()[5].data != before);
  run(*method, x);
  CHECK(method->recorded_intermediates()[5].data == before);

  const std::vector<std::size_t> two = {7, 3};
  REQUIRE(method->record_intermediates(two).ok());
  run(*method, x);
  REQUIRE(method->recorded_intermediates().size() == 2);
  CHECK(method->recorded_intermediates()[0].intermediate == 3);
  CHECK(method->recorded_intermediates()[1].intermediate == 7);

  REQUIRE(method->record_intermediates({}).ok());
  run(*method, x);
  CHECK(method->recorded_intermediates().empty());
}

TEST_CASE("a number that no intermediate has is refused, and nothing is recorded then",
          "[graph_backend][intermediates]") {
  const auto method = load_transformer();
  const auto known = method->intermediates();
  REQUIRE(known.ok());
  const std::vector<std::size_t> first = {0};
  REQUIRE(method->record_intermediates(first).ok());
  const std::vector<std::size_t> wrong = {0, known->size()};
  const Status refused = method->record_intermediates(wrong);
  CHECK(refused.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("the method has"));
  run(*method, some_tokens(1));
  CHECK(method->recorded_intermediates().empty());
}

TEST_CASE("damaged debug handles are reported with their line", "[graph_backend][intermediates]") {
  for (const std::string damaged :
       {"", "tenon.debug_handles/2\n", "tenon.debug_handles/1\nnode x y\n",
        "tenon.debug_handles/1\nevent 0\n", "tenon.debug_handles/1\nkernel 1\n",
        "tenon.debug_handles/1\nnamed 0 2 1\n", "tenon.debug_handles/1\nother 1 2\n"}) {
    const auto program = Transformer(1).build();
    auto data = compile_whole(program, false);
    aot::NamedDataStore store;
    REQUIRE(store
                .add_named_data("tenon.debug_handles/forward",
                                aot::SharedBytes::copy_of(std::string_view(damaged)))
                .ok());
    data.named_data = store.get_named_data_store_output();
    const auto method = load(data);
    REQUIRE(method.ok());
    const auto known = (*method)->intermediates();
    CHECK(known.error() == Error::InvalidExternalData);
    CHECK_THAT(std::string(known.text()), ContainsSubstring("line"));
  }
}

}  // namespace graph_intermediates_test
