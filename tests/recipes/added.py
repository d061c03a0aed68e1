# SPDX-License-Identifier: Apache-2.0
"""added.py - what tests/recipes/run adds to a copy of the project, by recipe: the operator cube, a rule that finds it, its
kernels for the CPU and for GPUs; the backend mirror, which is the reference under another name; the command count; a
section of the profile, and one of the page."""
import re
from collections import namedtuple

# heading: of the recipe, behind "## Add a"; names: what the recipe's placeholders stand for; files: new ones;
# edits: (file, pattern, what takes its place).
Recipe = namedtuple("Recipe", "heading names files edits")
HEAD = "/* SPDX-License-Identifier: Apache-2.0 */\n"


def one_more(match):
    """An operator of ONNX more, and one that they are read into."""
    return f"{int(match[1]) + 1}{match[2]}{int(match[3]) + 1}"


def in_order(match):
    return "".join(sorted(match[0].splitlines(True) + ["HN_FAMILY(cube)\n"]))


OPERATOR = Recipe("operator", {"NAME": "cube", "KIND": "elementwise"}, {
    "src/ops/cube.c": HEAD + """/* cube.c - x * x * x. */
#include "ops/op.h"

const hone_op hn_op_cube = {
    HN_ELEMENTWISE("cube", "x * x * x", "mul(mul(x, x), x)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_NUMBER}},
    .out = {{"y", 'T'}},
    .onnx = {{"Cube", 1, HONE_LATEST}},
};
"""}, [
    ("src/ops/ops.inc", r"(?m)^(?=HN_OP\(cum_prod\))", "HN_OP(cube)\n"),
    ("tests/unit/ops/test_elementwise.c", r'(?m)^(?=      \{"relu", "relu")',
     '      {"cube", "cube", "", "f32[3]=-2,0,3", "f32[3]=-8,0,27"},\n'),
    ("README.md", r"(?s)(\d+)(\s+operators\s+of\s+ONNX,\s.*?read\s+into\s+)(\d+)", one_more),
    ("README.zh-CN.md", r"(?s)(\d+)(\s+个\s+ONNX\s+算子、.*?读入后归为\s+)(\d+)", one_more),
])

REWRITE = Recipe("rewrite", {"NAME": "cube", "TABLE": "cleanup"}, {
    "tests/pass/cube.txt": """# The product of x and its square is a cube; that of the square and something else is none.
--- before
graph "g" opset 17 {
  in %x: f32[2,3]
  in %a: f32[2,4]
  in %b: f32[4,2]
  %s = mul(%x, %x)
  %y = mul(%s, %x)
  %t = mul(%a, %a)
  %u = matmul(%t, %b)
  out %y
  out %u
}
--- after
graph "g" opset 17 {
  in %x: f32[2,3]
  in %a: f32[2,4]
  in %b: f32[4,2]
  %y = cube(%x) @"mul_1"
  %t = mul(%a, %a) @"mul_2"
  %u = matmul(%t, %b) @"matmul"
  out %y as "y"
  out %u as "u"
}
"""}, [
    ("src/pass/rules_cleanup.c", r"(?s)(hn_rules_cleanup\[\] = \{.*?)(?=    \{0\}\};)",
     r'\1    {.name = "cube", .find = "mul(mul(x, x), x)", .put = "cube(x)", .why = "x is read once"},' "\n"),
])

