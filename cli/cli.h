/* SPDX-License-Identifier: Apache-2.0 */
/* cli.h - the tool: rows of commands, rows of options, and what the commands share.
 * Results go to stdout; log, warnings, progress and errors to stderr. Only this folder reads the environment. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <hone/hone.h>
#include <stdio.h>

#define CLI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- exit codes (exit.c is the one place that gives them out) ---- */
enum {
  CLI_EXIT_OK = 0,
  CLI_EXIT_CHECK_FAILED = 1,
  CLI_EXIT_USAGE = 2,
  CLI_EXIT_MODEL = 3,
  CLI_EXIT_UNSUPPORTED = 4,
  CLI_EXIT_ENGINE = 5,
  CLI_EXIT_NO_MEMORY = 6,
  CLI_EXIT_IO = 7,
  CLI_EXIT_DEVICE = 8,
  CLI_EXIT_LIMIT = 9,
  CLI_EXIT_INTERNAL = 70,
  CLI_EXIT_INTERRUPTED = 130
};
/* What was being read decides what "malformed" means. */
typedef enum cli_subject { CLI_MODEL, CLI_ENGINE } cli_subject;
int cli_exit_code(hone_status status, cli_subject subject);

/* ---- options (options.c) ---- */
typedef enum cli_kind {
  CLI_FLAG,
  CLI_TEXT,
  CLI_INT,
  CLI_REAL,
  CLI_SIZE,         /* bytes: a number of MiB, or with a suffix */
  CLI_LIST,         /* text; may be given several times */
  CLI_OPTIONAL_INT, /* a number, or nothing at all */
  CLI_OPTIONAL_TEXT,
  CLI_NOT_YET /* known elsewhere, not here yet: exit code 4 */
} cli_kind;

/* What an option makes the command write: looked at before the work begins (outputs.c). */
typedef enum cli_writes {
  CLI_WRITES_NOTHING,
  CLI_WRITES_FILE,        /* a file that is replaced when it is complete */
  CLI_WRITES_IN_PLACE,    /* any file, a device or a pipe too; "-": standard output */
  CLI_WRITES_WHEN_ABSENT, /* a file that is read when it is there */
  CLI_WRITES_FOLDER,      /* files in a folder, which is made when it is absent */
  CLI_WRITES_PAIRS        /* NAME=FILE, NAME:FILE, NAME */
} cli_writes;

typedef struct cli_option {
  const char *name; /* without the dashes; one letter: -x */
  cli_kind kind;
  const char *argument; /* for --help: "FILE"; NULL: none */
  const char *same_as;  /* another spelling of that option; NULL: itself */
  const char *doc;      /* of spellings: whose */
  double low, high;     /* of numbers; both 0: any */
  cli_writes writes;
  bool often; /* in the short help, though its table is not (help.c) */
} cli_option;

enum { CLI_MAX_TABLES = 20, CLI_MAX_GIVEN = 256 };
typedef struct cli_given {
  const cli_option *option; /* never a same_as row */
  const char *text;         /* NULL: without an argument */
} cli_given;

/* Under which title `hone help` has a command. */
typedef enum cli_command_group {
  CLI_GROUP_RUN,
  CLI_GROUP_TIME,
  CLI_GROUP_SMALLER,
  CLI_GROUP_LOOK,
  CLI_GROUP_TOOL,
  CLI_GROUP_COUNT
} cli_command_group;

typedef struct cli_image {
  int64_t width, height;
  uint8_t *pixels; /* RGB, row by row; malloc'ed */
} cli_image;

struct cli_tool;
typedef struct cli_command {
  const char *name, *doc, *usage;
  cli_command_group group;
  const char *positional;      /* the option that arguments without dashes are for; NULL: none are allowed */
  int positional_max;          /* how many of them */
  const char *positional_next; /* the option that those behind the first are for; NULL: the same */
  const cli_option *tables[CLI_MAX_TABLES]; /* each ends with name NULL */
  const char *examples;
  int (*run)(struct cli_tool *cli);
  bool keeps_best; /* the first interrupt ends its search, and what it has is its result */
} cli_command;

