// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tenon/abi/draft/preprocess.h"

namespace tenon::test {

/// Keeps what `partition` says, in terms of the C boundary alone.
struct RecordedPartition : tenon_partition_sink {
  std::vector<std::pair<std::string, std::vector<std::string>>> tags;  ///< With "key=value".
  std::vector<std::pair<std::uint32_t, std::string>> nodes;
  int calls_left = 1000;  ///< The one after the last is refused.

  RecordedPartition() : tenon_partition_sink{} {
    struct_size = sizeof(tenon_partition_sink);
    context = this;
    add_partition = [](void* recorder, const char* tag, const tenon_compile_spec* specs,
                       std::uint32_t num_specs) -> tenon_status {
      auto& self = *static_cast<RecordedPartition*>(recorder);
      if (self.calls_left-- == 0) return TENON_STATUS_OUT_OF_RESOURCES;
      auto& [name, texts] = self.tags.emplace_back(tag, std::vector<std::string>());
      for (std::uint32_t i = 0; i < num_specs; ++i) {
        texts.push_back(specs[i].key + std::string("=") +
                        std::string(static_cast<const char*>(specs[i].value),
                                    static_cast<std::size_t>(specs[i].value_size)));
      }
      return TENON_STATUS_OK;
    };
    tag_node = [](void* recorder, std::uint32_t node, const char* tag) -> tenon_status {
      auto& self = *static_cast<RecordedPartition*>(recorder);
      if (self.calls_left-- == 0) return TENON_STATUS_OUT_OF_RESOURCES;
      self.nodes.emplace_back(node, tag);
      return TENON_STATUS_OK;
    };
  }
  RecordedPartition(const RecordedPartition&) = delete;
  RecordedPartition& operator=(const RecordedPartition&) = delete;
};

/// Keeps what `preprocess` sends, in terms of the C boundary alone.
struct RecordedResults : tenon_preprocess_sink {
  struct Named {
    std::string key;
    std::string data;
    std::uint32_t alignment;
    std::string external_tag;  ///< "-" for the program itself.
    std::vector<std::int64_t> sizes;
    std::vector<std::uint8_t> dim_order;
    std::int32_t scalar_type;
  };
  struct Result {
    std::string processed;
    int times_processed = 0;
    std::map<std::string, std::vector<std::uint32_t>> handles_by_name;
    std::map<std::int64_t, std::vector<std::uint32_t>> handles_by_id;
    std::vector<Named> named;
    std::string info;
  };
  std::map<std::uint32_t, Result> results;
  int calls_left = 1000;  ///< The one after the last is refused.

  RecordedResults() : tenon_preprocess_sink{} {
    struct_size = sizeof(tenon_preprocess_sink);
    context = this;
    set_processed = [](void* recorder, std::uint32_t partition, const void* data,
                       std::uint64_t nbytes) -> tenon_status {
      return self(recorder).take([&] {
        Result& result = self(recorder).results[partition];
        ++result.times_processed;
        result.processed.assign(static_cast<const char*>(data), static_cast<std::size_t>(nbytes));
      });
    };
    add_debug_handles = [](void* recorder, std::uint32_t partition, const char* name,
                           std::int64_t id, const std::uint32_t* handles,
                           std::uint32_t num_handles) -> tenon_status {
      return self(recorder).take([&] {
        Result& result = self(recorder).results[partition];
        auto& list = name ? result.handles_by_name[name] : result.handles_by_id[id];
        list.assign(handles, handles + num_handles);
      });
    };
    add_named_data = [](void* recorder, std::uint32_t partition,
                        const tenon_named_data* data) -> tenon_status {
      return self(recorder).take([&] {
        Named named{data->key,
                    std::string(static_cast<const char*>(data->data),
                                static_cast<std::size_t>(data->nbytes)),
                    data->alignment,
                    data->external_tag ? data->external_tag : "-",
                    {},
                    {},
                    -1};
        if (const tenon_tensor_layout* layout = data->tensor_layout) {
          named.sizes.assign(layout->sizes, layout->sizes + layout->rank);
          named.dim_order.assign(layout->dim_order, layout->dim_order + layout->rank);
          named.scalar_type = layout->scalar_type;
        }
        self(recorder).results[partition].named.push_back(std::move(named));
      });
    };
    set_delegate_info = [](void* recorder, std::uint32_t partition,
                           const char* text) -> tenon_status {
      return self(recorder).take([&] { self(recorder).results[partition].info = text; });
    };
  }
  RecordedResults(const RecordedResults&) = delete;
  RecordedResults& operator=(const RecordedResults&) = delete;

 private:
  static RecordedResults& self(void* recorder) { return *static_cast<RecordedResults*>(recorder); }

  template <class Keep>
  tenon_status take(const Keep& keep) {
    if (calls_left-- == 0) return TENON_STATUS_OUT_OF_RESOURCES;
    keep();
    return TENON_STATUS_OK;
  }
};

}  // namespace tenon::test
