// SPDX-License-Identifier: MIT
#include "tokenizer.hpp"

#include <algorithm>
#include <optional>

#include "tenon/core/result.hpp"
#include "tenon/core/status.hpp"

namespace chat {

using tenon::Error;
using tenon::JsonAt;
using tenon::ok;
using tenon::Result;
using tenon::Status;

namespace {

/// The bytes that a text of the file means. Byte-level files write a byte that is a visible
/// character of Latin-1 as this character, and the others, in their order, from U+0100 on
/// (tokenizers/src/pre_tokenizers/byte_level.rs: bytes_char).
std::optional<std::string> bytes_of(std::string_view text) {
  static const auto table = [] {
    std::array<int, 512> byte_of{};
    byte_of.fill(-1);
    std::size_t next = 256;
    for (int byte = 0; byte < 256; ++byte) {
      const bool is_visible = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
      byte_of[is_visible ? static_cast<std::size_t>(byte) : next++] = byte;
    }
    return byte_of;
  }();
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t code = static_cast<unsigned char>(text[i]);
    if (code >= 0xc0 && i + 1 < text.size()) {  // U+0080 to U+07FF are two bytes of UTF-8.
      code = (code & 0x1f) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3f);
    }
    if (code >= table.size() || table[code] < 0) return std::nullopt;
    out += static_cast<char>(table[code]);
  }
  return out;
}

/// Refuses a member that would change what the tokens of a text are.
Status expect_unset(const JsonAt& object, std::string_view key) {
  const auto found = object.find_set(key);
  if (!found || found->json() == false) return ok();
  return found->not_supported("expected it to be absent, null or false");
}

Status expect_text(const JsonAt& object, std::string_view key, std::string_view expected) {
  TENON_TRY(const JsonAt found, object.member(key));
  TENON_TRY(const std::string text, found.text());
  return text == expected ? ok() : found.not_supported("expected '", expected, "'");
}

}  // namespace

Result<Tokenizer> Tokenizer::read(std::string_view json, std::string_view name) {
  constexpr Error wrong = Error::InvalidExternalData;
  TENON_TRY(const nlohmann::json root, tenon::parse_json_object(json, name, wrong));
  const JsonAt file(root, name, wrong);
  for (const char* key : {"truncation", "padding", "normalizer", "post_processor"}) {
    TENON_RETURN_IF_ERROR(expect_unset(file, key));
  }
  Tokenizer out;
  TENON_TRY(const JsonAt model, file.member("model"));
  TENON_RETURN_IF_ERROR(out.read_model(model));
  TENON_TRY(const JsonAt pre_tokenizer, file.member("pre_tokenizer"));
  TENON_RETURN_IF_ERROR(out.read_pieces(pre_tokenizer));
  TENON_TRY(const JsonAt added, file.array("added_tokens"));
  TENON_RETURN_IF_ERROR(out.read_added(added));
  return out;
}

Status Tokenizer::read_model(const JsonAt& model) {
  TENON_RETURN_IF_ERROR(expect_text(model, "type", "BPE"));
  for (const char* key : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                          "byte_fallback", "ignore_merges"}) {
    TENON_RETURN_IF_ERROR(expect_unset(model, key));
  }
  TENON_TRY(const JsonAt vocabulary, model.member("vocab"));
  TENON_RETURN_IF_ERROR(vocabulary.check_object());
  std::map<std::string, std::int64_t, std::less<>> tokens;  // As the file writes them.
  bytes_.resize(vocabulary.size());
  byte_tokens_.fill(-1);
  TENON_RETURN_IF_ERROR(
      vocabulary.each_member([&](const std::string& text, const JsonAt& value) -> Status {
        TENON_TRY(const auto token, value.count<std::uint32_t>());
        if (token >= bytes_.size()) return value.wrong("expected less than ", bytes_.size());
        tokens.emplace(text, token);
        const auto bytes = bytes_of(text);
        if (!bytes)
          return ok();  // Only a special token has other characters: nothing merges to it.
        bytes_[token] = *bytes;
        if (bytes->size() == 1) byte_tokens_[static_cast<unsigned char>(bytes->front())] = token;
        return ok();
      }));
  if (std::ranges::count(byte_tokens_, -1) != 0) {
    return vocabulary.not_supported("expected a token for each byte");
  }
  TENON_TRY(const JsonAt merges, model.array("merges"));
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const JsonAt pair = merges[rank];
    if (!pair.json().is_array() || pair.size() != 2) return pair.wrong_type("an array of two");
    TENON_TRY(const std::string left, pair[0].text());
    TENON_TRY(const std::string right, pair[1].text());
    const auto from = tokens.find(left), with = tokens.find(right),
               into = tokens.find(left + right);
    if (from == tokens.end() || with == tokens.end() || into == tokens.end()) {
      return pair.wrong("merges what is not in the vocabulary");
    }
    merges_.emplace(std::pair(from->second, with->second), Merge{rank, into->second});
    most_bytes_ = std::max(most_bytes_, bytes_[static_cast<std::size_t>(into->second)].size());
  }
  return ok();
}

