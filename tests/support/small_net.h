/* SPDX-License-Identifier: Apache-2.0 */
/* small_net.h - a convolutional net of about 64 kB, with seeded weights, made by hand. */
#ifndef TESTS_SMALL_NET_H
#define TESTS_SMALL_NET_H

#include <hone/hone.h>

/* x[batch, 3, 16, 16] -> conv, relu, conv, relu, max pool, conv, relu, mean, linear -> y[batch, 10].
 * free_batch: the batch is a free dim, else 1. */
hone_status small_net_graph(hone_context *context, bool free_batch, hone_graph **out);
/* Fills an input with seeded numbers in [-1, 1). */
void small_net_fill(hone_tensor *tensor, uint64_t seed);

#endif
