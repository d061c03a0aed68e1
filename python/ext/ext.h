/* SPDX-License-Identifier: Apache-2.0 */
/* ext.h - hone._native: the C API as Python types, on CPython's limited API of 3.11, so that one binary serves all
 * later versions. Types are heap types, nothing is static but constant rows: state belongs to the module. What people
 * call is in Python beside it; here is what must be near the library: buffers, the GIL, exceptions, processes that
 * fork. */
#ifndef HONE_PYTHON_EXT_H
#define HONE_PYTHON_EXT_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <hone/hone.h>
#include <stdatomic.h>

typedef struct py_state {
  PyTypeObject *graph, *engine, *session, *binding, *profiler, *run, *batcher;
  PyObject *make_error;               /* hone._errors.make(status, messages) */
  PyObject *on_log;                   /* hone._errors.log(level, line) */
  PyObject *empty;                    /* numpy.empty */
  PyObject *plugged;                  /* list of plug-ins and definitions that every context is given */
  bool tells_plugged;                 /* what they replace is logged */
  PyObject *dtypes[HONE_DTYPE_COUNT]; /* of NumPy or ml_dtypes; NULL: there is none */
  PyObject *library_path;             /* str: where the package lies, for backends beside libhone */
  uint64_t process;                   /* counts forks: what was opened before one has no threads behind it */
} py_state;

py_state *py_state_of(PyObject *module);

/* ---- errors.c ---- */
typedef struct py_context { /* a context with what Python hangs on it */
  hone_context *context;
  py_state *state;
  atomic_bool cancel;
  bool busy;    /* a thread is in a long call with it */
  bool is_open; /* and has its plug-ins */
} py_context;
typedef struct py_limits {
  const char *cache_dir;
  uint64_t memory_bytes;
  int64_t deadline_ms;
  bool external_links;
} py_limits;
/* false: an exception is set. out must stay where it is: the library has its address. */
bool py_context_open(py_state *state, const py_limits *limits, py_context *out);
void py_context_close(py_context *context);
/* Sets the exception of a status with all messages, unless one is set already. Returns NULL. */
PyObject *py_fail(const py_context *context, hone_status status);
PyObject *py_fail_session(py_state *state, const hone_session *session, hone_status status);
/* The same with one message of ours. */
PyObject *py_fail_text(py_state *state, hone_status status, const char *format, ...);

PyObject *py_take_error(void); /* the exception that is set, as an object; none is set then */

/* ---- plugged.c ---- */
bool py_plugged_apply(py_context *context); /* false: an exception is set */
PyObject *py_plugged(PyObject *module, PyObject *none);
PyObject *py_try_plugged(PyObject *module, PyObject *none);

/* ---- dtypes.c ---- */
bool py_dtypes_load(py_state *state);
void py_dtypes_clear(py_state *state);
const char *py_dtype_name(hone_dtype dtype); /* "float32"; NULL: NumPy has no name for it */
hone_dtype py_dtype_find(const char *name);  /* by NumPy's name or the library's; NONE: there is no such type */
/* Of the buffer protocol's format and size of an element; NONE: none of ours. *out_swapped: in the other byte order. */
hone_dtype py_dtype_of_format(const char *format, Py_ssize_t bytes, bool *out_swapped);

/* ---- arrays.c ---- */
/* Somebody's array as a tensor, without a copy: by the buffer protocol, __array_interface__ or DLPack. */
typedef struct py_array {
  hone_tensor tensor;
  Py_buffer buffer; /* obj NULL: not by the buffer protocol */
  PyObject *owner;  /* __array_interface__'s or DLPack's; else NULL */
  struct py_managed *managed;
  bool on_device; /* tensor.data is an address of the port's device */
} py_array;
/* An input or output in a GPU's memory, which may take tensors that lie there. */
typedef struct py_device_port {
  hone_dtype held; /* their type */
  int index;       /* of the GPU */
  void *stream;    /* of the session; NULL: its own, which nobody else can wait in */
} py_device_port;
/* what: "input \"x\"", for messages. want: its element type; NONE: any. false: an exception is set. */
bool py_array_take(py_state *state, PyObject *object, const char *what, hone_dtype want, bool writable, py_array *out);
/* The same of a port that lies on a device; NULL: it does not. */
bool py_array_take_at(py_state *state, PyObject *object, const char *what, hone_dtype want, bool writable,
                      const py_device_port *port, py_array *out);
void py_array_drop(py_array *array);                                              /* a zeroed one is fine */
PyObject *py_array_new(py_state *state, const char *what, const hone_type *type); /* numpy.empty of it */
PyObject *py_shape_tuple(const hone_shape *shape);                                /* dims below 0 as -1 */
bool py_shape_take(PyObject *object, const char *what, hone_shape *out);

