// SPDX-License-Identifier: MIT
#include "kit/fixtures/guarded_arguments.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kit/fixtures/wrong_arguments.hpp"
#include "support/catch.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/loader/impl/plugin/host_table.hpp"

namespace guarded_arguments_test {
namespace {

using namespace tenon;
using namespace tenon::conformance;

/// A float tensor of a host, of at most `bounds`.
struct HostTensor {
  explicit HostTensor(std::vector<std::int64_t> of, std::uint32_t dynamism = TENON_SHAPE_STATIC)
      : sizes(std::move(of)), strides(sizes.size()), bounds(sizes), dim_order(sizes.size()) {
    for (std::size_t i = 0; i < dim_order.size(); ++i) dim_order[i] = static_cast<std::uint8_t>(i);
    host::fill_strides(sizes, dim_order.data(), strides.data());
    data.resize(static_cast<std::size_t>(host::count_elements(sizes)));
    tensor.struct_size = sizeof tensor;
    tensor.scalar_type = static_cast<std::int32_t>(ScalarType::Float);
    tensor.dl = {data.data(),
                 {TENON_DL_CPU, 0},
                 static_cast<std::int32_t>(sizes.size()),
                 {TENON_DL_FLOAT, 32, 1},
                 sizes.data(),
                 strides.data(),
                 0};
    tensor.dim_order = dim_order.data();
    tensor.bounds = bounds.data();
    tensor.nbytes = tensor.capacity = data.size() * sizeof(float);
    tensor.shape_dynamism = dynamism;
    value = {sizeof value, TENON_VALUE_TENSOR, {}};
    value.as.tensor = &tensor;
  }
  HostTensor(const HostTensor&) = delete;
  HostTensor& operator=(const HostTensor&) = delete;

  std::vector<std::int64_t> sizes, strides, bounds;
  std::vector<std::uint8_t> dim_order;
  std::vector<float> data;
  tenon_tensor tensor{};
  tenon_value value{};
};

/// The `execute` of the backend of these tests.
using Execute = std::function<tenon_status(const tenon_host*, tenon_value* const*, std::uint32_t)>;
Execute& execute_now() {
  static Execute function;
  return function;
}

const tenon_host*& opened_for() {
  static const tenon_host* host = nullptr;
  return host;
}

constexpr tenon_backend_api api = {
    sizeof(tenon_backend_api),
    0,
    [](const tenon_host* host, tenon_backend**) {
      opened_for() = host;
      return tenon_status{TENON_STATUS_OK};
    },
    [](tenon_backend*) {},
    [](tenon_backend*) { return tenon_status{TENON_STATUS_OK}; },
    [](tenon_backend*, const tenon_init_context*, tenon_delegate** out) {
      *out = nullptr;
      return tenon_status{TENON_STATUS_OK};
    },
    [](tenon_backend*, tenon_delegate*, const tenon_execution_context*, tenon_value* const* args,
       std::uint32_t num_args) { return execute_now()(opened_for(), args, num_args); },
    [](tenon_backend*, tenon_delegate*) {},
    [](tenon_backend*, const char*) { return static_cast<const void*>(nullptr); },
};

/// A backend behind a boundary with guarded arguments.
class Guarded {
 public:
  explicit Guarded(std::vector<Role> roles)
      : boundary_(api, nullptr,
                  [this](Finding finding) { findings_.push_back(std::move(finding)); }),
        guards(boundary_, {to_arguments(roles)}) {
    tenon_backend* backend = nullptr;
    REQUIRE(boundary_.api().open(host_.get(), &backend) == TENON_STATUS_OK);
    tenon_init_context context{};
    context.struct_size = sizeof context;
    REQUIRE(boundary_.api().init(backend, &context, &delegate_) == TENON_STATUS_OK);
  }
  ~Guarded() {
    boundary_.api().destroy(raw(), delegate_);
    boundary_.api().close(raw());
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  tenon_status run(const std::vector<HostTensor*>& tensors, Execute execute) {
    std::vector<tenon_value*> args;
    for (HostTensor* tensor : tensors) args.push_back(&tensor->value);
    return run_values(args, std::move(execute));
  }
  tenon_status run_values(const std::vector<tenon_value*>& args, Execute execute) {
    execute_now() = std::move(execute);
    tenon_execution_context context{};
    context.struct_size = sizeof context;
    guards.begin_run();
    return boundary_.api().execute(raw(), delegate_, &context, args.data(),
                                   static_cast<std::uint32_t>(args.size()));
  }

  /// The rule that an access of a run breaks, from the fault that ends a child process; empty
  /// without a fault.
  std::string fault_of(const std::vector<HostTensor*>& tensors, const Execute& execute) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      descriptor() = ends[1];
      struct sigaction action{};
      action.sa_sigaction = [](int, siginfo_t* info, void*) {
        const auto* pages = find_forbidden(reinterpret_cast<std::uintptr_t>(info->si_addr));
        const char* rule = pages ? pages->rule.load() : "?";
        [[maybe_unused]] const auto written = ::write(descriptor(), rule, std::strlen(rule));
        ::_exit(1);
      };
      action.sa_flags = SA_SIGINFO;
      ::sigaction(SIGSEGV, &action, nullptr);
      run(tensors, execute);
      ::_exit(0);
    }
    ::close(ends[1]);
    std::array<char, 64> text{};
    const ssize_t size = ::read(ends[0], text.data(), text.size());
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

