#include "flaggems/reference/goldens/rnn.h"

#include <ATen/ATen.h>

#include <optional>
#include <tuple>
#include <vector>

namespace flaggems {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

Tensor Wide(const Tensor& tensor) { return tensor.to(at::kDouble); }

Tensor WithBias(const Tensor& gates, const OptionalTensor& bias) {
  return bias && bias->defined() ? Wide(gates) + Wide(*bias) : Wide(gates);
}

// Gates in the order input, forget, cell, output; the workspace keeps them.
std::tuple<Tensor, Tensor, Tensor> LstmCell(const Tensor& input_gates,
                                            const Tensor& hidden_gates,
                                            const Tensor& cx,
                                            const OptionalTensor& input_bias,
                                            const OptionalTensor& hidden_bias) {
  const auto gates =
      (WithBias(input_gates, input_bias) + WithBias(hidden_gates, hidden_bias))
          .chunk(4, 1);
  const Tensor i = gates[0].sigmoid();
  const Tensor f = gates[1].sigmoid();
  const Tensor g = gates[2].tanh();
  const Tensor o = gates[3].sigmoid();
  const Tensor cy = f * Wide(cx) + i * g;
  const at::ScalarType type = cx.scalar_type();
  return {(o * cy.tanh()).to(type), cy.to(type),
          at::cat({i, f, g, o}, 1).to(type)};
}

std::tuple<Tensor, Tensor, Tensor> LstmCellBackward(
    const OptionalTensor& grad_hy, const OptionalTensor& grad_cy,
    const Tensor& cx, const Tensor& cy, const Tensor& workspace,
    bool has_bias) {
  const bool of_hy = grad_hy && grad_hy->defined();
  const bool of_cy = grad_cy && grad_cy->defined();
  if (!of_hy && !of_cy) return {};
  const auto gates = Wide(workspace).chunk(4, 1);
  const Tensor& i = gates[0];
  const Tensor& f = gates[1];
  const Tensor& g = gates[2];
  const Tensor& o = gates[3];
  const Tensor squashed = Wide(cy).tanh();
  const Tensor dhy = of_hy ? Wide(*grad_hy) : at::zeros_like(squashed);
  const Tensor dcy = of_cy ? Wide(*grad_cy) : at::zeros_like(squashed);
  const Tensor dc = dhy * o * (1 - squashed.square()) + dcy;
  const Tensor grad_gates =
      at::cat({dc * g * i * (1 - i), dc * Wide(cx) * f * (1 - f),
               dc * i * (1 - g.square()), dhy * squashed * o * (1 - o)},
              1);
  const at::ScalarType type = cx.scalar_type();
  return {grad_gates.to(type), (dc * f).to(type),
          has_bias ? grad_gates.sum(0).to(type) : Tensor()};
}

// Gates in the order reset, update, new. The workspace keeps them, hx, and what
// the reset gate multiplies.
std::tuple<Tensor, Tensor> GruCell(const Tensor& input_gates,
                                   const Tensor& hidden_gates, const Tensor& hx,
                                   const OptionalTensor& input_bias,
                                   const OptionalTensor& hidden_bias) {
  const auto from_input = WithBias(input_gates, input_bias).chunk(3, 1);
  const auto from_hidden = WithBias(hidden_gates, hidden_bias).chunk(3, 1);
  const Tensor h = Wide(hx);
  const Tensor r = (from_input[0] + from_hidden[0]).sigmoid();
  const Tensor z = (from_input[1] + from_hidden[1]).sigmoid();
  const Tensor n = (from_input[2] + r * from_hidden[2]).tanh();
  const at::ScalarType type = hx.scalar_type();
  return {(n + z * (h - n)).to(type),
          at::cat({r, z, n, h, from_hidden[2]}, 1).to(type)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> GruCellBackward(
    const Tensor& grad_hy, const Tensor& workspace, bool has_bias) {
  const auto saved = Wide(workspace).chunk(5, 1);
  const Tensor& r = saved[0];
  const Tensor& z = saved[1];
  const Tensor& n = saved[2];
  const Tensor& h = saved[3];
  const Tensor& hidden = saved[4];
  const Tensor dy = Wide(grad_hy);
  const Tensor dz = dy * (h - n) * z * (1 - z);
  const Tensor dn = dy * (1 - z) * (1 - n.square());
  const Tensor dr = dn * hidden * r * (1 - r);
  const Tensor of_input = at::cat({dr, dz, dn}, 1);
  const Tensor of_hidden = at::cat({dr, dz, dn * r}, 1);
  const at::ScalarType type = grad_hy.scalar_type();
  return {of_input.to(type), of_hidden.to(type), (dy * z).to(type),
          has_bias ? of_input.sum(0).to(type) : Tensor(),
          has_bias ? of_hidden.sum(0).to(type) : Tensor()};
}

}  // namespace

std::vector<GoldenRow> RnnGoldens() {
  constexpr char kWhy[] = "no CPU kernel";
  return {
      GoldenOf<&LstmCell>("aten::_thnn_fused_lstm_cell", kWhy),
      GoldenOf<&LstmCellBackward>("aten::_thnn_fused_lstm_cell_backward_impl",
                                  kWhy),
      GoldenOf<&GruCell>("aten::_thnn_fused_gru_cell", kWhy),
      GoldenOf<&GruCellBackward>("aten::_thnn_fused_gru_cell_backward", kWhy),
  };
}

}  // namespace flaggems
