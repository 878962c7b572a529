// SPDX-License-Identifier: MIT
//
// tenon-compile from archives that PyTorch exported to programs that this host opens.
// two_compilers.cpp has the backends.
#include "compile.hpp"

#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/file_content.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host.hpp"
#include "tenon/host/schema/program_generated.h"

namespace compile_test {

using namespace tenon;
using namespace tenon::compile;
using test::TemporaryDirectory;

std::string fixture(std::string_view name) {
  return concat(TENON_TEST_FIXTURES, "/pt2/", name, "/model.pt2");
}

/// Compiles `model` to `output` with the two backends' plugin.
Arguments arguments_for(std::string_view model, const std::string& output) {
  Arguments arguments;
  arguments.model = fixture(model);
  arguments.plugins = {TENON_TWO_COMPILERS};
  arguments.output = output;
  return arguments;
}

Report run(const Arguments& arguments) {
  return compile::compile(arguments, [] { return host::SearchReport{}; });
}

Report good(const Arguments& arguments) {
  Report report = run(arguments);
  INFO(report.failure.text());
  REQUIRE(report.failure.ok());
  REQUIRE(report.code == ExitCode::success);
  return report;
}

std::size_t files_in(const TemporaryDirectory& directory) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(directory.path()), {}));
}

std::string blob_of(const host::Program& program, const char* method, std::uint32_t delegate) {
  const auto plan = program.plan(method);
  REQUIRE(plan.ok());
  const auto bytes = program.view().delegate_data(*(*plan)->delegates()->Get(delegate));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_CASE("nodes go to the first backend that takes them, the rest to kernels", "[compile]") {
  const TemporaryDirectory directory;
  Arguments arguments = arguments_for("mlp_decomposed", directory.file("m.pte"));
  arguments.backends = {"FirstBackend", "SecondBackend"};
  arguments.specs = {{"FirstBackend", "take", "aten.relu.default"},
                     {"SecondBackend", "take", "aten.addmm.default aten.relu.default"},
                     {std::nullopt, "mode", "fast"}};
  const Report report = good(arguments);
  REQUIRE(report.methods.size() == 1);
  const Method& method = report.methods[0];
  CHECK(method.name == "forward");
  CHECK(method.delegation.num_delegated_nodes == 3);
  CHECK(method.delegation.num_non_delegated_nodes == 3);
  CHECK(method.delegation.delegation_by_operator.at("aten.relu.default") ==
        aot::DelegationBreakdown{1, 0});
  CHECK(method.delegation.delegation_by_operator.at("aten._softmax.default") ==
        aot::DelegationBreakdown{0, 1});
  REQUIRE(method.delegates.size() == 3);
  CHECK(method.delegates[0].backend_id == "SecondBackend");
  CHECK(method.delegates[1].backend_id == "FirstBackend");
  CHECK(method.delegates[1].num_nodes == 1);
  CHECK(method.delegates[1].info == "1 names");

  const auto program = host::Program::open(directory.file("m.pte"));
  INFO(program.text());
  REQUIRE(program.ok());
  CHECK(blob_of(**program, "forward", 1) == "relu;");
  const auto plan = (*program)->plan("forward");
  REQUIRE(plan.ok());
  const auto* specs = (*plan)->delegates()->Get(1)->compile_specs();
  REQUIRE(specs->size() == 2);
  CHECK(specs->Get(0)->key()->string_view() == "take");
  CHECK(specs->Get(1)->key()->string_view() == "mode");
  REQUIRE(report.program.has_value());
  CHECK(report.program->nbytes == std::filesystem::file_size(directory / "m.pte"));
  CHECK(files_in(directory) == 1);
}

TEST_CASE("without a backend all is left to kernels, and a host without them says so",
          "[compile]") {
  const TemporaryDirectory directory;
  const Report report = good(arguments_for("mlp_decomposed", directory.file("m.pte")));
  CHECK(report.methods.at(0).delegation.num_delegated_nodes == 0);
  CHECK(report.methods.at(0).delegates.empty());
  const auto program = host::Program::open(directory.file("m.pte"));
  REQUIRE(program.ok());
  const auto method = host::Method::load(*program, "forward");
  CHECK(method.error() == Error::OperatorMissing);
  CHECK_THAT(std::string(method.text()), ContainsSubstring("aten::addmm.out"));
}

TEST_CASE("a backend gets the whole program when it is not asked", "[compile][S0.9]") {
  const TemporaryDirectory directory;
  Arguments arguments = arguments_for("mlp", directory.file("m.pte"));
  arguments.backends = {"FirstBackend"};
  arguments.no_partition = true;
  const Report report = good(arguments);
  REQUIRE(report.methods.at(0).delegates.size() == 1);
  CHECK(report.methods[0].delegation.num_non_delegated_nodes == 0);
  const auto program = host::Program::open(directory.file("m.pte"));
  REQUIRE(program.ok());
  CHECK(blob_of(**program, "forward", 0) == "linear;relu;linear_1;softmax;");
}

TEST_CASE("equal calls write equal bytes", "[compile]") {
  const TemporaryDirectory directory;
  for (const char* name : {"a.pte", "b.pte"}) {
    Arguments arguments = arguments_for("vision_decomposed", directory.file(name));
    arguments.backends = {"FirstBackend"};
    arguments.specs = {{std::nullopt, "take", "aten.convolution.default aten.relu.default"},
                       {std::nullopt, "named", ""}};
    good(arguments);
  }
  const std::string first = tenon::test::file_content(directory / "a.pte");
  CHECK(first.size() > 1000);
  CHECK(first == tenon::test::file_content(directory / "b.pte"));
}

TEST_CASE("external data is written next to the program, or to the directory of --external",
          "[compile]") {
  const TemporaryDirectory directory;
  Arguments arguments = arguments_for("mlp", directory.file("m.pte"));
  arguments.backends = {"FirstBackend"};
  arguments.no_partition = true;
  arguments.specs = {{std::nullopt, "external", "weights"}};
  const Report next_to = good(arguments);
  REQUIRE(next_to.data.size() == 1);
  CHECK(next_to.data[0].path == directory.file("weights.ptd"));
  CHECK(next_to.data[0].nbytes == std::filesystem::file_size(directory / "weights.ptd"));
  const auto file = host::DataFile::open(directory.file("weights.ptd"));
  INFO(file.text());
  REQUIRE(file.ok());

  std::filesystem::create_directory(directory / "elsewhere");
  arguments.external = directory.file("elsewhere");
  const Report there = good(arguments);
  CHECK(there.data.at(0).path == directory.file("elsewhere/weights.ptd"));
  CHECK(tenon::test::file_content(directory / "weights.ptd") ==
        tenon::test::file_content(directory / "elsewhere/weights.ptd"));
}

TEST_CASE("several archives become methods of one program", "[compile][S0.9]") {
  const TemporaryDirectory directory;
  Arguments arguments = arguments_for("mlp", directory.file("m.pte"));
  arguments.backends = {"FirstBackend"};
  arguments.no_partition = true;
  arguments.methods = {{"again", fixture("mlp")}, {"decomposed", fixture("mlp_decomposed")}};
  const Report report = good(arguments);
  REQUIRE(report.methods.size() == 3);
  CHECK(report.methods[1].name == "again");
  const auto program = host::Program::open(directory.file("m.pte"));
  REQUIRE(program.ok());
  for (const char* name : {"forward", "again", "decomposed"}) CHECK((*program)->plan(name).ok());

  arguments.methods = {{"forward", fixture("mlp")}};
  const Report twice = run(arguments);
  CHECK(twice.code == ExitCode::wrong_usage);
  CHECK_THAT(std::string(twice.failure.text()),
             ContainsSubstring("there is a method 'forward' already"));
  arguments.methods = {{"both", fixture("methods")}};
  const Report two = run(arguments);
  CHECK(two.code == ExitCode::wrong_usage);
  CHECK_THAT(std::string(two.failure.text()), ContainsSubstring("holds 2 models, expected one"));
}

TEST_CASE("graphs are printed without anything being written", "[compile]") {
  const TemporaryDirectory directory;
  Arguments arguments = arguments_for("mlp", "");
  arguments.print_graph = true;
  arguments.backends = {"Nobody"};
  const Report report = good(arguments);
  CHECK_THAT(report.printed,
             ContainsSubstring("aten.linear.default") && ContainsSubstring("method \"forward\""));
  CHECK(to_text(report) == report.printed);
  CHECK_FALSE(report.program.has_value());
}

TEST_CASE("backends say which operators they want to get whole", "[compile]") {
  Arguments arguments = arguments_for("mlp", "");
  arguments.backends = {"FirstBackend", "SecondBackend"};
  arguments.print_ops_to_not_decompose = true;
  const Report report = good(arguments);
  CHECK(report.printed == "aten.linear.default\naten.softmax.int\n");
  CHECK_FALSE(report.program.has_value());

  arguments.methods = {{"decomposed", fixture("mlp_decomposed")}};
  const Report refused = run(arguments);
  CHECK(refused.code == ExitCode::failed);
  CHECK_THAT(std::string(refused.failure.text()),
             ContainsSubstring("backend FirstBackend: ops_to_not_decompose: ") &&
                 ContainsSubstring("aten.addmm.default"));
}

TEST_CASE("constants of what is left to kernels go to a data file when asked", "[compile]") {
  const TemporaryDirectory directory;
  Arguments arguments = arguments_for("mlp_decomposed", directory.file("m.pte"));
  arguments.external_constants = "weights";
  const Report report = good(arguments);
  REQUIRE(report.data.size() == 1);
  CHECK(report.data[0].path == directory.file("weights.ptd"));
  const auto file = host::DataFile::open(directory.file("weights.ptd"));
  REQUIRE(file.ok());
  CHECK((*file)->num_keys() == 4);
}

/// Compiling fails with `code` and a text about `what`, and changes nothing.
void refused(Arguments arguments, ExitCode code, const std::string& what) {
  const TemporaryDirectory directory;
  directory.write("m.pte", "what was there");
  arguments.output = directory.file("m.pte");
  const Report report = run(arguments);
  CHECK(report.code == code);
  CHECK_THAT(std::string(report.failure.text()), ContainsSubstring(what));
  CHECK_FALSE(report.program.has_value());
  CHECK(tenon::test::file_content(directory / "m.pte") == "what was there");
  CHECK(files_in(directory) == 1);
}

TEST_CASE("a failure has the exit code of its stage and does not change the directory",
          "[compile]") {
  const Arguments base = arguments_for("mlp", "");
  Arguments arguments = base;
  arguments.model = "/no/such/model.pt2";
  refused(arguments, ExitCode::invalid_file, "/no/such/model.pt2");

  arguments = base;
  arguments.plugins = {"/no/such/plugin.so"};
  refused(arguments, ExitCode::invalid_file, "/no/such/plugin.so");

  arguments = base;
  arguments.backends = {"FirstBackends"};
  refused(arguments, ExitCode::no_backend, "FirstBackend");

  arguments = base;
  arguments.plugins.push_back(TENON_HELLO_PLUGIN);
  arguments.backends = {"Add"};
  refused(arguments, ExitCode::no_backend,
          "backend Add cannot compile: its plugin has no ahead-of-time half (extension "
          "tenon.preprocess/1); these can: FirstBackend, SecondBackend");

  arguments = base;
  arguments.backends = {"FirstBackend"};
  arguments.specs = {{std::nullopt, "take", "aten.linear.default"}, {std::nullopt, "refuse", ""}};
  refused(arguments, ExitCode::failed,
          "backend FirstBackend: preprocess: node 'linear': refused on request");

  refused(base, ExitCode::failed, "aten.linear.default");  // There is no kernel for it.

  arguments = base;
  arguments.backends = {"FirstBackend"};
  arguments.no_partition = true;
  arguments.specs = {{std::nullopt, "external", "a/b"}};
  refused(arguments, ExitCode::failed, "'a/b' is not a file name");
  arguments.specs = {{std::nullopt, "external", "weights"}};
  arguments.external = "/no/such/folder";
  refused(arguments, ExitCode::wrong_usage, "/no/such/folder");
}

TEST_CASE("a program cannot replace an archive that it is made of", "[compile]") {
  const TemporaryDirectory directory;
  std::filesystem::copy_file(fixture("mlp"), directory / "m.pt2");
  Arguments arguments = arguments_for("mlp", directory.file("m.pt2"));
  arguments.model = directory.file("m.pt2");
  const Report report = run(arguments);
  CHECK(report.code == ExitCode::wrong_usage);
  CHECK_THAT(std::string(report.failure.text()),
             ContainsSubstring("is read, and cannot be written"));
  CHECK(tenon::test::file_content(directory / "m.pt2") ==
        tenon::test::file_content(fixture("mlp")));
}

TEST_CASE("a report reads as lines for a person", "[compile]") {
  const TemporaryDirectory directory;
  Arguments arguments = arguments_for("mlp", directory.file("m.pte"));
  arguments.backends = {"FirstBackend"};
  arguments.no_partition = true;
  arguments.specs = {{std::nullopt, "external", "weights"}};
  const std::string text = to_text(good(arguments));
  CHECK_THAT(text,
             ContainsSubstring("method forward: 4 of 4 nodes in 1 delegate\n"
                               "  delegate 0: FirstBackend, 4 nodes, blob of 29 bytes: 4 names\n"
                               "  operator             delegated  left over\n"
                               "  aten.linear.default          2          0\n"
                               "  aten.relu.default            1          0\n"
                               "  aten.softmax.int             1          0\n"
                               "  total                        4          0\n"));
  CHECK_THAT(text, ContainsSubstring("m.pte: ") && ContainsSubstring("weights.ptd: "));
}

TEST_CASE("a compile spec that reaches no delegate is a warning that says where it was lost",
          "[compile]") {
  const TemporaryDirectory directory;
  Arguments arguments = arguments_for("mlp_decomposed", directory.file("m.pte"));
  arguments.backends = {"FirstBackend", "SecondBackend"};
  arguments.specs = {{"FirstBackend", "take", "aten.relu.default"},
                     {"FirstBackend", "forget", "mode"},
                     {std::nullopt, "mode", "fast"},
                     {"SecondBackend", "level", "3"}};
  const Report report = good(arguments);
  CHECK(report.warnings ==
        std::vector<std::string>{"--spec mode: reaches no delegate: `partition` of FirstBackend "
                                 "got it and passed it on to none of its partitions",
                                 "--spec SecondBackend.level: reaches no delegate: SecondBackend "
                                 "took no node"});
  CHECK(report.program.has_value());

  arguments.strict = true;
  refused(arguments, ExitCode::wrong_usage, "--spec mode: reaches no delegate");

  // A spec for all backends need only reach one of them.
  arguments.specs = {{"FirstBackend", "take", "aten.relu.default"}, {std::nullopt, "mode", "fast"}};
  CHECK(good(arguments).warnings.empty());
}

TEST_CASE("a plugin that no backend is used of is a warning, with --strict an error", "[compile]") {
  const TemporaryDirectory directory;
  Arguments arguments = arguments_for("mlp", directory.file("m.pte"));
  arguments.plugins.push_back(TENON_HELLO_PLUGIN);
  arguments.backends = {"SecondBackend"};
  arguments.no_partition = true;
  const Report report = good(arguments);
  REQUIRE(report.warnings.size() == 1);
  CHECK(report.warnings[0] ==
        concat("--plugin ", TENON_HELLO_PLUGIN,
               ": serves nothing: it has Add; --backend names SecondBackend"));
  arguments.strict = true;
  refused(arguments, ExitCode::wrong_usage, "serves nothing: it has Add");
}

TEST_CASE("a plugin that writes to a node is named, and nothing is written", "[compile][S0.7]") {
  const TemporaryDirectory directory;
  Arguments arguments = arguments_for("mlp_decomposed", directory.file("m.pte"));
  arguments.backends = {"FirstBackend"};
  arguments.specs = {{std::nullopt, "take", "aten.relu.default"}, {std::nullopt, "write", "node"}};
  const Report report = run(arguments);
  CHECK(report.code == ExitCode::failed);
  CHECK(report.failure.error() == Error::Internal);
  CHECK(report.failure.text() ==
        "backend FirstBackend: preprocess: changed node 'relu' of method 'forward', which it may "
        "only read (TN-AOT-6)");
  CHECK(files_in(directory) == 0);
}

}  // namespace compile_test
