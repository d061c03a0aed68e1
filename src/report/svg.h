/* SPDX-License-Identifier: Apache-2.0 */
/* svg.h - what plots as SVG share. */
#ifndef HN_REPORT_SVG_H
#define HN_REPORT_SVG_H

#include "base/memory.h"
#include "base/text.h"

/* What XML cannot hold (control characters, broken UTF-8, U+FFFE and U+FFFF) becomes a question mark. */
void hn_svg_escape(hn_text *out, const char *text);
/* At most so many columns, ".." in the place of the beginning: the end of a long name says more. NULL: no memory. */
const char *hn_svg_shortened(hn_arena *arena, const char *name, int columns);

#endif
