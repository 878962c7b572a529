// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "application_lane.hpp"
#include "boundary/descriptors.hpp"
#include "boundary/messages.hpp"
#include "boundary/protocol.hpp"
#include "call.hpp"
#include "received_tensor.hpp"
#include "tenon/abi/tenon.h"
#include "tenon/core/result.hpp"

namespace tenon::isolated {

/// The question that a worker has put into a lane while it is called. Everything that answers it is
/// in `info`: the worker names no delegate, and cannot reach another one.
class Questions {
 public:
  Questions(ApplicationLane& lane, const CallInfo& info, const tenon_host& host) noexcept
      : lane_(lane), info_(info), host_(host), from_(lane.in()), out_(lane.out()) {}

  /// Writes the answer to `lane.out()`; the result is a file to send with it, or none. errors:
  /// Internal for a question that no worker asks in this call; the errors of `copy_of`.
  [[nodiscard]] Result<host::FileDescriptor> answer() {
    out_.clear();
    switch (static_cast<Answer>(lane_.kind())) {
      case Answer::log:
        return log();
      case Answer::permit_code:
        return permit_code();
      case Answer::get_data:
        return get_data();
      case Answer::get_tensor_layout:
        return get_tensor_layout();
      case Answer::get_key:
        return get_key();
      case Answer::open_prepared:
        return open_prepared();
      case Answer::store_prepared:
        return store_prepared();
      case Answer::release_prepared:
        return release_prepared();
      case Answer::take_intermediate:
        return take_intermediate();
      case Answer::done:
        break;
    }
    return error(Error::Internal, "it asks what no worker asks");
  }

 private:
  using Answered = Result<host::FileDescriptor>;

  static Status broken(std::string_view what) {
    return error(Error::Internal, "its question for ", what, " cannot be read");
  }
  Answered status(tenon_status status) {
    out_.put(status);
    return host::FileDescriptor();
  }
  [[nodiscard]] const tenon_named_data_map* data() const noexcept {
    return info_.services ? info_.services->data : nullptr;
  }
  [[nodiscard]] PreparedSet* prepared() const noexcept {
    return info_.services ? info_.services->prepared.get() : nullptr;
  }
  /// The only file that the worker sent.
  [[nodiscard]] Result<std::vector<std::byte>> sent(std::uint64_t size) const {
    return copy_of(lane_.descriptors().front().get(), size, max_large_size);
  }

  Answered log() {
    const auto level = from_.get<std::int32_t>();
    const std::string_view text = from_.get_text();
    if (!from_.is_at_end()) return broken("a line of the log");
    host_.log(&host_, std::clamp<std::int32_t>(level, TENON_LOG_DEBUG, TENON_LOG_FATAL),
              text.data(), text.size());
    return host::FileDescriptor();
  }

  Answered permit_code() {
    const auto size = from_.get<std::uint64_t>();
    if (!from_.is_at_end() || lane_.descriptors().size() != 1) return broken("code");
    const bool has_context = info_.context && info_.context->permit_code;
    // Without a context the code of an earlier `init` is permitted, and no other.
    if (!has_context && (!info_.permitted || info_.permitted->empty())) {
      return status(TENON_STATUS_ACCESS_FAILED);
    }
    TENON_TRY(const std::vector<std::byte> code, sent(size));
    tenon_status verdict = TENON_STATUS_ACCESS_FAILED;
    if (has_context) verdict = info_.context->permit_code(info_.context, code.data(), code.size());
    if (info_.permitted) {
      const Sha256 hash = sha256_of(code);
      if (has_context && verdict == TENON_STATUS_OK) info_.permitted->insert(hash);
      if (!has_context && info_.permitted->contains(hash)) verdict = TENON_STATUS_OK;
    }
    return status(verdict);
  }

