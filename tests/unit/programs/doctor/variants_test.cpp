// SPDX-License-Identifier: MIT
#include "doctor_support.hpp"
#include "support/variants_program.hpp"

using namespace test;
using tenon::test::program_of;

TEST_CASE("each variant is judged, and the one that would be loaded is diagnosed", "[doctor]") {
  const Bench bench({TENON_JUDGE_PLUGIN});
  const std::string model = bench.write(program_of({{"JudgeBackend", "usable"},
                                                    {"AcmeBackend", "blob", 9, "", 7},
                                                    {"JudgeBackend", "incompatible", 8},
                                                    {"JudgeBackend", "fine", 1},
                                                    {"JudgeBackend", "fine too", 0}}));
  const json method = bench.report(model, 0)["methods"].at(0);
  CHECK(method["can_run"] == true);
  const json& variants = method["variants"];
  REQUIRE(variants.size() == 5);
  CHECK(variants[0]["name"] == "1");
  CHECK(variants[0]["priority"] == 9);
  CHECK(variants[0]["needs"] == json{"AcmeBackend, for chip, payload version 7"});
  CHECK(variants[0]["chosen"] == false);
  CHECK(variants[0]["refused"]["name"] == "NotFound");
  CHECK(variants[0]["verdict"].is_null());
  CHECK_THAT(variants[1]["refused"]["text"].get<std::string>(),
             ContainsSubstring("made for chip 2"));
  CHECK(variants[2]["chosen"] == true);
  CHECK(variants[2]["verdict"] == "optimal");
  CHECK(variants[3]["name"] == "0");
  CHECK(variants[3]["verdict"] == "usable");
  CHECK_THAT(variants[3]["reason"].get<std::string>(),
             ContainsSubstring("made for an older compiler"));
  CHECK(variants[4]["verdict"] == "optimal");
  REQUIRE(method["delegates"].size() == 1);
  CHECK(method["delegates"][0]["blob_size"] == 4);

  const Outcome text = bench.run({model});
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out, ContainsSubstring("  variant 3, priority 1: would be loaded\n"
                                         "    needs JudgeBackend, for chip\n    optimal\n"));
  CHECK_THAT(text.out, ContainsSubstring("    no: backend 'AcmeBackend' is not registered\n"));
  CHECK_THAT(text.out, ContainsSubstring("1 of 1 method and 1 of 1 delegate can run here"));
}

TEST_CASE("a method of which no variant can run is diagnosed by its default", "[doctor]") {
  const Bench bench({TENON_JUDGE_PLUGIN});
  const std::string model = bench.write(program_of(
      {{"JudgeBackend", "incompatible"}, {"JudgeBackend", "fine", 2, "no_such_feature"}}));
  const json method = bench.report(model, 1)["methods"].at(0);
  CHECK(method["can_run"] == false);
  CHECK(method["variants"][0]["chosen"] == false);
  CHECK(method["variants"][1]["chosen"] == false);
  CHECK(method["delegates"][0]["blob_size"] == 12);
  CHECK_THAT(method["variants"][0]["refused"]["text"].get<std::string>(),
             ContainsSubstring("CPU features that this CPU lacks: no_such_feature"));
}

TEST_CASE("features of the CPU can be left out of a diagnosis", "[doctor]") {
  const Bench bench({TENON_JUDGE_PLUGIN});
#if defined(__x86_64__)
  const std::string model =
      bench.write(program_of({{"JudgeBackend", "usable"}, {"JudgeBackend", "fine", 2, "sse2"}}));
  CHECK(bench.report(model, 0)["methods"][0]["variants"][0]["chosen"] == true);
  const json lesser =
      bench.report(model, 0, {"--without-cpu-features", "sse2,sse"})["methods"][0]["variants"];
  CHECK(lesser[0]["chosen"] == false);
  CHECK(lesser[1]["chosen"] == true);
#endif
}