Status Tokenizer::read_pieces(const JsonAt& pre_tokenizer) {
  TENON_RETURN_IF_ERROR(expect_text(pre_tokenizer, "type", "Sequence"));
  TENON_TRY(const JsonAt parts, pre_tokenizer.array("pretokenizers"));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    TENON_RETURN_IF_ERROR(read_piece(parts[i], i + 1 == parts.size()));
  }
  return ok();
}

Status Tokenizer::read_piece(const JsonAt& part, bool is_last) {
  if (is_last) {
    TENON_RETURN_IF_ERROR(expect_text(part, "type", "ByteLevel"));
    TENON_RETURN_IF_ERROR(expect_unset(part, "add_prefix_space"));
    return expect_unset(part, "use_regex");
  }
  TENON_RETURN_IF_ERROR(expect_text(part, "type", "Split"));
  TENON_RETURN_IF_ERROR(expect_unset(part, "invert"));
  TENON_TRY(const JsonAt pattern, part.member("pattern"));
  TENON_TRY(const std::string text, pattern.text("String"));
  if (text.size() != 1) return pattern.not_supported("expected one character of ASCII");
  TENON_TRY(const JsonAt behavior, part.member("behavior"));
  TENON_TRY(const std::string how, behavior.text());
  if (how != "Isolated" && how != "MergedWithNext") {
    return behavior.not_supported("expected 'Isolated' or 'MergedWithNext'");
  }
  cuts_[static_cast<unsigned char>(text[0])] = how == "Isolated" ? Cut::Around : Cut::Before;
  return ok();
}

Status Tokenizer::read_added(const JsonAt& added) {
  return added.each_element([&](const JsonAt& token) -> Status {
    TENON_TRY(const std::string content, token.text("content"));
    TENON_TRY(const JsonAt special, token.member("special"));
    TENON_TRY(const bool is_special, special.boolean());
    if (!is_special) return special.not_supported("expected true");
    TENON_TRY(const JsonAt id, token.member("id"));
    TENON_TRY(const auto number, id.count<std::uint32_t>());
    if (number >= bytes_.size()) return id.wrong("expected less than ", bytes_.size());
    bytes_[number].clear();
    special_.emplace(content, number);
    return ok();
  });
}

std::vector<std::int64_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> tokens;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const Cut cut = byte < cuts_.size() ? cuts_[byte] : Cut::None;
    if (cut == Cut::None) continue;
    encode_piece(text.substr(begin, i - begin), tokens);
    begin = cut == Cut::Around ? i + 1 : i;
    if (cut == Cut::Around) encode_piece(text.substr(i, 1), tokens);
  }
  encode_piece(text.substr(begin), tokens);
  return tokens;
}

void Tokenizer::encode_piece(std::string_view piece, std::vector<std::int64_t>& tokens) const {
  std::vector<std::int64_t> parts;
  for (const char byte : piece) parts.push_back(byte_tokens_[static_cast<unsigned char>(byte)]);
  // Of the pairs that may be merged, the one that training found first, and of these the leftmost.
  while (true) {
    const Merge* best = nullptr;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = merges_.find({parts[i], parts[i + 1]});
      if (found == merges_.end() || (best && found->second.rank >= best->rank)) continue;
      best = &found->second;
      at = i;
    }
    if (!best) break;
    parts[at] = best->into;
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  tokens.insert(tokens.end(), parts.begin(), parts.end());
}

std::string_view Tokenizer::bytes(std::int64_t token) const {
  const auto index = static_cast<std::size_t>(token);
  return index < bytes_.size() ? std::string_view(bytes_[index]) : std::string_view();
}

Result<std::int64_t> Tokenizer::special(std::string_view name) const {
  const auto found = special_.find(name);
  if (found != special_.end()) return found->second;
  return tenon::error(Error::NotFound, "the tokenizer has no special token '", name, "'");
}

}  // namespace chat
