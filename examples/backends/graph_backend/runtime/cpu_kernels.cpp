// SPDX-License-Identifier: MIT
#include "runtime/cpu_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <tenon/aoti.hpp>
#include <utility>

#include "common/isolated_library.hpp"
#include "kernels/gemm.hpp"
#include "kernels/kernel_list.hpp"
#include "onednn/onednn_api.hpp"
#include "parallel.hpp"
#include "strided.hpp"

namespace graph_backend {

namespace cpu = tenon::cpu_aoti;
namespace aoti = tenon::aoti;
using tenon::Status;

namespace {

tenon::Result<std::byte*> allocate(void*, std::size_t nbytes) {
  constexpr std::size_t alignment = 64;
  if (auto* block = static_cast<std::byte*>(
          std::aligned_alloc(alignment, (nbytes + alignment - 1) / alignment * alignment))) {
    return block;
  }
  return tenon::error(tenon::Error::MemoryAllocationFailed, "no memory for ", nbytes, " bytes");
}

/// A tensor of the graph as the kernels take it.
struct View {
  aoti::Storage storage;
  aoti::ModelTensor tensor;

  View(aoti::TensorPool& pool, const Operand& operand) : View(pool, operand, operand.shape) {}
  View(aoti::TensorPool& pool, const Operand& operand, const Shape& shape)
      : storage{&pool,
                operand.data,
                static_cast<std::size_t>(operand.nbytes()),
                1,
                aoti::Storage::borrowed,
                nullptr,
                0,
                operand.is_fixed,
                aoti::Storage::not_numbered},
        tensor{&storage,
               operand.data,
               0,
               shape.numel(),
               static_cast<std::int32_t>(shape.rank()),
               operand.scalar_type,
               aoti::TorchDeviceType::cpu,
               0,
               {},
               {}} {
    std::ranges::copy(shape.sizes(), tensor.sizes.begin());
    aoti::contiguous_strides(tensor.shape(), std::span(tensor.strides).first(shape.rank()));
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
};

/// [..., H, W] as [C, H, W].
Shape as_planes(const Shape& shape) {
  const std::int64_t planes = shape.product(0, shape.rank() - 2);
  return Shape(std::span<const std::int64_t>({planes, shape.last(2), shape.last()}));
}

/// With sizes of 1 before the others, so that there are four.
Shape as_four(const Shape& shape) {
  Shape out;
  for (std::size_t i = shape.rank(); i < 4; ++i) out.push_back(1);
  for (const std::int64_t size : shape.sizes()) out.push_back(size);
  return out;
}

struct Compute {
  aoti::TensorPool& pool;
  Operands in;
  const Operand& out;

  /// Calls a kernel that makes its first result anew: in the memory of `out`.
  template <class Kernel>
  Status make(std::size_t results, const Kernel& kernel) const {
    const aoti::TensorPool::Placement place{0, out.data, static_cast<std::size_t>(out.nbytes())};
    pool.begin_model({&place, 1});
    std::array<aoti::ModelTensor*, 2> made{};
    const aoti::ShimError failed = kernel(&made[0], &made[1]);
    pool.begin_model({});
    if (failed != aoti::shim_ok) {
      const tenon::Error code = pool.failure_code();
      return tenon::error(code, pool.take_failure());
    }
    if (made[0]->data != out.data) std::memcpy(out.data, made[0]->data, place.nbytes);
    for (std::size_t i = 0; i < results; ++i) pool.release(made[i]);
    return tenon::ok();
  }

  Status operator()(const blob::MatMulT& op) const {
    const Shape& b = in[1]->shape;
    const bool has_bias = in.size() == 3 && op.beta != 0;
    if (has_bias) {
      const View bias(pool, *in[2]), to(pool, out);
      cpu::Dims strides{};
      if (!cpu::broadcast_strides(bias.tensor, to.tensor.shape(), strides)) {
        return tenon::error(tenon::Error::Internal, "a bias that does not broadcast");
      }
      cpu::copy_strided(to.tensor.shape(), sizeof(float), {out.data, to.tensor.strides.data()},
                        {in[2]->data, strides.data()});
    }
    const std::int64_t k = in[0]->shape.last();
    const std::int64_t n = out.shape.last();
    const std::int64_t batch = b.product(0, b.rank() - 2);
    const std::int64_t m = out.shape.numel() / n / batch;
    const auto at = [](const Operand& operand, std::int64_t element) {
      return operand.data + element * static_cast<std::int64_t>(sizeof(float));
    };
    for (std::int64_t i = 0; i < batch; ++i) {
      TENON_RETURN_IF_ERROR(cpu::multiply(
          {.type = tenon::ScalarType::Float,
           .a = {at(*in[0], i * m * k), m, k, k, 1},
           .b = {at(*in[1], i * k * n), k, n, op.transposed ? 1 : n, op.transposed ? k : 1},
           .c = {at(out, i * m * n), m, n, n, 1},
           .alpha = op.alpha,
           .beta = has_bias ? op.beta : 0,
           .is_b_fixed = in[1]->is_fixed && batch == 1}));
    }
    return tenon::ok();
  }

