// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::bench {

/// A private directory for files of this run. It is removed by the destructor, and also when the
/// program is ended by SIGINT, SIGTERM or SIGHUP. One at a time.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// Path for a new file in the directory, which will be removed with it.
  [[nodiscard]] std::string file(std::string_view name);
};

/// Writes a copy of the program at `source`, whose last segment is grown to `segment_size` zero
/// bytes. The file is sparse: it has its full size and takes a few blocks of the disk.
void write_large_program(const std::string& source, std::uint64_t segment_size,
                         const std::string& path);

/// Writes a copy of the plugin at `source` whose first backend has the id `id`.
void write_renamed_plugin(const std::string& source, std::string_view id, const std::string& path);

}  // namespace tenon::bench