/* One run of the tool. */
typedef struct cli_tool {
  const cli_command *command;
  cli_given given[CLI_MAX_GIVEN];
  int given_count;
  hone_context *context;
  hone_device *device; /* opened by cli_open_device() */
  const char *machine; /* a described one that device stands for; NULL: this one */
  int width;           /* columns of tables */
  bool color_out, terminal_err, verbose, quiet, progress_shown;
  bool inputs_told;   /* what inputs hold was said, of the first session */
  double progress_ms; /* when the bar was drawn */
  char next[4608];    /* the command that is named at the end; "": none */
  cli_subject subject;
  hone_recipe *recipe; /* of the model or engine that is open (recipe.c); NULL: it has none */
  cli_image photo;     /* that the recipe prepared last; pixels NULL: none */
  double to_photo[6];  /* where points of what it made of it lie in it, as hone_recipe_prepare() has it */
  int64_t prepared_width, prepared_height;
} cli_tool;

extern const cli_command *const cli_commands[]; /* ends with NULL */
const cli_command *cli_command_find(const char *name);
/* Fills cli->given; on a usage error says so and returns the exit code. */
int cli_parse(cli_tool *cli, int count, char *const *arguments);
/* all: every option with its other spellings; else those that are often wanted. */
void cli_help(const cli_command *command, bool all, FILE *to);
/* What the options of a table are about. out_often: whether the short help has them. */
const char *cli_table_title(const cli_option *table, bool *out_often);
void cli_print_man(const cli_command *command, FILE *to);       /* a page of section 1; NULL: of the tool */
void cli_print_help_json(const cli_command *command, FILE *to); /* NULL: all commands; else its options */
extern const char *const cli_group_titles[CLI_GROUP_COUNT];
void cli_print_markdown(FILE *to);   /* all commands and options, as docs/ has it */
int cli_output_width(int elsewhere); /* $COLUMNS, else the terminal's, else what is given */
/* Words up to the width, then on lines that are indented. column: where the text begins. */
void cli_wrap(const char *text, int column, int indent, int width, FILE *to);
void cli_help_all(FILE *to);
/* The last one given wins. A name that the command has no row for is a bug of ours and ends the tool. */
bool cli_has(const cli_tool *cli, const char *name);
bool cli_takes(const cli_command *command, const char *name); /* does the command have a row for it? */
const char *cli_text(const cli_tool *cli, const char *name);  /* NULL when not given */
int64_t cli_int(const cli_tool *cli, const char *name, int64_t otherwise);
uint64_t cli_size(const cli_tool *cli, const char *name, uint64_t otherwise); /* bytes */
bool cli_read_size(const char *text, uint64_t *out_bytes);                    /* MiB, or with B, K, M, G */
double cli_real(const cli_tool *cli, const char *name, double otherwise);
int cli_list(const cli_tool *cli, const char *name, const char **out, int room); /* how many; room bounds them */

/* ---- messages (message.c) ---- */
/* What stands out on a terminal: red for errors, yellow for warnings, bold for what to type next. Elsewhere, and with
 * NO_COLOR, "". */
const char *cli_red(void);
const char *cli_yellow(void);
const char *cli_bold(void);
const char *cli_plain(void);
void cli_error(const char *format, ...) HONE_PRINTF(1, 2); /* "hone: ..." on stderr */
void cli_note(const cli_tool *cli, const char *format, ...) HONE_PRINTF(2, 3);
int cli_usage_error(const cli_tool *cli, const char *format, ...) HONE_PRINTF(2, 3); /* CLI_EXIT_USAGE */
/* Prints the context's messages and returns the exit code. */
/* Says why the tool stops before its end; the exit code. */
int cli_stopped(void);
int cli_fail(cli_tool *cli, hone_status status);
int cli_fail_session(cli_tool *cli, const hone_session *session, hone_status status);
/* Did the program that reads a pipe of ours end first (hone ... | head)? It has what it wanted: that is no error. */
bool cli_reader_left(void);
/* How each object of --json begins: docs/JSON.md. */
#define CLI_TEXT_OF(number) #number
#define CLI_TEXT_OF_VALUE(number) CLI_TEXT_OF(number)
#define CLI_JSON_BEGIN "{\"schema\": " CLI_TEXT_OF_VALUE(HONE_JSON_SCHEMA) ", "
bool cli_write_file(void *user, const char *text, size_t length); /* a hone_write_fn; user is a FILE */
void cli_json_text(FILE *to, const char *text);                   /* quoted */
/* Opens a regular file to read; anything else (a pipe, a folder, a device) is refused without waiting for it. NULL: why
 * not is in *why. */
