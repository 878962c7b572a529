// SPDX-License-Identifier: MIT
//
// The ahead-of-time half of a backend seen through the C boundary alone, as a tool sees it.
#include <tenon/abi/static_plugin.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tenon/aot.hpp>
#include <tenon/aot/edge_program_builder.hpp>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

#include "ahead_of_time_backends.hpp"
#include "recorded_sinks.hpp"
#include "support/catch.hpp"
#include "support/idle_backend.hpp"
#include "unit/backend/fake_host.hpp"

namespace tenon::test {

/// Its functions are members of the open backend: they use what `open` loaded, and its options.
class Loaded final : public Backend<Loaded>,
                     public IdleDelegates,
                     public aot::BackendDetails<Loaded>,
                     public WithOptions<Loaded> {
 public:
  static constexpr std::string_view id = "Loaded";
  static constexpr std::array options{OptionSpec{"level", 2, "of optimization"}};
  Status open() {
    library_ = "libacme 7";
    return ok();
  }

  Result<aot::PartitionResult> partition(const aot::EdgeProgram& program, CompileSpecs) const {
    aot::PartitionResult out;
    out.partition_tags[library_] = {};
    for (std::size_t i = 0; i < program.num_nodes(); ++i) out.tag_node(i, library_);
    return out;
  }
  Result<std::vector<std::string>> ops_to_not_decompose(const aot::EdgeProgram&) const {
    return std::vector<std::string>{library_};
  }
  Result<aot::PreprocessResult> preprocess(const aot::EdgeProgram& program, CompileSpecs) const {
    TENON_TRY(const auto level, option_values().get<std::int64_t>("level"));
    if (level > 3) return error(Error::InvalidArgument, "there is no level ", level);
    aot::PreprocessResult result;
    result.processed_bytes = aot::SharedBytes::copy_of(
        concat(program.method_name(), " by ", library_, " at level ", level));
    return result;
  }

 private:
  std::string library_;
};

}  // namespace tenon::test

using tenon::test::Able;
using tenon::test::Late;
using tenon::test::Loaded;
using tenon::test::Plain;
using tenon::test::Sharing;
TENON_PLUGIN(Able, Sharing, Plain, Late, Loaded);
namespace preprocess_table_test {

using namespace tenon;
using namespace tenon::aot;

using test::FakeHost;
using test::RecordedPartition;
using test::RecordedResults;

enum : std::size_t { able, sharing, plain, late, loaded };

OwnedEdgeProgram chain(std::string_view method, const std::vector<std::string>& targets) {
  EdgeProgramBuilder graph(method);
  const EdgeTensor tensor{ScalarType::Float, {2}};
  ValueId value = graph.user_input("x", tensor);
  for (const std::string& target : targets) {
    value = graph.node(target, {{"self", EdgeRef{value}}}, tensor);
  }
  graph.user_output(value);
  auto built = std::move(graph).build();
  REQUIRE(built.ok());
  return *std::move(built);
}

/// One backend of the plugin, opened, with its ahead-of-time table.
struct Opened {
  FakeHost host;
  test::OpenedBackend backend;
  const tenon_preprocess_v1* table;

  explicit Opened(std::size_t which)
      : backend(test::LinkedPlugin(tenon_static_plugin_Able).api(which), host),
        table(backend.extension<tenon_preprocess_v1>(TENON_EXTENSION_PREPROCESS)) {}

  tenon_status partition(const OwnedEdgeProgram& program, const std::string& what,
                         RecordedPartition& out) {
    const tenon_compile_spec option = {sizeof option, 0, "do", what.data(), what.size()};
    return table->partition(backend.backend, &program.view().raw(), &option, 1, &out);
  }

  tenon_status preprocess(const std::vector<const OwnedEdgeProgram*>& programs,
                          const std::string& what, RecordedResults& out) {
    const tenon_compile_spec spec = {sizeof spec, 0, "do", what.data(), what.size()};
    std::vector<tenon_partition> partitions;
    for (const OwnedEdgeProgram* program : programs) {
      partitions.push_back({sizeof(tenon_partition), 1, &program->view().raw(), &spec});
    }
    return table->preprocess(backend.backend, partitions.data(),
                             static_cast<std::uint32_t>(partitions.size()), &out);
  }