CPU_TACTIC = Recipe("tactic of the CPU", {"NAME": "cube", "FAMILY": "cube", "GROUP": "nn"}, {
    "src/kernels/cpu/cube/cube.c": HEAD + """/* cube.c - the body: x * x * x, rounded twice. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/cube/cube.h"
#include "kernels/cpu/simd.inc.h"

void HN_SIMD_NAME(hn_cube_f32)(const hn_cube_args *a, int64_t begin, int64_t end) {
  int64_t i = begin;
  for (; i + HN_LANES <= end; i += HN_LANES) {
    const vf x = v_load(a->x + i);
    v_store(a->y + i, x * x * x);
  }
  if (i == end) return;
  const vf x = v_load_part(a->x + i, end - i);
  v_store_part(a->y + i, end - i, x * x * x);
}
""",
    "src/kernels/cpu/cube/cube.h": HEAD + """/* cube.h - cubes of f32. */
#ifndef HN_KERNELS_CPU_CUBE_H
#define HN_KERNELS_CPU_CUBE_H

#include <stdint.h>

typedef struct {
  const float *x;
  float *y; /* may be x */
} hn_cube_args;

/* Computes the elements [begin, end). */
typedef void hn_cube_f32_fn(const hn_cube_args *args, int64_t begin, int64_t end);

hn_cube_f32_fn hn_cube_f32_avx512, hn_cube_f32_avx2, hn_cube_f32_c;

#endif
""",
    "src/backend/cpu/cube/cube.c": HEAD + """/* cube.c - cubes of plain f32. */
#include "kernels/cpu/cube/cube.h"

typedef hn_cube_f32_fn range_kernel;
typedef hn_cube_args range_args;
#include "backend/cpu/range.inc.h"

typedef struct row_kernel {
  hn_cube_f32_fn *run;
} row_kernel;

static const char *plan(const hone_query *query, void *state, hone_needs *needs) {
  range *r = state;
  const char *reason = hn_cpu_check(query, 1, 1, 1);
  if (reason) return reason;
  const hone_type *x = &query->in[0].type;
  if (!hn_cpu_is(&query->in[0], HONE_F32, HONE_PLAIN) || !hn_cpu_is(&query->out[0], HONE_F32, HONE_PLAIN))
    return "it is not plain f32";
  if (!hn_shape_equal(&x->shape, &query->out[0].type.shape)) return "the output has another shape";
  needs->state = sizeof *r;
  if (!r) return NULL;
  r->kernel = ((const row_kernel *)query->tactic->kernel)->run;
  r->units = hn_elems(&x->shape);
  r->grain = hn_cpu_grain(r->units, 2 * (double)hn_bytes(x) * HN_CPU_NS_PER_BYTE);
  return NULL;
}

const hone_tactic hn_tactics_cpu_cube[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.cube.f32.avx512", .version = 1, .op = "cube", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_cube_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.cube.f32.avx2", .version = 1, .op = "cube", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_cube_f32_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.cube.f32.c", .version = 1, .op = "cube", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_cube_f32_c}},
    {0}};
"""}, [
    ("src/backend/cpu/families.inc", r"(?m)(^HN_FAMILY\(\w+\)\n)+", in_order),
    ("tests/unit/backend/cases_nn.inc", r"(?m)^(?=\{)", '{"cube", "", "f32[a,i,u]", 1},\n'),
])

CUDA_TACTIC = Recipe("tactic of CUDA", {"NAME": "cube", "FAMILY": "cube"}, {
    "src/kernels/cuda/cube/cube.cu": HEAD + """/* cube.cu - x * x * x, a thread an element. */
extern "C" __global__ void __launch_bounds__(256) hn_cube(float *y, const float *x, unsigned count) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  if (i < count) y[i] = x[i] * x[i] * x[i];
}
""",
    "src/backend/cuda/cube/cube.c": HEAD + """/* cube.c - cubes of plain f32: the built-in kernel of src/kernels/cuda/cube. */
#include "backend/cuda/cuda.h"

enum { THREADS = 256 };

typedef struct state {
  unsigned count;
} state;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  state *s = memory;
  const hone_shape *x = &query->in[0].type.shape;
  if (!hn_cuda_plain_f32(&query->in[0]) || !hn_cuda_plain_f32(&query->out[0])) return "it is not plain f32";
  if (!hn_cuda_same_shape(x, &query->out[0].type.shape)) return "the output has another shape";
  if (hn_cuda_elements(x) > INT32_MAX / 2) return "more elements than 30 bits count";
  needs->state = sizeof *s;
  if (s) s->count = (unsigned)hn_cuda_elements(x);
  return NULL;
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *launch) {
  state *s = memory;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &s->count};
  return hn_cuda_launch(stream, HN_CUDA_cube, (hn_cuda_grid){(s->count + THREADS - 1) / THREADS, 1, 1}, THREADS,
                        arguments);
}

const hone_tactic hn_tactics_cuda_cube[] = {{sizeof(hone_tactic), .name = "cuda.cube.f32", .version = 1, .op = "cube",
                                             .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan,
                                             .launch = launch},
                                            {0}};
"""}, [
    ("src/backend/cuda/builtins.inc", r"(?m)^(?=HN_CUDA_FILE\(rows\))", "HN_CUDA_FILE(cube)\nHN_CUDA_KERNEL(cube, cube)\n"),
    ("src/backend/cuda/families.inc", r"\Z", "HN_FAMILY(cube)\n"),
    ("tests/gpu/test_cuda.c", r'(?m)^(?=    \{"relu", \{"1000"\})', '    {"cube", {"1001"}, {{0}}},\n'),
])

