// SPDX-License-Identifier: MIT
#include "pack.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tenon/aot/compiler/emit/tensor_text.hpp"

namespace pack_arguments_test {

using namespace tenon;
using namespace tenon::pack;
using aot::parse_tensor;
using Catch::Matchers::StartsWith;

Result<std::variant<Arguments, PrintAndExit>> parse(std::vector<const char*> words) {
  words.insert(words.begin(), "tenon-pack");
  return parse_arguments(static_cast<int>(words.size()), words.data());
}

std::string wrong(std::vector<const char*> words) {
  const auto parsed = parse(std::move(words));
  CHECK(parsed.error() == Error::InvalidArgument);
  return std::string(parsed.text());
}

/// The refusal of a tensor, which names it.
std::string refused(const std::string& tensor, Error error = Error::InvalidArgument) {
  const auto parsed = parse_tensor(tensor);
  INFO(tensor);
  CHECK(parsed.error() == error);
  CHECK_THAT(std::string(parsed.text()), StartsWith(tensor + ": "));
  return std::string(parsed.text());
}

TEST_CASE("a command line of tenon-pack is parsed", "[pack]") {
  const auto parsed =
      parse({"model.bin", "--backend", "Acme",     "--input", "Float:8,16:dynamic", "--input",
             "Bool:",     "--output",  "Half:8,4", "--spec",  "mode=fast",          "--spec",
             "list=a=b",  "--spec",    "empty=",   "--data",  "weights=w.bin",      "--method",
             "decode",    "-o",        "m.pte",    "--json"});
  INFO(parsed.text());
  REQUIRE(parsed.ok());
  const auto& all = std::get<Arguments>(*parsed);
  CHECK(all.blob == "model.bin");
  CHECK(all.backend == "Acme");
  CHECK(all.method == "decode");
  CHECK(all.program == "m.pte");
  CHECK(all.json);
  REQUIRE(all.inputs.size() == 2);
  CHECK(all.inputs[0].layout.scalar_type == ScalarType::Float);
  CHECK(all.inputs[0].layout.sizes == std::vector<std::int32_t>{8, 16});
  CHECK(all.inputs[0].is_dynamic);
  CHECK(all.inputs[1].layout.sizes.empty());
  REQUIRE(all.outputs.size() == 1);
  CHECK_FALSE(all.outputs[0].is_dynamic);
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(all.specs == Pairs{{"mode", "fast"}, {"list", "a=b"}, {"empty", ""}});
  CHECK(all.data == Pairs{{"weights", "w.bin"}});
}

TEST_CASE("what tenon-pack needs and was not given is named", "[pack]") {
  CHECK_THAT(wrong({"--backend", "A", "--output", "Int:1", "-o", "m.pte"}),
             ContainsSubstring("expected BLOB, found none"));
  CHECK_THAT(wrong({"m.bin", "--output", "Int:1", "-o", "m.pte"}),
             ContainsSubstring("expected --backend ID, found none"));
  CHECK_THAT(wrong({"m.bin", "--backend", "A", "-o", "m.pte"}),
             ContainsSubstring("expected an --output or more, found none"));
  CHECK_THAT(wrong({"m.bin", "--backend", "A", "--output", "Int:1"}),
             ContainsSubstring("expected -o FILE.pte, found none"));
  CHECK_THAT(wrong({"m.bin", "--backend", "A", "--output", "Int:1", "-o", "m", "--method", ""}),
             ContainsSubstring("--method: the name is empty"));
}

TEST_CASE("the option and the argument of tenon-pack that are wrong are named", "[pack]") {
  const auto with = [](const char* option, const char* value) {
    return wrong({"m.bin", "--backend", "A", "--output", "Int:1", "-o", "m.pte", option, value});
  };
  CHECK_THAT(with("--input", "Int"), StartsWith("--input: Int: expected DTYPE:SIZES"));
  CHECK_THAT(with("--output", "Floot:1"), StartsWith("--output: Floot:1: unknown dtype 'Floot'"));
  CHECK_THAT(with("--spec", "mode"), ContainsSubstring("--spec mode: expected KEY=VALUE"));
  CHECK_THAT(with("--spec", "=fast"), ContainsSubstring("--spec =fast: expected KEY=VALUE"));
  CHECK_THAT(with("--data", "weights"), ContainsSubstring("--data weights: expected KEY=FILE"));
  CHECK_THAT(with("--frobnicate", "1"), ContainsSubstring("(see tenon-pack --help)"));
}

TEST_CASE("a tensor is read from its text, which can be made again", "[pack]") {
  for (const std::string text : {"Float:8,16", "Half:1,512:dynamic", "Bool:", "Long:0",
                                 "BFloat16:2147483647", "Int:2,0,3"}) {
    const auto tensor = parse_tensor(text);
    INFO(text << ": " << tensor.text());
    REQUIRE(tensor.ok());
    CHECK(tensor_text(*tensor) == text);
  }
}

TEST_CASE("a tensor that no program can hold is refused with what was expected", "[pack]") {
  for (const char* text : {"Float", "Float:1:2", "Float:1:dynamic:", "Float:1:Dynamic"}) {
    CHECK_THAT(refused(text), ContainsSubstring("expected DTYPE:SIZES or DTYPE:SIZES:dynamic"));
  }
  CHECK_THAT(refused("float32:1"), ContainsSubstring("expected ExecuTorch's name of one: Float"));
  CHECK_THAT(refused(":1"), ContainsSubstring("unknown dtype ''"));
  for (const char* text : {"Int:-1", "Int:a", "Int:1,", "Int:,1", "Int: 1", "Int:1x", "Int:?",
                           "Int:2147483648", "Int:+1"}) {
    CHECK_THAT(refused(text), ContainsSubstring("expected sizes from 0 to 2147483647, found '"));
  }
  CHECK_THAT(refused("Int::dynamic"), ContainsSubstring("a scalar has no sizes that change"));
  CHECK_THAT(refused("Double:2147483647,2147483647,2147483647"),
             ContainsSubstring("the number of bytes overflows"));
  CHECK_THAT(refused("Int:1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"),
             ContainsSubstring("rank is 17, expected at most 16"));
  CHECK_THAT(refused("ComplexFloat:1", Error::NotSupported),
             ContainsSubstring("which .pte and .ptd files cannot hold"));
  CHECK(parse_tensor("").text().starts_with("'': expected DTYPE:SIZES"));
}

TEST_CASE("tenon-pack prints its help and its version", "[pack]") {
  const auto help = parse({"--help"});
  REQUIRE(help.ok());
  CHECK_THAT(std::get<PrintAndExit>(*help).text, ContainsSubstring("DTYPE:SIZES:dynamic"));
  const auto version = parse({"--version"});
  REQUIRE(version.ok());
  CHECK_THAT(std::get<PrintAndExit>(*version).text, StartsWith("tenon-pack "));
}

}  // namespace pack_arguments_test
