// SPDX-License-Identifier: MIT
//
// Letting a plugin compile partitions: what arrives, and what a plugin may send wrong.
#include <cstdint>
#include <limits>
#include <string>
#include <tenon/aot.hpp>
#include <tenon/aot/edge_program_builder.hpp>
#include <utility>
#include <vector>

#include "fake_compiler.hpp"
#include "support/catch.hpp"
#include "support/edge_programs.hpp"
#include "tenon/aot/compiler/partition/plugin_preprocess.hpp"

namespace plugin_preprocess_test {

using namespace tenon;
using namespace tenon::aot;
using test::FakeCompiler;

/// The result of `preprocess` of `fake` for two partitions, of one node and of two.
Result<std::vector<PreprocessResult>> compile(FakeCompiler& fake) {
  const OwnedEdgeProgram one = test::relus("forward", 1);
  const OwnedEdgeProgram two = test::relus("backward", 2);
  const auto compiler = PluginPreprocess::of(fake.ref());
  REQUIRE(compiler.ok());
  const std::vector<PartitionToCompile> partitions = {
      {one.view(), {{"mode", SharedBytes::copy_of("fast")}}}, {two.view(), {}}};
  return compiler->preprocess(partitions);
}

/// Both blobs, as good plugins send them.
void send_blobs(const tenon_preprocess_sink& sink) {
  CHECK(sink.set_processed(sink.context, 0, "one", 3) == TENON_STATUS_OK);
  CHECK(sink.set_processed(sink.context, 1, nullptr, 0) == TENON_STATUS_OK);
}

/// The error for a plugin that sends its blobs and then what `send` sends.
template <class Send>
std::string refusal(const Send& send, Error expected = Error::InvalidArgument) {
  FakeCompiler fake("Fake");
  fake.preprocess = [&](const tenon_partition*, std::uint32_t,
                        const tenon_preprocess_sink& sink) -> tenon_status {
    send_blobs(sink);
    return send(sink);
  };
  const auto results = compile(fake);
  CHECK(results.error() == expected);
  CHECK_THAT(std::string(results.text()), ContainsSubstring("backend Fake: preprocess: "));
  return std::string(results.text());
}

tenon_named_data named(const char* key, std::string_view data) {
  return {sizeof(tenon_named_data), 1, key, data.data(), data.size(), nullptr, nullptr};
}

TEST_CASE("partitions go in one call and their results come back in order", "[aot][S0.9]") {
  FakeCompiler fake("Fake");
  int calls = 0;
  fake.preprocess = [&](const tenon_partition* partitions, std::uint32_t count,
                        const tenon_preprocess_sink& sink) -> tenon_status {
    ++calls;
    CHECK(count == 2);
    CHECK(sink.struct_size == sizeof(tenon_preprocess_sink));
    CHECK(partitions[0].struct_size == sizeof(tenon_partition));
    CHECK(std::string_view(partitions[0].program->method_name) == "forward");
    CHECK(partitions[0].num_compile_specs == 1);
    CHECK(std::string_view(partitions[0].compile_specs->key) == "mode");
    CHECK(std::string_view(partitions[1].program->method_name) == "backward");
    CHECK(partitions[1].num_compile_specs == 0);
    void* const to = sink.context;
    std::string blob = "second";  // In the other order, from memory that changes.
    CHECK(sink.set_processed(to, 1, blob.data(), blob.size()) == TENON_STATUS_OK);
    blob = "first!";
    CHECK(sink.set_processed(to, 0, blob.data(), 5) == TENON_STATUS_OK);
    const std::uint32_t handles[] = {2, 1};
    CHECK(sink.add_debug_handles(to, 1, "fused", 0, handles, 2) == TENON_STATUS_OK);
    CHECK(sink.add_debug_handles(to, 0, nullptr, -7, handles + 1, 1) == TENON_STATUS_OK);
    CHECK(sink.add_debug_handles(to, 0, nullptr, 8, nullptr, 0) == TENON_STATUS_OK);
    const std::int64_t sizes[] = {1, 2};
    const std::uint8_t dim_order[] = {1, 0};
    const tenon_tensor_layout layout = {
        sizeof layout, static_cast<std::int32_t>(ScalarType::Half), 2, 0, sizes, dim_order};
    tenon_named_data data = named("w", "abcd");
    data.alignment = 64;
    data.external_tag = "weights";
    data.tensor_layout = &layout;
    CHECK(sink.add_named_data(to, 1, &data) == TENON_STATUS_OK);
    return sink.set_delegate_info(to, 0, "1 kernel");
  };
  const auto results = compile(fake);
  INFO(results.text());
  REQUIRE(results.ok());
  CHECK(calls == 1);
  REQUIRE(results->size() == 2);
  const auto text = [](const SharedBytes& bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.bytes().data()), bytes.size());
  };
  const PreprocessResult& first = results->at(0);
  const PreprocessResult& second = results->at(1);
  CHECK(text(first.processed_bytes) == "first");
  CHECK(text(second.processed_bytes) == "second");
  CHECK(first.debug_handle_map.size() == 2);
  CHECK(*first.debug_handle_map.find(-7) == std::vector<std::uint32_t>{1});
  CHECK(first.debug_handle_map.find(8)->empty());
  CHECK(*second.debug_handle_map.find("fused") == std::vector<std::uint32_t>{2, 1});
  CHECK(first.delegate_info == "1 kernel");
  CHECK(second.delegate_info.empty());
  CHECK(first.data_store_output.buffers.empty());
  const NamedDataStoreOutput& data = second.data_store_output;
  REQUIRE(data.external_data.size() == 1);
  CHECK(data.external_data[0].tag == "weights");
  REQUIRE(data.external_data[0].entries.size() == 1);
  const auto& weights = data.external_data[0].entries[0];
  CHECK(weights.key == "w");
  CHECK(weights.entry.alignment == 64);
  CHECK(weights.entry.tensor_layout == aot::DenseLayout{ScalarType::Half, {1, 2}, {1, 0}});
  CHECK(text(data.buffers[weights.entry.buffer_index]) == "abcd");
}

