/* SPDX-License-Identifier: Apache-2.0 */
/* saved_engine.c - engines that tests save and take away again. */
#include "support/saved_engine.h"
#include <stdio.h>
#include <unistd.h>

void saved_engine_remove(const char *path) {
  char ledger[256];
  (void)snprintf(ledger, sizeof ledger, "%s.ledger", path);
  (void)unlink(path);
  (void)unlink(ledger);
}
