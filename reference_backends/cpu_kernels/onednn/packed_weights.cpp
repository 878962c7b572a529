// SPDX-License-Identifier: MIT
#include "onednn/packed_weights.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "file_pages.hpp"
#include "onednn/primitive_desc.hpp"
#include "tenon/aoti/shims/call.hpp"
#include "tenon/aoti/weights/shared_by_content.hpp"

namespace tenon::cpu_aoti::onednn {
namespace {

/// All packed weights of the process, by a sample of their bytes and then by all of them.
aoti::SharedByContent<PackedWeight>& shared() {
  static aoti::SharedByContent<PackedWeight> only;
  return only;
}

/// Numbers that are equal for equal weights, and rarely for others.
[[nodiscard]] std::array<std::uint64_t, 66> sample_of(const PackedWeight& weight) noexcept {
  std::array<std::uint64_t, 66> out{};
  out[0] = weight.nbytes();
  const std::size_t words = weight.nbytes() / sizeof out[0];
  for (std::size_t i = 1; i < out.size() && words != 0; ++i) {
    const std::size_t at = words * (i - 1) / (out.size() - 1);
    std::memcpy(&out[i], weight.data() + at * sizeof out[0], sizeof out[0]);
  }
  return out;
}

}  // namespace

Status Reorder::make(const Format& from, const Format& to) {
  TENON_TRY(const PrimitiveDesc desc, reorder(from, to));
  static constexpr int arguments[] = {DNNL_ARG_FROM, DNNL_ARG_TO};
  TENON_RETURN_IF_ERROR(bound_.make(desc, arguments));
  from_nbytes_ = static_cast<std::int64_t>(from.nbytes());
  to_nbytes_ = static_cast<std::int64_t>(to.nbytes());
  return ok();
}

Status Reorder::run(const std::byte* source, std::byte* target) {
  // oneDNN only reads this argument, but its interface has no const.
  TENON_RETURN_IF_ERROR(bound_.set(DNNL_ARG_FROM, const_cast<std::byte*>(source)));
  TENON_RETURN_IF_ERROR(bound_.set(DNNL_ARG_TO, target));
  return bound_.run();
}

void PackedWeight::Free::operator()(std::byte* block) const noexcept { std::free(block); }

Result<std::shared_ptr<const PackedWeight>> PackedWeight::make(const std::byte* source,
                                                               const Format& from,
                                                               const Format& to) {
  Reorder reorder;
  TENON_RETURN_IF_ERROR(reorder.make(from, to));
  auto out = std::make_shared<PackedWeight>();
  out->format_ = to;
  out->nbytes_ = static_cast<std::size_t>(reorder.to_nbytes());
  constexpr std::size_t alignment = 64;
  const std::size_t size = (out->nbytes_ + alignment - 1) / alignment * alignment;
  out->data_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, size)));
  if (!out->data_) {
    return error(Error::MemoryAllocationFailed, "packing a weight: no memory for ", size, " bytes");
  }
  TENON_RETURN_IF_ERROR(reorder.run(source, out->data()));
  return std::shared_ptr<const PackedWeight>(std::move(out));
}

bool PackedWeight::equals(const PackedWeight& other) const noexcept {
  return nbytes_ == other.nbytes_ && format_ == other.format_ &&
         std::memcmp(data(), other.data(), nbytes_) == 0;
}

Result<std::byte*> PackedWeights::get(const std::byte* source, const Format& from,
                                      const Format& to) {
  constexpr int most_formats = 2;
  int formats = 0;
  for (const Entry& entry : entries_) {
    if (entry.source != source) continue;
    ++formats;
    if (entry.from == from && entry.to == to) return entry.weight->data();
  }
  if (!is_enabled_ || formats >= most_formats) return nullptr;
  auto made = PackedWeight::make(source, from, to);
  // A run reuses one block of memory for the copies that it makes instead.
  if (!made.ok() && made.error() == Error::MemoryAllocationFailed) return nullptr;
  TENON_TRY(std::shared_ptr<const PackedWeight> weight, std::move(made));
  release_file_pages(source, from.nbytes());
  const auto sample = sample_of(*weight);
  const auto is_same = [&](const PackedWeight& other) -> Result<bool> {
    return weight->equals(other);
  };
  const auto make = [&]() -> Result<std::shared_ptr<const PackedWeight>> { return weight; };
  TENON_TRY(weight, shared().get(std::as_bytes(std::span(sample)), is_same, make));
  const std::lock_guard lock(mutex_);
  entries_.push_back({source, from, to, weight});
  return entries_.back().weight->data();
}

std::size_t PackedWeights::nbytes() const {
  const PackedWeights* const self = this;
  return nbytes_of({&self, 1});
}

std::size_t PackedWeights::nbytes_of(std::span<const PackedWeights* const> instances) {
  std::vector<std::shared_ptr<const PackedWeight>> all;
  for (const PackedWeights* instance : instances) {
    const std::lock_guard lock(instance->mutex_);
    for (const Entry& entry : instance->entries_) all.push_back(entry.weight);
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::size_t sum = 0;
  for (const auto& weight : all) sum += weight->nbytes();
  return sum;
}

std::size_t PackedWeights::nbytes_of_process() { return shared().nbytes(); }

void PackedForms::set_formats(const Format& from, const Format& to) {
  from_ = from;
  to_ = to;
  are_needed_ = !(from == to);
}

Result<std::byte*> PackedForms::get(const std::byte* source) {
  const auto found = std::ranges::lower_bound(forms_, source, std::less<>{}, &Form::first);
  if (found != forms_.end() && found->first == source) return found->second;
  auto& weights = aoti::current_pool().cache<PackedWeights>();
  TENON_TRY(std::byte* const packed, weights.get(source, from_, to_));
  forms_.insert(found, {source, packed});
  return packed;
}

Result<std::byte*> PackedForms::get_or_copy(std::byte* source, bool is_fixed,
                                            std::optional<Scratch>& copy) {
  if (!are_needed_) return source;
  if (is_fixed) {
    TENON_TRY(std::byte* const packed, get(source));
    if (packed) return packed;
  }
  if (!reorder_) TENON_RETURN_IF_ERROR(reorder_.emplace().make(from_, to_));
  TENON_TRY(copy, Scratch::of(reorder_->to_nbytes()));
  TENON_RETURN_IF_ERROR(reorder_->run(source, copy->as<std::byte>()));
  return copy->as<std::byte>();
}

}  // namespace tenon::cpu_aoti::onednn