  Answered get_data() {
    const std::string_view key = from_.get_text();
    if (!from_.is_at_end()) return broken("data");
    if (!data()) return status(TENON_STATUS_NOT_FOUND);
    tenon_buffer buffer{};
    buffer.struct_size = sizeof buffer;
    const tenon_status found = data()->get_data(data(), key.data(), key.size(), &buffer);
    if (found != TENON_STATUS_OK) return status(found);
    const std::uint64_t nbytes = buffer.nbytes;
    auto copy = sealed_copy("tenon-data", {static_cast<const std::byte*>(buffer.data),
                                           static_cast<std::size_t>(nbytes)});
    if (buffer.release) buffer.release(&buffer);
    if (!copy.ok()) return status(to_status(copy.error()));
    out_.put<tenon_status>(TENON_STATUS_OK);
    out_.put(nbytes);
    return copy;
  }

  Answered get_tensor_layout() {
    const std::string_view key = from_.get_text();
    if (!from_.is_at_end()) return broken("a layout");
    if (!data()) return status(TENON_STATUS_NOT_FOUND);
    tenon_tensor_layout layout{};
    layout.struct_size = sizeof layout;
    const tenon_status found = data()->get_tensor_layout(data(), key.data(), key.size(), &layout);
    out_.put(found);
    if (found == TENON_STATUS_OK) {
      out_.put(layout.scalar_type);
      out_.put<std::uint64_t>(layout.rank);
      out_.put_array(layout.sizes, layout.rank);
      out_.put_array(layout.dim_order, layout.rank);
    }
    return host::FileDescriptor();
  }

  Answered get_key() {
    const auto index = from_.get<std::uint32_t>();
    if (!from_.is_at_end()) return broken("a key");
    if (!data()) return status(TENON_STATUS_NOT_FOUND);
    const char* name = nullptr;
    std::uint64_t size = 0;
    const tenon_status found = data()->get_key(data(), index, &name, &size);
    out_.put(found);
    if (found == TENON_STATUS_OK) out_.put_bytes(name, size);
    return host::FileDescriptor();
  }

  Answered open_prepared() {
    const std::string_view identity = from_.get_text();
    if (!from_.is_at_end()) return broken("prepared bytes");
    PreparedSet::Opened opened;
    tenon_status found = TENON_STATUS_NOT_SUPPORTED;
    if (prepared()) found = prepared()->open(info_.init, identity, opened);
    host::FileDescriptor file;
    if (found == TENON_STATUS_OK && !opened.bytes.empty()) {
      auto copy = sealed_copy("tenon-prepared", opened.bytes);
      if (!copy.ok()) {
        prepared()->release(opened.number);
        found = to_status(copy.error());
      } else {
        file = *std::move(copy);
      }
    }
    out_.put(found);
    out_.put(opened.number);
    out_.put<std::uint64_t>(file.valid() ? opened.bytes.size() : 0);
    return file;
  }

  Answered store_prepared() {
    const auto entry = from_.get<std::uint64_t>();
    const auto size = from_.get<std::uint64_t>();
    if (!from_.is_at_end() || lane_.descriptors().size() != 1) return broken("prepared bytes");
    if (!prepared()) return status(TENON_STATUS_NOT_SUPPORTED);
    if (!prepared()->is_open(entry)) return status(TENON_STATUS_INVALID_ARGUMENT);
    if (size > max_large_size) return status(TENON_STATUS_OUT_OF_RESOURCES);
    TENON_TRY(const std::vector<std::byte> bytes, sent(size));
    return status(prepared()->store(entry, bytes));
  }

  Answered release_prepared() {
    const auto entry = from_.get<std::uint64_t>();
    if (!from_.is_at_end()) return broken("prepared bytes");
    if (prepared()) prepared()->release(entry);
    return status(TENON_STATUS_OK);
  }

  Answered take_intermediate() {
    const auto handle = from_.get<std::int64_t>();
    ReceivedTensor tensor;
    if (!tensor.read(from_)) return broken("an intermediate");
    if (!info_.recording || !info_.recording->sink || !info_.recording->handles.contains(handle)) {
      return error(Error::Internal, "it gives the intermediate ", handle,
                   ", which was not asked for");
    }
    const tenon_intermediate_sink* const sink = info_.recording->sink;
    return status(sink->take(sink, handle, &tensor.get()));
  }

  ApplicationLane& lane_;
  const CallInfo& info_;
  const tenon_host& host_;
  Reader from_;
  Writer& out_;
};

}  // namespace tenon::isolated
