// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/abi/draft/preprocess.h"
#include "tenon/aot/backend_concepts.hpp"
#include "tenon/backend/guard.hpp"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/struct_size.hpp"

/// The boundary of the ahead-of-time half. Results of an author's functions are sent to the
/// tool piece by piece, so that neither side frees memory that the other allocated.
namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// A failure of the tool's sink. The tool knows its own reason; this one is for a tool that does
/// not.
inline Status check_sink(tenon_status status, const char* what) {
  if (status == TENON_STATUS_OK) return ok();
  return error(error_from_status(status), "the caller did not take ", what);
}

inline std::vector<tenon_compile_spec> write_specs(const std::vector<CompileSpecData>& specs) {
  std::vector<tenon_compile_spec> out;
  out.reserve(specs.size());
  for (const CompileSpecData& spec : specs) {
    out.push_back({sizeof(tenon_compile_spec), 0, spec.key.c_str(), spec.value.bytes().data(),
                   spec.value.size()});
  }
  return out;
}

inline Status send_debug_handles(const tenon_preprocess_sink& sink, std::uint32_t partition,
                                 const DebugHandleMap& map) {
  for (const DebugHandleMap::Event& event : map.events()) {
    const char* const name = event.name.empty() ? nullptr : event.name.c_str();
    TENON_RETURN_IF_ERROR(check_sink(
        sink.add_debug_handles(sink.context, partition, name, event.id, event.handles.data(),
                               static_cast<std::uint32_t>(event.handles.size())),
        "a debug handle map"));
  }
  return ok();
}

inline Status send_named_data(const tenon_preprocess_sink& sink, std::uint32_t partition,
                              const NamedDataStoreOutput& output,
                              const std::vector<NamedEntry>& entries, const char* external_tag) {
  for (const NamedEntry& named : entries) {
    if (named.entry.buffer_index >= output.buffers.size()) {
      return error(Error::InvalidArgument, "named data '", named.key, "' is buffer ",
                   named.entry.buffer_index, " of ", output.buffers.size());
    }
    if (named.entry.alignment == 0 ||
        named.entry.alignment > std::numeric_limits<std::uint32_t>::max()) {
      return error(Error::InvalidArgument, "named data '", named.key, "' has alignment ",
                   named.entry.alignment, ", expected 1 to ",
                   std::numeric_limits<std::uint32_t>::max());
    }
    const SharedBytes& bytes = output.buffers[named.entry.buffer_index];
    tenon_tensor_layout layout{};
    std::vector<std::int64_t> sizes;
    std::vector<std::uint8_t> dim_order;
    if (named.entry.tensor_layout) {
      sizes.assign(named.entry.tensor_layout->sizes.begin(),
                   named.entry.tensor_layout->sizes.end());
      dim_order = named.entry.tensor_layout->full_dim_order();
      layout = {sizeof layout,
                static_cast<std::int32_t>(named.entry.tensor_layout->scalar_type),
                static_cast<std::uint32_t>(sizes.size()),
                0,
                sizes.data(),
                dim_order.data()};
    }
    const tenon_named_data data = {sizeof data,
                                   static_cast<std::uint32_t>(named.entry.alignment),
                                   named.key.c_str(),
                                   bytes.bytes().data(),
                                   bytes.size(),
                                   external_tag,
                                   named.entry.tensor_layout ? &layout : nullptr};
    TENON_RETURN_IF_ERROR(
        check_sink(sink.add_named_data(sink.context, partition, &data), "a piece of named data"));
  }
  return ok();
}

inline Status send_result(const tenon_preprocess_sink& sink, std::uint32_t partition,
                          const PreprocessResult& result) {
  TENON_RETURN_IF_ERROR(
      check_sink(sink.set_processed(sink.context, partition, result.processed_bytes.bytes().data(),
                                    result.processed_bytes.size()),
                 "a blob"));
  TENON_RETURN_IF_ERROR(send_debug_handles(sink, partition, result.debug_handle_map));
  const NamedDataStoreOutput& named = result.data_store_output;
  TENON_RETURN_IF_ERROR(send_named_data(sink, partition, named, named.pte_data, nullptr));
  for (const ExternalData& external : named.external_data) {
    TENON_RETURN_IF_ERROR(
        send_named_data(sink, partition, named, external.entries, external.tag.c_str()));
  }
  if (result.delegate_info.empty()) return ok();
  return check_sink(sink.set_delegate_info(sink.context, partition, result.delegate_info.c_str()),
                    "a line of information");
}

