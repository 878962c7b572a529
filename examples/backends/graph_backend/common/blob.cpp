// SPDX-License-Identifier: MIT
#include "common/blob.hpp"

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "common/check_graph.hpp"

namespace graph_backend {

using tenon::Bytes;
using tenon::Error;
using tenon::Result;
using tenon::Status;
using tenon::aot::SharedBytes;

namespace {

/// Flatbuffers count in 31 bits.
constexpr std::size_t max_blob_size = FLATBUFFERS_MAX_BUFFER_SIZE - 1;
constexpr std::size_t constant_alignment = 32;

/// Bytes at an address that suits every scalar of a blob.
struct AlignedBytes {
  Bytes bytes;
  std::shared_ptr<const void> owner;  ///< Of a copy.
};

AlignedBytes align(Bytes bytes) {
  constexpr std::size_t alignment = alignof(std::max_align_t);
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0) return {bytes, nullptr};
  auto copy = std::make_shared<std::vector<std::max_align_t>>(bytes.size() / alignment + 1);
  std::memcpy(copy->data(), bytes.data(), bytes.size());
  return {Bytes(reinterpret_cast<const std::byte*>(copy->data()), bytes.size()), std::move(copy)};
}

template <class T>
std::size_t size_of(const flatbuffers::Vector<T>* vector) {
  return vector ? vector->size() : 0;
}

/// Bounds the copies that a blob can cause: one vector may be referred to from many places.
class Budget {
 public:
  explicit Budget(std::size_t bytes) : left_(bytes) {}
  [[nodiscard]] Status take(std::size_t count, std::size_t most, const char* what) {
    if (count > most || count > left_) {
      return error(Error::InvalidProgram, "a list of ", count, " ", what, ", expected at most ",
                   std::min(most, left_));
    }
    left_ -= count;
    return tenon::ok();
  }

 private:
  std::size_t left_;
};

/// Attributes that are numbers of an enumeration, and lists: the verifier of flatbuffers knows
/// nothing of the first and allows any length for the second.
Status check_attributes(const blob::Node& node, Budget& budget) {
  if (node.op() == nullptr || node.op_type() == blob::Operator::NONE ||
      node.op_type() > blob::Operator::MAX) {
    return error(Error::InvalidProgram, "operator number ", static_cast<int>(node.op_type()));
  }
  if (const auto* permute = node.op_as_Permute()) {
    return budget.take(size_of(permute->dims()), Shape::max_rank, "dimensions");
  }
  if (const auto* reshape = node.op_as_Reshape()) {
    return budget.take(size_of(reshape->sizes()), Shape::max_rank, "sizes");
  }
  if (const auto* expand = node.op_as_Expand()) {
    return budget.take(size_of(expand->sizes()), Shape::max_rank, "sizes");
  }
  const auto* binary = node.op_as_Binary();
  const auto* unary = node.op_as_Unary();
  const auto* reduce = node.op_as_Reduce();
  const auto* compare = node.op_as_Compare();
  if ((binary && binary->kind() > blob::BinaryKind::MAX) ||
      (unary && unary->kind() > blob::UnaryKind::MAX) ||
      (reduce && reduce->kind() > blob::ReduceKind::MAX) ||
      (compare && compare->kind() > blob::CompareKind::MAX)) {
    return error(Error::InvalidProgram, "an operator of an unknown kind");
  }
  return tenon::ok();
}

Result<Constant> read_constant(const blob::Constant& stored, const AlignedBytes& blob) {
  Constant out;
  out.nbytes = stored.nbytes();
  if (stored.key() && stored.key()->size() != 0) {
    out.key = stored.key()->str();
    return out;
  }
  if (size_of(stored.data()) != out.nbytes) {
    return error(Error::InvalidProgram, "expected ", out.nbytes, " bytes, found ",
                 size_of(stored.data()));
  }
  if (out.nbytes == 0) return out;
  const auto* data = reinterpret_cast<const std::byte*>(stored.data()->data());
  if (reinterpret_cast<std::uintptr_t>(data) % alignof(std::max_align_t) != 0) {
    return error(Error::InvalidProgram, "its bytes are not aligned");
  }
  out.data = SharedBytes::borrow({data, stored.data()->size()}, blob.owner);
  return out;
}

template <class Ids>
void copy_ids(const Ids* ids, std::vector<TensorId>& out) {
  if (ids) out.assign(ids->begin(), ids->end());
}

Result<Graph> read_tables(const blob::Graph& stored, const AlignedBytes& blob) {
  Graph graph;
  Budget budget(blob.bytes.size());
  for (std::uint32_t i = 0; i < size_of(stored.tensors()); ++i) {
    const blob::Tensor& tensor = *stored.tensors()->Get(i);
    TENON_RETURN_IF_ERROR(budget.take(size_of(tensor.sizes()), Shape::max_rank, "sizes"));
    TENON_RETURN_IF_ERROR(budget.take(size_of(tensor.symbols()), Shape::max_rank, "symbols"));
    tensor.UnPackTo(&graph.tensors.emplace_back());
  }
  for (std::uint32_t i = 0; i < size_of(stored.nodes()); ++i) {
    const blob::Node& node = *stored.nodes()->Get(i);
    const Status checked = check_attributes(node, budget);
    if (!checked.ok()) return error(checked.error(), "node ", i, ": ", checked.text());
    TENON_RETURN_IF_ERROR(budget.take(size_of(node.inputs()), blob.bytes.size(), "inputs"));
    node.UnPackTo(&graph.nodes.emplace_back());
  }
  for (std::uint32_t i = 0; i < size_of(stored.constants()); ++i) {
    const blob::Constant& constant = *stored.constants()->Get(i);
    if (constant.key()) {
      TENON_RETURN_IF_ERROR(budget.take(constant.key()->size(), blob.bytes.size(), "characters"));
    }
    auto read = read_constant(constant, blob);
    if (!read.ok()) return error(read.error(), "constant ", i, ": ", read.text());
    graph.constants.push_back(*std::move(read));
  }
  copy_ids(stored.inputs(), graph.inputs);
  copy_ids(stored.outputs(), graph.outputs);
  graph.scratch_bytes = stored.scratch_bytes();
  return graph;
}

}  // namespace

