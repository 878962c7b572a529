// SPDX-License-Identifier: MIT
#include "tenon/conformance/test.hpp"
#include "support/catch.hpp"

using tenon::conformance::is_test_id;

TEST_CASE("the id of a test is its suite and up to four words with hyphens", "[conformance]") {
  for (const char* id :
       {"cost/open", "arguments/leaves-inputs-unchanged", "numerics/one-two-three-four",
        "of-acme/x", "a-b-c-d-e/f", "process/stack-256"}) {
    INFO(id);
    CHECK(is_test_id(id));
  }
  for (const char* id : {"", "/", "open", "cost/", "/open", "cost/open/", "cost//open",
                         "cost/open/add", "cost/-open", "cost/open-", "cost/open--close",
                         "-cost/open", "cost-/open", "Cost/open", "cost/Open", "cost/a run",
                         "cost/a_run", "cost/\xc3\xa4", "numerics/one-two-three-four-five"}) {
    INFO(id);
    CHECK_FALSE(is_test_id(id));
  }
}
