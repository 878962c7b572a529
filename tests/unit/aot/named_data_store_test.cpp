// SPDX-License-Identifier: MIT
#include "tenon/aot/named_data_store.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/layers/trust/sha256.hpp"

namespace tenon::test::named_data_store {

using aot::NamedDataOptions;
using aot::NamedDataStore;
using aot::SharedBytes;

SharedBytes text(std::string_view value) { return SharedBytes::copy_of(value); }

std::string refusal(const Status& status) {
  REQUIRE(status.error() == Error::InvalidArgument);
  return std::string(status.text());
}

/// Keys and where they are: the simplest thing that a store could be.
struct Model {
  struct Entry {
    std::string data;
    std::string tag;
    std::uint64_t alignment;
  };
  std::map<std::string, Entry> entries;

  bool add(const std::string& key, const std::string& data, std::uint64_t alignment,
           const std::string& tag) {
    const auto [found, is_new] = entries.insert({key, {data, tag, alignment}});
    if (is_new) return true;
    if (found->second.data != data) return false;
    found->second.alignment = std::lcm(found->second.alignment, alignment);
    return true;
  }
};

std::map<std::string, Model::Entry> entries_of(const aot::NamedDataStoreOutput& output) {
  std::map<std::string, Model::Entry> out;
  const auto add = [&](const std::vector<aot::NamedEntry>& list, const std::string& tag) {
    for (const auto& [key, entry] : list) {
      const auto data = std::string(as_text(output.buffers.at(entry.buffer_index).bytes()));
      REQUIRE(out.insert({key, {data, tag, entry.alignment}}).second);
    }
  };
  add(output.pte_data, "");
  for (const auto& [tag, list] : output.external_data) {
    REQUIRE_FALSE(list.empty());
    add(list, tag);
  }
  return out;
}

void require_same(const Model& model, const aot::NamedDataStoreOutput& output) {
  const auto found = entries_of(output);
  REQUIRE(found.size() == model.entries.size());
  std::set<std::string> contents;
  for (const auto& [key, expected] : model.entries) {
    const auto& entry = found.at(key);
    REQUIRE(entry.data == expected.data);
    REQUIRE(entry.tag == expected.tag);
    REQUIRE(entry.alignment == expected.alignment);
    contents.insert(expected.data);
  }
  REQUIRE(output.buffers.size() == contents.size());
}

/// Contents of few sizes that differ late, early or not at all.
std::string content(std::mt19937_64& random) {
  std::string out(random() % 3 * 300, 'a');
  if (!out.empty() && random() % 2 == 0) out[random() % 2 == 0 ? 0 : out.size() - 7] = 'b';
  return out;
}

TEST_CASE("A store of named data does what a map of keys would do") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    NamedDataStore store;
    Model model;
    for (int i = 0; i < 40; ++i) {
      const auto key = concat("k", random() % 20);
      const auto data = content(random);
      const std::uint64_t alignment = 1 + random() % 12;
      const std::string tag = random() % 2 == 0 ? "" : concat("t", random() % 3);
      NamedDataOptions options{alignment};
      if (!tag.empty()) options.external_tag = tag;
      REQUIRE(store.add_named_data(key, text(data), options).ok() ==
              model.add(key, data, alignment, tag));
    }
    require_same(model, store.get_named_data_store_output());

    NamedDataStore merged;
    REQUIRE(merged.merge_named_data_store(store.get_named_data_store_output()).ok());
    require_same(model, merged.get_named_data_store_output());
    // Again: nothing changes.
    REQUIRE(merged.merge_named_data_store(store.get_named_data_store_output()).ok());
    require_same(model, merged.get_named_data_store_output());
  }
}

TEST_CASE("Shards hold everything once, none above its cap, whatever the order of calls was") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::pair<std::string, std::string>> data;
    for (int i = 0; i < 15; ++i) data.emplace_back(concat("k", i), content(random));
    NamedDataStore store;
    for (const auto& [key, bytes] : data) REQUIRE(store.add_named_data(key, text(bytes)).ok());
    std::shuffle(data.begin(), data.end(), random);
    NamedDataStore other;
    for (const auto& [key, bytes] : data) REQUIRE(other.add_named_data(key, text(bytes)).ok());

    const std::uint64_t cap = 600 + random() % 700;
    REQUIRE(store.externalize_pte_data(cap, "w").ok());
    REQUIRE(other.externalize_pte_data(cap, "w").ok());
    const auto output = store.get_named_data_store_output();
    REQUIRE(output.pte_data.empty());
    const auto found = entries_of(output);
    for (const auto& [key, bytes] : data) REQUIRE(found.at(key).data == bytes);
    for (const auto& [tag, entries] : output.external_data) {
      std::set<std::uint32_t> buffers;
      std::uint64_t size = 0;
      for (const auto& one : entries) {
        if (buffers.insert(one.entry.buffer_index).second) {
          size += output.buffers.at(one.entry.buffer_index).size();
        }
      }
      REQUIRE(size <= cap);
    }
    const auto second = entries_of(other.get_named_data_store_output());
    for (const auto& [key, entry] : found) REQUIRE(second.at(key).tag == entry.tag);

    // Keys keep their places: data added later must agree with what was moved.
    REQUIRE(store.add_named_data("k3", text("other")).error() == Error::InvalidArgument);
    REQUIRE(store.add_named_data("k3", text(found.at("k3").data)).ok());
    REQUIRE(store.get_named_data_store_output().pte_data.empty());
  }
}

