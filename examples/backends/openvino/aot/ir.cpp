// SPDX-License-Identifier: MIT
#include "aot/ir.hpp"

#include <tenon/core/concat.hpp>

namespace openvino_backend {

using tenon::ScalarType;

namespace {

struct DtypeRow {
  ScalarType dtype;
  std::string_view element_type;
  std::string_view precision;
};
constexpr DtypeRow dtype_rows[] = {
    {ScalarType::Byte, "u8", "U8"},        {ScalarType::Char, "i8", "I8"},
    {ScalarType::Short, "i16", "I16"},     {ScalarType::Int, "i32", "I32"},
    {ScalarType::Long, "i64", "I64"},      {ScalarType::Half, "f16", "FP16"},
    {ScalarType::Float, "f32", "FP32"},    {ScalarType::Double, "f64", "FP64"},
    {ScalarType::Bool, "boolean", "BOOL"}, {ScalarType::BFloat16, "bf16", "BF16"},
};

const DtypeRow* find(ScalarType dtype) noexcept {
  for (const DtypeRow& row : dtype_rows) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char letter : text) {
    switch (letter) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default: {
        // In attributes a line break would be read as a space.
        const bool is_control = static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f;
        out += is_control ? '?' : letter;
      }
    }
  }
  return out;
}

void add_attribute(std::string& out, std::string_view name, std::string_view value) {
  out += tenon::concat(" ", name, "=\"", escape(value), "\"");
}

void add_port(std::string& out, std::size_t id, const IrType& type) {
  const DtypeRow* row = find(type.dtype);
  out += tenon::concat("\t\t\t\t<port id=\"", id, "\" precision=\"",
                       row ? row->precision : std::string_view("UNSPECIFIED"), "\"");
  if (!type.sizes || type.sizes->empty()) {
    out += "/>\n";
    return;
  }
  out += ">";
  for (const IrSize& size : *type.sizes) {
    out += tenon::concat("<dim>", size.is_static() ? size.min : std::int64_t{-1}, "</dim>");
  }
  out += "</port>\n";
}

}  // namespace

std::string_view element_type(ScalarType dtype) noexcept {
  const DtypeRow* row = find(dtype);
  return row ? row->element_type : std::string_view();
}

std::string shape_text(const std::vector<IrSize>& sizes) {
  std::string out;
  for (const IrSize& size : sizes) {
    if (!out.empty()) out += ',';
    if (size.is_static()) {
      out += tenon::concat(size.min);
    } else if (size.max != IrSize::unbounded) {
      out += tenon::concat(size.min, "..", size.max);
    } else {
      out += size.min == 0 ? std::string("?") : tenon::concat(size.min, "..");
    }
  }
  return out;
}

std::string write_xml(const Ir& ir) {
  std::string out = "<?xml version=\"1.0\"?>\n<net";
  add_attribute(out, "name", ir.name);
  out += " version=\"11\">\n\t<layers>\n";
  for (std::size_t id = 0; id < ir.layers.size(); ++id) {
    const Layer& layer = ir.layers[id];
    out += tenon::concat("\t\t<layer id=\"", id, "\"");
    add_attribute(out, "name", layer.name);
    add_attribute(out, "type", layer.type);
    add_attribute(out, "version", layer.opset);
    out += ">\n";
    if (!layer.attributes.empty()) {
      out += "\t\t\t<data";
      for (const auto& [name, value] : layer.attributes) add_attribute(out, name, value);
      out += "/>\n";
    }
    // Numbers of ports: inputs first, then outputs.
    if (!layer.inputs.empty()) {
      out += "\t\t\t<input>\n";
      for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
        const Output& from = layer.inputs[i];
        add_port(out, i, ir.layers[from.layer].outputs[from.port]);
      }
      out += "\t\t\t</input>\n";
    }
    if (!layer.outputs.empty()) {
      out += "\t\t\t<output>\n";
      for (std::size_t i = 0; i < layer.outputs.size(); ++i) {
        add_port(out, layer.inputs.size() + i, layer.outputs[i]);
      }
      out += "\t\t\t</output>\n";
    }
    out += "\t\t</layer>\n";
  }
  out += "\t</layers>\n\t<edges>\n";
  for (std::size_t id = 0; id < ir.layers.size(); ++id) {
    const Layer& layer = ir.layers[id];
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      const Output& from = layer.inputs[i];
      out += tenon::concat("\t\t<edge from-layer=\"", from.layer, "\" from-port=\"",
                           ir.layers[from.layer].inputs.size() + from.port, "\" to-layer=\"", id,
                           "\" to-port=\"", i, "\"/>\n");
    }
  }
  out += "\t</edges>\n</net>\n";
  return out;
}

}  // namespace openvino_backend