  Status operator()(const blob::ConvolutionT& op) const {
    View x(pool, *in[0]), weight(pool, *in[1]), bias(pool, *in[in.size() == 3 ? 2 : 0]);
    aoti::ModelTensor* bias_tensor = &bias.tensor;
    const std::int64_t stride[] = {op.stride.h(), op.stride.w()};
    const std::int64_t padding[] = {op.padding.h(), op.padding.w()};
    const std::int64_t dilation[] = {op.dilation.h(), op.dilation.w()};
    constexpr std::int64_t none[] = {0, 0};
    return make(1, [&](aoti::ModelTensor** made, aoti::ModelTensor**) {
      return cpu::aoti_torch_cpu_convolution(&x.tensor, &weight.tensor,
                                             in.size() == 3 ? &bias_tensor : nullptr, stride, 2,
                                             padding, 2, dilation, 2, 0, none, 2, op.groups, made);
    });
  }

  Status operator()(const blob::AttentionT& op) const {
    View query(pool, *in[0]), key(pool, *in[1]), value(pool, *in[2]);
    const Operand& added = *in[in.size() == 4 ? 3 : 0];
    View mask(pool, added, as_four(added.shape));
    aoti::ModelTensor* mask_tensor = &mask.tensor;
    double scale = op.scale;
    return make(2, [&](aoti::ModelTensor** made, aoti::ModelTensor** sums) {
      return cpu::aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
          &query.tensor, &key.tensor, &value.tensor, 0, op.causal,
          in.size() == 4 ? &mask_tensor : nullptr, &scale, made, sums);
    });
  }

  Status operator()(const blob::MaxPoolT& op) const {
    View x(pool, *in[0], as_planes(in[0]->shape));
    const std::int64_t kernel[] = {op.kernel.h(), op.kernel.w()};
    const std::int64_t stride[] = {op.stride.h(), op.stride.w()};
    const std::int64_t padding[] = {op.padding.h(), op.padding.w()};
    const std::int64_t dilation[] = {op.dilation.h(), op.dilation.w()};
    return make(2, [&](aoti::ModelTensor** made, aoti::ModelTensor** places) {
      return cpu::aoti_torch_cpu_max_pool2d_with_indices(
          &x.tensor, kernel, 2, stride, 2, padding, 2, dilation, 2, op.ceil_mode, made, places);
    });
  }

  Status operator()(const blob::AveragePoolT& op) const {
    View x(pool, *in[0], as_planes(in[0]->shape));
    const std::int64_t kernel[] = {op.kernel.h(), op.kernel.w()};
    const std::int64_t stride[] = {op.stride.h(), op.stride.w()};
    const std::int64_t padding[] = {op.padding.h(), op.padding.w()};
    std::int64_t divisor = op.divisor;
    return make(1, [&](aoti::ModelTensor** made, aoti::ModelTensor**) {
      return cpu::aoti_torch_cpu_avg_pool2d(&x.tensor, kernel, 2, stride, 2, padding, 2,
                                            op.ceil_mode, op.count_include_pad,
                                            divisor == 0 ? nullptr : &divisor, made);
    });
  }

  Status operator()(const blob::AdaptiveAveragePoolT& op) const {
    View x(pool, *in[0], as_planes(in[0]->shape));
    const std::int64_t sizes[] = {op.output.h(), op.output.w()};
    return make(1, [&](aoti::ModelTensor** made, aoti::ModelTensor**) {
      return cpu::aoti_torch_cpu__adaptive_avg_pool2d(&x.tensor, sizes, 2, made);
    });
  }

  template <class Other>
  Status operator()(const Other&) const {
    return tenon::error(tenon::Error::Internal, "cpu_kernels have no such operator");
  }
};

}  // namespace

struct CpuKernels::Memory {
  aoti::TensorPool pool{{aoti::TorchDeviceType::cpu, &allocate,
                         [](void*, std::byte* block) noexcept { std::free(block); }}};
};

CpuKernels::CpuKernels(std::unique_ptr<Memory> memory) noexcept : memory_(std::move(memory)) {}
CpuKernels::~CpuKernels() = default;

void CpuKernels::set_plugin_file(std::string_view file) { tenon::aoti_common::plugin_file(file); }

std::unique_ptr<CpuKernels> CpuKernels::make() {
  if (!cpu::onednn::load().ok()) return nullptr;
  return std::unique_ptr<CpuKernels>(new CpuKernels(std::make_unique<Memory>()));
}

bool CpuKernels::has(const OperatorUnion& op) noexcept {
  switch (op.type) {
    case blob::Operator::MatMul:
    case blob::Operator::Convolution:
    case blob::Operator::Attention:
    case blob::Operator::MaxPool:
    case blob::Operator::AveragePool:
    case blob::Operator::AdaptiveAveragePool:
      return true;
    default:
      return false;
  }
}

Status CpuKernels::within(const KernelCall& call, Status (*body)(const void*), const void* data) {
  const aoti::CurrentPool current(memory_->pool);
  memory_->pool.set_cancel_flag(call.cancelled);
  cpu::CallPool threads(call.threads);
  return threads.end(body(data));
}

Status CpuKernels::run(const OperatorUnion& op, Operands inputs, const Operand& out) {
  if (out.shape.numel() == 0) return tenon::ok();
  Status ran = visit(op, Compute{memory_->pool, inputs, out});
  // A kernel that ends early says so in words of its own.
  if (!ran.ok()) TENON_RETURN_IF_ERROR(memory_->pool.cancel_flag().check());
  return ran;
}

std::uint64_t CpuKernels::nbytes() const noexcept { return memory_->pool.nbytes(); }

}  // namespace graph_backend
