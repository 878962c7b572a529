// SPDX-License-Identifier: MIT
//
// What tenon-doctor says of delegates, as its users see it: a program and plugins in, an answer
// out.
#include <sys/stat.h>

#include <string>

#include "doctor_support.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"

using namespace test;
using tenon::test::delegate_program;

TEST_CASE("a delegate that a plugin serves can run", "[doctor]") {
  const Bench bench({TENON_DEMO_PLUGIN});
  const Outcome outcome = bench.run({sin_model});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  // Free memory is different each time; needs_test.cpp has the rest of the table.
  const std::size_t memory = outcome.out.find("  memory on CPU: ");
  REQUIRE(memory != std::string::npos);
  CHECK(outcome.out.substr(0, memory) ==
        "method forward\n"
        "  delegate 0: BackendWithCompilerDemo, blob of 82 bytes\n"
        "    served by BackendWithCompilerDemo from " +
            bench.plugin("demo_backend.so") +
            " (TENON_PLUGIN_PATH)\n"
            "    available: yes\n"
            "    blob: optimal\n");
  CHECK(outcome.out.ends_with("\n" + sin_model +
                              ": 1 of 1 method and 1 of 1 delegate can run here\n"));
  const json delegate = bench.delegate(sin_model, 0);
  CHECK(delegate["backend"] == "BackendWithCompilerDemo");
  CHECK(delegate["blob_size"] == 82);
  CHECK(delegate["compile_specs"].empty());
  CHECK(delegate["check_blob"]["verdict"] == "optimal");
  CHECK(delegate["served_by"]["origin"] == bench.plugin("demo_backend.so"));
  CHECK(delegate["served_by"]["place"] == "TENON_PLUGIN_PATH");
  for (const char* none : {"look_up_error", "not_found", "unavailable", "check_blob_error"}) {
    CHECK(delegate[none].is_null());
  }
  CHECK(delegate["problems"].empty());
}

TEST_CASE("a plugin that is named is used before those that are found", "[doctor]") {
  const Bench bench({zoo("variant_base")});
  const std::string model = bench.write(delegate_program("VariantBackend", "blob"));
  CHECK(bench.delegate(model, 0)["served_by"]["place"] == "TENON_PLUGIN_PATH");
  const json delegate = bench.delegate(model, 0, {"--plugin", zoo("variant_preferred")});
  CHECK(delegate["served_by"]["origin"] == zoo("variant_preferred"));
  CHECK(delegate["served_by"]["place"] == "application");
}

TEST_CASE("a delegate that no plugin serves names near ids, places and refused files", "[doctor]") {
  const Bench bench({TENON_JUDGE_PLUGIN, zoo("newer_major")});
  const std::string model = bench.write(delegate_program("JudgeBakend", "blob"));
  const Outcome outcome = bench.run({model});
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.err.empty());
  for (const std::string& text :
       {std::string(
            "    no: backend 'JudgeBakend' is not registered (InvalidBackend); did you mean "
            "JudgeBackend?\n"),
        "searched TENON_PLUGIN_PATH " + bench.place() + ": 2 plugins\n",
        "refused " + bench.plugin("newer_major.so"),
        std::string(": 0 of 1 method and 0 of 1 delegate can run here\n")}) {
    CHECK_THAT(outcome.out, ContainsSubstring(text));
  }
  CHECK_THAT(outcome.out, !ContainsSubstring("available:"));
  const json delegate = bench.delegate(model, 1);
  const json& not_found = delegate["not_found"];
  CHECK(not_found["near"] == json{"JudgeBackend"});
  CHECK(not_found["known"] == json{"JudgeBackend"});
  CHECK(not_found["places"].at(0) ==
        json{{"kind", "TENON_PLUGIN_PATH"}, {"path", bench.place()}, {"reason", ""}});
  CHECK(not_found["refused"].at(0)["origin"] == bench.plugin("newer_major.so"));
  CHECK(not_found["refused"].at(0)["state"] == "unsupported");
  CHECK(delegate["look_up_error"]["name"] == "NotFound");
  CHECK(delegate["served_by"].is_null());
  CHECK(delegate["check_blob"].is_null());
  CHECK(delegate["problems"].size() == 1);
}

