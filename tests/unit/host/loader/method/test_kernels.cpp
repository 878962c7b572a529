// SPDX-License-Identifier: MIT
//
// Plugins with kernels for tests of the host, and a plugin that asks for kernels. `calls()` lists
// the calls of the former.
#include "test_backend.hpp"

#include <tenon/abi/extensions/cancel.h>
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <tenon/backend/host_services.hpp>
#include <tenon/backend/kernel_lookup.hpp>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

#include "tenon/host/layers/kernels/kernel_backends.hpp"
#include "test_backend.hpp"

namespace {

using tenon::Error;
using tenon::FoundKernel;
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
    if (name_ == "flag") {
      const tenon::HostServices host(context.raw().host);
      const auto* const flags = host.extension<tenon_cancel_flag_v1>(TENON_EXTENSION_CANCEL_FLAG);
      note(flags->get_cancel_flag(&context.raw()) ? "has" : "lacks");
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
  static constexpr std::array<std::string_view, 8> operators{
      "test::scale.out", "test::quiet_scale.out", "test::fails_first", "test::picky",
      "test::refuse",    "test::count",           "test::both",        "test::flag"};
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

/// Two float tensors of up to four elements, as arguments of kernels: input, output.
struct Arguments {
  static constexpr std::int64_t most = 4;
  static constexpr std::uint8_t order = 0;

  struct Vector {
    std::array<float, most> data{};
    std::int64_t size = most, stride = 1;
    tenon_tensor tensor{};
    Vector() {
      tensor = {sizeof(tenon_tensor),
                static_cast<std::int32_t>(tenon::ScalarType::Float),
                {data.data(), {TENON_DL_CPU, 0}, 1, {TENON_DL_FLOAT, 32, 1}, &size, &stride, 0},
                &order,
                &most,
                sizeof data,
                sizeof data,
                TENON_SHAPE_DYNAMIC_BOUND,
                0};
    }
    void resize(std::int64_t to) {
      size = to;
      tensor.nbytes = static_cast<std::uint64_t>(to) * sizeof(float);
    }
  };

  Vector in, out;
  std::array<tenon_value, 2> values{};
  std::array<tenon_value*, 2> args{&values[0], &values[1]};

  Arguments() {
    for (auto [value, tensor] : {std::pair{&values[0], &in.tensor}, {&values[1], &out.tensor}}) {
      value->struct_size = sizeof(tenon_value);
      value->kind = TENON_VALUE_TENSOR;
      value->as.tensor = tensor;
    }
  }
};

/// A backend without code of its own: each word of a blob is an operator whose kernel it asks its
/// host for. A run copies its input to a tensor of the delegate, runs the kernels, and copies the
/// output back. A blob is judged by what `init` would do.
class Asking final : public tenon::Backend<Asking>,
                     public tenon::WithSessions<Asking>,
                     public tenon::WithCheckBlob<Asking> {
 public:
  static constexpr std::string_view id = "Asking";

  struct Delegate {
    std::unique_ptr<Arguments> arguments = std::make_unique<Arguments>();
    std::vector<FoundKernel> kernels{};  // Destroyed before their arguments.
  };

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs) {
    Delegate out;
    std::string_view rest = processed.text();
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      TENON_TRY(auto kernel,
                FoundKernel::find(context, std::string(rest.substr(0, end)), out.arguments->args));
      out.kernels.push_back(std::move(kernel));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return out;
  }

  tenon::Result<tenon::BlobVerdict> check_blob(tenon::InitContext& context, tenon::Blob processed,
                                               tenon::CompileSpecs specs) {
    TENON_RETURN_IF_ERROR(init(context, std::move(processed), specs).status());
    return tenon::BlobVerdict{};
  }

  tenon::Result<Delegate> create_session(const Delegate& delegate) {
    Delegate out;
    for (const FoundKernel& kernel : delegate.kernels) {
      TENON_TRY(auto clone, kernel.clone(out.arguments->args));
      out.kernels.push_back(std::move(clone));
    }
    return out;
  }

  tenon::Status execute(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    Arguments& own = *delegate.arguments;
    TENON_TRY(const auto in, args.tensor<const float>(0));
    own.in.resize(static_cast<std::int64_t>(in.size()));
    std::copy(in.begin(), in.end(), own.in.data.begin());
    for (FoundKernel& kernel : delegate.kernels) TENON_RETURN_IF_ERROR(kernel.run());
    TENON_RETURN_IF_ERROR(args.resize(1, {&own.out.size, 1}));
    TENON_TRY(const auto out, args.tensor<float>(1));
    std::copy_n(own.out.data.begin(), out.size(), out.begin());
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(FirstKernels, SecondKernels, AbsentKernels, Asking);