inline Status send_partitions(const tenon_partition_sink& sink, const PartitionResult& result,
                              std::string_view backend_id) {
  for (const auto& [tag, spec] : result.partition_tags) {
    if (!spec.backend_id.empty() && spec.backend_id != backend_id) {
      return error(Error::NotSupported, "partition '", tag, "' is for backend ", spec.backend_id,
                   "; a plugin's partitions are its own (", backend_id, ")");
    }
    const auto specs = write_specs(spec.compile_specs);
    TENON_RETURN_IF_ERROR(check_sink(sink.add_partition(sink.context, tag.c_str(), specs.data(),
                                                        static_cast<std::uint32_t>(specs.size())),
                                     "a partition"));
  }
  for (std::size_t i = 0; i < result.node_tags.size(); ++i) {
    if (result.node_tags[i].empty()) continue;
    TENON_RETURN_IF_ERROR(check_sink(
        sink.tag_node(sink.context, static_cast<std::uint32_t>(i), result.node_tags[i].c_str()),
        "a node's tag"));
  }
  for (std::size_t i = 0; i < result.value_tags.size(); ++i) {
    const std::string& tag = result.value_tags[i];
    if (tag.empty()) continue;
    if (!TENON_HAS_MEMBER(sink, tag_value)) {
      return error(Error::NotSupported, "the caller takes no tags of values");
    }
    TENON_RETURN_IF_ERROR(check_sink(
        sink.tag_value(sink.context, static_cast<ValueId>(i), tag.c_str()), "a value's tag"));
  }
  return ok();
}

/// The results of one call of `preprocess`, in the order of the partitions. Not a std::vector,
/// whose growth is seventy functions in each plugin.
class ResultList {
 public:
  ResultList() noexcept = default;
  ResultList(const ResultList&) = delete;
  ResultList& operator=(const ResultList&) = delete;
  ~ResultList() {
    while (first_ != nullptr) delete std::exchange(first_, first_->next);
  }

  void add(PreprocessResult&& result) {
    *end_ = new Item{std::move(result), nullptr};
    end_ = &(*end_)->next;
  }

  [[nodiscard]] Status send(const tenon_preprocess_sink& sink) const {
    std::uint32_t partition = 0;
    for (const Item* item = first_; item != nullptr; item = item->next) {
      TENON_RETURN_IF_ERROR(send_result(sink, partition++, item->result));
    }
    return ok();
  }

 private:
  struct Item {
    PreprocessResult result;
    Item* next;
  };

  Item* first_ = nullptr;
  Item** end_ = &first_;
};

/// The partitions of one call of `preprocess`, by method. A template, so that a backend without a
/// `preprocess_multimethod` of its own has none of the maps.
template <class Results>
struct PartitionsByMethod {
  ProgramsByMethod programs;
  SpecsByMethod specs;
  std::map<std::string, std::vector<std::uint32_t>, std::less<>> numbers;

  PartitionsByMethod(const tenon_partition* partitions, std::uint32_t num_partitions) {
    const tenon::detail::StridedArray<tenon_partition> all(partitions, num_partitions);
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      const EdgeProgram program(*all[i].program);
      const std::string method(program.method_name());
      programs[method].push_back(program);
      specs[method].push_back(CompileSpecs(all[i].compile_specs, all[i].num_compile_specs));
      numbers[method].push_back(i);
    }
  }

  [[nodiscard]] Status send(const tenon_preprocess_sink& sink, const Results& results) const {
    for (const auto& [method, of_method] : results) {
      if (numbers.contains(method)) continue;
      return error(Error::Internal, "preprocess_multimethod made ", of_method.size(),
                   " results for method '", method, "', which it was not asked for");
    }
    for (const auto& [method, of_method] : numbers) {
      const auto found = results.find(method);
      const std::size_t count = found == results.end() ? 0 : found->second.size();
      if (count != of_method.size()) {
        return error(Error::Internal, "preprocess_multimethod made ", count,
                     " results for method '", method, "', expected ", of_method.size());
      }
      for (std::size_t i = 0; i < count; ++i) {
        TENON_RETURN_IF_ERROR(send_result(sink, of_method[i], found->second[i]));
      }
    }
    return ok();
  }
};

