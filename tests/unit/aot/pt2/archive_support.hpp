// SPDX-License-Identifier: MIT
#pragma once

#include <zip.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/file_content.hpp"
#include "support/temporary_directory.hpp"

namespace tenon::test {

/// The content of a ZIP archive, to change and to write again. Names include the directory.
struct ZipContent {
  std::map<std::string, std::string> entries;
  bool compressed = false;

  /// A fixture's archive, whose directory is "model".
  static ZipContent fixture(std::string_view name) {
    return read(std::filesystem::path(TENON_TEST_FIXTURES) / "pt2" / name / "model.pt2");
  }

  static ZipContent read(const std::filesystem::path& path) {
    ZipContent out;
    zip_t* const zip = zip_open(path.c_str(), ZIP_RDONLY, nullptr);
    if (zip == nullptr) throw std::runtime_error("cannot open " + path.string());
    for (zip_int64_t i = 0; i < zip_get_num_entries(zip, 0); ++i) {
      const auto index = static_cast<zip_uint64_t>(i);
      zip_stat_t stat;
      zip_stat_index(zip, index, 0, &stat);
      std::string content(stat.size, '\0');
      zip_file_t* const file = zip_fopen_index(zip, index, 0);
      zip_fread(file, content.data(), content.size());
      zip_fclose(file);
      out.entries.emplace(stat.name, std::move(content));
    }
    zip_discard(zip);
    return out;
  }

  [[nodiscard]] nlohmann::json json(const std::string& entry) const {
    return nlohmann::json::parse(entries.at("model/" + entry));
  }
  void set(const std::string& entry, const nlohmann::json& json) {
    entries["model/" + entry] = json.dump();
  }

  void write(const std::filesystem::path& path) const {
    std::filesystem::remove(path);
    zip_t* const zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_EXCL, nullptr);
    if (zip == nullptr) throw std::runtime_error("cannot create " + path.string());
    for (const auto& [name, content] : entries) {
      zip_source_t* const source = zip_source_buffer(zip, content.data(), content.size(), 0);
      const zip_int64_t index = zip_file_add(zip, name.c_str(), source, ZIP_FL_ENC_UTF_8);
      if (index < 0) throw std::runtime_error("cannot add " + name);
      zip_set_file_compression(zip, static_cast<zip_uint64_t>(index),
                               compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
    }
    if (zip_close(zip) != 0) throw std::runtime_error("cannot write " + path.string());
  }
};

}  // namespace tenon::test
