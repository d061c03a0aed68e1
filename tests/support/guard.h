/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h - an allocator whose every block ends at a page that nobody may touch: reading or writing past a block is a
 * fault at once, in code that no sanitizer instruments too. What was never written has a pattern of its own. */
#ifndef TESTS_SUPPORT_GUARD_H
#define TESTS_SUPPORT_GUARD_H

#include <stddef.h>

enum { GUARD_PATTERN = 0xA5 };

/* For hone_context_options.resize; user: NULL, or an unsigned char that fills new blocks instead of the pattern. Blocks
 * stay 64-aligned, so up to 63 bytes behind one can be read unseen. */
void *guard_resize(void *user, void *old, size_t old_bytes, size_t new_bytes);

#endif