BACKEND = Recipe("backend", {"NAME": "mirror"}, {
    "src/backend/mirror/mirror.c": HEAD + """/* mirror.c - the host again, under another name: what it runs is the op's own eval. */
#include "base/text.h"
#include "device/host_unit.h"

static hone_status open_mirror(hone_driver *driver, int index, const hone_device_options *options, hone_unit **out,
                               hone_diagnostics *diagnostics) {
  HN_TRY(hn_host_open(driver, index, options, out, diagnostics));
  hn_copy_text((*out)->facts.name, sizeof(*out)->facts.name, "mirror");
  hn_copy_text((*out)->facts.version, sizeof(*out)->facts.version, "1");
  return HONE_OK;
}

static const hone_tactic rows[] = {{sizeof(hone_tactic), .name = "mirror.eval", .version = 1, .op = "*",
                                    .flags = HONE_TACTIC_REPEATABLE, .plan = hn_eval_plan, .prepare = hn_eval_prepare,
                                    .launch = hn_eval_launch},
                                   {0}};

static const hone_tactic *const families[] = {rows, NULL};

const hone_backend hn_backend_mirror = {HN_HOST_ENTRIES, .name = "mirror", .load = hn_host_load, .open = open_mirror,
                                        .families = families};
""",
    "tests/engine/test_mirror.c": HEAD + """/* test_mirror.c - the backend mirror is opened by its name, and says it. */
#include <hone/hone.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void test_open(void **state) {
  (void)state;
  hone_context *context;
  hone_device *device;
  hone_facts facts = HONE_SIZED(hone_facts);
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "mirror", 0, NULL, &device), HONE_OK);
  hone_device_facts(device, &facts);
  assert_string_equal(facts.name, "mirror");
  hone_device_close(device);
  hone_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_open)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
"""}, [
    ("src/device/backends.inc", r"\Z", "HN_BACKEND(mirror)\n"),
    ("src/LAYERS", r"(?m)^(?=plan:)", "backend/mirror: base tensor device\n"),
    ("cmake/HoneSources.cmake", r"backend/null\)", "backend/null backend/mirror)"),
    ("cli/option_rows.c", r"null \(a fake clock\)", "null (a fake clock), mirror"),
])

COMMAND = Recipe("command", {"NAME": "count"}, {
    "cli/command_count.c": HEAD + """/* command_count.c - hone count: how many nodes a model has. */
#include "cli.h"

const cli_option cli_count_options[] = {{"double", CLI_FLAG, .doc = "count every node twice"}, {0}};

int cli_command_count(cli_tool *cli) {
  const char *path = cli_text(cli, "model");
  hone_graph *graph;
  if (!path) return cli_usage_error(cli, "a model must be named");
  const hone_status status = cli_load_graph(cli, path, &graph);
  if (status != HONE_OK) return cli_fail(cli, status);
  printf("%d\\n", hone_graph_node_count(graph) * (cli_has(cli, "double") ? 2 : 1));
  hone_graph_destroy(graph);
  return CLI_EXIT_OK;
}
"""}, [
    ("cli/cli.h", r"cli_check_options\[\],", "cli_check_options[], cli_count_options[],"),
    ("cli/cli.h", r"(?m)^(?=int cli_command_doctor\()", "int cli_command_count(cli_tool *cli);\n"),
    ("cli/commands.c", r"(?m)^(?=static const cli_command cache = \{)", """static const cli_command count = {
    .name = "count",
    .doc = "count a model's nodes",
    .usage = "count MODEL [--double]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_count_options, cli_model_options, cli_common_options},
    .examples = "  hone count model.onnx\\\\n",
    .run = cli_command_count,
};

"""),
    ("cli/commands.c", r"&check,", "&check, &count,"),
    ("tests/cli/run", r'(?m)^(COMMANDS = ".*? check) ', r"\1 count "),
    ("tests/cli/screens", r'(?m)^(COMMANDS = ".*? check) ', r"\1 count "),
])

