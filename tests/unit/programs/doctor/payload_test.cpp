// SPDX-License-Identifier: MIT
#include "payload.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/aligned_bytes.hpp"
#include "support/catch.hpp"
#include "support/program_builder.hpp"
#include "tenon/core/concat.hpp"

using namespace tenon;

namespace {

using Keys = std::vector<std::string>;

/// From a copy behind whose end AddressSanitizer reports every read.
Keys keys_of(std::string_view payload, std::string_view backend = "CudaBackend",
             std::string_view method = "forward") {
  const test::AlignedBytes copy(test::bytes_of(payload));
  return doctor::keys_of_payload(backend, method, copy.bytes());
}

void put(std::string& out, std::uint64_t number, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(number >> (8 * i) & 0xff);
}
void put(std::string& out, std::string_view text) {
  put(out, text.size(), 4);
  out += text;
}

/// A table as the exporter of CUDA programs writes it.
class Table {
 public:
  Table(std::string_view library, std::uint32_t count) {
    put(bytes_, library);
    put(bytes_, count, 4);
  }
  Table& weight(std::string_view name, std::string_view key,
                const std::vector<std::uint64_t>& sizes) {
    put(bytes_, name);
    put(bytes_, key);
    put(bytes_, 2048, 8);
    put(bytes_, 6, 4);
    put(bytes_, 1, 4);
    put(bytes_, 0, 8);
    put(bytes_, sizes.size(), 4);
    for (int part = 0; part < 2; ++part) {
      for (const std::uint64_t size : sizes) put(bytes_, size, 8);
    }
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = "ETCUDAFQN3";
};

}  // namespace

TEST_CASE("keys of an AOTInductor payload are written one a line", "[payload]") {
  for (const char* backend : {"CpuAotiBackend", "CudaBackend", "MetalBackend"}) {
    CHECK(keys_of("ab_so_blob\ncd_weights_blob", backend) == Keys{"ab_so_blob", "cd_weights_blob"});
  }
  CHECK(keys_of("ab_so_blob") == Keys{"ab_so_blob"});
  CHECK(keys_of("ab_so_blob\n") == Keys{"ab_so_blob"});
  CHECK(keys_of("ab_so_blob\nab_so_blob") == Keys{"ab_so_blob"});
}

TEST_CASE("payloads that do not look like keys have none", "[payload]") {
  for (const std::string& payload :
       {std::string("\n"),
        std::string("\x7f"
                    "ELF"),
        std::string("ab_so_blob\nnothing"), std::string("ab_so_blob\n\ncd_weights_blob"),
        std::string("ab_so_blob\r\ncd_weights_blob"), std::string("so_blo"), std::string("\0", 1),
        std::string(1025, 'x') + "_so_blob"}) {
    INFO(payload);
    CHECK(keys_of(payload).empty());
  }
}

TEST_CASE("the payload of another backend is its own affair", "[payload]") {
  for (const char* backend : {"", "XnnpackBackend", "CudaBackend2", "cudabackend"}) {
    CHECK(keys_of("ab_so_blob", backend).empty());
    CHECK(keys_of("", backend).empty());
  }
}

TEST_CASE("an empty payload is the older form, with the method's name", "[payload]") {
  CHECK(keys_of("", "MetalBackend", "encode") == Keys{"encode_so_blob"});
  CHECK(keys_of("", "CudaBackend", "") == Keys{"so_blob"});
}

TEST_CASE("a table of weights names the library and each storage once", "[payload]") {
  const std::string table = Table("ab_so_blob", 4)
                                .weight("a.weight", "key a", {32, 16})
                                .weight("a.bias", "key b", {32})
                                .weight("scale", "key c", {})
                                .weight("tied", "key a", {16, 32})
                                .bytes();
  CHECK(keys_of(table) == Keys{"ab_so_blob", "key a", "key b", "key c"});
  CHECK(keys_of(Table("ab_so_blob", 0).bytes()) == Keys{"ab_so_blob"});
}

TEST_CASE("a table with libraries for several devices names each library", "[payload]") {
  const std::string weights = Table("lib", 1).weight("w", "key", {2}).bytes();
  const std::string rest = weights.substr(10 + 4 + 3);
  for (const char digit : {'0', '4', '5'}) {
    std::string table = std::string("ETCUDAFQN") + digit;
    put(table, 2, 4);
    for (const std::string_view library : {"lib a", "lib b"}) {
      for (int i = 0; i < (digit == '4' ? 2 : 3); ++i) put(table, 0, 4);
      put(table, library);
    }
    CHECK(keys_of(table + rest) == Keys{"lib a", "lib b", "key"});
    for (std::size_t size = 9; size < table.size(); ++size) {
      CHECK(keys_of(table.substr(0, size)).empty());
    }
    std::string hostile = table + rest;
    hostile.replace(10, 4, "\xff\xff\xff\xff");
    CHECK(keys_of(hostile).empty());
  }
  CHECK(keys_of("ETCUDAFQN7" + weights.substr(10)).empty());
}

TEST_CASE("padding behind a table of weights does not matter", "[payload]") {
  const std::string table = Table("lib", 1).weight("w", "key", {2}).bytes();
  CHECK(keys_of(table + std::string(100, '\0')) == Keys{"lib", "key"});
}

TEST_CASE("a table of weights that ends too early has no keys", "[payload]") {
  const std::string table =
      Table("ab_so_blob", 2).weight("a", "key a", {32, 16}).weight("b", "key b", {8}).bytes();
  for (std::size_t size = std::string_view("ETCUDAFQN3").size(); size < table.size(); ++size) {
    INFO("cut to " << size << " bytes of " << table.size());
    CHECK(keys_of(table.substr(0, size)).empty());
  }
  CHECK(keys_of(table).size() == 3);
}

TEST_CASE("numbers of a hostile table of weights are not believed", "[payload]") {
  const std::string table = Table("lib", 1).weight("name", "key", {2}).bytes();
  // Length of the library's key, number of weights, lengths of a name and a key, rank.
  const std::size_t library = 10;
  const std::size_t count = library + 4 + 3;
  const std::size_t name = count + 4;
  const std::size_t key = name + 4 + 4;
  const std::size_t rank = key + 4 + 3 + 24;
  for (const std::size_t at : {library, count, name, key, rank}) {
    for (const std::uint32_t number : {0xffff'ffffu, 0x8000'0000u, 0x0fff'ffffu, 1000u}) {
      std::string hostile = table;
      std::string bytes;
      put(bytes, number, 4);
      hostile.replace(at, 4, bytes);
      INFO("number " << number << " at " << at);
      CHECK(keys_of(hostile).empty());
    }
  }
  CHECK(keys_of(table) == Keys{"lib", "key"});
}

TEST_CASE("every changed byte of a table of weights is read without harm", "[payload]") {
  const std::string table = Table("lib", 1).weight("name", "key", {2}).bytes();
  for (std::size_t at = 0; at < table.size(); ++at) {
    for (unsigned value = 0; value < 256; ++value) {
      std::string changed = table;
      changed[at] = static_cast<char>(value);
      for (const std::string& key : keys_of(changed)) REQUIRE(key.size() <= table.size());
    }
  }
}

TEST_CASE("as many weights as fit are read, each once", "[payload]") {
  constexpr std::uint32_t count = 60'000;
  Table table("lib", count);
  for (std::uint32_t i = 0; i < count; ++i) table.weight("", concat("key ", i), {});
  const Keys keys = keys_of(table.bytes());
  REQUIRE(keys.size() == count + 1);
  CHECK(keys.back() == concat("key ", count - 1));
}