/* ---- text.c ---- */
typedef struct py_text {
  char *data;
  size_t length, room;
} py_text;
bool py_text_write(void *user, const char *text, size_t length); /* a hone_write_fn; user: a py_text */
PyObject *py_text_string(py_text *text);                         /* and frees it */
PyObject *py_text_bytes(py_text *text);
void py_text_free(py_text *text);
PyObject *py_string(const char *text); /* names come from files: what is no UTF-8 is replaced. NULL: None */

/* ---- lists.c: arguments as the library's arrays ---- */
/* Memory of one call; strings are borrowed from the Python objects that were given. */
typedef struct py_pool {
  void *latest; /* of its blocks */
} py_pool;
void *py_pool_take(py_pool *pool, Py_ssize_t count, size_t bytes); /* zeroed; NULL sets MemoryError */
void py_pool_free(py_pool *pool);
const char *py_text_of(PyObject *object, const char *what); /* UTF-8, borrowed; NULL: an exception is set */
/* A sequence of str; None: none. */
bool py_names_take(py_pool *pool, PyObject *object, const char *what, const char *const **out, int *out_count);
/* A sequence of (input, min, opt, max, profile). */
bool py_shapes_take(py_pool *pool, PyObject *object, const hone_profile_shape **out, int *out_count);
/* A sequence of (node, compute, output, preferred). */
bool py_layers_take(py_pool *pool, PyObject *object, const hone_layer_type **out, int *out_count);
/* A dict of name -> value as attributes: int, float, str, bool and sequences of one of them. */
bool py_attrs_take(py_pool *pool, PyObject *object, const hone_attr **out, int *out_count);
/* A dict of name -> array. arrays: as many, which the caller drops. */
typedef struct py_named_arrays {
  py_array *arrays;
  hone_named_tensor *tensors;
  int count;
} py_named_arrays;
bool py_named_take(py_state *state, py_pool *pool, PyObject *dict, py_named_arrays *out);
void py_named_drop(py_named_arrays *arrays);

/* ---- progress.c: what a long call tells Python ---- */
typedef struct py_progress {
  py_context *context;
  PyObject *callback; /* progress(what, done, total); NULL: nobody listens */
  PyThreadState *thread;
  atomic_bool stop_timing;
  bool interrupted; /* Ctrl-C once: the timing ends; twice: the call */
  int64_t told_at_ns;
  PyObject *error_type, *error_value, *error_trace; /* what the callback or a signal raised */
} py_progress;
void py_progress_begin(py_progress *progress, py_context *context, PyObject *callback); /* releases the GIL */
void py_progress_tell(void *user, const char *what, int64_t done, int64_t total);       /* a hone_progress_fn */
void py_progress_hold(py_progress *progress);  /* in a callback of another kind: takes the GIL, */
void py_progress_go_on(py_progress *progress); /* and releases it; what was raised ends the call */
bool py_progress_end(py_progress *progress);   /* takes the GIL; false: an exception is set */