SECTION = Recipe("section to a report", {"REPORT": "profile"}, {}, [
    ("src/report/profile.h", r"(?m)^(?=void hn_profile_write_text)", """/* The layer whose slowest run lies furthest from its median; NULL: none ran. */
const hn_profile_row *hn_profile_least_steady(const hn_profile *profile, double *out_ratio);
"""),
    ("src/report/profile.c", r"(?m)^(?=hone_status hn_report_profile)", """const hn_profile_row *hn_profile_least_steady(const hn_profile *p, double *out_ratio) {
  const hn_profile_row *found = NULL;
  *out_ratio = 0;
  for (int i = 0; i < p->count; ++i) {
    const hn_trace_step *times = p->rows[i].times;
    if (times->median_ns <= 0 || times->max_ns / times->median_ns <= *out_ratio) continue;
    *out_ratio = times->max_ns / times->median_ns;
    found = &p->rows[i];
  }
  return found;
}

"""),
    ("src/report/profile_text.c", r"(?m)^(?=void hn_profile_write_text)", """static void write_steadiness(const hn_profile *p, hn_text *out) {
  double ratio;
  const hn_profile_row *row = hn_profile_least_steady(p, &ratio);
  if (row) hn_text_printf(out, "\\\\nsteadiness\\\\n  %s: the slowest run took %.1f medians\\\\n", row->step->name, ratio);
}

"""),
    ("src/report/profile_text.c", r"  write_classes\(p, out\);\n", r"\g<0>  write_steadiness(p, out);\n"),
    ("src/report/profile_data.c", r"(?m)^(?=void hn_profile_write_json)", """static void put_steadiness(hn_json_writer *w, const hn_profile *p) {
  double ratio;
  const hn_profile_row *row = hn_profile_least_steady(p, &ratio);
  hn_json_open_flat(w, "steadiness", '{');
  hn_json_put_text(w, "layer", row ? row->step->name : NULL);
  hn_json_put_real(w, "slowest_over_median", ratio);
  hn_json_close(w, '}');
}

"""),
    ("src/report/profile_data.c", r"  put_lists\(w, p\);\n", r"\g<0>  put_steadiness(w, p);\n"),
    ("tests/cli/run", r'(?m)^    check\(report\["reference_percent"\] == 0.*\n',
     r'\g<0>    check(report["steadiness"]["slowest_over_median"] >= 1, "profile --json: the least steady layer")' "\n"),
])

PAGE = Recipe("section to the page", {"NAME": "types"}, {
    "src/report/html/types.js": """/* SPDX-License-Identifier: Apache-2.0 */
/* types.js - how many layers there are of each type. */

function showTypes() {
  const types = [...new Set(LAYERS.map((layer) => layer.type))].sort();
  byId("types").append(plainTable("Layers by type", [{ text: "Type" }, { text: "Layers", number: true }],
    types.map((type) => [type, String(LAYERS.filter((layer) => layer.type === type).length)])));
}
""",
}, [
    ("src/report/html/page.html", r'(?m)^(?=  <section id="machine")',
     '  <section id="types" aria-labelledby="types-h"><h2 id="types-h">Types</h2></section>\n'),
    ("src/report/html/pages.inc", r"(?m)^(?=HN_PAGE\(main, js\))", "HN_PAGE(types, js)\n"),
    ("src/report/html/main.js", r"(?m)^(?=  showMachine\(\);)", "  showTypes();\n"),
    ("tests/html/page.py", r'(?m)^(?=    shares = b.ask)',
     """    types = {layer["type"] for layer in layers}
    check(marks(b, "#types tbody tr") == len(types), f"{name}: types")
"""),
])

PICKER = Recipe("range picker", {}, {}, [
    ("src/calib/range.c", r"(?m)^(?=const hn_picker hn_pickers)", """static hn_range pick_seen(const hn_histogram *h, const hn_scheme *scheme, double number) {
  (void)scheme, (void)number;
  return (hn_range){h->low, h->high};
}

"""),
    ("src/calib/range.c", r"(?m)^(?=    \{\.name = \"entropy\")", """    {.name = "seen", .doc = "all that was seen", .pick = pick_seen},
"""),
    ("tests/unit/calib/test_range.c", r"(?m)^(?=/\* More than one in a hundred at a bound)", """static void test_seen(void **state) {
  (void)state;
  fill_normal(8);
  count_again(1);
  assert_true(pick("seen", &u8).high == 8);
}

"""),
    ("tests/unit/calib/test_range.c", r"cmocka_unit_test\(test_entropy\),", r"\g<0> cmocka_unit_test(test_seen),"),
    ("docs/QUANTIZING.md", r"(?m)^(?=\| `entropy` \|)", "| `seen` | all that was seen |\n"),
])

RECIPES = (OPERATOR, REWRITE, CPU_TACTIC, CUDA_TACTIC, BACKEND, COMMAND, PICKER, SECTION, PAGE)


def expand(text, names):
    """The recipe's text with what its placeholders stand for."""
    return re.sub("|".join(names), lambda found: names[found.group()], text) if names else text