  [[nodiscard]] std::vector<std::string> broken() const {
    std::vector<std::string> out;
    for (const Finding& finding : findings_) out.push_back(finding.rule);
    return out;
  }

 private:
  static int& descriptor() {
    static int number = -1;
    return number;
  }
  static std::vector<ArgumentRole> to_arguments(const std::vector<Role>& roles) {
    std::vector<ArgumentRole> out;
    for (const Role role : roles) out.push_back({role, {}});
    return out;
  }
  tenon_backend* raw() { return boundary_.handle(); }

  host::HostTable host_{host::all_layers(), ""};
  std::vector<Finding> findings_;
  Boundary boundary_;
  tenon_delegate* delegate_ = nullptr;

 public:
  GuardedArguments guards;
};

float* floats(const tenon_value* value) { return static_cast<float*>(value->as.tensor->dl.data); }

tenon_status copy_first(const tenon_host*, tenon_value* const* args, std::uint32_t) {
  std::memcpy(floats(args[1]), floats(args[0]),
              static_cast<std::size_t>(args[0]->as.tensor->nbytes));
  return TENON_STATUS_OK;
}

}  // namespace

TEST_CASE("guarded arguments have the values of the host's, and return results") {
  HostTensor in({2, 3}), out({2, 3});
  in.data = {1, 2, 3, 4, 5, 6};
  in.tensor.dl.data = in.data.data();
  Guarded guarded({Role::input, Role::output});
  const Placement place = GENERATE(Placement::aligned, Placement::at_end, Placement::misaligned);
  guarded.guards.settings.place = place;
  const auto status = guarded.run({&in, &out}, [&](auto* host, auto* args, auto count) {
    CHECK(args[0]->as.tensor != &in.tensor);
    CHECK(floats(args[0]) != in.data.data());
    const auto address = reinterpret_cast<std::uintptr_t>(floats(args[0]));
    CHECK(address % sizeof(float) == 0);
    if (place == Placement::aligned) CHECK(address % 64 == 0);
    if (place == Placement::misaligned) CHECK(address % 64 == sizeof(float));
    if (place == Placement::at_end) CHECK((address + 24) % 4096 == 0);
    return copy_first(host, args, count);
  });
  CHECK(status == TENON_STATUS_OK);
  CHECK(out.data == in.data);
  CHECK(guarded.broken().empty());
}

TEST_CASE("the addresses of values and tensors are the same in every run") {
  HostTensor in({4}), out({4});
  Guarded guarded({Role::input, Role::output});
  std::vector<const void*> seen;
  for (int i = 0; i < 3; ++i) {
    guarded.run({&in, &out}, [&](auto*, auto* args, auto) {
      for (int a = 0; a < 2; ++a) {
        seen.push_back(args[a]);
        seen.push_back(args[a]->as.tensor);
        seen.push_back(args[a]->as.tensor->dl.shape);
      }
      return tenon_status{TENON_STATUS_OK};
    });
  }
  REQUIRE(seen.size() == 18);
  CHECK(std::equal(seen.begin(), seen.begin() + 6, seen.begin() + 6));
  CHECK(std::equal(seen.begin(), seen.begin() + 6, seen.begin() + 12));
}

TEST_CASE("a forbidden access faults with the name of the rule") {
  HostTensor in({2, 3}), constant({2, 3}), out({2, 3});
  constant.tensor.flags |= TENON_TENSOR_CONSTANT;
  Guarded guarded({Role::input, Role::input, Role::output});
  guarded.guards.settings = {Placement::at_end, std::byte{0xA5}, true, true};
  const auto fault = [&](auto access) {
    return guarded.fault_of({&in, &constant, &out}, [&](auto*, auto* args, auto) {
      access(args);
      return tenon_status{TENON_STATUS_OK};
    });
  };
  [[maybe_unused]] static volatile float sink;
  CHECK(fault([](auto* args) { floats(args[0])[0] = 1; }) == "TN-EXE-2");
  CHECK(fault([](auto* args) { sink = floats(args[0])[6]; }) == "TN-EXE-5");
  CHECK(fault([](auto* args) { floats(args[1])[0] = 1; }) == "TN-TEN-1");
  CHECK(fault([](auto* args) { sink = floats(args[2])[6]; }) == "TN-EXE-6");
  CHECK(fault([](auto* args) { floats(args[2])[6] = 1; }) == "TN-EXE-6");
  CHECK(fault([](auto* args) { args[2]->as.tensor->dl.shape[0] = 1; }) == "TN-TEN-2");
  CHECK(fault([](auto* args) { sink = static_cast<float>(args[3]->kind); }) == "TN-EXE-5");
  CHECK(fault([](auto* args) { floats(args[2])[5] = floats(args[0])[5]; }).empty());
}

TEST_CASE("an access to the memory of a finished call faults") {
  HostTensor out({4});
  Guarded guarded({Role::output});
  float* late = nullptr;
  const Execute remember = [&](auto*, auto* args, auto) {
    if (late) late[0] = 1;
    late = floats(args[0]);
    return tenon_status{TENON_STATUS_OK};
  };
  REQUIRE(guarded.run({&out}, remember) == TENON_STATUS_OK);
  CHECK(guarded.fault_of({&out}, remember) == "TN-EXE-4");
}

TEST_CASE("a write next to the elements is found without a fault") {
  HostTensor in({2, 3}), out({2, 3});
  Guarded guarded({Role::input, Role::output});
  guarded.run({&in, &out}, [](auto*, auto* args, auto) {
    floats(args[1])[6] = 1;
    return tenon_status{TENON_STATUS_OK};
  });
  CHECK(guarded.broken() == std::vector<std::string>{"TN-EXE-6"});
}

TEST_CASE("an element that was not written differs between two images") {
  HostTensor out({3});
  Guarded guarded({Role::output});
  const Execute write_two = [](auto*, auto* args, auto) {
    floats(args[0])[0] = floats(args[0])[1] = 1;
    return tenon_status{TENON_STATUS_OK};
  };
  guarded.run({&out}, write_two);
  REQUIRE(guarded.guards.images().size() == 1);
  const OutputImage image = guarded.guards.images()[0];
  CHECK(image.nbytes == 12);
  CHECK(image.element == 4);
  CHECK(image.bytes[11] == std::byte{0xA5});
  guarded.guards.settings.fill = std::byte{0x5A};
  guarded.run({&out}, write_two);
  REQUIRE(guarded.guards.images().size() == 1);
  CHECK(guarded.guards.images()[0].bytes[11] == std::byte{0x5A});
}

TEST_CASE("the host's resize_tensor changes guarded sizes, and the host's tensor gets them") {
  HostTensor out({4, 3}, TENON_SHAPE_DYNAMIC_BOUND);
  Guarded guarded({Role::output});
  guarded.guards.settings.protect_sizes = true;
  const auto status = guarded.run({&out}, [](const tenon_host* host, auto* args, auto) {
    const std::array<std::int64_t, 2> sizes = {2, 3};
    const tenon_status resized = host->resize_tensor(host, args[0]->as.tensor, sizes.data(), 2);
    for (int i = 0; i < 6; ++i) floats(args[0])[i] = 7;
    return resized;
  });
  CHECK(status == TENON_STATUS_OK);
  CHECK(out.sizes == std::vector<std::int64_t>{2, 3});
  CHECK(out.tensor.nbytes == 24);
  CHECK(out.data[5] == 7);
  CHECK(out.data[6] == 0);
  CHECK(guarded.broken().empty());
}

TEST_CASE("results of a failed run do not reach the host") {
  HostTensor out({2});
  Guarded guarded({Role::output});
  guarded.run({&out}, [](const tenon_host* host, auto* args, auto) {
    floats(args[0])[0] = 1;
    host->set_last_error(host, TENON_STATUS_INTERNAL, "expected it to fail", 19);
    return tenon_status{TENON_STATUS_INTERNAL};
  });
  CHECK(out.data[0] == 0);
  CHECK(guarded.guards.images().empty());
}

TEST_CASE("tensors with the same bytes, on a device or without data are not copied") {
  HostTensor in({2}), out({2}), device({2}), unset({2});
  out.tensor.dl.data = in.data.data();
  device.tensor.dl.device = {TENON_DL_CUDA, 0};
  unset.tensor.dl.data = nullptr;
  Guarded guarded({Role::input, Role::output, Role::output, Role::output});
  guarded.run({&in, &out, &device, &unset}, [&](auto*, auto* args, auto) {
    CHECK(floats(args[0]) == in.data.data());
    CHECK(floats(args[1]) == in.data.data());
    CHECK(floats(args[2]) == device.data.data());
    CHECK(floats(args[3]) == nullptr);
    return tenon_status{TENON_STATUS_OK};
  });
  CHECK(guarded.broken().empty());
}

TEST_CASE("lists of tensors are guarded, too") {
  HostTensor in({2});
  tenon_value none{sizeof(tenon_value), TENON_VALUE_NONE, {}};
  const std::array<tenon_value*, 2> items = {&none, &in.value};
  tenon_value list{sizeof(tenon_value), TENON_VALUE_OPTIONAL_TENSOR_LIST, {}};
  list.as.span = {items.data(), items.size()};
  Guarded guarded({Role::input});
  guarded.run_values({&list}, [&](auto*, auto* args, auto) {
    const auto* shown = static_cast<tenon_value* const*>(args[0]->as.span.data);
    CHECK(args[0]->as.span.size == 2);
    CHECK(shown[0]->kind == TENON_VALUE_NONE);
    CHECK(floats(shown[1]) != in.data.data());
    floats(shown[1])[0] = 3;
    return tenon_status{TENON_STATUS_OK};
  });
  CHECK(in.data[0] == 3);  // Neither an input nor an output.
}

TEST_CASE("wrong arguments cover every mistake, one at a time") {
  HostTensor in({2, 3}), constant({2, 3}), out({5, 3}, TENON_SHAPE_DYNAMIC_BOUND);
  constant.tensor.flags |= TENON_TENSOR_CONSTANT;
  const std::array<tenon_value*, 3> args = {&in.value, &constant.value, &out.value};
  WrongArguments wrong({TENON_DL_METAL, 1});
  std::vector<std::string> texts;
  for (const WrongCall& call : wrong.make(args)) {
    texts.push_back(call.text);
    if (call.mistake == Mistake::count) {
      CHECK(call.args.size() == call.found);
      continue;
    }
    int differences = 0;
    REQUIRE(call.args.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) differences += call.args[i] != args[i] ? 1 : 0;
    CHECK(differences == 1);
    CHECK(call.args[1] == args[1]);
  }
  CHECK(texts == std::vector<std::string>{
                     "there are 0 arguments, expected 3",
                     "there are 2 arguments, expected 3",
                     "there are 4 arguments, expected 3",
                     "argument 0 is of kind None, expected a tensor",
                     "argument 0 is an integer, expected a tensor",
                     "argument 0 has dtype Int, expected Float",
                     "argument 0 has dtype Double, expected Float",
                     "argument 0 has 2 lanes, expected 1",
                     "argument 0 is on device 8:1, which the backend does not list",
                     "argument 0 has sizes [2, 2, 3], expected [2, 3]",
                     "argument 0 has sizes [6], expected [2, 3]",
                     "argument 0 has sizes [3, 4], expected [2, 3]",
                     "argument 2 is of kind None, expected a tensor",
                     "argument 2 is an integer, expected a tensor",
                     "argument 2 has dtype Int, expected Float",
                     "argument 2 has dtype Double, expected Float",
                     "argument 2 has 2 lanes, expected 1",
                     "argument 2 is on device 8:1, which the backend does not list",
                     "argument 2 has sizes [2, 5, 3], expected [5, 3]",
                     "argument 2 has sizes [15], expected [5, 3]",
                 });
}

}  // namespace guarded_arguments_test
