// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/draft/preprocess.h"
#include "tenon/aot/compiler/impl/partition/sink_calls.hpp"
#include "tenon/aot/dense_layout.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/named_data_store.hpp"
#include "tenon/aot/preprocess_result.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/struct_size.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// Takes and checks what a plugin's `preprocess` makes. For one call.
class PreprocessSink : public SinkCalls, private tenon_preprocess_sink {
 public:
  /// `programs` are the call's programs, in its order.
  explicit PreprocessSink(const std::vector<EdgeProgram>& programs)
      : tenon_preprocess_sink{sizeof(tenon_preprocess_sink),
                              0,
                              this,
                              &set_processed,
                              &add_debug_handles,
                              &add_named_data,
                              &set_delegate_info} {
    for (const EdgeProgram& program : programs) {
      auto& handles = parts_.emplace_back().handles;
      for (std::size_t i = 0; i < program.num_nodes(); ++i) {
        handles.insert(program.node(i).debug_handle());
      }
    }
  }
  PreprocessSink(const PreprocessSink&) = delete;
  PreprocessSink& operator=(const PreprocessSink&) = delete;

  [[nodiscard]] const tenon_preprocess_sink* abi() const noexcept { return this; }

  /// The results, one for each partition. Internal when one has no blob.
  [[nodiscard]] Result<std::vector<PreprocessResult>> take_results() {
    std::vector<PreprocessResult> out;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      Part& part = parts_[i];
      if (!part.has_blob) {
        return error(Error::Internal, "partition ", i, " of ", parts_.size(),
                     ": set_processed was not called");
      }
      part.result.data_store_output = part.named.get_named_data_store_output();
      out.push_back(std::move(part.result));
    }
    return out;
  }

 private:
  struct Part {
    std::set<std::uint32_t> handles;                        ///< Debug handles of its nodes.
    std::set<std::pair<std::string, std::int64_t>> events;  ///< Names and numbers that were given.
    bool has_blob = false;
    bool has_info = false;
    NamedDataStore named;
    PreprocessResult result;
  };

  /// Runs the call `name` for a partition of this call, and says where a failure was.
  template <class Body>
  static tenon_status run(void* context, const char* name, std::uint32_t partition,
                          const Body& body) noexcept {
    auto& sink = *static_cast<PreprocessSink*>(context);
    return sink.take([&]() -> Status {
      if (partition >= sink.parts_.size()) {
        return error(Error::InvalidArgument, name, ": partition ", partition, " of ",
                     sink.parts_.size());
      }
      Status status = body(sink, sink.parts_[partition]);
      if (status.ok()) return status;
      return std::move(status).with_context(concat("partition ", partition, ": ", name));
    });
  }

  static tenon_status set_processed(void* context, std::uint32_t partition, const void* data,
                                    std::uint64_t nbytes) noexcept {
    return run(context, "set_processed", partition, [&](PreprocessSink&, Part& part) -> Status {
      if (part.has_blob) return error(Error::InvalidArgument, "called a second time");
      TENON_TRY(part.result.processed_bytes, copy_bytes(data, nbytes));
      part.has_blob = true;
      return ok();
    });
  }

  static tenon_status add_debug_handles(void* context, std::uint32_t partition, const char* name,
                                        std::int64_t id, const std::uint32_t* handles,
                                        std::uint32_t num_handles) noexcept {
    return run(context, "add_debug_handles", partition, [&](PreprocessSink&, Part& part) -> Status {
      if (handles == nullptr && num_handles != 0) {
        return error(Error::InvalidArgument, "NULL in place of ", num_handles, " handles");
      }
      std::vector<std::uint32_t> list(handles, handles + num_handles);
      for (const std::uint32_t handle : list) {
        if (part.handles.contains(handle)) continue;
        return error(Error::InvalidArgument, "no node of the partition has debug handle ", handle);
      }
      return add_handles(part, name, id, list);
    });
  }

  static Status add_handles(Part& part, const char* name, std::int64_t id,
                            std::span<const std::uint32_t> handles) {
    DebugHandleMap& map = part.result.debug_handle_map;
    const bool is_text = name != nullptr;
    if (is_text && *name == '\0') {
      return error(Error::InvalidArgument, "the text that names an event is empty");
    }
    if (!part.events.empty() && part.events.begin()->first.empty() == is_text) {
      return error(Error::InvalidArgument,
                   "events named by text and by number in one partition, expected one of both");
    }
    if (!part.events.emplace(is_text ? name : "", is_text ? std::int64_t{0} : id).second) {
      if (is_text) return error(Error::InvalidArgument, "event '", name, "' was given twice");
      return error(Error::InvalidArgument, "event '", id, "' was given twice");
    }
    if (is_text) {
      map.add(std::string_view(name), handles);
    } else {
      map.add(id, handles);
    }
    return ok();
  }

  static tenon_status add_named_data(void* context, std::uint32_t partition,
                                     const tenon_named_data* data) noexcept {
    return run(
        context, "add_named_data", partition, [&](PreprocessSink& sink, Part& part) -> Status {
          if (data == nullptr) return error(Error::InvalidArgument, "NULL in place of data");
          tenon_named_data known{};
          TENON_RETURN_IF_ERROR(tenon::detail::read_struct("tenon_named_data", *data, known));
          if (known.key == nullptr) return error(Error::InvalidArgument, "data without a key");
          Status status = sink.add_named(part, known);
          if (status.ok()) return status;
          return std::move(status).with_context(host::quoted(known.key));
        });
  }

  Status add_named(Part& part, const tenon_named_data& data) {
    NamedDataOptions options;
    options.alignment = data.alignment;
    if (data.external_tag != nullptr) options.external_tag = data.external_tag;
    if (data.tensor_layout != nullptr) {
      TENON_TRY(options.tensor_layout, read_layout(*data.tensor_layout));
    }
    TENON_TRY(SharedBytes bytes, copy_bytes(data.data, data.nbytes));
    // Another partition of this call may have it already: then its bytes are shared.
    if (const auto found = known_.find(std::string_view(data.key)); found != known_.end()) {
      if (!std::ranges::equal(found->second.bytes(), bytes.bytes())) {
        return error(Error::InvalidArgument,
                     "duplicate key with different data: ", found->second.size(), " bytes, then ",
                     bytes.size(), " bytes");
      }
      bytes = found->second;
    } else {
      known_.emplace(data.key, bytes);
    }
    return part.named.add_named_data(data.key, std::move(bytes), options);
  }

  static Result<std::optional<DenseLayout>> read_layout(const tenon_tensor_layout& from) {
    tenon_tensor_layout layout{};
    TENON_RETURN_IF_ERROR(tenon::detail::read_struct("tenon_tensor_layout", from, layout));
    if (layout.rank > max_rank) {
      return error(Error::InvalidArgument, "rank is ", layout.rank, ", expected at most ",
                   max_rank);
    }
    if (layout.rank != 0 && (layout.sizes == nullptr || layout.dim_order == nullptr)) {
      return error(Error::InvalidArgument, "a tensor layout without sizes or dim order");
    }
    if (layout.scalar_type < 0 || layout.scalar_type > std::numeric_limits<std::int8_t>::max()) {
      return error(Error::InvalidArgument, "scalar type is ", layout.scalar_type,
                   ", expected a known one");
    }
    DenseLayout out;
    out.scalar_type = static_cast<ScalarType>(layout.scalar_type);
    for (std::uint32_t i = 0; i < layout.rank; ++i) {
      if (!std::in_range<std::int32_t>(layout.sizes[i])) {
        return error(Error::InvalidArgument, "sizes[", i, "] is ", layout.sizes[i],
                     ", and files hold sizes of 32 bits");
      }
      out.sizes.push_back(static_cast<std::int32_t>(layout.sizes[i]));
    }
    out.dim_order.assign(layout.dim_order, layout.dim_order + layout.rank);
    return std::optional(std::move(out));
  }

  static tenon_status set_delegate_info(void* context, std::uint32_t partition,
                                        const char* text) noexcept {
    return run(context, "set_delegate_info", partition, [&](PreprocessSink&, Part& part) -> Status {
      if (text == nullptr) return error(Error::InvalidArgument, "NULL in place of a text");
      if (part.has_info) return error(Error::InvalidArgument, "called a second time");
      part.result.delegate_info = text;
      part.has_info = true;
      return ok();
    });
  }

  std::vector<Part> parts_;
  std::map<std::string, SharedBytes, std::less<>> known_;  ///< Named data by key.
};

}}}  // namespace tenon::TENON_RELEASE::aot::detail