/* ---- graph.c ---- */
typedef struct py_graph {
  PyObject ob_base;
  py_state *state;
  py_context own_context, *context; /* context: own, or that of the graph that this one was made of */
  hone_graph *graph;
  Py_buffer bytes;     /* that the model is read from; obj NULL: from a file, or it is built here */
  PyObject *source;    /* the graph that this one was made of; NULL: none */
  hone_value **values; /* by number, as Python has them */
  int value_count, value_room;
} py_graph;
extern PyType_Spec py_graph_spec;
PyObject *py_graph_create(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *py_graph_load(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *py_graph_zoo(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *py_zoo_list(PyObject *module, PyObject *none);
/* A long call begins: nobody else may use the graph until it is over. false: an exception is set. */
bool py_graph_enter(py_graph *graph);
py_graph *py_graph_new(py_state *state, const py_limits *limits);
PyObject *py_graph_build(py_graph *self, PyObject *args, PyObject *kwargs);
PyObject *py_graph_quantize(py_graph *self, PyObject *args, PyObject *kwargs);

/* ---- engine.c ---- */
typedef struct py_engine {
  PyObject ob_base;
  py_state *state;
  hone_engine *engine;
  hone_device *device;
  uint64_t process; /* that the two were opened in */
  char kind[32];
  int index, threads;
} py_engine;
extern PyType_Spec py_engine_spec;
/* The device of an engine to be built or loaded; needs no GIL. */
hone_status py_device_open(py_context *context, const char *kind, int index, int threads, hone_device **out);
/* Takes both. */
PyObject *py_engine_new(py_state *state, hone_engine *engine, hone_device *device, const char *kind, int index,
                        int threads);
/* After a fork the engine's device has no threads: opens it again. false: an exception is set. */
bool py_engine_here(py_engine *engine);
PyObject *py_engine_load(PyObject *module, PyObject *args, PyObject *kwargs);

/* ---- session.c ---- */
/* One input or output, as the engine has it. */
typedef struct py_port {
  const char *name; /* borrowed from the engine */
  char what[160];   /* input "x" */
  hone_dtype dtype;
  bool on_device;
  py_device_port device; /* where on_device */
} py_port;
typedef struct py_ports {
  int in_count, out_count;
  py_port *in, *out; /* one allocation, at in */
} py_ports;
/* index, stream: of the device that ports may lie on. */
bool py_ports_read(const hone_engine *engine, int index, void *stream, py_ports *out);
bool py_port_take(py_state *state, const py_port *port, PyObject *object, bool writable, py_array *out);
void py_ports_free(py_ports *ports);

/* A session of the library, and what it was given last. */
typedef struct py_native {
  struct py_native *next; /* in the list of those that are free */
  hone_session *session;
  bool shaped;    /* the shapes below are set */
  hone_shape *in; /* one an input */
  hone_type *out; /* one an output, at these shapes */
  bool *copied; /* of an output: it cannot be bound in the host's memory: its shape depends on data, or it is a device's
                 */
  bool *lent;   /* of an input, then of an output: the caller's memory on the device is bound */
  atomic_bool cancel;
} py_native;
py_native *py_native_new(py_engine *engine, const py_ports *ports, const hone_session_options *options);
void py_native_free(py_native *native, bool here); /* here: false after a fork: its memory is left alone */
/* Shapes and buffers of the inputs; then the outputs' types are known. */
bool py_native_set_inputs(py_state *state, py_native *native, const py_ports *ports, const py_array *arrays);
bool py_native_set_output(py_state *state, py_native *native, const py_ports *ports, int index, const py_array *array);
/* An output's own memory again, where the caller's on the device was bound. */
bool py_native_take_back(py_state *state, py_native *native, const py_ports *ports, int index);
bool py_native_run(py_state *state, py_native *native); /* without the GIL */
bool py_same_shape(const hone_shape *a, const hone_shape *b);
bool py_refuse_shape(const py_port *port, const hone_shape *want, const hone_shape *have); /* false, and ValueError */

typedef struct py_session {
  PyObject ob_base;
  py_state *state;
  py_engine *engine;
  py_ports ports;
  py_native *free;
  uint64_t process;
  PyObject *result; /* a type of named tuples; NULL: one output */
  PyObject *names;  /* {input name: index} */
  int64_t deadline_ms;
  void *stream; /* of the device; NULL: each native session has its own */
  int opened;   /* native sessions so far */
} py_session;
extern PyType_Spec py_session_spec;
PyObject *py_session_new(PyObject *module, PyObject *args, PyObject *kwargs);
py_native *py_session_take(py_session *session); /* NULL: an exception is set */
void py_session_give(py_session *session, py_native *native, uint64_t process);
/* Of `out=`: an array for the one output, of several a list or tuple, or a dict of some. *out: owned; NULL: not given.
 */
bool py_session_given(const py_session *session, PyObject *given, int index, PyObject **out);
/* Arguments of a call as one object an input, borrowed. */
bool py_session_feeds(const py_session *session, PyObject *args, PyObject *kwargs, PyObject **out);

/* ---- call.c ---- */
enum { PY_FEW_PORTS = 8 }; /* whose arrays stand in the call itself */
typedef struct py_call {
  int in_count, out_count;
  PyObject **feeds, **results; /* feeds: borrowed; results: owned, one an output */
  py_array *in, *out;
  PyObject *few_objects[2 * PY_FEW_PORTS];
  py_array few_arrays[2 * PY_FEW_PORTS];
} py_call;
/* Reads the arguments and takes a native session, which the caller gives back; NULL: an exception is set. py_call_end()
 * follows in any case; a call must not be moved. */
py_native *py_call_begin(py_session *session, PyObject *args, PyObject *kwargs, py_call *call);
bool py_call_prepare(const py_session *session, py_native *native, py_call *call); /* binds; a run may follow */
PyObject *py_call_results(const py_session *session, py_native *native, py_call *call);
void py_call_end(py_call *call);

/* ---- run.c ---- */
extern PyType_Spec py_run_spec;
PyObject *py_session_start(py_session *session, PyObject *args);

/* ---- batcher.c ---- */
extern PyType_Spec py_batcher_spec;
PyObject *py_batcher_new(PyObject *module, PyObject *args, PyObject *kwargs);

/* ---- binding.c ---- */
extern PyType_Spec py_binding_spec;
PyObject *py_session_bind(py_session *self, PyObject *args, PyObject *kwargs);

/* ---- profiler.c ---- */
extern PyType_Spec py_profiler_spec;
PyObject *py_profiler_new(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *py_report_diff(PyObject *module, PyObject *args, PyObject *kwargs);

/* A method that takes names, as PyMethodDef wants it. */
#define PY_NAMED(function) ((PyCFunction)(void (*)(void))(function))

#endif
