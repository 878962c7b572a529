// SPDX-License-Identifier: MIT
//
// Plugins with kernels for tests of the host. `calls()` lists their calls.
#include "test_kernels.hpp"

#include <array>
#include <string>
#include <tenon/tenon.hpp>
#include <utility>

#include "tenon/host/method/kernel_backends.hpp"
#include "test_backend.hpp"

namespace {

using tenon::Error;
using tenon::test::record;

/// Kernels by the part of the operator's name behind "test::". Names that begin with "quiet"
/// record nothing.
class Kernel {
 public:
  Kernel(std::string_view op, std::string_view owner) : name_(op.substr(6)), owner_(owner) {
    note("create");
  }
  Kernel(Kernel&& other) noexcept
      : name_(std::exchange(other.name_, "")),
        owner_(std::move(other.owner_)),
        runs_(other.runs_) {}
  ~Kernel() {
    if (!name_.empty()) note("destroy");
  }

  tenon::Status run(tenon::ExecutionContext& context, tenon::Args args) {
    ++runs_;
    note("run");
    if (name_ == "fails_first" && runs_ == 1) {
      return tenon::error(Error::OutOfResources, "the first run fails");
    }
    if (name_ == "count") {
      const tenon::TracerScope scope(context.tracer(), "counting");
      if (!context.temp_allocator().allocate_list<float>(5000)) {
        return tenon::error(Error::MemoryAllocationFailed, "no temporary memory");
      }
      return tenon::ok();
    }
    return name_.ends_with("scale.out") ? scale(args) : tenon::ok();
  }

 private:
  static tenon::Status scale(const tenon::Args& args) {
    TENON_TRY(const auto in, args.tensor<const float>(0));
    TENON_RETURN_IF_ERROR(args.resize(1, in.sizes()));
    TENON_TRY(const auto out, args.tensor<float>(1));
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = 2 * in[i];
    return tenon::ok();
  }

  void note(std::string_view what) const {
    if (!name_.starts_with("quiet")) record(tenon::concat(owner_, ": ", what, " ", name_));
  }

  std::string name_;
  std::string owner_;
  int runs_ = 0;
};

/// Asked first of those that a registry knows, by its priority.
class FirstKernels final : public tenon::Backend<FirstKernels>,
                           public tenon::WithKernels<FirstKernels> {
 public:
  static constexpr std::string_view id = "FirstKernels";
  static constexpr std::int32_t priority = 5;
  static constexpr std::array<std::string_view, 7> operators{
      "test::scale.out", "test::quiet_scale.out", "test::fails_first", "test::picky",
      "test::refuse",    "test::count",           "test::both"};
  using Kernel = ::Kernel;

  FirstKernels() { record("open First"); }
  ~FirstKernels() { record("close First"); }
  tenon::Result<Kernel> create_kernel(std::string_view op, tenon::Args args) {
    if (op == "test::refuse") {
      return tenon::error(Error::InvalidArgument, "argument 0: expected less, found more");
    }
    if (op == "test::picky" && args.kind(0) == TENON_VALUE_TENSOR) {
      return tenon::error(Error::OperatorMissing, "test::picky is not for tensors");
    }
    return Kernel(op, "First");
  }
};

/// Of the same priority, behind it by its id; has delegates, too.
class SecondKernels final : public tenon::Backend<SecondKernels>,
                            public tenon::WithKernels<SecondKernels> {
 public:
  static constexpr std::string_view id = "SecondKernels";
  static constexpr std::int32_t priority = 5;
  using Kernel = ::Kernel;
  struct Delegate {};

  SecondKernels() { record("open Second"); }
  ~SecondKernels() { record("close Second"); }
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
  tenon::Result<std::vector<std::string>> list_operators() {
    return std::vector<std::string>{"test::picky", "test::both", "test::second"};
  }
  tenon::Result<Kernel> create_kernel(std::string_view op, tenon::Args) {
    if (op == "test::picky" || op == "test::both" || op == "test::second") {
      return Kernel(op, "Second");
    }
    return tenon::error(Error::OperatorMissing, "only three operators, found ", op);
  }
};

/// Before both, and not for this machine.
class AbsentKernels final : public tenon::Backend<AbsentKernels>,
                            public tenon::WithKernels<AbsentKernels> {
 public:
  static constexpr std::string_view id = "AbsentKernels";
  static constexpr std::int32_t priority = 9;
  static constexpr std::array<std::string_view, 1> operators{"test::both"};
  using Kernel = ::Kernel;
  tenon::Status is_available() {
    return tenon::error(Error::AccessFailed, "no driver: libacme.so.1 not found");
  }
  tenon::Result<Kernel> create_kernel(std::string_view op, tenon::Args) {
    return Kernel(op, "Absent");
  }
};

}  // namespace

TENON_PLUGIN(FirstKernels, SecondKernels, AbsentKernels);