TEST_CASE("The tag of a shard is the one that ExecuTorch computes") {
  NamedDataStore store;
  REQUIRE(store.add_named_data("b", text("2")).ok());
  REQUIRE(store.add_named_data("a", text("1")).ok());
  REQUIRE(store.externalize_pte_data(100, "aoti").ok());
  const auto output = store.get_named_data_store_output();
  REQUIRE(output.external_data.size() == 1);
  // hashlib.sha256("\0".join(["a", "b"]).encode()).hexdigest()
  const std::string_view keys("a\0b", 3);
  REQUIRE(output.external_data[0].tag ==
          concat("aoti_", tenon::sha256_of(std::as_bytes(std::span(keys))).to_hex()));
  REQUIRE(output.external_data[0].entries[0].key == "a");
  REQUIRE(output.find_external_data(output.external_data[0].tag) == &output.external_data[0]);
  REQUIRE(output.find_external_data("aoti") == nullptr);
}

TEST_CASE("Named data is shared, not copied") {
  const auto owner = std::make_shared<std::string>(1000, 'x');
  NamedDataStore store;
  {
    const auto bytes = SharedBytes::borrow(std::as_bytes(std::span(*owner)), owner);
    REQUIRE(store.add_named_data("w", bytes).ok());
    REQUIRE(store.add_named_data("same bytes elsewhere", text(*owner)).ok());
  }
  REQUIRE(owner.use_count() == 2);
  const auto output = store.get_named_data_store_output();
  REQUIRE(output.buffers.size() == 1);
  REQUIRE(static_cast<const void*>(output.buffers[0].bytes().data()) == owner->data());
}

TEST_CASE("A key's layout may come with any of its calls, and two that differ are refused") {
  NamedDataStore store;
  const aot::DenseLayout layout{ScalarType::Float, {2, 2}};
  const aot::DenseLayout same{ScalarType::Float, {2, 2}, {0, 1}};
  const auto data = text(std::string(16, 'w'));
  REQUIRE(store.add_named_data("w", data).ok());
  REQUIRE(store.add_named_data("w", data, {1, {}, layout}).ok());
  REQUIRE(store.add_named_data("w", data, {1, {}, same}).ok());
  REQUIRE(store.get_named_data_store_output().pte_data[0].entry.tensor_layout == layout);
  REQUIRE(
      refusal(store.add_named_data("w", data, {1, {}, aot::DenseLayout{ScalarType::Float, {4}}})) ==
      "duplicate key 'w' with the same data and a different tensor layout");
}