FILE *cli_open_input(const char *path, const char **why);
/* Opens FILE for writing, "-" or NULL: stdout. NULL after a message. */
FILE *cli_open_output(const char *path);
/* Can what the options name be written? And what one option names, or stands for when it is not given? Exit code. */
int cli_check_outputs(const cli_tool *cli);
int cli_check_output(const char *name, const char *path, cli_writes writes);
/* The model's path with another end: "_pruned.onnx" for ".onnx". */
void cli_name_beside(const char *model, const char *suffix, char *out, size_t room);
int cli_close_output(FILE *file, const char *path); /* an exit code: the disk may be full */

/* ---- threads and the CPUs they run on (cpus.c) ---- */
enum { CLI_MAX_CPUS = 256 };
typedef struct cli_cpus {
  int cpus[CLI_MAX_CPUS], count; /* --cpus; 0: not given */
  int threads;                   /* of each stream; 0: one for each of the CPUs */
  int streams;                   /* --streams; 1 */
  int spin_microseconds;         /* as hone_device_options has it */
} cli_cpus;
typedef struct cli_stream_options {
  hone_device_options options; /* points into cpus */
  int cpus[CLI_MAX_CPUS];
} cli_stream_options;
int cli_usable_cpus(void);                       /* how many this process may use */
int cli_read_cpus(cli_tool *cli, cli_cpus *out); /* exit code */
void cli_device_options_of(const cli_cpus *cpus, int stream, cli_stream_options *out);
/* Puts the calling thread, which is thread 0 of its device, on its CPU if one was given. Exit code. */
int cli_pin_thread(const cli_stream_options *stream);
/* "0-3,6"; count 0: those that this thread may use. */
void cli_cpus_text(const int *cpus, int count, char *out, size_t room);

/* ---- shapes (shapes.c) ---- */
enum { CLI_MAX_SHAPES = 256 };
typedef struct cli_shape {
  char input[256];
  hone_shape shape;
  int profile; /* the last --profile before it; 0 */
} cli_shape;
/* "input:1x3x224x224,other:5" (trtexec's form); "1x3x224x224" alone names the only input. Appends; false after a
 * message. */
bool cli_parse_shapes(const char *option, const char *text, cli_shape *out, int *count);
/* The shapes given by an option that lists them, names checked against the ports. Exit code. */
int cli_read_shapes(cli_tool *cli, const char *option, const hone_port_info *ports, int port_count, cli_shape *out,
                    int *count);
void cli_print_shape(FILE *to, const hone_shape *shape);
void cli_print_position(FILE *to, const hone_shape *shape, int64_t at); /* "[0,3]" of an element's number */

/* ---- option tables that commands share (option_rows.c, option_trt.c) ---- */
extern const cli_option cli_schedule_options[], cli_session_options[], cli_common_options[], cli_model_options[],
    cli_device_options[], cli_build_options[], cli_input_options[], cli_image_options[], cli_trt_build_options[],
    cli_precision_options[], cli_trt_bench_options[], cli_load_inputs_options[], cli_compare_options[],
    cli_debug_options[], cli_recipe_options[], cli_trt_not_yet[];

/* ---- models and engines (open.c, build.c) ---- */
typedef enum cli_file_kind { CLI_FILE_UNREADABLE, CLI_FILE_ENGINE, CLI_FILE_GRAPH_TEXT, CLI_FILE_MODEL } cli_file_kind;
cli_file_kind cli_file_kind_of(const char *path); /* by content; a message is said for unreadable ones */
int cli_open_device(cli_tool *cli);               /* exit code; the message is said */
/* The same, but where the device is not here, that is left to the caller, with the context's messages. */
int cli_try_device(cli_tool *cli, hone_status *out_status);
/* Measures the device's peaks, which then are in its facts; a device that cannot be measured is fine. Exit code. */
int cli_measure_device(cli_tool *cli);
hone_status cli_load_graph(cli_tool *cli, const char *path, hone_graph **out_graph); /* ONNX or graph text */
int cli_ports_of_graph(const hone_graph *graph, hone_port_info *out, int room);
/* An input as --schedule's schedule takes it, else as all do together. */
hone_status cli_engine_input(const cli_tool *cli, const hone_engine *engine, int index, hone_port_info *out);
bool cli_wants_schedule(const cli_tool *cli, int *out_schedule); /* --schedule, where the command has it */

