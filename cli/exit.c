/* SPDX-License-Identifier: Apache-2.0 */
/* exit.c - the tool's exit codes: one for each thing that a script can do about it. */
#include "cli.h"

int cli_exit_code(hone_status status, cli_subject subject) {
  static const int code[] = {
      [HONE_OK] = CLI_EXIT_OK,
      [HONE_INVALID] = CLI_EXIT_USAGE,
      [HONE_MALFORMED] = CLI_EXIT_MODEL,
      [HONE_UNSUPPORTED] = CLI_EXIT_UNSUPPORTED,
      [HONE_INCOMPATIBLE] = CLI_EXIT_ENGINE,
      [HONE_NO_MEMORY] = CLI_EXIT_NO_MEMORY,
      [HONE_IO] = CLI_EXIT_IO,
      [HONE_DEVICE] = CLI_EXIT_DEVICE,
      [HONE_LIMIT] = CLI_EXIT_LIMIT,
      [HONE_CANCELLED] = CLI_EXIT_INTERRUPTED,
      [HONE_INTERNAL] = CLI_EXIT_INTERNAL,
  };
  if (status == HONE_MALFORMED && subject == CLI_ENGINE) return CLI_EXIT_ENGINE;
  return (size_t)status < CLI_COUNT(code) ? code[status] : CLI_EXIT_INTERNAL;
}
