// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tenon/core/sha256.hpp>
#include <vector>

#include "common/blob.hpp"
#include "support/program_builder.hpp"

/// y = relu(x * w) for x of [rows, 4] and w of [4, 3], as OpenVINO IR.
namespace openvino_backend::test {

inline constexpr std::int32_t columns = 4;
inline constexpr std::int32_t results = 3;

/// The weights: 0.5, -0.25, 1, 0.5, ...
inline std::vector<float> weights() {
  constexpr float values[] = {0.5F, -0.25F, 1.0F};
  std::vector<float> out;
  for (int i = 0; i < columns * results; ++i) {
    out.push_back(values[i % 3] * static_cast<float>(i / 3 + 1));
  }
  return out;
}

inline std::string_view bytes_of_weights(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// The results of the model. All sums are exact.
inline std::vector<float> expected(const std::vector<float>& x) {
  const std::vector<float> w = weights();
  std::vector<float> out;
  for (std::size_t row = 0; row < x.size() / columns; ++row) {
    for (std::size_t j = 0; j < results; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < columns; ++k) sum += x[row * columns + k] * w[k * results + j];
      out.push_back(sum < 0 ? 0 : sum);
    }
  }
  return out;
}

/// `rows` as IR writes a dimension: "2", or "..8" for none to eight.
inline std::string ir_of(const std::string& rows) {
  const std::string row = rows.find('.') == std::string::npos ? rows : "-1";
  const auto port = [](const std::string& id, const std::string& a, const std::string& b) {
    return "<port id=\"" + id + "\" precision=\"FP32\"><dim>" + a + "</dim><dim>" + b +
           "</dim></port>";
  };
  const auto layer = [](const char* id, const char* type, const std::string& inside) {
    return std::string("<layer id=\"") + id + "\" name=\"" + type + "\" type=\"" + type +
           "\" version=\"opset1\">" + inside + "</layer>";
  };
  const auto edge = [](const char* from, const char* from_port, const char* to,
                       const char* to_port) {
    return std::string("<edge from-layer=\"") + from + "\" from-port=\"" + from_port +
           "\" to-layer=\"" + to + "\" to-port=\"" + to_port + "\"/>";
  };
  return "<?xml version=\"1.0\"?><net name=\"linear\" version=\"11\"><layers>" +
         layer("0", "Parameter",
               "<data shape=\"" + rows + ",4\" element_type=\"f32\"/><output>" +
                   port("0", row, "4") + "</output>") +
         layer("1", "Const",
               "<data element_type=\"f32\" shape=\"4, 3\" offset=\"0\" size=\"48\"/><output>" +
                   port("0", "4", "3") + "</output>") +
         layer("2", "MatMul",
               "<data transpose_a=\"false\" transpose_b=\"false\"/><input>" + port("0", row, "4") +
                   port("1", "4", "3") + "</input><output>" + port("2", row, "3") + "</output>") +
         layer("3", "ReLU",
               "<input>" + port("0", row, "3") + "</input><output>" + port("1", row, "3") +
                   "</output>") +
         layer("4", "Result", "<input>" + port("0", row, "3") + "</input>") + "</layers><edges>" +
         edge("0", "0", "2", "0") + edge("1", "0", "2", "1") + edge("2", "2", "3", "0") +
         edge("3", "1", "4", "0") + "</edges></net>";
}

/// A payload of the ahead-of-time half's form.
inline std::string payload(const std::string& ir, std::string_view key, std::size_t weights_size) {
  const auto bytes = write_ir_blob({key, weights_size, ir});
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A head as OpenVINO 2026.4 writes it for CPUs, and three parts, the last one of 12 bytes. Nothing
/// in them is a model.
inline std::string exported_blob(std::string_view requirements) {
  std::string out = "RR_UPCVO";
  const auto put = [&out](auto value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  put(std::uint32_t{1});
  put(std::uint64_t{requirements.size()});
  out += requirements;
  std::uint64_t offset = 48;
  for (const std::uint64_t nbytes : {8U, 8U, 12U}) {
    put(offset);
    put(nbytes);
    offset += nbytes;
  }
  return out.append(28, 'x');
}

/// A program with method "forward" of one delegate, for at most `rows` rows.
struct LinearProgram {
  std::string id = "TenonOpenvino";
  std::int32_t rows = 2;
  bool is_dynamic = false;
  std::string blob;  ///< Empty: the IR, with `key`.
  std::string key = "openvino/weights";
  std::string weights;  ///< Empty: `weights()`; under `key`.
  std::vector<std::pair<std::string, std::string>> specs{};

  [[nodiscard]] tenon::test::AlignedBytes build() const {
    tenon::test::ProgramBuilder builder;
    auto plan = builder.plan("forward");
    const auto memory = plan.buffer(1024);
    const auto tensor = [&](std::int32_t width, std::size_t offset) {
      auto out =
          tenon::test::planned_tensor(tenon::ScalarType::Float, {rows, width}, memory, offset);
      if (is_dynamic) out.shape_dynamism = tenon::schema::TensorShapeDynamism::DYNAMIC_BOUND;
      return out;
    };
    const auto x = plan.input(tensor(columns, 0));
    const auto y = plan.output(tensor(results, 512));
    const std::vector<float> numbers = test::weights();
    const std::string data = weights.empty() ? std::string(bytes_of_weights(numbers)) : weights;
    const std::string ir = ir_of(is_dynamic ? ".." + std::to_string(rows) : std::to_string(rows));
    const std::string processed = blob.empty() ? payload(ir, key, 48) : blob;
    const auto delegate = plan.delegate(id, tenon::schema::DataLocation::SEGMENT,
                                        builder.segment(tenon::test::bytes_of(processed)));
    for (const auto& [name, value] : specs) plan.compile_spec(delegate, name, value);
    builder.named_data("openvino/weights", builder.segment(tenon::test::bytes_of(data), 64));
    plan.instruction(tenon::test::delegate_call(delegate, {x, y}));
    return builder.build();
  }
};

}  // namespace openvino_backend::test