enum { CLI_MAX_INPUTS = CLI_MAX_GIVEN }; /* no option is left out unseen */
typedef struct cli_input {
  char name[256];
  hone_tensor tensor;
} cli_input;

/* What a command that runs needs, opened from the model argument and the options. */
typedef struct cli_model {
  hone_graph *graph; /* NULL when the argument is an engine */
  hone_engine *engine;
  cli_input inputs[CLI_MAX_INPUTS]; /* from files */
  int input_count;
  cli_shape shapes[CLI_MAX_SHAPES]; /* by --shapes */
  int shape_count;
  int run_profile; /* of them, those of this profile are the shapes to run at; -1: all, the last one given first */
  const hone_engine *from; /* build anew what this engine is, of its model; NULL: by the options */
  double build_ms;         /* 0 when loaded */
  bool final;              /* build the graph as it is, whatever --int8 says */
  bool plain;              /* build the graph as it was imported, by the reference alone */
  /* The last word about the build's options; what it adds must outlive the build. NULL: nobody has any. */
  void (*adjust)(void *user, hone_build_options *options);
  void *adjust_user;
  struct cli_trace_group *trace; /* where the build's spans go; NULL: nowhere (trace.h) */
} cli_model;
/* Exit code; messages are said. Closing is right after every outcome. */
int cli_open_model(cli_tool *cli, cli_model *model);
int cli_open_named_model(cli_tool *cli, const char *path, cli_model *model); /* another one than the argument */
void cli_close_model(cli_tool *cli, cli_model *model);
/* Those of --layerPrecisions and --layerOutputTypes that the build sees to. */
enum { CLI_MAX_LAYER_TYPES = 128 };
typedef struct cli_layer_types {
  hone_layer_type items[CLI_MAX_LAYER_TYPES];
  int count;
  char names[16384];
  size_t used;
} cli_layer_types;
int cli_read_layer_types(cli_tool *cli, cli_layer_types *out);
/* Inputs and outputs on a device: --device-io with the types and formats of --inputIOFormats and --outputIOFormats. */
typedef struct cli_port_formats {
  hone_port_format items[2 * CLI_MAX_INPUTS];
  int count;
} cli_port_formats;
int cli_read_port_formats(cli_tool *cli, const cli_model *model, cli_port_formats *out);
/* --inputIOFormats, --layerPrecisions and their kin against the model or engine that was opened (trt_types.c). Exit
 * code. */
int cli_check_types(cli_tool *cli, const cli_model *model);
/* Builds with the build options; the shapes are those of --minShapes and its kin, of --shapes, or of the inputs. */
int cli_build_engine(cli_tool *cli, cli_model *model);
/* The same, but where the build itself fails, that is left to the caller, with the context's messages. */
int cli_try_build(cli_tool *cli, cli_model *model, hone_status *out_status);
/* What such a build would take, from the times of its layers, which are taken for so long at most
 * (hone_engine_expect); its failure is left to the caller. */
int cli_expect_engine(cli_tool *cli, cli_model *model, hone_device *device, const hone_engine *like, int64_t most_ms,
                      hone_expectation *out, hone_status *out_status);

/* ---- engines as they are written (save.c) ---- */
/* Do --refit and its kin ask for what hone refit needs? */
bool cli_keeps_refit(const cli_tool *cli);
int cli_check_saving(const cli_tool *cli); /* exit code */
/* As --stripWeights and --embed-model ask for; embed: with the model in any case. model: the path of what it was built
 * of; NULL: an engine's file, which keeps what it carries. */
hone_status cli_save_engine(cli_tool *cli, const hone_engine *engine, const char *model, bool embed, const char *path);

