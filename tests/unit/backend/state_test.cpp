// SPDX-License-Identifier: MIT
//
// Sessions, and the bytes of a state, as a plugin has them at the boundary.
#include <tenon/abi/static_plugin.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "support/catch.hpp"
#include "support/idle_backend.hpp"
#include "unit/backend/fake_host.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

/// Has options, and sessions in the easy form.
class Easy final : public Backend<Easy>,
                   public IdleDelegates,
                   public WithOptions<Easy>,
                   public WithSessions<Easy> {
 public:
  static constexpr std::string_view id = "EasyBackend";
  static constexpr std::array options{OptionSpec{"level", 1, "how much"}.between(1, 9)};
  Result<Delegate> create_session(const Delegate&) { return Delegate{}; }
};

/// Takes all that an application says about a session, and gives its state in ranges.
class Whole final : public Backend<Whole>,
                    public WithOptions<Whole>,
                    public WithSessions<Whole>,
                    public WithSequence<Whole> {
 public:
  static constexpr std::string_view id = "WholeBackend";
  static constexpr std::array options{
      OptionSpec{"level", 1, "how much"}.between(1, 9),
      OptionSpec{"device", "cpu", "where", TENON_OPTION_AT_RUNTIME}};
  struct Delegate {
    OptionValues<Whole> options;
    std::array<std::byte, 4> state{};
    std::optional<Scheduling> hints{};
    void* memory = nullptr;
  };
  Result<Delegate> init(InitContext& context, Blob, CompileSpecs) {
    TENON_TRY(auto values, option_values(context));
    return Delegate{std::move(values)};
  }
  Status execute(ExecutionContext&, Delegate&, Args) { return ok(); }

  Result<Delegate> create_session(const Delegate& of, const SessionContext<Delegate>& context) {
    TENON_TRY(auto values, option_values(context, of.options));
    Delegate out{std::move(values)};
    if (const Delegate* const from = context.state()) out.state = from->state;
    out.hints = context.scheduling();
    out.memory = context.runtime_allocator().allocate(24);
    return out;
  }

  std::vector<StatePart> state(Delegate&) {
    return {{"state", {static_cast<std::byte*>(nullptr), 4}}};
  }
  Status read_state(Delegate& delegate, std::size_t part, std::size_t offset,
                    std::span<std::byte> to) {
    if (part != 0 || offset > 4 || to.size() > 4 - offset) {
      return error(Error::InvalidArgument, "outside");
    }
    std::copy_n(delegate.state.begin() + static_cast<std::ptrdiff_t>(offset), to.size(),
                to.begin());
    return ok();
  }
  Status write_state(Delegate& delegate, std::size_t part, std::size_t offset,
                     std::span<const std::byte> from) {
    if (part != 0 || offset > 4 || from.size() > 4 - offset) {
      return error(Error::InvalidArgument, "outside");
    }
    std::copy(from.begin(), from.end(),
              delegate.state.begin() + static_cast<std::ptrdiff_t>(offset));
    return ok();
  }
};

}  // namespace

TENON_PLUGIN(Easy, Whole);

namespace {

const LinkedPlugin plugin(tenon_static_plugin_Easy);

/// A loaded delegate, and the sessions that were made of it, which are destroyed first.
struct Loaded {
  explicit Loaded(std::size_t index) : opened(plugin.api(index), host) {
    const tenon_option level = integer("level", 7);
    FakeBuffer blob("");
    REQUIRE(opened.init(blob, {&level, 1}) == TENON_STATUS_OK);
  }
  ~Loaded() {
    for (tenon_delegate* each : sessions) opened.api.destroy(opened.backend, each);
    opened.destroy();
  }

  static tenon_option integer(const char* key, std::int64_t value) {
    tenon_option out{sizeof out, TENON_OPTION_INT, key, {}};
    out.as.integer = value;
    return out;
  }

  tenon_status create(tenon_session_context context) {
    const auto* const table = opened.extension<tenon_sessions_v1>(TENON_EXTENSION_SESSIONS);
    REQUIRE(table != nullptr);
    context.struct_size = sizeof context;
    context.runtime_allocator = &memory;
    tenon_delegate* made = nullptr;
    const tenon_status status =
        table->create_session(opened.backend, opened.delegate, &context, &made);
    if (status == TENON_STATUS_OK) sessions.push_back(made);
    return status;
  }
  tenon_status create_with(const tenon_option& option) {
    tenon_session_context context{};
    context.num_runtime_specs = 1;
    context.runtime_specs = &option;
    return create(context);
  }
  [[nodiscard]] static const Whole::Delegate& whole(tenon_delegate* delegate) {
    return *reinterpret_cast<const Whole::Delegate*>(delegate);
  }

  FakeHost host;
  OpenedBackend opened;
  FakeAllocator memory;
  std::vector<tenon_delegate*> sessions;
};

}  // namespace

