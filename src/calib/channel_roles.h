/* SPDX-License-Identifier: Apache-2.0 */
/* channel_roles.h - what a factor on channels meets: between channels.c, which finds classes, and channel_scale.c,
 * which chooses factors and puts them into constants. */
#ifndef HN_CALIB_CHANNEL_ROLES_H
#define HN_CALIB_CHANNEL_ROLES_H

#include "calib/channels.h"

typedef enum hn_channel_role {
  HN_CHANNEL_FIXED,   /* nothing passes */
  HN_CHANNEL_PRODUCT, /* factors end in its weights, on both sides */
  HN_CHANNEL_NORM,    /* factors behind it end in its scale and bias */
  HN_CHANNEL_SAME,    /* one input, the same channels behind it */
  HN_CHANNEL_SUM,     /* all summands have the sum's factors; constants take them in */
  HN_CHANNEL_JOIN     /* parts beside each other */
} hn_channel_role;

/* FIXED where this node's attributes or constants do not allow what its operator does. */
hn_channel_role hn_channel_role_of(const hn_channels *channels, const hn_node *node);
/* Whether a product's weights are [outputs, inputs of a group, taps...], not a matrix. */
bool hn_channel_has_taps(const hn_node *product);
int hn_channel_axis_read(const hn_node *product, const hn_value *value); /* along which a product reads or writes */
bool hn_channel_joins(const hn_node *concat, int axis);                  /* parts lie beside each other along it */

/* ---- channel_shift.c ---- */
hone_status hn_channels_find_shifts(hn_channels *channels);
hone_status hn_channels_apply_shifts(const hn_channels *channels);

#endif
