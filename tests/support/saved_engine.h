/* SPDX-License-Identifier: Apache-2.0 */
/* saved_engine.h - engines that tests save and take away again. */
#ifndef TESTS_SUPPORT_SAVED_ENGINE_H
#define TESTS_SUPPORT_SAVED_ENGINE_H

/* The file and the ledger beside it, where there is one. */
void saved_engine_remove(const char *path);

#endif
