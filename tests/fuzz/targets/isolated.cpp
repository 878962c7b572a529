// SPDX-License-Identifier: MIT
//
// fuzz-isolated: both sides of the messages between an isolated plugin and its worker.
#include "isolated.hpp"

#include "fuzz/fuzz_target.hpp"
#include "fuzz/mutate/script.hpp"

namespace tenon::fuzz {
namespace {

constexpr Target all[] = {
    {"application_messages", &application_messages, &mutate_script},
    {"worker_messages", &worker_messages, &mutate_script},
};

}  // namespace

const std::span<const Target> targets = all;

}  // namespace tenon::fuzz