TEST_CASE("a plugin of another ABI is the reason why nothing serves a delegate", "[doctor]") {
  const Bench bench({zoo("newer_major")});
  const std::string model = bench.write(delegate_program("ZooBackend", "blob"));
  const json delegate = bench.delegate(model, 1);
  CHECK(delegate["look_up_error"]["name"] == "NotFound");
  CHECK(delegate["not_found"]["refused"].at(0)["id"] == "ZooBackend");
  const auto text = delegate["problems"].at(0).get<std::string>();
  CHECK_THAT(text, ContainsSubstring("is known but cannot be used"));
  CHECK_THAT(text, ContainsSubstring("speaks Tenon ABI 2.3, this host speaks ABI 1.0"));
}

TEST_CASE("a plugin that anybody can change is the reason why nothing serves a delegate",
          "[doctor]") {
  const Bench bench({TENON_JUDGE_PLUGIN});
  REQUIRE(::chmod(bench.plugin("judge.so").c_str(), 0666) == 0);
  const json delegate = bench.delegate(bench.write(delegate_program("JudgeBackend", "x")), 1);
  CHECK(delegate["not_found"]["refused"].at(0)["state"] == "refused");
  CHECK_THAT(delegate["problems"].at(0).get<std::string>(),
             ContainsSubstring(bench.plugin("judge.so")) && ContainsSubstring("0666"));
}

TEST_CASE("two plugins with the same precedence for an id: neither serves it", "[doctor]") {
  const Bench bench({zoo("variant_base"), zoo("variant_twin")});
  const json delegate = bench.delegate(bench.write(delegate_program("VariantBackend", "x")), 1);
  CHECK(delegate["served_by"].is_null());
  const auto text = delegate["problems"].at(0).get<std::string>();
  CHECK_THAT(text, ContainsSubstring(bench.plugin("variant_base.so")));
  CHECK_THAT(text, ContainsSubstring(bench.plugin("variant_twin.so")));
}

TEST_CASE("a plugin that cannot be loaded says which symbol it lacks", "[doctor]") {
  const Bench bench({zoo("undefined_symbol")});
  const std::string model = bench.write(delegate_program("ZooBackend", "blob"));
  const json delegate = bench.delegate(model, 1);
  CHECK(delegate["look_up_error"]["name"] == "AccessFailed");
  CHECK(delegate["not_found"].is_null());
  CHECK(delegate["served_by"]["origin"] == bench.plugin("undefined_symbol.so"));
  CHECK(delegate["served_by"]["plugin"] == "zoo");
  CHECK_THAT(delegate["problems"].at(0).get<std::string>(),
             ContainsSubstring("tenon_test_defined_by_nobody"));
  const Outcome outcome = bench.run({model});
  CHECK_THAT(outcome.out, ContainsSubstring("    served by zoo from "));
  CHECK_THAT(outcome.out, ContainsSubstring("tenon_test_defined_by_nobody"));
}

TEST_CASE("a backend that runs the program's own code says so", "[doctor]") {
  const Bench bench({zoo("embedded_code")});
  const auto check = [&](const std::string& id, bool runs) {
    const std::string model = bench.write(delegate_program(id, "code"));
    CHECK(bench.delegate(model, 0)["served_by"]["runs_embedded_code"] == runs);
    const bool said = bench.run({model}).out.find(
                          "    runs native code that the program carries (see tenon-run "
                          "--embedded-code)\n") != std::string::npos;
    CHECK(said == runs);
  };
  check("AsksBackend", true);
  check("UnmarkedBackend", false);
}

TEST_CASE("a backend that cannot be opened gives its own reason", "[doctor]") {
  const Bench bench({zoo("two_backends")});
  const json delegate = bench.delegate(bench.write(delegate_program("LockedBackend", "x")), 1);
  CHECK(delegate["served_by"]["origin"] == bench.plugin("two_backends.so"));
  CHECK(delegate["look_up_error"]["name"] == "AccessFailed");
  CHECK_THAT(delegate["problems"].at(0).get<std::string>(), ContainsSubstring("no licence"));
}

TEST_CASE("a device that is not there is the backend's own reason", "[doctor]") {
  const Bench bench({zoo("two_backends")});
  const std::string model = bench.write(delegate_program("WorksBackend", "x"));
  const json delegate = bench.delegate(model, 1);
  CHECK(delegate["look_up_error"].is_null());
  CHECK(delegate["unavailable"]["name"] == "NotFound");
  CHECK(delegate["problems"] ==
        json{"backend WorksBackend is not available: no device on this machine"});
  const Outcome outcome = bench.run({model});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.out,
             ContainsSubstring("    available: no\n"
                               "    blob: not reported (the backend has no check_blob)\n"
                               "    no: backend WorksBackend is not available: "));
}

