/* SPDX-License-Identifier: Apache-2.0 */
/* activation.c - what follows a product or a convolution, as an expression for a generated kernel. */
#include "backend/cuda/cuda.h"
#include <stdio.h>
#include <string.h>

/* @: the argument; A, B: act_alpha and act_beta. */
static const struct {
  const char *name, *text;
} activations[] = {
    {"", "@"},
    {"relu", "max(@,0)"},
    {"clip", "min(max(@,A),B)"},
    {"leaky_relu", "select(lt(@,0),mul(A,@),@)"},
    {"elu", "select(lt(@,0),mul(A,sub(exp(@),1)),@)"},
    {"sigmoid", "sigmoid(@)"},
    {"silu", "mul(@,sigmoid(@))"},
    {"gelu", "mul(mul(0.5,@),add(1,erf(mul(@,0.70710678118654752))))"},
    {"gelu_tanh", "mul(mul(0.5,@),add(1,tanh(mul(0.79788456080286536,add(@,mul(0.044715,mul(@,mul(@,@))))))))"},
    {"tanh", "tanh(@)"},
    {"mish", "mul(@,tanh(add(max(@,0),log(add(1,exp(neg(abs(@))))))))"},
    {"hard_sigmoid", "min(max(add(mul(A,@),B),0),1)"},
    {"hard_swish", "mul(@,min(max(add(div(@,6),0.5),0),1))"},
};

const char *hn_cuda_activation(const hone_query *query) {
  const hone_attr *attr = hn_cuda_attr(query->attrs, "act");
  return attr && attr->kind == HONE_ATTR_STRING ? attr->s : "";
}

bool hn_cuda_activation_text(const hone_query *query, const char *argument, char *out, size_t room) {
  const char *act = hn_cuda_activation(query), *text = NULL;
  for (size_t i = 0; i < sizeof activations / sizeof *activations; ++i)
    if (strcmp(activations[i].name, act) == 0) text = activations[i].text;
  if (!text) return false;
  size_t used = 0;
  for (; *text && used < room; ++text) {
    int written = 1;
    if (*text == '@')
      written = snprintf(out + used, room - used, "%s", argument);
    else if (*text == 'A' || *text == 'B')
      written = snprintf(out + used, room - used, "%.9g",
                         hn_cuda_attr_float(query->attrs, *text == 'A' ? "act_alpha" : "act_beta", 0));
    else
      out[used] = *text;
    used += (size_t)written;
  }
  if (used >= room) return false;
  out[used] = 0;
  return true;
}
