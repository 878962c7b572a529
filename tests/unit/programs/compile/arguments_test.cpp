// SPDX-License-Identifier: MIT
#include "compile.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"

namespace compile_arguments_test {

using namespace tenon;
using namespace tenon::compile;

Result<std::variant<Arguments, PrintAndExit>> parse(std::vector<const char*> words) {
  words.insert(words.begin(), "tenon-compile");
  return parse_arguments(static_cast<int>(words.size()), words.data());
}

Arguments good(std::vector<const char*> words) {
  const auto parsed = parse(std::move(words));
  INFO(parsed.text());
  REQUIRE(parsed.ok());
  return std::get<Arguments>(*parsed);
}

std::string wrong(std::vector<const char*> words) {
  const auto parsed = parse(std::move(words));
  CHECK(parsed.error() == Error::InvalidArgument);
  return std::string(parsed.text());
}

TEST_CASE("a command line is parsed", "[compile]") {
  const Arguments all = good({"m.pt2", "--backend", "A", "--plugin", "./liba.so", "--backend", "B",
                              "--spec", "mode=fast", "--spec", "B.level=3=x", "--method",
                              "decode=d.pt2", "-o", "out.pte", "--json", "--external", "weights"});
  CHECK(all.model == "m.pt2");
  CHECK(all.backends == std::vector<std::string>{"A", "B"});
  CHECK(all.plugins == std::vector<std::string>{"./liba.so"});
  REQUIRE(all.specs.size() == 2);
  CHECK_FALSE(all.specs[0].backend.has_value());
  CHECK(all.specs[0].key == "mode");
  CHECK(all.specs[0].value == "fast");
  CHECK(all.specs[1].backend == "B");
  CHECK(all.specs[1].key == "level");
  CHECK(all.specs[1].value == "3=x");
  REQUIRE(all.methods.size() == 1);
  CHECK(all.methods[0].first == "decode");
  CHECK(all.methods[0].second == "d.pt2");
  CHECK(all.output == "out.pte");
  CHECK(all.external == "weights");
  CHECK(all.json);
  CHECK_FALSE(all.no_partition);

  // A dot in a key is one unless a backend of that name was given.
  const Arguments dotted =
      good({"m.pt2", "--backend", "A", "--spec", "C.level=3", "-o", "o", "--no-partition"});
  CHECK_FALSE(dotted.specs[0].backend.has_value());
  CHECK(dotted.specs[0].key == "C.level");
  CHECK(dotted.no_partition);
  CHECK_FALSE(dotted.debug_handles);
  CHECK(good({"m.pt2", "-o", "o", "--debug-handles"}).debug_handles);
  CHECK(good({"m.pt2", "--print-graph"}).output.empty());
  CHECK(good({"m.pt2", "--backend", "A", "--print-ops-to-not-decompose"}).output.empty());
  CHECK(good({"m.pt2", "-o", "o", "--external-constants", "w"}).external_constants == "w");
  CHECK(good({"--method", "a=b.pt2", "-o", "o"}).model.empty());
  CHECK(good({"m.pt2", "--backend", "A", "--spec", "empty=", "-o", "o"}).specs[0].value.empty());
}

TEST_CASE("contradictory arguments are refused by name", "[compile]") {
  CHECK_THAT(wrong({"-o", "o"}), ContainsSubstring("expected MODEL or --method"));
  CHECK_THAT(wrong({"m.pt2"}), ContainsSubstring("expected -o FILE.pte or something to print"));
  CHECK_THAT(wrong({"m.pt2", "--json", "--print-graph"}),
             ContainsSubstring("--json cannot be given"));
  CHECK_THAT(wrong({"m.pt2", "--print-ops-to-not-decompose"}),
             ContainsSubstring("--print-ops-to-not-decompose needs a --backend"));
  CHECK_THAT(wrong({"m.pt2", "-o", "o", "--spec", "a=b"}),
             ContainsSubstring("--spec without --backend"));
  CHECK_THAT(wrong({"m.pt2", "-o", "o", "--backend", "A", "--spec", "ab"}),
             ContainsSubstring("--spec ab: expected KEY=VALUE"));
  CHECK_THAT(wrong({"m.pt2", "-o", "o", "--backend", "A", "--spec", "=b"}),
             ContainsSubstring("--spec =b: expected KEY=VALUE"));
  CHECK_THAT(wrong({"m.pt2", "-o", "o", "--backend", "A", "--spec", "A.=b"}),
             ContainsSubstring("the key is empty"));
  CHECK_THAT(wrong({"m.pt2", "-o", "o", "--method", "d.pt2"}),
             ContainsSubstring("--method d.pt2: expected NAME=FILE.pt2"));
  CHECK_THAT(wrong({"m.pt2", "-o", "o", "--method", "d="}),
             ContainsSubstring("the file's name is empty"));
  CHECK_THAT(wrong({"m.pt2", "-o", "o", "--no-partition"}),
             ContainsSubstring("--no-partition needs one --backend, found 0"));
  CHECK_THAT(wrong({"m.pt2", "-o", "o", "--no-partition", "--backend", "A", "--backend", "B"}),
             ContainsSubstring("found 2"));
  CHECK_THAT(wrong({"m.pt2", "-o", "o", "--backend", "A", "--backend", "A"}),
             ContainsSubstring("--backend A: twice"));
  CHECK_THAT(wrong({"m.pt2", "-o", "o", "--backend", ""}), ContainsSubstring("the id is empty"));
  CHECK_THAT(wrong({"m.pt2", "-o", "o", "--nonsense"}), ContainsSubstring("--nonsense"));
  CHECK_THAT(wrong({"m.pt2", "n.pt2", "-o", "o"}), ContainsSubstring("n.pt2"));
}

TEST_CASE("variants are backends with a target, or programs", "[compile]") {
  const Arguments all = good({"m.pt2",         "--backend",   "A",
                              "--variant",     "B+C:GPU",     "--variant",
                              "small=A",       "--variant",   "B",
                              "--variant",     "dir=1/x.pte", "--variant",
                              "fast=y.pte",    "--spec",      "small.level=1",
                              "--spec",        "B.mode=2",    "--spec",
                              "B+C:GPU.key=3", "-o",          "out.pte"});
  REQUIRE(all.variants.size() == 5);
  CHECK(all.variants[0].name == "B+C:GPU");
  CHECK(all.variants[0].backends == std::vector<std::string>{"B", "C"});
  CHECK(all.variants[0].target == "GPU");
  CHECK(all.variants[1].name == "small");
  CHECK(all.variants[1].backends == std::vector<std::string>{"A"});
  CHECK(all.variants[1].target.empty());
  CHECK(all.variants[2].name == "B");
  CHECK(all.variants[3].name == "dir");
  CHECK(all.variants[3].file == "1/x.pte");
  CHECK(all.variants[3].backends.empty());
  CHECK(all.variants[4].name == "fast");
  CHECK(all.variants[4].file == "y.pte");
  REQUIRE(all.specs.size() == 3);
  CHECK(all.specs[0].variant == "small");
  CHECK(all.specs[0].key == "level");
  CHECK(all.specs[1].backend == "B");
  CHECK_FALSE(all.specs[1].variant.has_value());
  CHECK(all.specs[2].variant == "B+C:GPU");
  CHECK(all.specs[2].key == "key");

  const Arguments joined = good({"a.pte", "--variant", "./dir=2/b.pte", "-o", "out.pte"});
  CHECK(joined.variants[0].file == "./dir=2/b.pte");
  CHECK(joined.variants[0].name.empty());
  CHECK(good({"a.pte", "--strip-variants", "best", "--plugin", "p.so", "-o", "out.pte"})
            .strip_variants == "best");
  CHECK(good({"m.pt2", "--aoti", "x.pt2", "--variant", "b.pte", "-o", "out.pte"}).variants.size() ==
        1);
}

TEST_CASE("variants that mean nothing are refused", "[compile]") {
  for (const char* text : {"", ":GPU", "A:", "A++B", "A+A", "=A", "x=", "+"}) {
    INFO(text);
    CHECK_THAT(wrong({"m.pt2", "--variant", text, "-o", "o"}), ContainsSubstring("--variant"));
  }
  CHECK_THAT(wrong({"a.pte", "-o", "o"}), ContainsSubstring("needs --variant or --strip-variants"));
  CHECK_THAT(wrong({"a.pte", "--variant", "A", "-o", "o"}), ContainsSubstring("name a FILE.pte"));
  CHECK_THAT(wrong({"m.pt2", "--aoti", "x.pt2", "--variant", "A", "-o", "o"}),
             ContainsSubstring("name a FILE.pte"));
  CHECK_THAT(wrong({"m.pt2", "--strip-variants", "A", "-o", "o"}),
             ContainsSubstring("--strip-variants needs MODEL.pte"));
  CHECK_THAT(wrong({"a.pte", "--strip-variants", "A", "--variant", "b.pte", "-o", "o"}),
             ContainsSubstring("--strip-variants needs MODEL.pte"));
  CHECK_THAT(wrong({"a.pte", "--variant", "b.pte"}), ContainsSubstring("-o"));
  CHECK_THAT(wrong({"a.pte", "--variant", "b.pte", "--backend", "A", "-o", "o"}),
             ContainsSubstring("nothing of a program is compiled"));
  CHECK_THAT(wrong({"a.pte", "--strip-variants", "A", "--plugin", "p.so", "-o", "o"}),
             ContainsSubstring("--plugin is for --strip-variants best"));
}

TEST_CASE("debug handles are not for models of AOTInductor", "[compile]") {
  CHECK_THAT(wrong({"m.pt2", "-o", "o", "--aoti", "m.so", "--debug-handles"}),
             ContainsSubstring("--debug-handles is not for --aoti"));
}

TEST_CASE("help and version are printed and nothing else is done", "[compile]") {
  const auto help = parse({"--help"});
  REQUIRE(help.ok());
  CHECK_THAT(std::get<PrintAndExit>(*help).text,
             ContainsSubstring("--backend") && ContainsSubstring("Exit codes"));
  const auto version = parse({"--version"});
  REQUIRE(version.ok());
  CHECK_THAT(std::get<PrintAndExit>(*version).text, ContainsSubstring("tenon-compile 0."));
}

TEST_CASE("options for models of AOTInductor are parsed, and refused where they mean nothing",
          "[compile][aoti]") {
  const Arguments all = good({"m.pt2", "--aoti", "c.pt2", "--aoti-keys", "method",
                              "--external-weights", "--spec", "a=b", "-o", "o.pte"});
  CHECK(all.aoti == "c.pt2");
  CHECK(all.aoti_keys == aot::AotiKeys::Method);
  CHECK_FALSE(all.keep_symbols);
  CHECK(good({"m.pt2", "--aoti", "c.pt2", "--keep-symbols", "-o", "o.pte"}).keep_symbols);
  CHECK_FALSE(all.cpu_features);
  const auto features = [](const char* list) {
    return good({"m.pt2", "--aoti", "c.pt2", "--cpu-features", list, "-o", "o.pte"}).cpu_features;
  };
  CHECK(features("avx2,fma") == "avx2,fma");
  CHECK(features("") == "");
  CHECK(all.external_weights);
  CHECK(all.specs.size() == 1);
  const Arguments library = good(
      {"m.pt2", "--aoti", "m.so", "--aoti-weights", "m.blob", "--backend", "B", "-o", "o.pte"});
  CHECK(library.aoti_weights == "m.blob");
  CHECK(library.aoti_keys == aot::AotiKeys::Content);

  const std::string help = " (see tenon-compile --help)";
  CHECK(wrong({"m.pt2", "--aoti-weights", "w", "-o", "o"}) ==
        "--aoti-weights without --aoti" + help);
  CHECK(wrong({"m.pt2", "--aoti-keys", "content", "-o", "o"}) ==
        "--aoti-keys without --aoti" + help);
  CHECK(wrong({"m.pt2", "--external-weights", "-o", "o"}) ==
        "--external-weights without --aoti" + help);
  CHECK(wrong({"m.pt2", "--keep-symbols", "-o", "o"}) == "--keep-symbols without --aoti" + help);
  CHECK(wrong({"m.pt2", "--cpu-features", "avx2", "-o", "o"}) ==
        "--cpu-features without --aoti" + help);
  CHECK(wrong({"m.pt2", "--aoti", "c.pt2", "--aoti-keys", "name", "-o", "o"}) ==
        "--aoti-keys name: expected content or method" + help);
  CHECK(wrong({"m.pt2", "--aoti", "c.pt2", "--aoti-weights", "w", "-o", "o"}) ==
        "--aoti-weights is for a library; c.pt2 holds its weights" + help);
  CHECK(wrong({"m.pt2", "--aoti", "c.pt2", "--backend", "A", "--backend", "B", "-o", "o"}) ==
        "--aoti takes one --backend, found 2" + help);
  CHECK(wrong({"m.pt2", "--aoti", "c.pt2", "--plugin", "p.so", "-o", "o"}) ==
        "--aoti loads no --plugin" + help);
  CHECK(wrong({"m.pt2", "--aoti", "c.pt2", "--print-graph"}) == "--aoti needs -o FILE.pte" + help);
}

}  // namespace compile_arguments_test
