// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/abi/draft/preprocess.h"
#include "tenon/aot/compiler/impl/partition/sink_calls.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/partition_result.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// Takes and checks what a plugin's `partition` decides. For one call.
class PartitionSink : public SinkCalls, private tenon_partition_sink {
 public:
  PartitionSink(const EdgeProgram& program, std::string_view backend_id) noexcept
      : tenon_partition_sink{sizeof(tenon_partition_sink),
                             0,
                             this,
                             &add_partition,
                             &tag_node,
                             &tag_value},
        program_(program),
        backend_id_(backend_id) {}
  PartitionSink(const PartitionSink&) = delete;
  PartitionSink& operator=(const PartitionSink&) = delete;

  [[nodiscard]] const tenon_partition_sink* abi() const noexcept { return this; }
  [[nodiscard]] PartitionResult take_result() { return std::move(result_); }

 private:
  static PartitionSink& self(void* context) noexcept {
    return *static_cast<PartitionSink*>(context);
  }

  static tenon_status add_partition(void* context, const char* tag, const tenon_compile_spec* specs,
                                    std::uint32_t num_specs) noexcept {
    PartitionSink& sink = self(context);
    return sink.take([&]() -> Status { return sink.add(tag, specs, num_specs); });
  }
  static tenon_status tag_node(void* context, std::uint32_t node, const char* tag) noexcept {
    PartitionSink& sink = self(context);
    return sink.take([&]() -> Status { return sink.add_node(node, tag); });
  }
  static tenon_status tag_value(void* context, std::uint32_t value, const char* tag) noexcept {
    PartitionSink& sink = self(context);
    return sink.take([&]() -> Status { return sink.add_value(value, tag); });
  }

  Status add(const char* tag, const tenon_compile_spec* specs, std::uint32_t num_specs) {
    if (tag == nullptr || *tag == '\0') {
      return error(Error::InvalidArgument, "add_partition: a partition without a tag");
    }
    const std::string what = concat("add_partition ", host::quoted(tag));
    if (result_.partition_tags.contains(std::string_view(tag))) {
      return error(Error::InvalidArgument, what, ": the tag was given twice");
    }
    auto read = read_specs(specs, num_specs);
    if (!read.ok()) return std::move(read).status().with_context(what);
    result_.partition_tags.emplace(tag, DelegationSpec{std::string(backend_id_), *std::move(read)});
    return ok();
  }

  Status check_tag(const char* tag, std::string_view what) const {
    if (tag == nullptr) return error(Error::InvalidArgument, what, ": NULL in place of a tag");
    if (result_.partition_tags.contains(std::string_view(tag))) return ok();
    return error(Error::InvalidArgument, what, ": no partition has the tag ", host::quoted(tag));
  }

  Status add_node(std::uint32_t node, const char* tag) {
    if (node >= program_.num_nodes()) {
      return error(Error::InvalidArgument, "tag_node: node ", node, " of ", program_.num_nodes());
    }
    const std::string what = concat("tag_node '", program_.node(node).name(), "'");
    TENON_RETURN_IF_ERROR(check_tag(tag, what));
    if (const auto given = result_.tag_of(node); !given.empty()) {
      return error(Error::InvalidArgument, what, ": it has the tag ", host::quoted(given),
                   " and cannot get ", host::quoted(tag), " too");
    }
    result_.tag_node(node, tag);
    return ok();
  }

  Status add_value(std::uint32_t value, const char* tag) {
    if (value >= program_.num_values()) {
      return error(Error::InvalidArgument, "tag_value: value ", value, " of ",
                   program_.num_values());
    }
    const std::string what = concat("tag_value '", program_.value(value).name(), "'");
    TENON_RETURN_IF_ERROR(check_tag(tag, what));
    if (!program_.value(value).has_fqn()) {
      return error(Error::InvalidArgument, what, ": it is not a parameter, buffer or constant");
    }
    if (const auto given = result_.tag_of_value(value); !given.empty()) {
      return error(Error::InvalidArgument, what, ": it has the tag ", host::quoted(given),
                   " and cannot get ", host::quoted(tag), " too");
    }
    result_.tag_value(value, tag);
    return ok();
  }

  EdgeProgram program_;
  std::string_view backend_id_;
  PartitionResult result_;
};

}}}  // namespace tenon::TENON_RELEASE::aot::detail