Result<SharedBytes> write_graph(const Graph& graph) {
  std::uint64_t inside = 0;
  for (const Constant& constant : graph.constants) {
    if (constant.key.empty()) inside += constant.nbytes;
  }
  if (inside > max_blob_size / 2) {
    return error(Error::NotSupported, "weights of ", inside,
                 " bytes are too many for one blob: compile with weights=named or external");
  }
  flatbuffers::FlatBufferBuilder builder(inside + 4096);
  std::vector<flatbuffers::Offset<blob::Tensor>> tensors;
  for (const blob::TensorT& tensor : graph.tensors) {
    tensors.push_back(blob::CreateTensor(builder, &tensor));
  }
  std::vector<flatbuffers::Offset<blob::Node>> nodes;
  for (const blob::NodeT& node : graph.nodes) nodes.push_back(blob::CreateNode(builder, &node));
  std::vector<flatbuffers::Offset<blob::Constant>> constants;
  for (const Constant& constant : graph.constants) {
    if (constant.key.empty()) {
      builder.ForceVectorAlignment(constant.data.size(), 1, constant_alignment);
      const auto data =
          builder.CreateVector(reinterpret_cast<const std::uint8_t*>(constant.data.bytes().data()),
                               constant.data.size());
      constants.push_back(blob::CreateConstant(builder, constant.nbytes, data));
    } else {
      const auto key = builder.CreateString(constant.key);
      constants.push_back(blob::CreateConstant(builder, constant.nbytes, 0, key));
    }
  }
  // Each list first: arguments of one call are evaluated in an order that compilers choose, and
  // blobs are to be the same whatever compiled this.
  const auto tensor_list = builder.CreateVector(tensors);
  const auto node_list = builder.CreateVector(nodes);
  const auto constant_list = builder.CreateVector(constants);
  const auto inputs = builder.CreateVector(graph.inputs);
  const auto outputs = builder.CreateVector(graph.outputs);
  blob::FinishGraphBuffer(
      builder, blob::CreateGraph(builder, payload_version, tensor_list, node_list, constant_list,
                                 inputs, outputs, graph.scratch_bytes));
  const auto* first = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return SharedBytes::copy_of(Bytes(first, builder.GetSize()));
}

Result<Graph> read_graph(Bytes bytes) {
  constexpr std::size_t header = 2 * sizeof(flatbuffers::uoffset_t);
  if (bytes.size() < header || bytes.size() > max_blob_size ||
      std::memcmp(bytes.data() + header / 2, blob::GraphIdentifier(), header / 2) != 0) {
    return error(Error::InvalidProgram, "blob of ", bytes.size(),
                 " bytes: expected the identifier ", blob::GraphIdentifier(),
                 " of GraphBackend at byte 4");
  }
  const AlignedBytes blob = align(bytes);
  const auto* data = reinterpret_cast<const std::uint8_t*>(blob.bytes.data());
  flatbuffers::Verifier::Options options;
  options.max_depth = 8;
  options.max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 4 + 1);
  flatbuffers::Verifier verifier(data, bytes.size(), options);
  if (!blob::VerifyGraphBuffer(verifier)) {
    return error(Error::InvalidProgram, "blob of ", bytes.size(),
                 " bytes: an offset or a length in it is wrong");
  }
  const blob::Graph& stored = *blob::GetGraph(data);
  if (stored.version() < first_payload_version || stored.version() > payload_version) {
    return error(Error::DelegateInvalidCompatibility, "blob: expected payload version ",
                 first_payload_version, " to ", payload_version, ", found ", stored.version());
  }
  auto graph = read_tables(stored, blob);
  if (!graph.ok()) return error(graph.error(), "blob: ", graph.text());
  const Status checked = check_graph(*graph);
  if (!checked.ok()) return error(checked.error(), "blob: ", checked.text());
  return graph;
}

}  // namespace graph_backend
