// SPDX-License-Identifier: MIT
#include "common/blob.hpp"
#include "common/ir_memory.hpp"

#include <cstring>
#include <string>

#include "linear_program.hpp"
#include "support/catch.hpp"

namespace {

using openvino_backend::check_origin;
using openvino_backend::IrBlob;
using openvino_backend::read_exported_blob;
using openvino_backend::read_ir_blob;
using openvino_backend::write_ir_blob;
using tenon::Error;

void put(std::vector<std::byte>& bytes, std::size_t at, std::uint64_t value, std::size_t size) {
  std::memcpy(bytes.data() + at, &value, size);
}

std::vector<std::byte> exported(std::string_view requirements) {
  const std::string text = openvino_backend::test::exported_blob(requirements);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("an IR payload is read as it was written") {
  const IrBlob blob{"openvino/abc", 48, "<net/>"};
  const auto bytes = write_ir_blob(blob);
  CHECK(openvino_backend::is_ir_blob(bytes));
  const auto read = read_ir_blob(bytes);
  REQUIRE(read.ok());
  CHECK(read->key == blob.key);
  CHECK(read->weights_size == 48);
  CHECK(read->xml == blob.xml);
}

TEST_CASE("an IR payload without weights has no key") {
  const auto bytes = write_ir_blob({"", 0, "<net/>"});
  const auto read = read_ir_blob(bytes);
  REQUIRE(read.ok());
  CHECK(read->key.empty());
}

TEST_CASE("each shorter or longer IR payload is refused") {
  auto bytes = write_ir_blob({"key", 48, "<net/>"});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(read_ir_blob(tenon::Bytes(bytes).first(size)).ok());
  }
  bytes.push_back(std::byte{});
  CHECK(read_ir_blob(bytes).error() == Error::InvalidProgram);
}

TEST_CASE("an IR payload of another version is refused with both versions") {
  auto bytes = write_ir_blob({"key", 48, "<net/>"});
  bytes[8] = std::byte{7};
  const auto read = read_ir_blob(bytes);
  CHECK(read.error() == Error::DelegateInvalidCompatibility);
  CHECK(std::string(read.text()) == "payload: expected version 1, found 7");
}

TEST_CASE("sizes of an IR payload that wrap round are refused") {
  auto bytes = write_ir_blob({"key", 48, "<net/>"});
  put(bytes, 12, 0xFFFFFFFF, 4);
  CHECK(read_ir_blob(bytes).error() == Error::InvalidProgram);
  bytes = write_ir_blob({"key", 48, "<net/>"});
  put(bytes, 16, ~std::uint64_t{2}, 8);
  CHECK(read_ir_blob(bytes).error() == Error::InvalidProgram);
}

TEST_CASE("an IR payload with a key and no weights is refused") {
  const auto bytes = write_ir_blob({"key", 0, "<net/>"});
  CHECK(read_ir_blob(bytes).error() == Error::InvalidProgram);
}

TEST_CASE("the size of an exported model's graph is the one of its last part") {
  const auto bytes = exported("meta=1.0;ov=2026.4.1;isa=AVX");
  const auto read = read_exported_blob(bytes);
  REQUIRE(read.ok());
  CHECK(read->requirements == "meta=1.0;ov=2026.4.1;isa=AVX");
  CHECK(read->graph_size == 12);
}

TEST_CASE("an exported model of another version, processor or origin is refused") {
  struct Row {
    std::string_view requirements;
    std::string_view required;
    std::string_view refusal;  // Empty: it is not refused.
  };
  const auto row = GENERATE(
      Row{"meta=1.0;ov=2026.4.1;isa=AVX", "meta=1.0;ov=2026.4.1;isa=AVX", ""},
      Row{"meta=1.0;ov=2026.4.1;isa=AVX", "", ""}, Row{"", "", ""},
      // What one of them does not name is left to OpenVINO.
      Row{"isa", "meta=1.0;isa=AVX", ""}, Row{"isa=AVX;", "meta=1.0;ov=2026.4.1", ""},
      Row{"ov=2026.3.0;isa=AVX", "", "expected version 2026.4.1-22982 of OpenVINO, found 2026.3.0"},
      Row{"ov=2026.3.0", "ov=2026.4.1", "found 2026.3.0"},
      // A version is compared number by number: 2026.4.1-22982 is 2026.4, and no 2026.4.1-2.
      Row{"ov=2026.4;isa=AVX", "", ""}, Row{"ov=2026.4.1-22982", "", ""},
      Row{"ov=2026.4.1-2;isa=AVX", "",
          "expected version 2026.4.1-22982 of OpenVINO, found 2026.4.1-2;"},
      Row{"ov=202", "", "found 202;"},
      Row{"ov=2026.4.1;isa=AVX2", "isa=AVX",
          "expected instruction set 'AVX' (OpenVINO 2026.4.1-22982), found 'AVX2'"},
      Row{"isa_of=1;isa=AVX2", "isa=AVX", "found 'AVX2'"},
      Row{"", "meta=1.0;isa=AVX", "expected OpenVINO IR or a model that OpenVINO 2026.4.1-22982"});
  CAPTURE(row.requirements, row.required);
  const tenon::Status found = check_origin({row.requirements}, "2026.4.1-22982", row.required);
  CHECK(found.ok() == row.refusal.empty());
  if (row.refusal.empty()) return;
  CHECK(found.error() == Error::DelegateInvalidCompatibility);
  CHECK_THAT(std::string(found.text()), ContainsSubstring(std::string(row.refusal)));
}

TEST_CASE("a refusal shows the begin of what an exported model requires") {
  const std::string isa = "isa=" + std::string(100'000, 'x');
  CHECK(check_origin({isa}, "2026.4.1", "isa=AVX").text().size() < 300);
}

TEST_CASE("an exported model whose parts end outside of it is refused") {
  const auto bytes = exported("meta=1.0;ov=2026.4.1;isa=AVX");
  for (std::size_t size = 8; size < bytes.size(); ++size) {
    CAPTURE(size);
    CHECK(read_exported_blob(tenon::Bytes(bytes).first(size)).error() == Error::InvalidProgram);
  }
  auto longer = bytes;
  put(longer, 12, ~std::uint64_t{0}, 8);
  CHECK(read_exported_blob(longer).error() == Error::InvalidProgram);
  longer = bytes;
  put(longer, 20 + 28 + 32, ~std::uint64_t{0} - 4, 8);
  CHECK(read_exported_blob(longer).error() == Error::InvalidProgram);
}

TEST_CASE("an exported model for another device is left to OpenVINO") {
  const std::string text = "ELF or anything else";
  const auto read = read_exported_blob(std::as_bytes(std::span(text)));
  REQUIRE(read.ok());
  CHECK(read->requirements.empty());
  CHECK(read_exported_blob({}).error() == Error::InvalidProgram);
}

TEST_CASE("the memory of a run is read from the sizes of the IR", "[openvino_blob]") {
  const auto layer = [](int id, std::string type, std::string ports) {
    return "<layer id=\"" + std::to_string(id) + "\" name=\"n\" type=\"" + type +
           "\" version=\"opset1\"><output>" + ports + "</output></layer>";
  };
  const auto port = [](std::string dims) {
    return "<port id=\"0\" precision=\"FP32\">" + dims + "</port>";
  };
  const auto edge = [](int from, int to) {
    return "<edge from-layer=\"" + std::to_string(from) + "\" from-port=\"0\" to-layer=\"" +
           std::to_string(to) + "\" to-port=\"0\"/>";
  };
  const std::string ten = port("<dim>2</dim><dim>5</dim>");
  const std::string layers = layer(0, "Parameter", ten) +
                             layer(1, "Const", port("<dim>999</dim>")) + layer(2, "Add", ten) +
                             layer(3, "Relu", ten) + layer(4, "Sigmoid", port("<dim>3</dim>")) +
                             layer(5, "Result", "");
  // At layer 3 it and layer 2 are kept; at layer 4 it and layer 3.
  const std::string edges = edge(0, 2) + edge(1, 2) + edge(2, 3) + edge(3, 4) + edge(4, 5);
  CHECK(openvino_backend::peak_bytes(layers + edges) == 80);
  CHECK(openvino_backend::peak_bytes(layers + edges + edge(2, 4)) == 92);
  CHECK(openvino_backend::peak_bytes("") == 0);
  CHECK_FALSE(openvino_backend::peak_bytes(layer(0, "Add", port("<dim>-1</dim>"))));
  CHECK_FALSE(openvino_backend::peak_bytes(layer(7, "Add", ten)));
  CHECK_FALSE(openvino_backend::peak_bytes(layers + edge(0, 77)));
  const std::string huge = "<dim>4611686018427387904</dim>";
  CHECK_FALSE(openvino_backend::peak_bytes(layer(0, "Add", port(huge + huge))));
}