/// The functions of the boundary for one backend class.
template <class B>
struct PreprocessExtension {
  static consteval bool check() { return check_functions<B>(); }

  static const tenon_host* host_of(tenon_backend* backend) noexcept {
    return tenon::detail::host_of<B>(backend);
  }

  // The functions of the author are called on the open backend, those that are static as well.
  static const B& self(tenon_backend* backend) noexcept { return tenon::detail::self<B>(backend); }

  static tenon_status partition(tenon_backend* backend, const tenon_edge_program* program,
                                const tenon_compile_spec* options, std::uint32_t num_options,
                                const tenon_partition_sink* sink) noexcept {
    return tenon::detail::guard(host_of(backend), [&]() -> Status {
      TENON_TRY(const PartitionResult result,
                self(backend).partition(EdgeProgram(*program), CompileSpecs(options, num_options)));
      return send_partitions(*sink, result, B::id);
    });
  }

  static tenon_status ops_to_not_decompose(tenon_backend* backend,
                                           const tenon_edge_program* program, tenon_text_sink sink,
                                           void* context) noexcept {
    return tenon::detail::guard(host_of(backend), [&]() -> Status {
      TENON_TRY(const std::vector<std::string> targets,
                self(backend).ops_to_not_decompose(EdgeProgram(*program)));
      for (const std::string& target : targets) {
        TENON_RETURN_IF_ERROR(check_sink(sink(context, target.c_str()), "an operator's name"));
      }
      return ok();
    });
  }

  static tenon_status preprocess(tenon_backend* backend, const tenon_partition* partitions,
                                 std::uint32_t num_partitions,
                                 const tenon_preprocess_sink* sink) noexcept {
    return tenon::detail::guard(host_of(backend), [&]() -> Status {
      if constexpr (OverridesPreprocessMultimethod<B>) {
        const PartitionsByMethod<ResultsByMethod> all(partitions, num_partitions);
        TENON_TRY(const ResultsByMethod results,
                  self(backend).preprocess_multimethod(all.programs, all.specs));
        return all.send(*sink, results);
      } else {
        const tenon::detail::StridedArray<tenon_partition> all(partitions, num_partitions);
        // Nothing is sent before all is compiled, as with a preprocess_multimethod of the author.
        ResultList results;
        for (std::uint32_t i = 0; i < all.size(); ++i) {
          const CompileSpecs specs(all[i].compile_specs, all[i].num_compile_specs);
          TENON_TRY(PreprocessResult result,
                    self(backend).preprocess(EdgeProgram(*all[i].program), specs));
          results.add(std::move(result));
        }
        return results.send(*sink);
      }
    });
  }

  // A function that the author left out is NULL: the tool then does what ExecuTorch does without
  // it.
  static constexpr auto partition_or_null() noexcept {
    decltype(tenon_preprocess_v1::partition) function = nullptr;
    if constexpr (HasPartition<B>) function = &partition;
    return function;
  }
  static constexpr auto ops_to_not_decompose_or_null() noexcept {
    decltype(tenon_preprocess_v1::ops_to_not_decompose) function = nullptr;
    if constexpr (HasOpsToNotDecompose<B>) function = &ops_to_not_decompose;
    return function;
  }

  static constexpr tenon_preprocess_v1 table = {sizeof(tenon_preprocess_v1), 0, partition_or_null(),
                                                ops_to_not_decompose_or_null(), &preprocess};
};

}}}  // namespace tenon::TENON_RELEASE::aot::detail
