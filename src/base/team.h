/* SPDX-License-Identifier: Apache-2.0 */
/* team.h - a few threads of a pool that work at the same time and may wait for each other: for loops whose every step
 * needs all of the step before, where a dispatch a step would cost more than the step. */
#ifndef HN_BASE_TEAM_H
#define HN_BASE_TEAM_H

#include "base/pool.h"

typedef struct hn_team hn_team;
typedef void (*hn_team_body)(void *arg, hn_team *team, int member, int members);

/* Calls body once for each member, all at the same time in threads of their own; member is 0 .. members - 1, and
 * members is 1 .. most: as many as came within patience_ns (a sleeping thread may take longer to come than the work
 * would). Returns when all are done. Never allocates. */
void hn_team_run(hn_pool *pool, int most, int64_t patience_ns, hn_team_body body, void *arg);

typedef enum hn_team_met {
  HN_TEAM_ALL,   /* every member has called it as often as this one; what they wrote before is visible */
  HN_TEAM_ALONE, /* to member 0: somebody did not come in time. What the others were to do since the last meeting may
                  * be done, or not, or being done at this very moment; they will do nothing after it. */
  HN_TEAM_LEFT   /* to the others: member 0 goes on alone; return */
} hn_team_met;

/* Waits for the others; takes some 100 ns when all come at once. Member 0 gives up after patience_ns, so that a member
 * whose core was taken away does not hold up every step that is left; -1: never. */
hn_team_met hn_team_meet(hn_team *team, int member, int64_t patience_ns);

#endif