TEST_CASE("no partitions make no results", "[aot]") {
  FakeCompiler fake("Fake");
  fake.preprocess = [](const tenon_partition*, std::uint32_t count,
                       const tenon_preprocess_sink& sink) -> tenon_status {
    CHECK(count == 0);
    CHECK(sink.set_processed(sink.context, 0, "x", 1) == TENON_STATUS_INVALID_ARGUMENT);
    return TENON_STATUS_OK;
  };
  const auto compiler = PluginPreprocess::of(fake.ref());
  REQUIRE(compiler.ok());
  CHECK_THAT(std::string(compiler->preprocess({}).text()),
             ContainsSubstring("set_processed: partition 0 of 0"));
  fake.preprocess = [](const tenon_partition*, std::uint32_t,
                       const tenon_preprocess_sink&) -> tenon_status { return TENON_STATUS_OK; };
  const auto nothing = compiler->preprocess({});
  REQUIRE(nothing.ok());
  CHECK(nothing->empty());
}

TEST_CASE("a failure of preprocess keeps the backend's reason", "[aot]") {
  FakeCompiler fake("Fake");
  fake.preprocess = [&](const tenon_partition*, std::uint32_t, const tenon_preprocess_sink&) {
    return fake.fail(TENON_STATUS_NOT_SUPPORTED, "node 'relu': too small");
  };
  const auto results = compile(fake);
  CHECK(results.error() == Error::NotSupported);
  CHECK(results.text() == "backend Fake: preprocess: node 'relu': too small");

  fake.preprocess = [](const tenon_partition*, std::uint32_t,
                       const tenon_preprocess_sink&) -> tenon_status { return 0x777; };
  const auto unknown = compile(fake);
  CHECK(unknown.error() == Error::Internal);
  CHECK_THAT(std::string(unknown.text()), ContainsSubstring("1911, which is not a status number"));
}

