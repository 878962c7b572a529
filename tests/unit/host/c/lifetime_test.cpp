// SPDX-License-Identifier: MIT
//
// What keeps what in the C interface: exported outputs, the inputs that methods keep, and methods
// that feed each other.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "c_support.hpp"

using namespace tenon::test;
using Vector = std::vector<float>;

namespace {

/// Methods of programs whose ends are counted: a program lives as long as a method of it.
class Counted {
 public:
  explicit Counted(const ProgramBuilder& builder) : bytes_(builder.build()) {
    registry_ = counting_registry();
  }

  MethodHandle load() {
    tenon_program* program = nullptr;
    void (*const release)(void*) = [](void* data) { ++*static_cast<int*>(data); };
    call(&tenon_program_borrow, static_cast<const void*>(bytes_.bytes().data()),
         std::uint64_t{bytes_.bytes().size()}, release, static_cast<void*>(&ended),
         static_cast<const char*>(nullptr), static_cast<const tenon_program_options*>(nullptr),
         &program);
    const ProgramHandle owned(program);
    auto options = sized<tenon_method_options>();
    options.registry = registry_.get();
    return tenon::test::load(program, options);
  }

  int ended = 0;

 private:
  AlignedBytes bytes_;
  RegistryHandle registry_;
};

tenon_dl_managed_tensor* export_output(tenon_method* method) {
  tenon_dl_managed_tensor* out = nullptr;
  call(&tenon_method_export_output, method, std::uint64_t{0}, &out);
  return out;
}

void set_managed(tenon_method* method, tenon_dl_managed_tensor* tensor) {
  call(&tenon_method_set_input_managed, method, std::uint64_t{0}, tensor);
}

/// The bytes of `tensor` as another library, which knows it alone, exports them again.
tenon_dl_managed_tensor* wrap(tenon_dl_managed_tensor* tensor) {
  auto* const out = new tenon_dl_managed_tensor(*tensor);
  out->manager_ctx = tensor;
  out->deleter = [](tenon_dl_managed_tensor* self) {
    auto* const inner = static_cast<tenon_dl_managed_tensor*>(self->manager_ctx);
    inner->deleter(inner);
    delete self;
  };
  return out;
}

/// A managed tensor of 1, 2, 3, 4 that says when it is deleted.
tenon_dl_managed_tensor* counted_floats(int& deleted) {
  struct Owner {
    Floats floats{{1, 2, 3, 4}};
    tenon_dl_managed_tensor tensor{};
    int& deleted;
  };
  auto* const owner = new Owner{.deleted = deleted};
  owner->tensor.major = 1;
  owner->tensor.manager_ctx = owner;
  owner->tensor.deleter = [](tenon_dl_managed_tensor* self) {
    const std::unique_ptr<Owner> ended(static_cast<Owner*>(self->manager_ctx));
    ++ended->deleted;
  };
  owner->tensor.dl_tensor = owner->floats.tensor();
  return &owner->tensor;
}

/// Passes its input on as its output.
ProgramBuilder identity() {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(16);
  const auto x = plan.input(planned_tensor(tenon::ScalarType::Float, {4}, memory, 0));
  plan.table().outputs.push_back(x);
  return builder;
}

}  // namespace

TEST_CASE("methods that are inputs of themselves, or of each other, end with their handles",
          "[c]") {
  for (const bool wrapped : {false, true}) {
    for (const std::size_t length : {1u, 2u, 3u}) {
      CAPTURE(wrapped, length);
      Counted programs(delegate_program("Counting", "count"));
      std::vector<MethodHandle> ring;
      for (std::size_t i = 0; i < length; ++i) {
        ring.push_back(programs.load());
        run(ring.back().get());
      }
      for (std::size_t i = 0; i < length; ++i) {
        tenon_dl_managed_tensor* const output = export_output(ring[i].get());
        set_managed(ring[(i + 1) % length].get(), wrapped ? wrap(output) : output);
      }
      for (const MethodHandle& method : ring) call(&tenon_method_execute, method.get());
      CHECK(programs.ended == 0);
      ring.clear();
      CHECK(programs.ended == static_cast<int>(length));
    }
  }
}

TEST_CASE("an exported output is valid after the end of a method that it was an input of", "[c]") {
  Counted programs(delegate_program("Counting", "count"));
  auto method = programs.load();
  CHECK(run(method.get()) == Vector{2, 3, 4, 5});
  set_managed(method.get(), export_output(method.get()));
  tenon_dl_managed_tensor* const kept = export_output(method.get());
  tenon_session* session = nullptr;
  call(&tenon_method_create_session, method.get(), no_session_options, &session);
  method.reset();
  CHECK(programs.ended == 0);
  CHECK(floats(kept->dl_tensor) == Vector{2, 3, 4, 5});
  kept->deleter(kept);
  CHECK(programs.ended == 0);
  tenon_session_destroy(session);
  CHECK(programs.ended == 1);
}

TEST_CASE("an exported output keeps the input that the program passes on", "[c]") {
  const auto builder = identity();
  enum class End { set_again, set_managed, destroyed };
  for (const End end : {End::set_again, End::set_managed, End::destroyed}) {
    CAPTURE(static_cast<int>(end));
    Counted programs(builder);
    auto method = programs.load();
    int deleted = 0, deleted_later = 0;
    set_managed(method.get(), counted_floats(deleted));
    call(&tenon_method_execute, method.get());
    tenon_dl_managed_tensor* const kept = export_output(method.get());
    if (end == End::set_again) run(method.get());
    if (end == End::set_managed) set_managed(method.get(), counted_floats(deleted_later));
    if (end == End::destroyed) method.reset();
    CHECK(deleted == 0);
    CHECK(floats(kept->dl_tensor) == Vector{1, 2, 3, 4});
    kept->deleter(kept);
    CHECK(deleted == 1);
    method.reset();
    CHECK(programs.ended == 1);
    CHECK(deleted_later == (end == End::set_managed ? 1 : 0));
  }
}

TEST_CASE("an output that is passed on from run to run keeps its first owner alone", "[c]") {
  Counted programs(identity());
  auto first = programs.load();
  auto second = programs.load();
  int deleted = 0;
  set_managed(first.get(), counted_floats(deleted));
  for (int i = 0; i < 100; ++i) {
    call(&tenon_method_execute, first.get());
    set_managed(second.get(), export_output(first.get()));
    call(&tenon_method_execute, second.get());
    set_managed(first.get(), export_output(second.get()));
  }
  CHECK(output(first.get()) == Vector{1, 2, 3, 4});
  second.reset();
  CHECK(programs.ended == 1);
  CHECK(deleted == 0);
  first.reset();
  CHECK(programs.ended == 2);
  CHECK(deleted == 1);
}
