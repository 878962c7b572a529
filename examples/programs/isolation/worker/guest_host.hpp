// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "boundary/descriptors.hpp"
#include "boundary/protocol.hpp"
#include "tenon/abi/tenon.h"
#include "tenon/core/result.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/host/loader/plugin/tensor_storage.hpp"
#include "worker_lane.hpp"

namespace tenon::isolated {

/// The lane whose call the calling thread is in; null in threads of the plugin.
inline thread_local WorkerLane* my_lane = nullptr;

/// The lanes of the process, for questions of threads that have none.
class Lanes {
 public:
  void add(WorkerLane& lane) {
    const std::lock_guard lock(mutex_);
    lanes_.push_back(&lane);
  }
  /// Asks in the lane of the calling thread, or in one with a call of `delegate`. False when no
  /// call of it is going on.
  [[nodiscard]] bool ask(Answer question, const Writer& what, std::span<const int> descriptors,
                         WorkerLane::Message& answer, std::uint64_t delegate = any_delegate) {
    if (my_lane && my_lane->ask(question, what, descriptors, answer, delegate)) return true;
    const std::lock_guard lock(mutex_);
    for (WorkerLane* lane : lanes_) {
      if (lane->ask(question, what, descriptors, answer, delegate)) return true;
    }
    return false;
  }

 private:
  std::mutex mutex_;
  std::vector<WorkerLane*> lanes_;  // A lane is there until the process ends.
};

/// The application's host, in the worker. What the application must say is asked in the lane of
/// the call.
class GuestHost : public tenon_host {
 public:
  GuestHost(Lanes& lanes, std::string application, std::string path, std::uint16_t minor,
            std::uint32_t extensions)
      : tenon_host{},
        lanes_(&lanes),
        application_(std::move(application)),
        plugin_path_(std::move(path)),
        extensions_(extensions) {
    static_cast<tenon_host&>(*this) = {
        sizeof(tenon_host), TENON_ABI_MAJOR, minor,   application_.c_str(), plugin_path_.c_str(),
        &keep_last_error,   &write_log,      &resize, &find_extension};
  }
  GuestHost(const GuestHost&) = delete;
  GuestHost& operator=(const GuestHost&) = delete;

  [[nodiscard]] Lanes& lanes() const noexcept { return *lanes_; }
  /// Of the plugin's files, once it is loaded.
  std::function<Result<Sha256>()> digest;
  /// The last error of the calling thread, taken.
  [[nodiscard]] static std::string take_last_error() noexcept {
    return std::exchange(last_error(), std::string());
  }

 private:
  static std::string& last_error() noexcept {
    static thread_local std::string text;
    return text;
  }
  static GuestHost& of(const tenon_host* self) noexcept {
    return *const_cast<GuestHost*>(static_cast<const GuestHost*>(self));
  }
  static void keep_last_error(const tenon_host*, tenon_status, const char* text,
                              std::uint64_t size) noexcept {
    try {
      last_error().assign(text, static_cast<std::size_t>(size));
    } catch (const std::exception&) {
      last_error().clear();
    }
  }
  static void write_log(const tenon_host* self, std::int32_t level, const char* text,
                        std::uint64_t size) noexcept {
    try {
      Writer line;
      line.put(level);
      line.put_bytes(text, size);
      of(self).log_line(line);
    } catch (const std::exception&) {
      // Without memory the line is lost.
    }
  }
  /// A line of a thread while no call is going on waits for the next line of a call.
  void log_line(const Writer& line) {
    WorkerLane::Message ignored;
    const std::lock_guard lock(log_mutex_);
    while (!waiting_.empty() && lanes_->ask(Answer::log, waiting_.front(), {}, ignored)) {
      waiting_.pop_front();
    }
    if (!waiting_.empty() || !lanes_->ask(Answer::log, line, {}, ignored)) {
      if (waiting_.size() < max_waiting_lines) waiting_.push_back(line);
    }
  }
  static tenon_status resize(const tenon_host*, tenon_tensor* tensor, const std::int64_t* sizes,
                             std::uint32_t rank) noexcept {
    return to_status(host::resize_tensor(*tensor, {sizes, rank}));
  }
  /// Defined with the contexts that the tables' functions take.
  static const void* find_extension(const tenon_host* self, const char* id) noexcept;
  static constexpr std::size_t max_waiting_lines = 256;

  Lanes* lanes_;
  std::string application_;
  std::string plugin_path_;
  std::uint32_t extensions_;  ///< Of the application's host.
  std::mutex log_mutex_;
  std::list<Writer> waiting_;
};

/// The named data of the application's program. Bytes come when they are asked for in a call of the
/// delegate or of a session of it, and are kept while a buffer has them.
class GuestDataMap : public tenon_named_data_map {
 public:
  GuestDataMap(Lanes& lanes, std::uint64_t delegate, std::uint32_t number)
      : tenon_named_data_map{sizeof(tenon_named_data_map), number, &find_data, &find_layout,
                             &find_key},
        lanes_(&lanes),
        delegate_(delegate) {}