/* ---- inputs (inputs.c, image_*.c) ---- */
/* Reads the files of --input and --loadInputs as tensors for these ports. */
int cli_read_inputs(cli_tool *cli, const hone_port_info *ports, int port_count, cli_model *model);
/* Any file of a tensor; a raw one is taken to be of this type. Exit code. */
int cli_read_tensor(cli_tool *cli, const char *path, const hone_type *type, hone_tensor *out);
/* NAME and FILE are parted by the first `=` or `:` that follows the name of a port; a file alone is for the only port.
 * Paths and names may hold either sign. what: "input" or "output". The path lies in room. Exit code. */
int cli_part_pair(cli_tool *cli, const char *what, const char *text, size_t length, char sign,
                  const hone_port_info *ports, int port_count, char *room, size_t room_bytes,
                  const hone_port_info **out_port, const char **out_path);
/* Fills all inputs of a session: from the files, and seeded numbers for the others, which is said on stderr. */
int cli_fill_inputs(cli_tool *cli, const cli_model *model, hone_session *session);
bool cli_is_image(const char *path); /* PNG, JPEG or PPM, by its first bytes */
hone_status cli_image_read(hone_diagnostics *diag, const char *path, cli_image *out);
/* Resizes, crops, scales and normalises as the options say, to the port's type. Exit code. */
int cli_image_to_tensor(cli_tool *cli, const cli_image *image, const hone_port_info *port, hone_tensor *out);

/* ---- outputs against others (compare.c) ---- */
typedef struct cli_comparison {
  bool same_shape; /* else nothing more is known */
  int64_t count, differing, worst_at;
  double worst_got, worst_want, worst_allowed, rel_l2;
  double sum_apart, sum_square_apart, most_apart; /* infinite where a number meets NaN or an infinity */
  double sum_product, sum_square_got, sum_square_want;
  const char *algorithm; /* NULL: nobody asked for a loss */
  double loss, threshold;
} cli_comparison;
void cli_compare_tensors(const hone_tensor *got, const hone_tensor *want, double atol, double rtol,
                         cli_comparison *out);
void cli_print_comparison(FILE *to, bool json, const char *name, const hone_tensor *got, const hone_tensor *want,
                          const cli_comparison *comparison);
int cli_check_comparing(cli_tool *cli); /* are the options about comparing complete? Exit code */
bool cli_compares(const cli_tool *cli); /* was --compare or --loadRefOutputs given? */
/* Compares the outputs that were named with their files. CLI_EXIT_CHECK_FAILED when an element differs. json: items of
 * a list. */
int cli_compare_outputs(cli_tool *cli, const hone_engine *engine, hone_session *session, FILE *to, bool json);

/* ---- the rest of what commands share (support.c) ---- */
double cli_now_ms(void);
const void *cli_interrupt_flag(void); /* const atomic_bool * */
bool cli_is_interrupted(void);        /* or is the deadline over? Searches that keep their best ask this */
const void *cli_stop_flag(void);      /* the same, of an interrupt or the deadline: calls end with CANCELLED */
int cli_stop_code(void);              /* the exit code once the tool must end, else 0; loops over runs ask */
uint64_t cli_random(uint64_t *state);
void cli_progress(void *user, const char *what, int64_t done, int64_t total); /* user is the cli; a hone_progress_fn */
void cli_progress_samples(void *user, const char *what, int64_t done, int64_t total); /* that run, not layers */
void cli_progress_search(void *user, const char *what, int64_t done, int64_t total);  /* smaller and smaller sets */
void cli_progress_end(cli_tool *cli);                                                 /* takes the bar away */
/* Around a command's work (progress.c). */
void cli_progress_begin(cli_tool *cli);
void cli_progress_stop(cli_tool *cli);

/* ---- a machine that others use (load.c) ---- */
enum { CLI_LOAD_RUNS = 1000 };
typedef struct cli_load {
  double begin_ms, waited_ms;
  long switches; /* so far */
  int64_t count;
  double sum_ms, least_ms, runs[CLI_LOAD_RUNS]; /* of the runs; the first ones are kept, in ms */
} cli_load;
void cli_load_begin(cli_load *load);
void cli_load_add(cli_load *load, double ms);
/* Warns with numbers. spread: what the median took over the least, where no runs were added; 0: not known. */
void cli_load_end(const cli_tool *cli, cli_load *load, double spread);
int cli_compare_doubles(const void *a, const void *b); /* for qsort: the least first */