TEST_CASE("a blob that its backend refuses cannot run, with the backend's reason", "[doctor]") {
  const Bench bench({TENON_DEMO_PLUGIN, TENON_JUDGE_PLUGIN});
  const std::string model = bench.write(delegate_program("BackendWithCompilerDemo", "no blob"));
  const json demo = bench.delegate(model, 1);
  CHECK(demo["check_blob"]["verdict"] == "incompatible");
  CHECK(demo["problems"] ==
        json{"the blob does not fit: " + demo["check_blob"]["reason"].get<std::string>()});
  const std::string judged = bench.write(delegate_program("JudgeBackend", "incompatible"));
  CHECK(bench.delegate(judged, 1)["problems"] == json{"the blob does not fit: made for chip 2"});
  CHECK_THAT(bench.run({judged}).out, ContainsSubstring("    blob: incompatible: made for chip 2\n"
                                                        "    no: the blob does not fit: "));
}

TEST_CASE("a blob that is only usable can run, and the reason is shown", "[doctor]") {
  const Bench bench({TENON_JUDGE_PLUGIN});
  const std::string model = bench.write(delegate_program("JudgeBackend", "usable"));
  const json delegate = bench.delegate(model, 0);
  CHECK(delegate["check_blob"] ==
        json{{"verdict", "usable"}, {"reason", "made for an older compiler"}});
  CHECK(delegate["problems"].empty());
  CHECK_THAT(bench.run({model}).out,
             ContainsSubstring("    blob: usable: made for an older compiler\n"));
}

TEST_CASE("a backend that cannot judge a blob is a reason not to run it", "[doctor]") {
  const Bench bench({TENON_JUDGE_PLUGIN});
  const json delegate = bench.delegate(bench.write(delegate_program("JudgeBackend", "fails")), 1);
  CHECK(delegate["check_blob"].is_null());
  CHECK(delegate["check_blob_error"]["name"] == "OutOfResources");
  CHECK(delegate["problems"] == json{"backend JudgeBackend: check_blob: no table of chips"});
}

TEST_CASE("no delegate is loaded and nothing is run", "[doctor]") {
  // The backend ends the process when `init` or `execute` is called.
  const Bench bench({TENON_JUDGE_PLUGIN});
  const std::string model = bench.write(delegate_program("JudgeBackend", "optimal"));
  const Outcome outcome = bench.run({model});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("JudgeBackend 7.1 from "));
  CHECK(bench.delegate(model, 0)["served_by"]["version"] == "7.1");
}

TEST_CASE("whether plugins leave memory is an answer", "[doctor]") {
  Bench bench({TENON_JUDGE_PLUGIN});
  const std::string model = bench.write(delegate_program("JudgeBackend", "optimal"));
  constexpr const char* text = "unloads: no (";
  bench.variables = {{"TENON_NO_UNLOAD", "1"}};
  CHECK(bench.report(model, 0)["unloads"] == false);
  CHECK_THAT(bench.run({model}).out, ContainsSubstring(text));
  bench.variables.clear();
  CHECK(bench.report(model, 0)["unloads"] == tenon::host::unloads_libraries());
  CHECK((bench.run({model}).out.find(text) == std::string::npos) ==
        tenon::host::unloads_libraries());
}

TEST_CASE("each delegate of each method is judged by itself", "[doctor]") {
  const Bench bench({TENON_JUDGE_PLUGIN, zoo("two_backends")});
  ProgramBuilder builder = delegate_program("JudgeBackend", "optimal");
  auto second = builder.plan("backward");
  for (const char* id : {"JudgeBackend", "WorksBackend", "Nobody"}) {
    second.delegate(id, tenon::schema::DataLocation::INLINE, builder.inline_blob("usable"));
  }
  const std::string model = bench.write(builder);
  const json report = bench.report(model, 1);
  REQUIRE(report["methods"].size() == 2);
  CHECK(report["methods"][0]["can_run"] == true);
  CHECK(report["methods"][1]["can_run"] == false);
  const json& delegates = report["methods"][1]["delegates"];
  REQUIRE(delegates.size() == 3);
  CHECK(delegates[0]["problems"].empty());
  CHECK_FALSE(delegates[1]["unavailable"].is_null());
  CHECK_FALSE(delegates[2]["not_found"].is_null());
  CHECK(delegates[2]["index"] == 2);
  CHECK(report["summary"] == model + ": 1 of 2 methods and 2 of 4 delegates can run here");
}