 private:
  struct Layout {
    std::vector<std::int64_t> sizes;
    std::vector<std::uint8_t> dim_order;
    std::int32_t scalar_type = 0;
  };

  static GuestDataMap& of(const tenon_named_data_map* self) noexcept {
    return *const_cast<GuestDataMap*>(static_cast<const GuestDataMap*>(self));
  }

  /// The answer to a question: a status, and what follows it.
  [[nodiscard]] tenon_status ask(Answer question, const Writer& what, WorkerLane::Message& answer) {
    if (!lanes_->ask(question, what, {}, answer, delegate_)) return TENON_STATUS_INVALID_STATE;
    return answer.reader().get<tenon_status>();
  }
  [[nodiscard]] tenon_status ask(Answer question, std::string_view key,
                                 WorkerLane::Message& answer) {
    Writer what;
    what.put_text(key);
    return ask(question, what, answer);
  }

  template <class Body>
  static tenon_status guarded(const Body& body) noexcept {
    try {
      return body();
    } catch (const std::exception&) {
      return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    }
  }

  static tenon_status find_data(const tenon_named_data_map* self, const char* key,
                                std::uint64_t size, tenon_buffer* out) noexcept {
    return guarded([&] { return of(self).get({key, static_cast<std::size_t>(size)}, *out); });
  }
  tenon_status get(std::string_view key, tenon_buffer& out) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Mapping> bytes;
    if (const auto found = data_.find(key); found != data_.end()) bytes = found->second.lock();
    if (!bytes) {
      WorkerLane::Message answer;
      const tenon_status status = ask(Answer::get_data, key, answer);
      if (status != TENON_STATUS_OK) return status;
      Reader reader = answer.reader();
      reader.get<tenon_status>();
      const auto nbytes = reader.get<std::uint64_t>();
      bytes = std::make_shared<Mapping>();
      if (nbytes != 0) {
        if (answer.descriptors.empty()) return TENON_STATUS_INTERNAL;
        auto mapping = Mapping::of_received(answer.descriptors.front().get(), nbytes, false);
        if (!mapping.ok()) return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
        *bytes = *std::move(mapping);
      }
      data_[std::string(key)] = bytes;
    }
    out.data = bytes->data();
    out.nbytes = bytes->size();
    out.owner = new std::shared_ptr<Mapping>(std::move(bytes));
    out.release = [](tenon_buffer* buffer) {
      delete static_cast<std::shared_ptr<Mapping>*>(std::exchange(buffer->owner, nullptr));
      buffer->data = nullptr;
      buffer->nbytes = 0;
    };
    return TENON_STATUS_OK;
  }

  static tenon_status find_layout(const tenon_named_data_map* self, const char* key,
                                  std::uint64_t size, tenon_tensor_layout* out) noexcept {
    return guarded([&]() -> tenon_status {
      GuestDataMap& map = of(self);
      const std::lock_guard lock(map.mutex_);
      WorkerLane::Message answer;
      const tenon_status status =
          map.ask(Answer::get_tensor_layout, {key, static_cast<std::size_t>(size)}, answer);
      if (status != TENON_STATUS_OK) return status;
      Reader reader = answer.reader();
      reader.get<tenon_status>();
      Layout& layout = map.layouts_.emplace_back();
      layout.scalar_type = reader.get<std::int32_t>();
      const std::size_t rank = reader.get_count(sizeof(std::int64_t));
      layout.sizes.resize(rank);
      layout.dim_order.resize(rank);
      reader.get_array(layout.sizes.data(), rank);
      reader.get_array(layout.dim_order.data(), rank);
      if (!reader.ok()) return TENON_STATUS_INTERNAL;
      const std::uint32_t caller_size = out->struct_size;
      *out = {caller_size, layout.scalar_type,  static_cast<std::uint32_t>(rank),
              0,           layout.sizes.data(), layout.dim_order.data()};
      return TENON_STATUS_OK;
    });
  }

  static tenon_status find_key(const tenon_named_data_map* self, std::uint32_t index,
                               const char** key, std::uint64_t* size) noexcept {
    return guarded([&]() -> tenon_status {
      GuestDataMap& map = of(self);
      const std::lock_guard lock(map.mutex_);
      std::string& kept = map.keys_[index];
      if (kept.empty()) {
        WorkerLane::Message answer;
        Writer what;
        what.put(index);
        const tenon_status status = map.ask(Answer::get_key, what, answer);
        if (status != TENON_STATUS_OK) return status;
        Reader reader = answer.reader();
        reader.get<tenon_status>();
        kept = reader.get_text();
      }
      *key = kept.data();
      *size = kept.size();
      return TENON_STATUS_OK;
    });
  }

  Lanes* lanes_;
  std::uint64_t delegate_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Mapping>, std::less<>> data_;
  std::list<Layout> layouts_;
  std::map<std::uint32_t, std::string> keys_;
};

}  // namespace tenon::isolated