/* ---- what to do next, said when the command is done (next.c) ---- */
/* "hone profile %s": the path is quoted for a shell where it must be. The last one said counts. */
void cli_quote(const char *path, char *out, size_t room); /* as a shell takes it for one word */
void cli_next(cli_tool *cli, const char *command, const char *path);
void cli_next_print(const cli_tool *cli);
void cli_report_options(const cli_tool *cli, hone_report_options *out);
/* The decision ledger beside an engine's file, as text in `room`; NULL: it is no engine's file, or there is none. */
const char *cli_ledger_of(const char *path, char *room, size_t bytes);

const char *cli_cache_dir(char *room, size_t bytes); /* from the environment; NULL: none */
/* Folders for the library, ':' between: $HONE_LIBRARY_PATH, where the tool lies, and CUDA's as its users name it. */
const char *cli_library_path(char *room, size_t bytes);
void cli_session_options_read(const cli_tool *cli, hone_session_options *out);
hone_status cli_open_session(cli_tool *cli, hone_engine *engine, hone_session **out);
/* --dumpLayerInfo, --exportLayerInfo, --dumpOptimizationProfile (trt_dumps.c). Exit code. */
int cli_layer_info(cli_tool *cli, const hone_engine *engine);
/* Runs for at least so many milliseconds and so many times. load: NULL, or where the times go. Exit code. */
int cli_run_for(cli_tool *cli, hone_session *session, double least_ms, int64_t least_runs, cli_load *load);

/* ---- commands: rows in commands.c, options of their own beside each ---- */
extern const cli_option cli_serve_options[], cli_advise_options[], cli_bench_options[], cli_build_command_options[],
    cli_cache_options[], cli_check_options[], cli_bisect_options[], cli_compare_command_options[], cli_reduce_options[],
    cli_surgeon_options[], cli_completion_options[], cli_diff_options[], cli_explain_options[], cli_generate_options[],
    cli_help_options[], cli_passes_options[], cli_plan_options[], cli_profile_options[], cli_prune_options[],
    cli_quantize_options[], cli_run_options[], cli_peaks_options[], cli_refit_options[], cli_roofline_options[],
    cli_sensitivity_options[], cli_sweep_options[], cli_show_options[], cli_shrink_options[],
    cli_shrink_build_options[], cli_verify_options[], cli_zoo_options[];
int cli_command_advise(cli_tool *cli);
int cli_command_bench(cli_tool *cli);
int cli_command_bisect(cli_tool *cli);
int cli_command_build(cli_tool *cli);
int cli_command_cache(cli_tool *cli);
int cli_command_serve(cli_tool *cli);
int cli_command_check(cli_tool *cli);
int cli_command_completion(cli_tool *cli);
int cli_command_compare(cli_tool *cli);
int cli_command_diff(cli_tool *cli);
int cli_command_doctor(cli_tool *cli);
int cli_command_explain(cli_tool *cli);
int cli_command_generate(cli_tool *cli);
int cli_command_help(cli_tool *cli);
int cli_command_passes(cli_tool *cli);
int cli_command_peaks(cli_tool *cli);
int cli_command_plan(cli_tool *cli);
int cli_command_profile(cli_tool *cli);
int cli_command_prune(cli_tool *cli);
int cli_command_quantize(cli_tool *cli);
int cli_command_reduce(cli_tool *cli);
int cli_command_roofline(cli_tool *cli);
int cli_command_run(cli_tool *cli);
int cli_command_sensitivity(cli_tool *cli);
int cli_command_show(cli_tool *cli);
int cli_command_refit(cli_tool *cli);
int cli_command_surgeon(cli_tool *cli);
int cli_command_shrink(cli_tool *cli);
int cli_command_verify(cli_tool *cli);
int cli_command_version(cli_tool *cli);
int cli_command_zoo(cli_tool *cli);

#endif
