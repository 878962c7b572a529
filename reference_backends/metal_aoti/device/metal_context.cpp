// SPDX-License-Identifier: MIT
#include "device/metal_context.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

namespace tenon::metal_aoti {

namespace {

MetalContext& of(void* context) noexcept { return *static_cast<MetalContext*>(context); }

std::size_t element_size(const aoti::ModelTensor& tensor) noexcept {
  return size_of(tensor.scalar_type);
}

}  // namespace

Result<std::shared_ptr<MetalContext>> MetalContext::open(std::shared_ptr<SharedDevice> device,
                                                         const ContextSettings& settings) {
  TENON_TRY(auto queue, device->device().make_queue());
  std::shared_ptr<MetalContext> out(
      new MetalContext(std::move(device), std::move(queue), settings));
  out->device_->note_unfinished(out->unfinished_);
  return out;
}

SharedDevice::Found MetalContext::find(const std::byte* address) {
  const std::uint64_t generation = device_->generation();
  if (generation != known_generation_) {
    known_.clear();
    known_generation_ = generation;
  }
  const auto contents_of = [](const SharedDevice::Found& known) {
    return known.buffer->contents();
  };
  const auto above = std::ranges::upper_bound(known_, address, std::less{}, contents_of);
  if (above != known_.begin()) {
    const SharedDevice::Found below = *std::prev(above);
    if (std::less{}(address, below.buffer->contents() + below.buffer->nbytes())) return below;
  }
  const SharedDevice::Found found = device_->find(address);
  if (found.buffer) known_.insert(above, found);
  return found;
}

Result<MetalContext::Place> MetalContext::place(const void* address, std::size_t nbytes) {
  const auto* const first = static_cast<const std::byte*>(address);
  return SharedDevice::place_in(first ? find(first).buffer : nullptr, first, nbytes);
}

bool MetalContext::reaches(const std::byte* bytes, std::size_t nbytes) noexcept {
  try {
    const auto [buffer, is_hosts] = find(bytes);
    return is_hosts &&
           nbytes <= static_cast<std::size_t>(buffer->contents() + buffer->nbytes() - bytes);
  } catch (...) {
    return false;  // No memory to note the buffer.
  }
}

bool MetalContext::learn_layout(const Status& run) noexcept {
  if (has_learnt_layout_) [[likely]]
    return false;
  // The model's own check (PyTorch: assert_size_stride in aoti_runtime/utils.h).
  constexpr std::string_view check = "Error in op: torch.ops.aten.convolution.default";
  has_contiguous_convolutions_ = !run.ok() && run.text().find(check) != std::string_view::npos;
  has_learnt_layout_ = run.ok() || has_contiguous_convolutions_;
  return has_contiguous_convolutions_;
}

Status MetalContext::begin(const MetalFunction* function) {
  if (!function) return error(Error::InvalidArgument, "the kernel is null");
  begun_ = nullptr;
  TENON_RETURN_IF_ERROR(queue().set_function(*function));
  begun_ = function;
  return ok();
}

Status MetalContext::check_begun(const MetalFunction* function, unsigned index) const {
  if (!function) return error(Error::InvalidArgument, "the kernel is null");
  if (function != begun_) {
    return error(Error::InvalidState, "expected the kernel that was set up last, found another");
  }
  if (index >= max_arguments) {
    return error(Error::InvalidArgument, "argument ", index, ": expected an index below ",
                 max_arguments);
  }
  return ok();
}

Status check_has_memory(const aoti::ModelTensor& tensor) {
  if (tensor.numel == 0 || tensor.data) return ok();
  return error(Error::NotSupported, "a tensor ", shape_text(tensor.shape()),
               " has no memory: attention gives its weights only with attention_weights=true");
}

Status MetalContext::set_tensor(unsigned index, const aoti::ModelTensor& tensor) {
  TENON_RETURN_IF_ERROR(check_has_memory(tensor));
  const std::size_t nbytes = tensor.numel == 0 ? 0 : element_size(tensor);
  if (tensor.device_type == aoti::TorchDeviceType::mps) {
    TENON_TRY(const Place found, place(tensor.data, nbytes));
    queue().set_buffer(index, *found.buffer, found.offset);
    return ok();
  }
  // The host may write to its tensor before the kernel runs.
  const Bytes bytes(tensor.data, static_cast<std::size_t>(tensor.storage->data +
                                                          tensor.storage->nbytes - tensor.data));
  if (bytes.size() <= max_inline_bytes) return set_bytes(index, bytes);
  TENON_TRY(const auto buffer, device_->device().allocate(bytes.size()));
  std::ranges::copy(bytes, buffer->contents());
  queue().set_buffer(index, *buffer, 0);
  return ok();
}

Status MetalContext::set_bytes(unsigned index, std::span<const std::byte> bytes) {
  if (bytes.size() > max_inline_bytes) {
    return error(Error::InvalidArgument, "argument ", index, ": expected at most ",
                 max_inline_bytes, " bytes, found ", bytes.size());
  }
  queue().set_bytes(index, bytes);
  return ok();
}

Status MetalContext::dispatch(const GridSize& threads, GridSize group) {
  const std::uint64_t most = begun_->max_threads_per_group();
  if (group == GridSize{}) {
    // A group has as many threads as the kernel supports, along the rows of the grid.
    group[0] = std::clamp<std::uint64_t>(threads[0], 1, most);
    group[1] = std::clamp<std::uint64_t>(threads[1], 1, most / group[0]);
    group[2] = std::clamp<std::uint64_t>(threads[2], 1, most / group[0] / group[1]);
  }
  std::uint64_t size = 1;
  for (const std::uint64_t n : group) {
    if (n == 0 || __builtin_mul_overflow(size, n, &size) || size > most) {
      return error(Error::InvalidArgument, "a group of ", group[0], " x ", group[1], " x ",
                   group[2], " threads: the kernel takes 1 to ", most);
    }
  }
  for (const std::uint64_t n : threads) {
    if (n > std::numeric_limits<std::uint32_t>::max()) {
      return error(Error::InvalidArgument, "a grid of ", n, " threads in one dimension: too large");
    }
    if (n == 0) return ok();  // Nothing to compute.
  }
  is_idle_ = false;
  TENON_RETURN_IF_ERROR(queue().dispatch(threads, group));
  return flush_if_due();
}

Status MetalContext::flush_if_due() {
  ++num_unflushed_;
  if (settings_.flush_interval == 0 || num_unflushed_ < settings_.flush_interval) return ok();
  num_unflushed_ = 0;
  begun_ = nullptr;
  return queue().commit();
}

Status MetalContext::copy(aoti::CopyKind kind, std::byte* to, const std::byte* from,
                          std::size_t nbytes) {
  if (kind == aoti::CopyKind::within_device) {
    if (has_failed()) return ok();  // `synchronize` returns it.
    TENON_TRY(const Place target, place(to, nbytes));
    TENON_TRY(const Place source, place(from, nbytes));
    return enqueue_copy(target, source, nbytes);
  }
  // The CPU copies, so the enqueued work must be complete.
  if (kind == aoti::CopyKind::to_host && !is_idle_) TENON_RETURN_IF_ERROR(synchronize());
  if (!to || !from) {
    return error(Error::NotSupported,
                 "a tensor has no memory: attention gives its weights only with "
                 "attention_weights=true");
  }
  if (kind == aoti::CopyKind::to_device) return copy_from_host(to, from, nbytes);
  std::memcpy(to, from, nbytes);
  return ok();
}

/// The bytes have been read when this returns. Enqueued work may still use what they replace, so
/// then the device copies them, in the order of the queue.
Status MetalContext::copy_from_host(std::byte* to, const std::byte* from, std::size_t nbytes) {
  forget_reached();
  // What is waited for may write what is to be read.
  if (!held_by_.empty()) TENON_RETURN_IF_ERROR(synchronize());
  if (is_idle_) {
    std::memcpy(to, from, nbytes);
    return ok();
  }
  if (has_failed()) return ok();
  TENON_TRY(const Place target, place(to, nbytes));
  TENON_TRY(const auto staged, device_->device().allocate(nbytes));
  std::memcpy(staged->contents(), from, nbytes);
  return enqueue_copy(target, {staged.get(), 0}, nbytes);
}

Status MetalContext::enqueue_copy(const Place& target, const Place& source, std::size_t nbytes) {
  begun_ = nullptr;
  is_idle_ = false;
  TENON_RETURN_IF_ERROR(
      queue().copy(*target.buffer, target.offset, *source.buffer, source.offset, nbytes));
  return flush_if_due();
}

Status MetalContext::copy_strided(const aoti::StridedCopy& copy) {
  if (has_failed()) return ok();
  std::uint64_t count = 1;
  CopyParameters parameters{};
  if (copy.sizes.size() > CopyParameters::max_dimensions) {
    return error(Error::NotSupported, "a copy of rank ", copy.sizes.size());
  }
  for (std::size_t d = 0; d < copy.sizes.size(); ++d) {
    count *= static_cast<std::uint64_t>(copy.sizes[d]);
    parameters.sizes[d] = copy.sizes[d];
    parameters.to[d] = copy.to_strides[d];
    parameters.from[d] = copy.from_strides[d];
  }
  if (count == 0) return ok();
  parameters.rank = static_cast<std::int64_t>(copy.sizes.size());
  TENON_TRY(const MetalFunction* const function, device_->copy_kernel(copy.element_size));
  TENON_RETURN_IF_ERROR(begin(function));
  TENON_TRY(const Place target, place(copy.to, copy.element_size));
  TENON_TRY(const Place source, place(copy.from, copy.element_size));
  queue().set_buffer(0, *target.buffer, target.offset);
  queue().set_buffer(1, *source.buffer, source.offset);
  TENON_RETURN_IF_ERROR(set_value(2, parameters));
  return dispatch({count, 1, 1}, {});
}

Status MetalContext::synchronize() {
  begun_ = nullptr;
  num_unflushed_ = 0;
  last_run_.reset();
  if (is_idle_ && !failure_) return ok();
  Status status = ok();
  if (!is_idle_) {
    status = queue().wait();
    if (std::exchange(has_left_, false)) {
      Status earlier = unfinished_->wait();
      if (status.ok()) status = std::move(earlier);
    }
  }
  is_idle_ = true;
  held_by_.clear();
  if (!failure_) return status;
  status = *std::move(failure_);
  failure_.reset();
  return status;
}

Status MetalContext::leave(UnfinishedWork::Report report) {
  begun_ = nullptr;
  num_unflushed_ = 0;
  last_run_.reset();
  if (failure_) return synchronize();
  if (is_idle_) return ok();
  if (Status status = queue().commit(); !status.ok()) {
    fail(std::move(status));
    return synchronize();
  }
  last_run_ = queue().take_submitted();
  if (last_run_) leave(last_run_, report);
  return unfinished_->take_failure();
}

Result<MetalMark> MetalContext::mark() {
  if (!marks_) {
    TENON_TRY(marks_, device_->device().make_event());
  }
  const MetalMark out{marks_, ++last_mark_, last_run_};
  if (is_idle_) {
    marks_->signal(out.value);
    return out;
  }
  TENON_RETURN_IF_ERROR(queue().signal(*marks_, out.value));
  TENON_RETURN_IF_ERROR(queue().commit());
  if (auto work = queue().take_submitted()) {
    leave(std::move(work), UnfinishedWork::Report::by_event);
  }
  return out;
}

void MetalContext::leave(std::shared_ptr<MetalWork> work, UnfinishedWork::Report report) {
  unfinished_->add(std::move(work), report);
  has_left_ = true;
}

Status MetalContext::hold(const MetalMark& mark) {
  forget_reached();
  if (mark.is_reached()) return ok();
  held_by_.push_back(mark);
  is_idle_ = false;
  begun_ = nullptr;
  return queue().wait_for(*mark.event, mark.value);
}

void MetalContext::forget_reached() {
  std::erase_if(held_by_, [](const MetalMark& mark) { return mark.is_reached(); });
}

void MetalContext::fail(Status status) noexcept {
  if (!failure_) failure_ = std::move(status);
}

// [memory]
aoti::DeviceMemoryApi metal_memory(std::shared_ptr<MetalContext> context) {
  aoti::DeviceMemoryApi out;
  out.device_type = aoti::TorchDeviceType::mps;
  out.dl_device = {TENON_DL_METAL, 0};
  out.max_kept = context->settings().pool_nbytes;
  out.allocate = [](void* self, std::size_t nbytes) { return of(self).shared().allocate(nbytes); };
  if (context->settings().weights_in_place) {
    out.adopt = [](void* self, Bytes bytes) -> Result<bool> {
      return of(self).shared().adopt(bytes);
    };
  }
  out.reaches = [](void* self, const std::byte* bytes, std::size_t nbytes) noexcept {
    return of(self).reaches(bytes, nbytes);
  };
  out.free = [](void* self, std::byte* block) noexcept { of(self).shared().free(block); };
  out.copy = [](void* self, void*, aoti::CopyKind kind, std::byte* to, const std::byte* from,
                std::size_t nbytes) { return of(self).copy(kind, to, from, nbytes); };
  out.copy_strided = [](void* self, void*, const aoti::StridedCopy& copy) {
    return of(self).copy_strided(copy);
  };
  out.copies_at_once = true;
  out.synchronize = [](void* self, void*) { return of(self).synchronize(); };
  out.context = std::move(context);
  return out;
}
// [memory]

}  // namespace tenon::metal_aoti