TEST_CASE("Invalid data is refused and does not change the store") {
  NamedDataStore store;
  REQUIRE(store.add_named_data("w", text("1234"), {8}).ok());
  REQUIRE(store.add_named_data("x", text("12"), {1, "file"}).ok());
  const auto before = entries_of(store.get_named_data_store_output());

  REQUIRE(refusal(store.add_named_data("w", text("12345"))) ==
          "duplicate key 'w' with different data: existing data has 4 bytes, new data has 5 bytes");
  REQUIRE(refusal(store.add_named_data("", text("1"))) == "the key of named data is empty");
  REQUIRE(refusal(store.add_named_data("y", text("1"), {0})) ==
          "key 'y': alignment is 0, expected more than 0 and at most 1073741824");
  REQUIRE(refusal(store.add_named_data("y", text("1"), {std::uint64_t{1} << 31})).find("key 'y'") ==
          0);
  REQUIRE(
      refusal(store.add_named_data("w", text("1234"), {1073741823})) ==
      "duplicate key 'w': the alignments 8 and 1073741823 need 8589934584 together, expected at "
      "most 1073741824");
  REQUIRE(refusal(store.add_named_data("y", text("1"), {1, ""})) ==
          "key 'y': external tag is empty");
  REQUIRE(
      refusal(store.add_named_data("y", text("1"), {1, "../y"})) ==
      "key 'y': external tag '../y' is not a file name: it holds a slash, a backslash or a NUL");
  REQUIRE(refusal(store.add_named_data("y", text("1"),
                                       {1, {}, aot::DenseLayout{ScalarType::Float, {2}}})) ==
          "key 'y': the tensor layout needs 8 bytes, but the data has 1");
  REQUIRE(refusal(store.add_named_data("y", text("1"),
                                       {1, {}, aot::DenseLayout{ScalarType::Float, {-1}}})) ==
          "key 'y': tensor layout: sizes[0] is -1, expected 0 or more");

  REQUIRE(refusal(store.externalize_pte_data(0, "t")) ==
          "external data shard cap is 0 bytes, expected a positive number");
  REQUIRE(refusal(store.externalize_pte_data(1, "")) == "external data tag prefix is empty");
  REQUIRE(refusal(store.externalize_pte_data(100, "a/b")).find("external tag 'a/b'") == 0);
  REQUIRE(refusal(store.externalize_pte_data(3, "t")) ==
          "the data of key 'w' has 4 bytes and exceeds the external data shard cap, 3");
  const auto taken = concat("t_", sha256_hex(std::as_bytes(std::span("w", 1))));
  NamedDataStore with_tag = store;
  REQUIRE(with_tag.add_named_data("v", text("v"), {1, taken}).ok());
  REQUIRE(refusal(with_tag.externalize_pte_data(100, "t")) ==
          concat("external data tag collision for '", taken, "'"));

  aot::NamedDataStoreOutput wrong{{text("1")}, {{"fine", {0}}, {"bad", {1}}}, {}};
  REQUIRE(refusal(store.merge_named_data_store(wrong)) ==
          "key 'bad': buffer index is 1, expected an index of one of 1 buffers");
  wrong = {{text("1")}, {{"fine", {0}}, {"w", {0}}}, {}};
  REQUIRE(refusal(store.merge_named_data_store(wrong)).find("duplicate key 'w'") == 0);

  const auto after = entries_of(store.get_named_data_store_output());
  REQUIRE(after.size() == before.size());
  for (const auto& [key, entry] : before) {
    REQUIRE(after.at(key).data == entry.data);
    REQUIRE(after.at(key).tag == entry.tag);
    REQUIRE(after.at(key).alignment == entry.alignment);
  }
}

TEST_CASE("The hash for names is SHA-256") {
  const auto hash = [](std::string_view value) {
    return sha256_hex(std::as_bytes(std::span(value)));
  };
  REQUIRE(hash("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  REQUIRE(hash("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  for (std::size_t size = 0; size < 300; ++size) {
    const std::string value(size, static_cast<char>(size));
    REQUIRE(hash(value) == tenon::sha256_of(std::as_bytes(std::span(value))).to_hex());
  }
}

TEST_CASE("Layouts are checked for what readers rely on") {
  using aot::check_layout;
  using aot::DenseLayout;
  REQUIRE(check_layout({ScalarType::Float, {}}).ok());
  REQUIRE(check_layout({ScalarType::Float, {2, 0, 3}, {2, 0, 1}}).ok());
  REQUIRE(check_layout({ScalarType::Bits16, {1}}).ok());
  REQUIRE(check_layout({ScalarType::ComplexFloat, {1}}).error() == Error::NotSupported);
  REQUIRE(check_layout({ScalarType::Bits8, {1}}).error() == Error::NotSupported);
  REQUIRE(refusal(check_layout({static_cast<ScalarType>(30), {}})) ==
          "scalar type is 30, expected a known one");
  REQUIRE(refusal(check_layout({ScalarType::Float, std::vector<std::int32_t>(17, 1)})) ==
          "rank is 17, expected at most 16");
  REQUIRE(refusal(check_layout({ScalarType::Float, {1, 2}, {0}})) ==
          "dim_order has 1 entries, expected the rank, 2");
  REQUIRE(refusal(check_layout({ScalarType::Float, {1, 2}, {1, 1}})) ==
          "dim_order[1] is 1, expected each dimension below 2 once");
  REQUIRE(refusal(check_layout({ScalarType::Float, {1, 2}, {0, 2}})).find("dim_order[1] is 2") ==
          0);
  REQUIRE(refusal(check_layout({ScalarType::Double, {1 << 30, 1 << 30, 0}})) ==
          "sizes: the number of bytes overflows at dimension 1");
}

}  // namespace tenon::test::named_data_store
