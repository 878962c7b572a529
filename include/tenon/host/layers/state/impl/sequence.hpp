// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/state/sequence.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/state/impl/loaded_sequence.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Result<std::unique_ptr<Sequence>> Sequence::create(Method& method, SequenceOptions options) {
  return detail::with_memory([&]() -> Result<std::unique_ptr<Sequence>> {
    TENON_TRY(auto made, detail::LoadedSequence::first(detail::state_of(method), options, 1));
    return std::unique_ptr<Sequence>(std::move(made));
  });
}

Status Sequence::execute(std::uint64_t tokens) {
  return detail::with_memory([&] { return detail::loaded(*this).run(tokens); });
}

std::uint64_t Sequence::position() const noexcept { return detail::loaded(*this).get_position(); }

std::uint64_t Sequence::capacity() const noexcept {
  return detail::loaded(*this).all()->options.capacity;
}

std::uint64_t Sequence::num_bytes() const noexcept {
  return detail::loaded(*this).all()->memory.nbytes();
}

std::uint64_t Sequence::num_journal_bytes() const noexcept {
  return detail::loaded(*this).journal().nbytes();
}

Status Sequence::rewind(std::uint64_t tokens) {
  return detail::with_memory([&] { return detail::loaded(*this).go_back(tokens); });
}

Result<std::unique_ptr<Sequence>> Sequence::fork() {
  return detail::with_memory([&]() -> Result<std::unique_ptr<Sequence>> {
    TENON_TRY(auto made, detail::loaded(*this).branch());
    return std::unique_ptr<Sequence>(std::move(made));
  });
}

Status Sequence::clear() {
  return detail::with_memory([&] { return detail::loaded(*this).return_to_initial(); });
}

Result<std::vector<std::byte>> Sequence::save() {
  return detail::with_memory([&] { return detail::loaded(*this).to_bytes(false); });
}

Status Sequence::restore(std::span<const std::byte> saved) {
  return detail::with_memory([&] { return detail::loaded(*this).from_bytes(saved); });
}

}}}  // namespace tenon::TENON_RELEASE::host
