// SPDX-License-Identifier: MIT
//
// A plugin that writes to what it may only read: it cannot change its caller's program, and is
// named.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "fake_compiler.hpp"
#include "support/catch.hpp"
#include "tenon/aot/compiler/impl/partition/given_programs.hpp"
#include "tenon/aot/compiler/lower/edge_program_text.hpp"
#include "tenon/aot/compiler/partition/plugin_call.hpp"
#include "tenon/aot/compiler/partition/plugin_preprocess.hpp"
#include "tenon/aot/edge_program_builder.hpp"

namespace writing_plugin_test {

using namespace tenon;
using namespace tenon::aot;
using test::FakeCompiler;

const std::vector<float> weights = {1.0f, 2.0f, 3.0f, 4.0f};

/// relu(x + w) in "forward", with every kind of thing that a plugin could write to.
OwnedEdgeProgram small_program(SharedBytes data) {
  const EdgeTensor tensor{ScalarType::Float, {{1, 8, "s0"}, 4}};
  EdgeProgramBuilder graph("forward");
  const ValueId x = graph.user_input("x", tensor);
  const ValueId w = graph.stored(EdgeOrigin::Parameter, "p_w", "fc.weight",
                                 {ScalarType::Float, {4}}, std::move(data));
  const ValueId sum =
      graph.node("aten.add.Tensor", {{"self", EdgeRef{x}}, {"other", EdgeRef{w}}}, tensor);
  const ValueId out = graph.node("aten.sum.dim_IntList",
                                 {{"self", EdgeRef{sum}},
                                  {"dim", EdgeInts({0, 1})},
                                  {"alpha", 0.5},
                                  {"mode", std::string("mean")},
                                  {"all", std::vector<ValueId>{x, no_value}}},
                                 tensor);
  graph.user_output(out);
  auto built = std::move(graph).build();
  REQUIRE(built.ok());
  return *std::move(built);
}

SharedBytes copy_of_weights() { return SharedBytes::copy_of(std::as_bytes(std::span(weights))); }

/// The memory that the plugin may only read, as a plugin in C takes it.
template <class T>
T& writable(const T* memory) {
  return *const_cast<T*>(memory);
}

using Write = std::function<void(const tenon_edge_program&)>;

/// The error of `preprocess` for a plugin that calls `write` and then does its work. The caller's
/// program stays as it was.
Status preprocess(const Write& write, PreprocessOptions options = {}) {
  FakeCompiler fake("Fake");
  fake.preprocess = [&](const tenon_partition* partitions, std::uint32_t,
                        const tenon_preprocess_sink& sink) {
    write(*partitions->program);
    return sink.set_processed(sink.context, 0, "blob", 4);
  };
  const auto compiler = PluginPreprocess::of(fake.ref(), std::move(options));
  REQUIRE(compiler.ok());
  const OwnedEdgeProgram program = small_program(copy_of_weights());
  const std::string before = to_text(program.view());
  const std::vector<PartitionToCompile> parts = {
      {program.view(), {{"mode", SharedBytes::copy_of("fast")}}}};
  auto results = compiler->preprocess(parts);
  CHECK(to_text(program.view()) == before);
  const Bytes data = program.view().value(1).data();
  REQUIRE(data.size() == 16);
  CHECK(std::memcmp(data.data(), weights.data(), 16) == 0);
  CHECK(parts[0].compile_specs[0].key == "mode");
  return std::move(results).status();
}

TEST_CASE("a change of a description is an error that names the plugin and the place",
          "[aot][S0.7]") {
  const auto check = [](const Write& write, std::string_view place) {
    const Status status = preprocess(write);
    INFO(place);
    CHECK(status.error() == Error::Internal);
    CHECK(status.text() == concat("backend Fake: preprocess: changed ", place,
                                  ", which it may only read (TN-AOT-6)"));
  };
  using Program = tenon_edge_program;
  check([](const Program& p) { writable(p.method_name) = 'g'; }, "method 'forward'");
  check([](const Program& p) { writable(&p).num_nodes = 1; }, "method 'forward'");
  check([](const Program& p) { writable(p.values[1].name) = 'q'; },
        "value 'p_w' of method 'forward'");
  check([](const Program& p) { writable(p.values[1].fqn) = 'q'; },
        "value 'p_w' of method 'forward'");
  check([](const Program& p) { writable(p.values[0].sizes).max = 2; },
        "value 'x' of method 'forward'");
  check([](const Program& p) { writable(&p.values[2]).name = nullptr; },
        "value 'add' of method 'forward'");
  check([](const Program& p) { writable(p.nodes[0].target) = 'q'; },
        "node 'add' of method 'forward'");
  check([](const Program& p) { writable(&p.nodes[1]).debug_handle = 77; },
        "node 'sum' of method 'forward'");
  check([](const Program& p) { writable(p.nodes[1].arguments[1].as.integers) = 9; },
        "node 'sum' of method 'forward'");
  check([](const Program& p) { writable(p.nodes[1].arguments[3].as.string) = 'q'; },
        "node 'sum' of method 'forward'");
  check([](const Program& p) { writable(p.nodes[1].arguments[4].as.values) = 1; },
        "node 'sum' of method 'forward'");
  check([](const Program& p) { writable(p.inputs) = 1; }, "the inputs of method 'forward'");
  check([](const Program& p) { writable(p.outputs).value = 0; }, "the outputs of method 'forward'");
}

TEST_CASE("a plugin that only reads gets the whole program", "[aot][S0.7]") {
  std::string seen;
  CHECK(preprocess([&](const tenon_edge_program& program) {
          seen = to_text(EdgeProgram(program));
        }).ok());
  CHECK(seen == to_text(small_program(copy_of_weights()).view()));
}

TEST_CASE("every function of the half is watched, and compile specs are too", "[aot][S0.7]") {
  FakeCompiler fake("Fake");
  fake.partition = [](const tenon_edge_program& program, const tenon_compile_spec*, std::uint32_t,
                      const tenon_partition_sink&) -> tenon_status {
    writable(program.nodes[0].name) = 'q';
    return TENON_STATUS_OK;
  };
  fake.ops_to_not_decompose = [](const tenon_edge_program& program,
                                 const std::function<tenon_status(const char*)>&) -> tenon_status {
    writable(program.nodes[0].name) = 'q';
    return TENON_STATUS_OK;
  };
  fake.preprocess = [](const tenon_partition* partitions, std::uint32_t,
                       const tenon_preprocess_sink& sink) {
    std::memset(const_cast<void*>(partitions[1].compile_specs->value), 'q', 4);
    sink.set_processed(sink.context, 0, "blob", 4);
    return sink.set_processed(sink.context, 1, "blob", 4);
  };
  const auto compiler = PluginPreprocess::of(fake.ref());
  REQUIRE(compiler.ok());
  const OwnedEdgeProgram program = small_program({});
  CHECK(compiler->partition(program.view(), {}).text() ==
        "backend Fake: partition: changed node 'add' of method 'forward', which it may only read "
        "(TN-AOT-6)");
  CHECK(compiler->ops_to_not_decompose(program.view()).text() ==
        "backend Fake: ops_to_not_decompose: changed node 'add' of method 'forward', which it may "
        "only read (TN-AOT-6)");
  const std::vector<PartitionToCompile> parts = {
      {program.view(), {}}, {program.view(), {{"mode", SharedBytes::copy_of("fast")}}}};
  CHECK(compiler->preprocess(parts).text() ==
        "backend Fake: preprocess: changed the compile specs of method 'forward', which it may "
        "only read (TN-AOT-6)");
  CHECK(as_text(parts[1].compile_specs[0].value.bytes()) == "fast");
}

TEST_CASE("a change takes precedence over the plugin's own failure", "[aot][S0.7]") {
  FakeCompiler fake("Fake");
  fake.preprocess = [&](const tenon_partition* partitions, std::uint32_t,
                        const tenon_preprocess_sink&) {
    writable(partitions->program->nodes[0].name) = 'q';
    return fake.fail(TENON_STATUS_NOT_SUPPORTED, "node 'qdd': what is that");
  };
  const auto compiler = PluginPreprocess::of(fake.ref());
  REQUIRE(compiler.ok());
  const OwnedEdgeProgram program = small_program({});
  const std::vector<PartitionToCompile> parts = {{program.view(), {}}};
  CHECK_THAT(std::string(compiler->preprocess(parts).text()), ContainsSubstring("TN-AOT-6"));
}

void write_weights(const tenon_edge_program& program) {
  *static_cast<volatile float*>(const_cast<void*>(program.values[1].data.data)) = 9.0f;
}

TEST_CASE("with copies to compare, written weights are an error", "[aot][S0.7]") {
  const Status status = preprocess(&write_weights, {.weights = WeightAccess::compared});
  CHECK(status.error() == Error::Internal);
  CHECK(status.text() ==
        "backend Fake: preprocess: changed the data of 'fc.weight', which it may only read "
        "(TN-AOT-6)");
  CHECK(preprocess([](const tenon_edge_program&) {}, {.weights = WeightAccess::compared}).ok());
}

TEST_CASE("a caller may learn of changes and take the result", "[aot][S0.7]") {
  std::vector<std::string> changes;
  const Status status = preprocess(
      &write_weights, {.weights = WeightAccess::compared, .on_change = [&](const Status& change) {
                         changes.emplace_back(change.text());
                       }});
  CHECK(status.ok());
  REQUIRE(changes.size() == 1);
  CHECK_THAT(changes[0], ContainsSubstring("the data of 'fc.weight'"));
}

int report_to = -1;

/// Sends "BACKEND FUNCTION WEIGHT" and ends the process.
void report_signal(int, siginfo_t* info, void*) {
  std::string text = "no call";
  if (const PluginCall* const call = current_plugin_call()) {
    const char* const weight = call->weight_at(info->si_addr);
    text = concat(call->backend, " ", call->function, " ", weight ? weight : "nothing");
  }
  const auto written = ::write(report_to, text.data(), text.size());
  ::_exit(written == static_cast<ssize_t>(text.size()) ? 3 : 4);
}

TEST_CASE("writing to weights ends the process, and a handler can name the plugin", "[aot][S0.7]") {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    report_to = pipe[1];
    struct sigaction action{};
    action.sa_sigaction = &report_signal;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSEGV, &action, nullptr);
    ::sigaction(SIGBUS, &action, nullptr);
    static_cast<void>(preprocess(&write_weights));
    ::_exit(0);
  }
  ::close(pipe[1]);
  std::array<char, 200> text{};
  const ssize_t size = ::read(pipe[0], text.data(), text.size());
  ::close(pipe[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
  REQUIRE(size > 0);
  CHECK(std::string(text.data(), static_cast<std::size_t>(size)) == "Fake preprocess fc.weight");
}

TEST_CASE("outside of calls there is no current call", "[aot]") {
  CHECK(current_plugin_call() == nullptr);
  CHECK(preprocess([](const tenon_edge_program&) {
          REQUIRE(current_plugin_call() != nullptr);
          CHECK(std::string_view(current_plugin_call()->backend) == "Fake");
          CHECK(std::string_view(current_plugin_call()->plugin) == "/fakes/Fake.so");
        }).ok());
  CHECK(current_plugin_call() == nullptr);
}

TEST_CASE("weights that share memory share it in the copy", "[aot]") {
  std::vector<std::byte> storage(4096);
  for (std::size_t i = 0; i < storage.size(); ++i) storage[i] = static_cast<std::byte>(i);
  const Bytes all = storage;
  std::vector<Bytes> views;
  for (std::size_t i = 0; i < 1000; ++i) views.push_back(all.subspan(i, 3000));
  const auto copies = aot::detail::WeightCopies::make(views, WeightAccess::compared);
  REQUIRE(copies.ok());
  const Bytes first = copies->place_of(views[0]);
  CHECK(first.data() != views[0].data());
  for (std::size_t i = 0; i < views.size(); ++i) {
    const Bytes place = copies->place_of(views[i]);
    REQUIRE(place.data() == first.data() + i);
    REQUIRE(std::ranges::equal(place, views[i]));
  }
  const auto addressed = [](Bytes bytes) { return reinterpret_cast<std::uintptr_t>(bytes.data()); };
  CHECK(addressed(first) % 64 == addressed(views[0]) % 64);
  CHECK(copies->place_of({}).empty());
}

#if defined(__linux__)
TEST_CASE("weights that nothing can write are not copied", "[aot]") {
  const std::size_t size = std::size_t{1} << 16;
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  const Bytes weight{static_cast<const std::byte*>(memory), size};
  const auto place = [&](WeightAccess access) {
    const auto copies = aot::detail::WeightCopies::make(std::span(&weight, 1), access);
    REQUIRE(copies.ok());
    return copies->place_of(weight).data();
  };
  CHECK(place(WeightAccess::read_only) != weight.data());
  REQUIRE(::mprotect(memory, size, PROT_READ) == 0);
  CHECK(place(WeightAccess::read_only) == weight.data());
  CHECK(place(WeightAccess::compared) != weight.data());
  // Half of it can be written: then all is copied.
  REQUIRE(::mprotect(memory, size / 2, PROT_READ | PROT_WRITE) == 0);
  CHECK(place(WeightAccess::read_only) != weight.data());
  ::munmap(memory, size);
}

/// Memory that can be written, of whole pages, and a weight that begins and ends inside of pages.
struct WritableWeight {
  static constexpr std::size_t size = std::size_t{256} << 10;
  static constexpr std::size_t offset = 192;

  WritableWeight()
      : memory(static_cast<std::byte*>(
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    std::fill_n(memory, size, std::byte{7});
  }
  WritableWeight(const WritableWeight&) = delete;
  WritableWeight& operator=(const WritableWeight&) = delete;
  ~WritableWeight() { ::munmap(memory, size); }

  [[nodiscard]] Bytes weight() const { return {memory + offset, size - 2 * offset}; }

  std::byte* memory;
};

/// Whether the byte can be written, tried in a process of its own.
bool can_write(std::byte* at) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGSEGV, SIG_DFL);
    *static_cast<volatile std::byte*>(at) = std::byte{9};
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_CASE("weights in place are not copied, and cannot be written meanwhile", "[aot][S0.7]") {
  const WritableWeight owner;
  const Bytes weight = owner.weight();
  std::byte* const middle = owner.memory + WritableWeight::size / 2;
  {
    const auto copies =
        aot::detail::WeightCopies::make(std::span(&weight, 1), WeightAccess::in_place);
    REQUIRE(copies.ok());
    CHECK(copies->place_of(weight).data() == weight.data());
    CHECK_FALSE(can_write(middle));
    CHECK(copies->is_unchanged(weight));
  }
  CHECK(can_write(middle));
}

TEST_CASE("the ends of a weight in place are compared and restored", "[aot][S0.7]") {
  const WritableWeight owner;
  const std::size_t last = WritableWeight::size - WritableWeight::offset - 1;
  for (const std::size_t changed : {WritableWeight::offset, last}) {
    const Bytes weight = owner.weight();
    {
      const auto copies =
          aot::detail::WeightCopies::make(std::span(&weight, 1), WeightAccess::in_place);
      REQUIRE(copies.ok());
      owner.memory[changed] = std::byte{8};  // Its page is shared: it can be written.
      CHECK_FALSE(copies->is_unchanged(weight));
      CHECK(copies->is_unchanged(weight.subspan(WritableWeight::offset + 1, 4096)));
      owner.memory[0] = std::byte{5};  // Another's data.
    }
    CHECK(owner.memory[changed] == std::byte{7});
    CHECK(owner.memory[0] == std::byte{5});
  }
}

TEST_CASE("small weights, and memory of two kinds, are copied", "[aot]") {
  const WritableWeight owner;
  const auto is_copied = [](Bytes weight) {
    const auto copies =
        aot::detail::WeightCopies::make(std::span(&weight, 1), WeightAccess::in_place);
    REQUIRE(copies.ok());
    const Bytes place = copies->place_of(weight);
    REQUIRE(std::ranges::equal(place, weight));
    return place.data() != weight.data();
  };
  CHECK(is_copied(owner.weight().first(4096)));
  CHECK_FALSE(is_copied(owner.weight()));
  REQUIRE(::mprotect(owner.memory, WritableWeight::size / 2, PROT_READ) == 0);
  CHECK(is_copied(owner.weight()));
}
#endif

}  // namespace writing_plugin_test
