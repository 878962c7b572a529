// SPDX-License-Identifier: MIT
#include "kit/boundary/observed_roles.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"

using namespace tenon::conformance;

namespace observed_roles_test {
namespace {

/// Arguments of four floats each, on the CPU.
class Arguments {
 public:
  explicit Arguments(std::size_t count) : data_(count), tensors_(count), values_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      tensors_[i].dl.device = {TENON_DL_CPU, 0};
      tensors_[i].dl.data = data_[i].data();
      tensors_[i].nbytes = sizeof data_[i];
      values_[i].kind = TENON_VALUE_TENSOR;
      values_[i].as.tensor = &tensors_[i];
      pointers_.push_back(&values_[i]);
    }
  }
  void set(std::size_t index, float value) { data_[index].fill(value); }
  tenon_tensor& tensor(std::size_t index) { return tensors_[index]; }
  [[nodiscard]] std::span<tenon_value* const> get() const { return pointers_; }

 private:
  std::vector<std::array<float, 4>> data_;
  std::vector<tenon_tensor> tensors_;
  std::vector<tenon_value> values_;
  std::vector<tenon_value*> pointers_;
};

using Indices = std::vector<std::size_t>;

/// One run: sets arguments, writes, and returns the inputs that changed.
template <class Before, class Run>
Indices run(ObservedRoles& roles, const Arguments& args, const Before& before, const Run& write) {
  before();
  roles.before(args.get());
  write();
  const auto changed = roles.after(args.get());
  return {changed.begin(), changed.end()};
}

}  // namespace

TEST_CASE("the first of several arguments is an input if it is not zero", "[proxy]") {
  Arguments args(2);
  ObservedRoles roles;
  CHECK(run(roles, args, [&] { args.set(0, 1); }, [&] { args.set(1, 2); }).empty());
  CHECK(roles.first_output() == 1);
  CHECK(run(roles, args, [] {}, [&] { args.set(0, 5); }) == Indices{0});
  // It is reported again only when it happens again.
  CHECK(run(roles, args, [] {}, [] {}).empty());
  CHECK(run(roles, args, [] {}, [&] { args.set(0, 6); }) == Indices{0});
}

TEST_CASE("two outputs of a delegate without inputs are not inputs", "[proxy]") {
  Arguments args(2);
  ObservedRoles roles;
  for (int i = 0; i < 3; ++i) {
    CHECK(run(
              roles, args,
              [&] {
                args.set(0, 0);
                args.set(1, 0);
              },
              [&] {
                args.set(0, 3);
                args.set(1, 4);
              })
              .empty());
  }
  CHECK(roles.first_output() == 0);
}

TEST_CASE("an argument left with two contents is an input, and so are all before it", "[proxy]") {
  Arguments args(4);
  ObservedRoles roles;
  const auto write = [&] {
    args.set(1, 7);  // Which is an input, as it turns out.
    args.set(3, 8);
  };
  const auto set = [&](float value) {
    return [&, value] {
      args.set(0, 1);
      args.set(1, 1);
      args.set(2, value);
    };
  };
  // Argument 2 might be an output that did not change.
  CHECK(run(roles, args, set(1), write).empty());
  CHECK(roles.first_output() == 1);
  CHECK(run(roles, args, set(2), write) == Indices{1});
  CHECK(roles.first_output() == 3);
}

TEST_CASE("a constant is an input and a change of it is seen", "[proxy]") {
  Arguments args(3);
  args.tensor(1).flags = TENON_TENSOR_CONSTANT;
  ObservedRoles roles;
  CHECK(run(roles, args, [] {}, [&] { args.set(2, 1); }).empty());
  CHECK(run(roles, args, [] {}, [&] { args.set(1, 1); }) == Indices{1});
  CHECK(roles.is_constant(1));
  CHECK_FALSE(roles.is_constant(0));
}

TEST_CASE("an input whose memory is an output's too may change", "[proxy]") {
  Arguments args(3);
  args.tensor(2).dl.data = args.tensor(0).dl.data;
  ObservedRoles roles;
  const auto changed = run(
      roles, args, [&] { args.set(0, 1); },
      [&] {
        args.set(0, 2);
        args.set(1, 3);
      });
  CHECK(changed.empty());
}

TEST_CASE("a tensor on a device is neither an input nor an output", "[proxy]") {
  Arguments args(3);
  args.tensor(0).dl.device = {TENON_DL_CUDA, 0};
  args.tensor(0).dl.data = reinterpret_cast<void*>(std::uintptr_t{16});
  ObservedRoles roles;
  CHECK(run(roles, args, [&] { args.set(1, 1); }, [&] { args.set(2, 3); }).empty());
  CHECK(roles.first_output() == 2);
}

TEST_CASE("if nothing changed, the last argument is the output", "[proxy]") {
  Arguments args(3);
  ObservedRoles roles;
  CHECK(run(roles, args, [&] { args.set(0, 1); }, [] {}).empty());
  CHECK(roles.first_output() == 2);
}

}  // namespace observed_roles_test