  /// The reason of a failure.
  std::string refusal(const std::string& what) {
    const OwnedEdgeProgram program = chain("forward", {"aten.relu.default"});
    RecordedResults out;
    CHECK(preprocess({&program}, what, out) != TENON_STATUS_OK);
    return host.last_text;
  }
};

TEST_CASE("a backend has the ahead-of-time table of its mixin, and tables of its own",
          "[aot][backend]") {
  Opened all(able);
  REQUIRE(all.table != nullptr);
  CHECK(all.table->struct_size == sizeof(tenon_preprocess_v1));
  CHECK(all.table->partition != nullptr);
  CHECK(all.table->ops_to_not_decompose != nullptr);
  CHECK(all.table->preprocess != nullptr);
  CHECK(all.backend.extension<void>("acme.tuning/1") == nullptr);

  Opened least(plain);
  REQUIRE(least.table != nullptr);
  CHECK(least.table->partition == nullptr);
  CHECK(least.table->ops_to_not_decompose == nullptr);
  CHECK(least.table->preprocess != nullptr);
  CHECK(least.backend.extension<int>("acme.tuning/1") == &Plain::tuning);
  CHECK(least.backend.extension<void>("tenon.draft.preprocess/2") == nullptr);

  Opened none(late);
  CHECK(none.table == nullptr);
  CHECK(none.backend.extension<int>("acme.tuning/1") == &Plain::tuning);
}

TEST_CASE("the result of partition is sent to the sink: tags with their specs, then nodes",
          "[aot]") {
  Opened opened(able);
  const OwnedEdgeProgram program =
      chain("forward", {"aten.relu.default", "aten.exp.default", "aten.relu.default"});
  RecordedPartition out;
  REQUIRE(opened.partition(program, "x", out) == TENON_STATUS_OK);
  REQUIRE(out.tags.size() == 1);
  CHECK(out.tags[0].first == "p0");
  CHECK(out.tags[0].second == std::vector<std::string>{"do=x", "empty="});
  CHECK(out.nodes == std::vector<std::pair<std::uint32_t, std::string>>{{0u, "p0"}, {2u, "p0"}});
  RecordedPartition of_nobody;
  CHECK(opened.partition(program, "name none", of_nobody) == TENON_STATUS_OK);
  CHECK(of_nobody.tags.size() == 1);
}

TEST_CASE("a partition for another backend is refused", "[aot]") {
  Opened opened(able);
  const OwnedEdgeProgram program = chain("forward", {"aten.relu.default"});
  RecordedPartition out;
  CHECK(opened.partition(program, "name another", out) == TENON_STATUS_NOT_SUPPORTED);
  CHECK_THAT(opened.host.last_text,
             ContainsSubstring("partition 'p0' is for backend Other") && ContainsSubstring("Able"));
  CHECK(out.tags.empty());
}

TEST_CASE("operators to keep are passed on one by one", "[aot]") {
  Opened opened(able);
  const OwnedEdgeProgram program = chain("forward", {"aten.relu.default"});
  std::vector<std::string> kept;
  const auto take = [](void* context, const char* target) -> tenon_status {
    static_cast<std::vector<std::string>*>(context)->push_back(target);
    return TENON_STATUS_OK;
  };
  const auto ask = opened.table->ops_to_not_decompose;
  REQUIRE(ask(opened.backend.backend, &program.view().raw(), take, &kept) == TENON_STATUS_OK);
  CHECK(kept == std::vector<std::string>{"aten.linear.default", "aten.gelu.default"});

  const auto refuse = [](void*, const char*) -> tenon_status { return TENON_STATUS_NOT_FOUND; };
  CHECK(ask(opened.backend.backend, &program.view().raw(), refuse, nullptr) ==
        TENON_STATUS_NOT_FOUND);
  CHECK_THAT(opened.host.last_text, ContainsSubstring("did not take an operator's name"));

  const OwnedEdgeProgram empty = chain("forward", {});
  CHECK(ask(opened.backend.backend, &empty.view().raw(), take, &kept) ==
        TENON_STATUS_NOT_SUPPORTED);
  CHECK(opened.host.last_text == "nothing to keep");
}

TEST_CASE("blob, handles, named data and information reach the sink", "[aot][S0.3][S0.8][S0.9]") {
  Opened opened(able);
  const OwnedEdgeProgram program = chain("forward", {"aten.relu.default", "aten.relu.default"});
  RecordedResults out;
  REQUIRE(opened.preprocess({&program}, "", out) == TENON_STATUS_OK);
  REQUIRE(out.results.size() == 1);
  const RecordedResults::Result& result = out.results[0];
  CHECK(result.times_processed == 1);
  CHECK(result.processed == "forward:2");
  CHECK(result.info == "one kernel");
  CHECK(result.handles_by_id.empty());
  CHECK(result.handles_by_name.at("relu") == std::vector<std::uint32_t>{3});
  CHECK(result.handles_by_name.at("nothing").empty());
  REQUIRE(result.named.size() == 3);
  CHECK(result.named[0].key == "w");
  CHECK(result.named[0].data == "weights!");
  CHECK(result.named[0].alignment == 16);
  CHECK(result.named[0].external_tag == "-");
  CHECK(result.named[0].sizes == std::vector<std::int64_t>{2, 1});
  CHECK(result.named[0].dim_order == std::vector<std::uint8_t>{1, 0});
  CHECK(result.named[0].scalar_type == static_cast<int>(ScalarType::Float));
  CHECK(result.named[1].data == "table");
  CHECK(result.named[1].scalar_type == -1);  // No tensor.
  CHECK(result.named[2].external_tag == "big");
  CHECK(result.named[2].dim_order == std::vector<std::uint8_t>{0});

  RecordedResults numbered;
  REQUIRE(opened.preprocess({&program}, "ids", numbered) == TENON_STATUS_OK);
  CHECK(numbered.results[0].handles_by_name.empty());
  CHECK(numbered.results[0].handles_by_id.at(-4) == std::vector<std::uint32_t>{1, 2});

  RecordedResults least;  // An empty blob is a blob.
  REQUIRE(opened.preprocess({&program}, "empty", least) == TENON_STATUS_OK);
  CHECK(least.results[0].times_processed == 1);
  CHECK(least.results[0].processed.empty());
  CHECK(least.results[0].named.empty());
  CHECK(least.results[0].info.empty());
}

TEST_CASE("partitions of several methods are compiled in one call and kept apart", "[aot][S0.9]") {
  const OwnedEdgeProgram b1 = chain("b", {"aten.relu.default"});
  const OwnedEdgeProgram a = chain("a", {"aten.relu.default"});
  const OwnedEdgeProgram b2 = chain("b", {"aten.relu.default", "aten.exp.default"});
  Opened opened(sharing);
  RecordedResults out;
  REQUIRE(opened.preprocess({&b1, &a, &b2}, "", out) == TENON_STATUS_OK);
  CHECK(out.results[0].processed == "b 1 of 2 methods");
  CHECK(out.results[1].processed == "a 0 of 2 methods");
  CHECK(out.results[2].processed == "b 2 of 2 methods");

  Opened one_by_one(able);
  RecordedResults each;
  REQUIRE(one_by_one.preprocess({&b1, &a, &b2}, "", each) == TENON_STATUS_OK);
  CHECK(each.results[0].processed == "b:1");
  CHECK(each.results[1].processed == "a:1");
  CHECK(each.results[2].processed == "b:2");

  RecordedResults nothing;
  CHECK(one_by_one.preprocess({}, "", nothing) == TENON_STATUS_OK);
  CHECK(nothing.results.empty());
}

TEST_CASE("functions that are const members use the library and the options of the open backend",
          "[aot]") {
  const OwnedEdgeProgram a = chain("a", {"aten.relu.default"});
  const OwnedEdgeProgram b = chain("b", {"aten.relu.default"});
  Opened opened(loaded);
  RecordedPartition parts;
  REQUIRE(opened.partition(a, "", parts) == TENON_STATUS_OK);
  CHECK(parts.nodes == std::vector<std::pair<std::uint32_t, std::string>>{{0u, "libacme 7"}});
  std::string kept;
  const auto take = [](void* context, const char* target) -> tenon_status {
    *static_cast<std::string*>(context) = target;
    return TENON_STATUS_OK;
  };
  REQUIRE(opened.table->ops_to_not_decompose(opened.backend.backend, &a.view().raw(), take,
                                             &kept) == TENON_STATUS_OK);
  CHECK(kept == "libacme 7");

  RecordedResults out;
  REQUIRE(opened.preprocess({&a, &b}, "", out) == TENON_STATUS_OK);
  CHECK(out.results[0].processed == "a by libacme 7 at level 2");
  CHECK(out.results[1].processed == "b by libacme 7 at level 2");

  const auto* options = opened.backend.extension<tenon_options_v1>(TENON_EXTENSION_OPTIONS);
  REQUIRE(options != nullptr);
  const auto set = [&](std::int64_t level) {
    const OptionValue value = level;
    const tenon_option option = write_option("level", value);
    return options->set_option(opened.backend.backend, &option);
  };
  REQUIRE(set(3) == TENON_STATUS_OK);
  RecordedResults other;
  REQUIRE(opened.preprocess({&a}, "", other) == TENON_STATUS_OK);
  CHECK(other.results[0].processed == "a by libacme 7 at level 3");
  REQUIRE(set(4) == TENON_STATUS_OK);
  CHECK(opened.refusal("") == "there is no level 4");

  // Another open backend of the plugin has its own options.
  Opened second(loaded);
  RecordedResults of_second;
  REQUIRE(second.preprocess({&a}, "", of_second) == TENON_STATUS_OK);
  CHECK(of_second.results[0].processed == "a by libacme 7 at level 2");
}

TEST_CASE("results that do not match the partitions are refused, and nothing is sent", "[aot]") {
  const OwnedEdgeProgram a = chain("a", {"aten.relu.default"});
  const OwnedEdgeProgram b = chain("b", {"aten.relu.default"});
  Opened opened(sharing);
  RecordedResults out;
  CHECK(opened.preprocess({&a, &b}, "one too few", out) == TENON_STATUS_INTERNAL);
  CHECK(opened.host.last_text ==
        "preprocess_multimethod made 0 results for method 'a', expected 1");
  CHECK(opened.preprocess({&a, &b}, "forget one", out) == TENON_STATUS_INTERNAL);
  CHECK(opened.host.last_text ==
        "preprocess_multimethod made 0 results for method 'a', expected 1");
  CHECK(opened.preprocess({&a, &b}, "one too many", out) == TENON_STATUS_INTERNAL);
  CHECK(opened.host.last_text ==
        "preprocess_multimethod made 1 results for method 'unknown', which it was not asked for");
  CHECK(out.results.empty());
}

TEST_CASE("failures and exceptions of the ahead-of-time half become statuses with a text",
          "[aot][TN-BCK-1]") {
  Opened opened(able);
  CHECK(opened.refusal("fail") == "node 'relu': not for this one");
  CHECK(opened.host.last_status == TENON_STATUS_NOT_SUPPORTED);
  CHECK(opened.refusal("throw") == "preprocess throws on request");
  CHECK(opened.host.last_status == TENON_STATUS_INTERNAL);
  CHECK_THAT(opened.refusal("throw 5"), ContainsSubstring("not a std::exception"));
  const OwnedEdgeProgram program = chain("forward", {"aten.relu.default"});
  RecordedPartition out;
  CHECK(opened.partition(program, "throw", out) == TENON_STATUS_INTERNAL);
  CHECK(opened.host.last_text == "partition throws on request");
}

TEST_CASE("named data that makes no sense is refused by its key", "[aot]") {
  Opened opened(able);
  CHECK_THAT(opened.refusal("buffer 9"), ContainsSubstring("named data 't' is buffer 9 of 2"));
  CHECK_THAT(opened.refusal("alignment 0"), ContainsSubstring("named data 't' has alignment 0"));
  CHECK_THAT(
      opened.refusal("alignment 2^32"),
      ContainsSubstring("named data 't' has alignment 4294967296, expected 1 to 4294967295"));
}

TEST_CASE("a sink's refusal ends the call with its status, whichever call it is", "[aot]") {
  Opened opened(able);
  const OwnedEdgeProgram program = chain("forward", {"aten.relu.default"});
  // A blob, two handles, three pieces of named data, a line of information.
  for (int allowed = 0; allowed < 7; ++allowed) {
    RecordedResults out;
    out.calls_left = allowed;
    INFO("after " << allowed << " calls");
    CHECK(opened.preprocess({&program}, "", out) == TENON_STATUS_OUT_OF_RESOURCES);
    CHECK_THAT(opened.host.last_text, ContainsSubstring("the caller did not take"));
    CHECK(out.calls_left == -1);  // Nothing is sent after the refusal.
  }
  RecordedResults all;
  all.calls_left = 7;
  CHECK(opened.preprocess({&program}, "", all) == TENON_STATUS_OK);
  for (int allowed = 0; allowed < 2; ++allowed) {
    RecordedPartition out;
    out.calls_left = allowed;
    CHECK(opened.partition(program, "", out) == TENON_STATUS_OUT_OF_RESOURCES);
  }
}

TEST_CASE("partitions of a later version of the boundary are walked in its steps", "[aot]") {
  struct Later {
    tenon_partition known;
    std::uint64_t unknown;
  };
  const OwnedEdgeProgram a = chain("a", {"aten.relu.default"});
  const OwnedEdgeProgram b = chain("b", {"aten.relu.default", "aten.relu.default"});
  const Later both[] = {{{sizeof(Later), 0, &a.view().raw(), nullptr}, ~0ull},
                        {{sizeof(Later), 0, &b.view().raw(), nullptr}, ~0ull}};
  Opened opened(able);
  RecordedResults out;
  REQUIRE(opened.table->preprocess(opened.backend.backend, &both[0].known, 2, &out) ==
          TENON_STATUS_OK);
  CHECK(out.results[0].processed == "a:1");
  CHECK(out.results[1].processed == "b:2");
}

}  // namespace preprocess_table_test
