// SPDX-License-Identifier: MIT
#include "onednn/primitive_desc.hpp"

namespace tenon::cpu_aoti::onednn {
namespace {

Result<Attributes> new_attributes() {
  dnnl_primitive_attr_t made = nullptr;
  TENON_RETURN_IF_ERROR(check(api().dnnl_primitive_attr_create(&made), "making attributes"));
  Attributes attributes(made);
  TENON_RETURN_IF_ERROR(
      check(api().dnnl_primitive_attr_set_scratchpad_mode(made, dnnl_scratchpad_mode_user),
            "setting the scratchpad"));
  return attributes;
}

// What has another form in each version.
#if DNNL_VERSION_MAJOR >= 3

/// Multiplies by `alpha`, by an operation after the product: scales are an argument of each run
/// here.
Status add_alpha(const Attributes&, dnnl_post_ops_t after, float alpha) {
  return check(api().dnnl_post_ops_append_eltwise(after, dnnl_eltwise_linear, alpha, 0), "alpha");
}

Status add_sum(dnnl_post_ops_t after, float beta) {
  return check(api().dnnl_post_ops_append_sum(after, beta, 0, dnnl_data_type_undef), "beta");
}

dnnl_status_t choose_matmul(dnnl_primitive_desc_t* out, const Attributes& attributes,
                            const Format& a, const Format& b, const Format& c) {
  return api().dnnl_matmul_primitive_desc_create(out, engine(), a.handle(), b.handle(), nullptr,
                                                 c.handle(), attributes.get());
}

dnnl_status_t choose_convolution(dnnl_primitive_desc_t* out, const Attributes& attributes,
                                 const ConvolutionForm& f) {
  const auto choose = [&](auto function, dnnl_alg_kind_t algorithm) {
    return (api().*function)(out, engine(), dnnl_forward_inference, algorithm, f.input.handle(),
                             f.weight.handle(), f.bias ? f.bias->handle() : nullptr,
                             f.output.handle(), f.stride, f.dilation, f.padding_before,
                             f.padding_after, attributes.get());
  };
  return f.is_transposed ? choose(&Api::dnnl_deconvolution_forward_primitive_desc_create,
                                  dnnl_deconvolution_direct)
                         : choose(&Api::dnnl_convolution_forward_primitive_desc_create,
                                  dnnl_convolution_direct);
}

dnnl_status_t choose_lstm(dnnl_primitive_desc_t* out, const Attributes& attributes,
                          dnnl_rnn_direction_t direction, const LstmForm& f) {
  return api().dnnl_lstm_forward_primitive_desc_create(
      out, engine(), dnnl_forward_inference, direction, f.input.handle(), f.hidden.handle(),
      f.cell.handle(), f.w_input.handle(), f.w_hidden.handle(), nullptr, nullptr, f.bias.handle(),
      f.output.handle(), f.hidden.handle(), f.cell.handle(), 0, attributes.get());
}

#else

Status add_alpha(const Attributes& attributes, dnnl_post_ops_t, float alpha) {
  return check(api().dnnl_primitive_attr_set_output_scales(attributes.get(), 1, 0, &alpha),
               "alpha");
}

Status add_sum(dnnl_post_ops_t after, float beta) {
  return check(api().dnnl_post_ops_append_sum(after, beta), "beta");
}

/// The primitive for an operation that was described with `described`.
dnnl_status_t choose(dnnl_primitive_desc_t* out, const Attributes& attributes,
                     dnnl_status_t described, const_dnnl_op_desc_t operation) {
  if (described != dnnl_success) return described;
  return api().dnnl_primitive_desc_create(out, operation, attributes.get(), engine(), nullptr);
}

dnnl_status_t choose_matmul(dnnl_primitive_desc_t* out, const Attributes& attributes,
                            const Format& a, const Format& b, const Format& c) {
  dnnl_matmul_desc_t operation;
  const auto described =
      api().dnnl_matmul_desc_init(&operation, a.handle(), b.handle(), nullptr, c.handle());
  return choose(out, attributes, described, &operation);
}

dnnl_status_t choose_convolution(dnnl_primitive_desc_t* out, const Attributes& attributes,
                                 const ConvolutionForm& f) {
  dnnl_convolution_desc_t operation;  // The type for both operations.
  const auto describe = [&](auto function, dnnl_alg_kind_t algorithm) {
    return (api().*function)(&operation, dnnl_forward_inference, algorithm, f.input.handle(),
                             f.weight.handle(), f.bias ? f.bias->handle() : nullptr,
                             f.output.handle(), f.stride, f.dilation, f.padding_before,
                             f.padding_after);
  };
  const auto described =
      f.is_transposed
          ? describe(&Api::dnnl_dilated_deconvolution_forward_desc_init, dnnl_deconvolution_direct)
          : describe(&Api::dnnl_dilated_convolution_forward_desc_init, dnnl_convolution_direct);
  return choose(out, attributes, described, &operation);
}

dnnl_status_t choose_lstm(dnnl_primitive_desc_t* out, const Attributes& attributes,
                          dnnl_rnn_direction_t direction, const LstmForm& f) {
  dnnl_rnn_desc_t operation;
  const auto described = api().dnnl_lstm_forward_desc_init(
      &operation, dnnl_forward_inference, direction, f.input.handle(), f.hidden.handle(),
      f.cell.handle(), f.w_input.handle(), f.w_hidden.handle(), f.bias.handle(), f.output.handle(),
      f.hidden.handle(), f.cell.handle(), 0);
  return choose(out, attributes, described, &operation);
}

#endif

}  // namespace

Result<PrimitiveDesc> matmul(const Format& a, const Format& b, const Format& c, float alpha,
                             float beta) {
  TENON_TRY(const Attributes attributes, new_attributes());
  PostOps after;
  if (alpha != 1 || beta != 0) {
    dnnl_post_ops_t made = nullptr;
    TENON_RETURN_IF_ERROR(check(api().dnnl_post_ops_create(&made), "alpha and beta"));
    after.reset(made);
    if (alpha != 1) TENON_RETURN_IF_ERROR(add_alpha(attributes, made, alpha));
    if (beta != 0) TENON_RETURN_IF_ERROR(add_sum(made, beta));
    TENON_RETURN_IF_ERROR(
        check(api().dnnl_primitive_attr_set_post_ops(attributes.get(), made), "alpha and beta"));
  }
  dnnl_primitive_desc_t desc = nullptr;
  TENON_RETURN_IF_ERROR(check(choose_matmul(&desc, attributes, a, b, c), "choosing a matmul"));
  return PrimitiveDesc(desc);
}

Result<PrimitiveDesc> convolution(const ConvolutionForm& form) {
  TENON_TRY(const Attributes attributes, new_attributes());
  dnnl_primitive_desc_t desc = nullptr;
  TENON_RETURN_IF_ERROR(
      check(choose_convolution(&desc, attributes, form), "choosing a convolution"));
  return PrimitiveDesc(desc);
}

Result<PrimitiveDesc> lstm(const LstmForm& form) {
  TENON_TRY(const Attributes attributes, new_attributes());
  dnnl_primitive_desc_t desc = nullptr;
  const auto direction =
      form.is_reverse ? dnnl_unidirectional_right2left : dnnl_unidirectional_left2right;
  TENON_RETURN_IF_ERROR(check(choose_lstm(&desc, attributes, direction, form), "choosing an LSTM"));
  return PrimitiveDesc(desc);
}

Result<PrimitiveDesc> reorder(const Format& from, const Format& to) {
  TENON_TRY(const Attributes attributes, new_attributes());
  dnnl_primitive_desc_t desc = nullptr;
  TENON_RETURN_IF_ERROR(
      check(api().dnnl_reorder_primitive_desc_create(&desc, from.handle(), engine(), to.handle(),
                                                     engine(), attributes.get()),
            "changing a format"));
  return PrimitiveDesc(desc);
}

}  // namespace tenon::cpu_aoti::onednn