TEST_CASE("every partition gets one blob", "[aot]") {
  CHECK_THAT(refusal([](const tenon_preprocess_sink& sink) {
               return sink.set_processed(sink.context, 1, "again", 5);
             }),
             ContainsSubstring("partition 1: set_processed: called a second time"));
  CHECK_THAT(refusal([](const tenon_preprocess_sink& sink) {
               return sink.set_processed(sink.context, 2, "x", 1);
             }),
             ContainsSubstring("set_processed: partition 2 of 2"));
  FakeCompiler fake("Fake");
  fake.preprocess = [](const tenon_partition*, std::uint32_t, const tenon_preprocess_sink& sink) {
    return sink.set_processed(sink.context, 0, "one", 3);
  };
  const auto half = compile(fake);
  CHECK(half.error() == Error::Internal);
  CHECK(half.text() == "backend Fake: preprocess: partition 1 of 2: set_processed was not called");
  fake.preprocess = [](const tenon_partition*, std::uint32_t, const tenon_preprocess_sink& sink) {
    return sink.set_processed(sink.context, 0, nullptr, 3);
  };
  CHECK_THAT(std::string(compile(fake).text()),
             ContainsSubstring("partition 0: set_processed: NULL in place of 3 bytes"));
  fake.preprocess = [](const tenon_partition*, std::uint32_t, const tenon_preprocess_sink& sink) {
    return sink.set_processed(sink.context, 0, "x", std::numeric_limits<std::uint64_t>::max());
  };
  CHECK_THAT(std::string(compile(fake).text()),
             ContainsSubstring("partition 0: set_processed: 18446744073709551615 bytes, more than "
                               "any object has"));
}

TEST_CASE("debug handles come from the partition's nodes, by text or by number", "[aot]") {
  const std::uint32_t handles[] = {1, 2, 3};
  CHECK_THAT(refusal([&](const tenon_preprocess_sink& sink) {
               return sink.add_debug_handles(sink.context, 9, "e", 0, handles, 1);
             }),
             ContainsSubstring("add_debug_handles: partition 9 of 2"));
  CHECK_THAT(refusal([&](const tenon_preprocess_sink& sink) {
               return sink.add_debug_handles(sink.context, 0, "e", 0, handles, 2);
             }),
             ContainsSubstring(
                 "partition 0: add_debug_handles: no node of the partition has debug handle 2"));
  CHECK_THAT(refusal([&](const tenon_preprocess_sink& sink) {
               return sink.add_debug_handles(sink.context, 0, "e", 0, nullptr, 2);
             }),
             ContainsSubstring("NULL in place of 2 handles"));
  CHECK_THAT(refusal([&](const tenon_preprocess_sink& sink) {
               sink.add_debug_handles(sink.context, 1, "e", 0, handles, 2);
               return sink.add_debug_handles(sink.context, 1, nullptr, 4, handles, 2);
             }),
             ContainsSubstring("events named by text and by number in one partition"));
  CHECK_THAT(refusal([&](const tenon_preprocess_sink& sink) {
               sink.add_debug_handles(sink.context, 1, nullptr, 4, handles, 2);
               return sink.add_debug_handles(sink.context, 1, nullptr, 4, handles, 2);
             }),
             ContainsSubstring("event '4' was given twice"));
}

TEST_CASE("a key of named data means the same bytes, in one partition and in all", "[aot]") {
  const auto add = [](const tenon_preprocess_sink& sink, std::uint32_t partition,
                      const tenon_named_data& data) {
    return sink.add_named_data(sink.context, partition, &data);
  };
  CHECK_THAT(refusal([&](const tenon_preprocess_sink& sink) {
               add(sink, 0, named("w", "abc"));
               return add(sink, 0, named("w", "abd"));
             }),
             ContainsSubstring("partition 0: add_named_data: 'w': duplicate key with different "
                               "data: 3 bytes, then 3 bytes"));
  CHECK_THAT(refusal([&](const tenon_preprocess_sink& sink) {
               add(sink, 0, named("w", "abc"));
               return add(sink, 1, named("w", ""));
             }),
             ContainsSubstring("partition 1: add_named_data: 'w': duplicate key with different "
                               "data: 3 bytes, then 0 bytes"));

  FakeCompiler fake("Fake");
  fake.preprocess = [&](const tenon_partition*, std::uint32_t, const tenon_preprocess_sink& sink) {
    send_blobs(sink);
    CHECK(add(sink, 0, named("w", "abc")) == TENON_STATUS_OK);
    CHECK(add(sink, 0, named("w", "abc")) == TENON_STATUS_OK);
    return add(sink, 1, named("w", "abc"));
  };
  const auto shared = compile(fake);
  INFO(shared.text());
  REQUIRE(shared.ok());
  const NamedDataStoreOutput& first = shared->at(0).data_store_output;
  const NamedDataStoreOutput& second = shared->at(1).data_store_output;
  REQUIRE((first.pte_data.size() == 1 && second.pte_data.size() == 1));
  CHECK(first.buffers[0].bytes().data() == second.buffers[0].bytes().data());  // Kept once.
}

