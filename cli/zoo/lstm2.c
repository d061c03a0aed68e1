/* SPDX-License-Identifier: Apache-2.0 */
/* lstm2.c - two LSTM layers of 256 (Hochreiter and Schmidhuber 1997) over 64 steps of 128 features and 80 scores for
 * each step, batch first, as exporters write it: time goes to the front and each layer's direction axis is squeezed. */
#include "zoo/zoo.h"
#include <math.h>
#include <stddef.h>

enum { STEPS = 64, FEATURES = 128, HIDDEN = 256, SCORES = 80 };

/* The initial states of a fixed batch are constants; a free batch leaves them out, which means the same. */
static hone_value *zeros(zoo_net *net, const char *name) {
  if (net->options.dynamic) return NULL;
  const int64_t dims[3] = {1, net->options.batch, HIDDEN};
  return zoo_weight(net, name, "", 3, dims, 0, 0);
}

static hone_value *lstm(zoo_net *net, int layer, hone_value *x) {
  const char *name = zoo_name(net, "lstm.%d", layer);
  const int64_t w[3] = {1, (int64_t)4 * HIDDEN, zoo_extent(net, x, -1)}, r[3] = {1, w[1], HIDDEN}, b[2] = {1, 2 * w[1]};
  const double spread = 1.5 / sqrt(HIDDEN); /* wider than a fresh layer's, as trained ones are */
  hone_value *in[7] = {x,
                       zoo_weight(net, name, ".weight_ih", 3, w, 0, spread),
                       zoo_weight(net, name, ".weight_hh", 3, r, 0, spread),
                       zoo_weight(net, name, ".bias", 2, b, 0, 0.1),
                       NULL,
                       zeros(net, zoo_name(net, "%s.h0", name)),
                       zeros(net, zoo_name(net, "%s.c0", name))};
  const hone_attr attr = {.name = "hidden_size", .kind = HONE_ATTR_INT, .i = HIDDEN};
  hone_value *y = zoo_node(net, "lstm", name, in[5] ? 7 : 4, in, 1, &attr);
  const int64_t direction = 1;
  return zoo_binary(net, "squeeze", zoo_name(net, "%s/Squeeze", name), y,
                    zoo_ints(net, zoo_name(net, "%s.axes", name), 1, 1, &direction));
}

void zoo_lstm2(zoo_net *net) {
  static const int64_t sequence[2] = {STEPS, FEATURES}, swap[3] = {1, 0, 2};
  hone_value *x = zoo_input(net, "input", HONE_F32, 3, sequence);
  x = zoo_transpose(net, "lstm/Transpose", x, 3, swap);
  for (int layer = 0; layer < 2; ++layer) x = lstm(net, layer, x);
  x = zoo_transpose(net, "lstm/Transpose_1", x, 3, swap);
  zoo_output(net, "output", zoo_matmul_add(net, "fc", x, SCORES, ZOO_LINEAR));
}
