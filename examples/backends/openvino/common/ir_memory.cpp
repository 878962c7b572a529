// SPDX-License-Identifier: MIT
#include "common/ir_memory.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>
#include <vector>

namespace openvino_backend {
namespace {

/// The tensors of one layer.
struct LayerBytes {
  std::uint64_t nbytes = 0;
  std::size_t last_reader = 0;  ///< Number of the layer that needs it last.
};

/// The text between `before` and `after`, which are both in `text`, or nothing.
std::optional<std::string_view> between(std::string_view text, std::string_view before,
                                        std::string_view after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin + before.size());
  const std::size_t end = text.find(after);
  if (end == std::string_view::npos) return std::nullopt;
  return text.substr(0, end);
}

std::optional<std::uint64_t> number(std::optional<std::string_view> text) {
  std::uint64_t out = 0;
  if (!text) return std::nullopt;
  const char* const end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, out);
  if (read.ptr != end || read.ec != std::errc()) return std::nullopt;
  return out;
}

/// Bytes of an element of a precision: "FP32", "I8", "BOOL".
std::uint64_t element_bytes(std::string_view precision) {
  if (precision == "BOOL") return 1;
  const std::size_t digit = precision.find_first_of("0123456789");
  if (digit == std::string_view::npos) return 0;
  return number(precision.substr(digit)).value_or(0) / 8;
}

/// Bytes of the tensors in the text of a layer's <output>.
std::optional<std::uint64_t> output_bytes(std::string_view output) {
  std::uint64_t sum = 0;
  for (std::size_t at = output.find("<port "); at != std::string_view::npos;
       at = output.find("<port ", at + 1)) {
    const std::size_t next = output.find("<port ", at + 1);
    std::string_view port = output.substr(at, next == output.npos ? next : next - at);
    const auto precision = between(port, "precision=\"", "\"");
    std::uint64_t nbytes = precision ? element_bytes(*precision) : 0;
    if (nbytes == 0) return std::nullopt;
    while (const auto dim = between(port, "<dim>", "</dim>")) {
      const auto size = number(*dim);  // -1: not static.
      if (!size || __builtin_mul_overflow(nbytes, *size, &nbytes)) return std::nullopt;
      port.remove_prefix(static_cast<std::size_t>(dim->data() - port.data()) + dim->size());
    }
    sum += nbytes;
  }
  return sum;
}

/// All layers, in their order.
std::optional<std::vector<LayerBytes>> read_layers(std::string_view xml) {
  std::vector<LayerBytes> out;
  constexpr std::string_view begin = "<layer id=\"", end = "</layer>";
  while (const auto layer = between(xml, begin, end)) {
    const auto type = between(*layer, " type=\"", "\"");
    if (!type || number(layer->substr(0, layer->find('"'))) != out.size()) return std::nullopt;
    LayerBytes& bytes = out.emplace_back();
    bytes.last_reader = out.size() - 1;
    const auto output = between(*layer, "<output>", "</output>");
    const bool counts = *type != "Const" && *type != "Parameter" && *type != "Result";
    if (counts && output) {
      const auto nbytes = output_bytes(*output);
      if (!nbytes) return std::nullopt;
      bytes.nbytes = *nbytes;
    }
    xml.remove_prefix(static_cast<std::size_t>(layer->data() - xml.data()) + layer->size());
  }
  return out;
}

}  // namespace

std::optional<std::uint64_t> peak_bytes(std::string_view xml) {
  auto layers = read_layers(xml);
  if (!layers) return std::nullopt;
  while (const auto edge = between(xml, "<edge ", "/>")) {
    const auto from = number(between(*edge, "from-layer=\"", "\""));
    const auto to = number(between(*edge, "to-layer=\"", "\""));
    if (!from || !to || *from >= layers->size() || *to >= layers->size()) return std::nullopt;
    LayerBytes& layer = (*layers)[static_cast<std::size_t>(*from)];
    layer.last_reader = std::max(layer.last_reader, static_cast<std::size_t>(*to));
    xml.remove_prefix(static_cast<std::size_t>(edge->data() - xml.data()) + edge->size());
  }
  std::vector<std::uint64_t> ends(layers->size() + 1);  // Bytes that are free before each layer.
  std::uint64_t live = 0, peak = 0;
  for (std::size_t i = 0; i < layers->size(); ++i) {
    live -= ends[i];
    const LayerBytes& layer = (*layers)[i];
    live += layer.nbytes;
    ends[layer.last_reader + 1] += layer.nbytes;
    peak = std::max(peak, live);
  }
  return peak;
}

}  // namespace openvino_backend
