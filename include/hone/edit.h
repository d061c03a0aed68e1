/* SPDX-License-Identifier: Apache-2.0 */
/* edit.h - ONNX models as they are written, to be cut and changed (docs/DEBUGGING.md). Operators, attributes and
 * metadata that hone does not know stay as they are; only names, edges, types and constants are looked at. */
#ifndef HONE_EDIT_H
#define HONE_EDIT_H

#include <hone/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_model hone_model;

/* Reads an ONNX model. Its file is mapped and must not change underneath; the context must outlive the model.
 * Errors: IO, MALFORMED, LIMIT, NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_model_load(hone_context *context, const char *path, hone_model **out_model);
HONE_API void hone_model_destroy(hone_model *model); /* NULL is fine */

/* Runs a script: an edit a line (or up to `;`), # begins a comment.
 *   extract [VALUE, ...] -> VALUE, ...     what lies between these values; without inputs: all that the outputs need
 *   before VALUE, ... / behind VALUE, ...   the two parts of a model that is split at these values
 *   insert OP(VALUE, ..., ATTR=N) -> NEW [for VALUE]   a node; with `for` the readers of VALUE read it instead
 *   remove NODE, ...                       its readers read its first input
 *   rename NAME -> NAME                    a node or a value, wherever it is read
 *   type VALUE f32[1,3,N,?]                element type and shape; of an input, what was stated of others is forgotten
 *   output VALUE, ... / drop OUTPUT, ...   outputs more or less; output *: all values
 *   constant NAME f32[2] 1 2               an initializer; one number fills it
 *   replace OP(OP(x, y), z) -> OP(x, y, z) operators wherever they stand so; DOMAIN::OP of other domains
 *   fold                                   what constants alone reach becomes constants
 * Names with spaces or any of ()[],=# stand in quotes. After an error the model is as the edits before left it, or
 * worse: load it again. Errors: INVALID (the line, the name and the nearest one that there is), UNSUPPORTED (a value
 * becomes an input and its type is not known), NO_MEMORY, CANCELLED, LIMIT. */
HONE_API HONE_CHECKED hone_status hone_model_edit(hone_model *model, const char *script);

/* Writes the model into one file: external data becomes part of it. Written to a temporary name, then renamed.
 * Errors: IO, LIMIT (more than 2 GiB), NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_model_save(hone_model *model, const char *path);
/* The same bytes to a function, in one piece. IO: it returned false. */
HONE_API HONE_CHECKED hone_status hone_model_write(hone_model *model, hone_write_fn write, void *user);

HONE_API int hone_model_node_count(const hone_model *model);
HONE_API const char *hone_model_node_name(const hone_model *model, int index); /* may be ""; borrowed, until an edit */
HONE_API const char *hone_model_node_op(const hone_model *model, int index);
HONE_API int hone_model_input_count(const hone_model *model);
HONE_API const char *hone_model_input_name(const hone_model *model, int index);

/* Writes the model of some nodes alone: keep has a flag for each. Values that lose their nodes become inputs of their
 * type, or constants where `constants` has them (plain, in the host's memory); outputs are those that are left, and
 * what nobody reads. Constant nodes that are read stay by themselves. The model is as before. Errors: as for edits; IO;
 * INVALID (nothing is left). */
HONE_API HONE_CHECKED hone_status hone_model_save_part(hone_model *model, const bool *keep,
                                                       const hone_named_tensor *constants, int constant_count,
                                                       const char *path);

#ifdef __cplusplus
}
#endif
#endif
