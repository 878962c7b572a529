// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/json.hpp"

namespace chat {

/// Reads `tokenizer.json` of the package `tokenizers`: byte-level BPE whose pieces begin and end at
/// characters of ASCII, as make_model.py writes it. Other files are refused by what they ask for.
///
/// Immutable; any thread may use it.
class Tokenizer {
 public:
  /// Has no tokens.
  Tokenizer() = default;

  /// `name` is in front of every error.
  ///
  /// errors: InvalidExternalData (not such a file), NotSupported (what this reader lacks).
  [[nodiscard]] static tenon::Result<Tokenizer> read(std::string_view json, std::string_view name);

  /// The tokens of a text, or of any bytes. Names of special tokens in it are text.
  [[nodiscard]] std::vector<std::int64_t> encode(std::string_view text) const;

  /// The bytes of a token, which may be a part of a character. A special or unknown token has none.
  [[nodiscard]] std::string_view bytes(std::int64_t token) const;

  /// The special token of this name. errors: NotFound.
  [[nodiscard]] tenon::Result<std::int64_t> special(std::string_view name) const;

  [[nodiscard]] std::size_t num_tokens() const noexcept { return bytes_.size(); }
  /// The most bytes of a token.
  [[nodiscard]] std::size_t most_bytes() const noexcept { return most_bytes_; }

 private:
  struct Merge {
    std::size_t rank;
    std::int64_t into;
  };
  enum class Cut : std::uint8_t { None, Before, Around };

  [[nodiscard]] tenon::Status read_added(const tenon::JsonAt& added);
  [[nodiscard]] tenon::Status read_pieces(const tenon::JsonAt& pre_tokenizer);
  [[nodiscard]] tenon::Status read_piece(const tenon::JsonAt& part, bool is_last);
  [[nodiscard]] tenon::Status read_model(const tenon::JsonAt& model);
  void encode_piece(std::string_view piece, std::vector<std::int64_t>& tokens) const;

  std::array<Cut, 128> cuts_{};                  // Of characters of ASCII.
  std::array<std::int64_t, 256> byte_tokens_{};  // Of single bytes.
  std::vector<std::string> bytes_;               // Of the tokens.
  std::size_t most_bytes_ = 1;
  std::map<std::pair<std::int64_t, std::int64_t>, Merge> merges_;
  std::map<std::string, std::int64_t, std::less<>> special_;
};

}  // namespace chat