TEST_CASE("named data that makes no sense is refused by its key", "[aot]") {
  const auto of = [](const tenon_named_data* data) {
    return refusal([&](const tenon_preprocess_sink& sink) {
      return sink.add_named_data(sink.context, 0, data);
    });
  };
  std::int64_t sizes[] = {2, 2};
  const std::uint8_t dim_order[] = {0, 1};
  tenon_tensor_layout layout = {
      sizeof layout, static_cast<std::int32_t>(ScalarType::Byte), 2, 0, sizes, dim_order};
  tenon_named_data data = named("w", "abcd");
  CHECK_THAT(of(nullptr), ContainsSubstring("NULL in place of data"));
  data.struct_size = 16;
  CHECK_THAT(of(&data), ContainsSubstring("tenon_named_data: struct_size is 16, expected"));
  data = named(nullptr, "abcd");
  CHECK_THAT(of(&data), ContainsSubstring("data without a key"));
  data = named("", "abcd");
  CHECK_THAT(of(&data), ContainsSubstring("the key of named data is empty"));
  data = named("w", "abcd");
  data.alignment = 0;
  CHECK_THAT(of(&data), ContainsSubstring("'w': ") && ContainsSubstring("alignment is 0"));
  data = named("w", {});
  data.nbytes = 4;
  CHECK_THAT(of(&data), ContainsSubstring("'w': NULL in place of 4 bytes"));
  data = named("w", "abcd");
  data.external_tag = "../escapes";
  CHECK_THAT(of(&data), ContainsSubstring("'../escapes' is not a file name"));
  data = named("w", "abcd");
  data.tensor_layout = &layout;
  layout.struct_size = 8;
  CHECK_THAT(of(&data), ContainsSubstring("tenon_tensor_layout: struct_size is 8, expected"));
  layout.struct_size = sizeof layout;
  layout.rank = 17;
  CHECK_THAT(of(&data), ContainsSubstring("rank is 17, expected at most 16"));
  layout.rank = 2;
  layout.sizes = nullptr;
  CHECK_THAT(of(&data), ContainsSubstring("a tensor layout without sizes or dim order"));
  layout.sizes = sizes;
  layout.scalar_type = static_cast<std::int32_t>(ScalarType::Double);
  CHECK_THAT(of(&data), ContainsSubstring("'w': ") && ContainsSubstring("32 bytes"));
  layout.scalar_type = 256;  // One byte of it would be Byte.
  CHECK_THAT(of(&data), ContainsSubstring("'w': scalar type is 256"));
  layout.scalar_type = static_cast<std::int32_t>(ScalarType::Byte);
  sizes[1] = (std::int64_t{1} << 32) + 2;  // 32 bits of it would be 2.
  CHECK_THAT(of(&data),
             ContainsSubstring("'w': sizes[1] is 4294967298, and files hold sizes of 32"));
}

TEST_CASE("a line of information comes once", "[aot]") {
  CHECK_THAT(refusal([](const tenon_preprocess_sink& sink) {
               return sink.set_delegate_info(sink.context, 0, nullptr);
             }),
             ContainsSubstring("partition 0: set_delegate_info: NULL in place of a text"));
  CHECK_THAT(refusal([](const tenon_preprocess_sink& sink) {
               sink.set_delegate_info(sink.context, 0, "a");
               return sink.set_delegate_info(sink.context, 0, "b");
             }),
             ContainsSubstring("partition 0: set_delegate_info: called a second time"));
}

TEST_CASE("the first of several wrong calls is reported, and later ones change nothing", "[aot]") {
  const std::string text = refusal([](const tenon_preprocess_sink& sink) -> tenon_status {
    sink.set_delegate_info(sink.context, 3, "x");
    CHECK(sink.set_delegate_info(sink.context, 0, "fine") == TENON_STATUS_INVALID_ARGUMENT);
    sink.set_processed(sink.context, 0, "again", 5);
    return TENON_STATUS_OK;
  });
  CHECK_THAT(text, ContainsSubstring("set_delegate_info: partition 3 of 2"));
}

}  // namespace plugin_preprocess_test
