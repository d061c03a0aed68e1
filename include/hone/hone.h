/* SPDX-License-Identifier: Apache-2.0 */
/* hone.h - everything: a model in, an engine out, runs and reports. Start with docs/ARCHITECTURE.md. */
#ifndef HONE_HONE_H
#define HONE_HONE_H
#include <hone/advice.h>
#include <hone/context.h>
#include <hone/device.h>
#include <hone/edit.h>
#include <hone/engine.h>
#include <hone/graph.h>
#include <hone/html.h>
#include <hone/lifecycle.h>
#include <hone/planner.h>
#include <hone/plugin.h>
#include <hone/pool.h>
#include <hone/prune.h>
#include <hone/quantize.h>
#include <hone/queue.h>
#include <hone/recipe.h>
#include <hone/report.h>
#include <hone/session.h>
#include <hone/span.h>
#include <hone/support.h>
#include <hone/tensor_io.h>
#endif
