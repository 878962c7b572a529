// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tenon/aot/named_data_store.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/concat.hpp"

namespace tenon::test {

/// Random calls of a NamedDataStore and what became of them, for ExecuTorch's own store to repeat.
class RandomStores {
 public:
  explicit RandomStores(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] nlohmann::json make(std::size_t count) {
    auto out = nlohmann::json::array();
    for (std::size_t i = 0; i < count; ++i) {
      aot::NamedDataStore store;
      auto calls = nlohmann::json::array();
      const bool is_merged = below(2) == 0;
      for (std::size_t j = 0, size = below(20); j < size; ++j) calls.push_back(add(store));
      if (is_merged && !outputs_.empty()) {
        if (auto call = merge(store); !call.is_null()) calls.push_back(std::move(call));
      }
      if (below(3) == 0) calls.push_back(externalize(store));
      outputs_.push_back(store.get_named_data_store_output());
      out.push_back({{"calls", calls}, {"output", output_json(outputs_.back())}});
    }
    return out;
  }

 private:
  [[nodiscard]] std::size_t below(std::size_t count) {
    return static_cast<std::size_t>(random_() % count);
  }

  [[nodiscard]] nlohmann::json add(aot::NamedDataStore& store) {
    const auto key = concat("key", below(12));
    std::string data(below(4) * 40, static_cast<char>('a' + below(2)));
    if (!data.empty() && below(3) == 0) data[below(data.size())] = 'c';
    aot::NamedDataOptions options{1 + below(64)};
    nlohmann::json tag = nullptr;
    if (below(2) == 0) tag = *(options.external_tag = concat("tag", below(3)));
    const bool is_ok = store.add_named_data(key, aot::SharedBytes::copy_of(data), options).ok();
    return {"add", is_ok, key, data, options.alignment, tag};
  }

  /// Only what agrees: ExecuTorch keeps half of a merge that fails.
  [[nodiscard]] nlohmann::json merge(aot::NamedDataStore& store) {
    const auto index = below(outputs_.size());
    aot::NamedDataStore merged = store;
    if (!merged.merge_named_data_store(outputs_[index]).ok()) return nullptr;
    store = std::move(merged);
    return {"merge", true, index};
  }

  [[nodiscard]] nlohmann::json externalize(aot::NamedDataStore& store) {
    const auto cap = 60 + below(300);
    return {"externalize", store.externalize_pte_data(cap, "shard").ok(), cap, "shard"};
  }

  static nlohmann::json entries_json(const std::vector<aot::NamedEntry>& entries) {
    auto out = nlohmann::json::array();
    for (const auto& [key, entry] : entries) {
      out.push_back({key, entry.buffer_index, entry.alignment});
    }
    return out;
  }

  static nlohmann::json output_json(const aot::NamedDataStoreOutput& output) {
    nlohmann::json out = {{"buffers", nlohmann::json::array()},
                          {"pte_data", entries_json(output.pte_data)},
                          {"external_data", nlohmann::json::array()}};
    for (const auto& bytes : output.buffers) out["buffers"].push_back(as_text(bytes.bytes()));
    for (const auto& [tag, entries] : output.external_data) {
      out["external_data"].push_back({tag, entries_json(entries)});
    }
    return out;
  }

  std::mt19937_64 random_;
  std::vector<aot::NamedDataStoreOutput> outputs_;
};

}  // namespace tenon::test
