// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/compiler/write/file_image.hpp"
#include "tenon/aot/shared_bytes.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace ort {

/// A message of protobuf. Written here, as six messages are not worth protobuf's compiler, its
/// library and onnx.proto; and as blobs are shared, not copied into each message around them.
class Message {
 public:
  void add_number(std::uint32_t field, std::uint64_t value) {
    append_varint(field << 3);
    append_varint(value);
  }
  void add_text(std::uint32_t field, std::string_view text) {
    begin(field, text.size());
    text_ += text;
  }
  void add_bytes(std::uint32_t field, const aot::SharedBytes& bytes) {
    begin(field, bytes.size());
    add_piece(bytes);
  }
  void add_message(std::uint32_t field, Message message) {
    message.end_piece();
    begin(field, message.size_);
    for (const aot::SharedBytes& each : message.pieces_) add_piece(each);
  }

  /// The file that is this message.
  [[nodiscard]] aot::FileImage image() && {
    end_piece();
    std::vector<aot::FileImage::Piece> pieces;
    std::uint64_t at = 0;
    for (aot::SharedBytes& each : pieces_) {
      const std::uint64_t size = each.size();
      pieces.push_back({at, std::move(each)});
      at += size;
    }
    return {size_, std::move(pieces)};
  }

 private:
  void append_varint(std::uint64_t value) {
    for (; value > 0x7f; value >>= 7) text_ += static_cast<char>((value & 0x7f) | 0x80);
    text_ += static_cast<char>(value);
  }
  void begin(std::uint32_t field, std::uint64_t size) {
    append_varint((field << 3) | 2);
    append_varint(size);
  }
  void add_piece(const aot::SharedBytes& bytes) {
    end_piece();
    size_ += bytes.size();
    pieces_.push_back(bytes);
  }
  void end_piece() {
    if (text_.empty()) return;
    size_ += text_.size();
    pieces_.push_back(aot::SharedBytes::copy_of(text_));
    text_.clear();
  }

  std::vector<aot::SharedBytes> pieces_;
  std::uint64_t size_ = 0;
  std::string text_;  // Behind the pieces.
};

}}}  // namespace tenon::TENON_RELEASE::ort
