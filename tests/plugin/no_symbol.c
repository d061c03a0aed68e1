/* SPDX-License-Identifier: Apache-2.0 */
/* no_symbol.c - a shared object that is no plug-in; it must be refused. */
int something_else(void);
int something_else(void) { return 1; }
