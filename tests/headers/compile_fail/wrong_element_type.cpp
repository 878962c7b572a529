// SPDX-License-Identifier: MIT
// expect: tensor
#include <tenon/tenon.hpp>

tenon::Status run(tenon::Args args) { return args.tensor<char*>(0).status(); }
