// SPDX-License-Identifier: MIT
//
// The reader of tokenizer.json in examples/applications/chat.
#include "tokenizer.hpp"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

namespace chat_tokenizer_test { namespace {

using chat::Tokenizer;
using nlohmann::json;

const std::string folder = TENON_TEST_CHAT;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator(file), {}};
}

std::string file() { return read(folder + "/tokenizer.json"); }

Tokenizer tokenizer() {
  auto made = Tokenizer::read(file(), "tokenizer.json");
  REQUIRE(made.ok());
  return *std::move(made);
}

TEST_CASE("texts have the tokens that the package tokenizers gives them", "[chat]") {
  const Tokenizer ours = tokenizer();
  const json recorded = json::parse(read(folder + "/expected.json"));
  REQUIRE(recorded["texts"].size() > 10);
  for (const json& text : recorded["texts"]) {
    const auto bytes = text["text"].get<std::string>();
    CAPTURE(bytes);
    CHECK(ours.encode(bytes) == text["tokens"].get<std::vector<std::int64_t>>());
  }
}

TEST_CASE("tokens give their text back, also bytes that are no text", "[chat]") {
  const Tokenizer ours = tokenizer();
  std::string all(256, '\0');
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>(i);
  for (const std::string& bytes : {all, std::string("What? Grüße, don't: 'x'!"), all + all}) {
    std::string back;
    for (const std::int64_t token : ours.encode(bytes)) back += ours.bytes(token);
    CHECK(back == bytes);
  }
}

TEST_CASE("a special token is found by its name, and has no text", "[chat]") {
  const Tokenizer ours = tokenizer();
  const auto person = ours.special("<|person|>");
  REQUIRE(person.ok());
  CHECK(ours.bytes(*person).empty());
  CHECK(ours.encode("<|person|>").size() > 1);
  CHECK(ours.bytes(-1).empty());
  CHECK(ours.bytes(static_cast<std::int64_t>(ours.num_tokens())).empty());
  CHECK(ours.special("<|unknown|>").error() == tenon::Error::NotFound);
}

// A change of the file, and what the refusal says.
struct Refused {
  const char* pointer;
  const char* value;
  tenon::Error code;
  const char* text;
};

TEST_CASE("a file that asks for something else is refused by name", "[chat]") {
  using tenon::Error;
  const Refused cases[] = {
      {"/normalizer", R"({"type": "NFC"})", Error::NotSupported,
       "normalizer: expected it to be absent"},
      {"/model/type", R"("Unigram")", Error::NotSupported, "model.type: expected 'BPE'"},
      {"/model/byte_fallback", "true", Error::NotSupported, "model.byte_fallback: "},
      {"/model/vocab", R"({"a": 0})", Error::NotSupported,
       "model.vocab: expected a token for each byte"},
      {"/model/vocab/a", "5000", Error::InvalidExternalData, "model.vocab.a: expected less than "},
      {"/model/vocab/a", "-1", Error::InvalidExternalData, "model.vocab.a: expected an integer"},
      {"/model/merges/0", R"("a b")", Error::InvalidExternalData,
       "model.merges[0]: expected an array of two"},
      {"/model/merges/0", R"(["a", "\n"])", Error::InvalidExternalData,
       "model.merges[0]: merges what is not"},
      {"/pre_tokenizer", "null", Error::InvalidExternalData, "pre_tokenizer: "},
      {"/pre_tokenizer/type", R"("ByteLevel")", Error::NotSupported,
       "pre_tokenizer.type: expected 'Sequence'"},
      {"/pre_tokenizer/pretokenizers/0/pattern", R"({"Regex": " "})", Error::InvalidExternalData,
       "pattern.String: is missing"},
      {"/pre_tokenizer/pretokenizers/0/pattern/String", R"("ä")", Error::NotSupported,
       "expected one character of ASCII"},
      {"/pre_tokenizer/pretokenizers/0/behavior", R"("Removed")", Error::NotSupported,
       "behavior: expected 'Isolated' or"},
      {"/pre_tokenizer/pretokenizers/7/use_regex", "true", Error::NotSupported,
       "use_regex: expected it to be absent"},
      {"/added_tokens/0/special", "false", Error::NotSupported,
       "added_tokens[0].special: expected true"},
      {"/added_tokens/0/id", "9999", Error::InvalidExternalData,
       "added_tokens[0].id: expected less than "},
  };
  for (const Refused& refused : cases) {
    CAPTURE(refused.pointer);
    json changed = json::parse(file());
    changed[json::json_pointer(refused.pointer)] = json::parse(refused.value);
    auto made = Tokenizer::read(changed.dump(), "t.json");
    REQUIRE_FALSE(made.ok());
    CHECK(made.error() == refused.code);
    CHECK(std::string(made.text()).find("t.json: ") == 0);
    CHECK(std::string(made.text()).find(refused.text) != std::string::npos);
  }
  CHECK(Tokenizer::read("[]", "t.json").error() == tenon::Error::InvalidExternalData);
  CHECK(Tokenizer::read(file().substr(0, 1000), "t.json").error() ==
        tenon::Error::InvalidExternalData);
}

}}  // namespace chat_tokenizer_test