TEST_CASE("an easy session refuses a state and options, and ignores hints", "[backend][TN-SES-4]") {
  Loaded loaded(0);
  tenon_session_context context{};
  CHECK(loaded.create(context) == TENON_STATUS_OK);
  const tenon_scheduling hints{sizeof hints, TENON_PRIORITY_HIGH, 0, 0};
  context.scheduling = &hints;
  CHECK(loaded.create(context) == TENON_STATUS_OK);
  context.state = loaded.opened.delegate;
  CHECK(loaded.create(context) == TENON_STATUS_NOT_SUPPORTED);
  CHECK(loaded.host.last_text == "backend EasyBackend cannot copy a state to a session");
  CHECK(loaded.create_with(Loaded::integer("level", 2)) == TENON_STATUS_NOT_SUPPORTED);
  CHECK(loaded.host.last_text == "option 'level' cannot be changed for a session");
  CHECK(loaded.create_with(Loaded::integer("depth", 2)) == TENON_STATUS_NOT_FOUND);
  CHECK(loaded.sessions.size() == 2);
}

TEST_CASE("a session gets a state, options over the load's, hints and memory",
          "[backend][TN-SES-4]") {
  Loaded loaded(1);
  const auto level = [](tenon_delegate* of) {
    return *Loaded::whole(of).options.get<std::int64_t>("level");
  };
  REQUIRE(loaded.create({}) == TENON_STATUS_OK);
  CHECK(level(loaded.sessions[0]) == 7);
  CHECK_FALSE(Loaded::whole(loaded.sessions[0]).hints.has_value());
  CHECK(Loaded::whole(loaded.sessions[0]).memory != nullptr);
  CHECK(loaded.memory.last_size == 24);

  const tenon_option option = Loaded::integer("level", 9);
  const tenon_scheduling hints{sizeof hints, TENON_PRIORITY_HIGH, 0, 0};
  tenon_session_context context{};
  context.num_runtime_specs = 1;
  context.runtime_specs = &option;
  context.scheduling = &hints;
  REQUIRE(loaded.create(context) == TENON_STATUS_OK);
  CHECK(level(loaded.sessions[1]) == 9);
  CHECK(level(loaded.opened.delegate) == 7);
  REQUIRE(Loaded::whole(loaded.sessions[1]).hints.has_value());
  CHECK(Loaded::whole(loaded.sessions[1]).hints->priority == Priority::High);

  CHECK(loaded.create_with(Loaded::integer("device", 2)) == TENON_STATUS_INVALID_TYPE);
  CHECK(loaded.create_with(Loaded::integer("depth", 2)) == TENON_STATUS_NOT_FOUND);
}

TEST_CASE("a session with a value that the declaration excludes is refused",
          "[backend][TN-OPT-5]") {
  for (const std::size_t backend : {std::size_t{0}, std::size_t{1}}) {
    Loaded loaded(backend);
    for (const std::int64_t wrong : {0, 10}) {
      CHECK(loaded.create_with(Loaded::integer("level", wrong)) == TENON_STATUS_INVALID_ARGUMENT);
      CHECK(loaded.host.last_text == concat("option 'level': expected 1 to 9, found ", wrong));
    }
    CHECK(loaded.sessions.empty());
  }
}

TEST_CASE("a state is read and written in ranges, and a session begins with it",
          "[backend][TN-SES-4]") {
  Loaded loaded(1);
  const auto* const table = loaded.opened.extension<tenon_sequence_v1>(TENON_EXTENSION_SEQUENCE);
  REQUIRE(table != nullptr);
  tenon_backend* const backend = loaded.opened.backend;
  const std::array<std::uint8_t, 4> written{1, 2, 3, 4};
  tenon_delegate* const first = loaded.opened.delegate;
  CHECK(table->write(backend, first, 0, 0, 3, written.data()) == TENON_STATUS_OK);
  CHECK(table->write(backend, first, 0, 3, 1, written.data() + 3) == TENON_STATUS_OK);
  CHECK(table->write(backend, first, 0, 2, 3, written.data()) == TENON_STATUS_INVALID_ARGUMENT);
  tenon_session_context context{};
  context.state = first;
  REQUIRE(loaded.create(context) == TENON_STATUS_OK);
  std::array<std::uint8_t, 2> read{};
  CHECK(table->read(backend, loaded.sessions[0], 0, 1, 2, read.data()) == TENON_STATUS_OK);
  CHECK(read == std::array<std::uint8_t, 2>{2, 3});
  // Its state is its own.
  CHECK(table->write(backend, loaded.sessions[0], 0, 1, 1, written.data()) == TENON_STATUS_OK);
  CHECK(table->read(backend, first, 0, 1, 2, read.data()) == TENON_STATUS_OK);
  CHECK(read == std::array<std::uint8_t, 2>{2, 3});
  CHECK(table->read(backend, first, 0, 4, 1, read.data()) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(table->read(backend, first, 0, 4, 0, read.data()) == TENON_STATUS_OK);
}
