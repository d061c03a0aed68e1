/* SPDX-License-Identifier: Apache-2.0 */
/* looks.c - what a file looks like. One row a kind; the first that fits is told, so that the special ones (a PyTorch
 * archive) stand before the general ones (a ZIP archive). */
#include "base/looks.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { LOOKED_AT = 4096 }; /* bytes from the beginning; a text is judged by them, too */

typedef struct bytes_view {
  const uint8_t *data;
  size_t count; /* of the file */
  size_t near;  /* of those looked at */
} bytes_view;

typedef struct look {
  const char *what, *advice;
  size_t at, length; /* of the mark; length 0: none */
  const char *mark;
  const char *holds; /* a text among the bytes looked at; NULL: none */
  bool (*fits)(const bytes_view *file);
  unsigned not_for; /* a bit for each kind that is wanted: it is not told of those */
} look;

static bool holds(const bytes_view *file, const char *text) {
  const size_t length = strlen(text);
  for (size_t i = 0; i + length <= file->near; ++i)
    if (memcmp(file->data + i, text, length) == 0) return true;
  return false;
}

/* Printable bytes, blanks and UTF-8; a mark of the byte order may come first. */
static bool is_text(const bytes_view *file) {
  for (size_t i = 0; i < file->near; ++i) {
    const uint8_t c = file->data[i];
    if (c < 0x20 ? !strchr("\t\n\r\f", c) || c == 0 : c == 0x7f || c >= 0xf8 || c == 0xc0 || c == 0xc1) return false;
  }
  return true;
}

static bool is_long_text(const bytes_view *file) { return file->near >= 8 && is_text(file); }

static size_t text_begin(const bytes_view *file) {
  size_t at = file->near >= 3 && memcmp(file->data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  while (at < file->near && isspace(file->data[at])) ++at;
  return at;
}

static bool begins(const bytes_view *file, const char *word) {
  const size_t at = text_begin(file), length = strlen(word);
  return file->near - at >= length && strncasecmp((const char *)file->data + at, word, length) == 0;
}

static bool is_empty(const bytes_view *file) { return file->count == 0; }

static bool is_zeros(const bytes_view *file) {
  for (size_t i = 0; i < file->near; ++i)
    if (file->data[i]) return false;
  return file->near > 0;
}

static bool is_html(const bytes_view *file) {
  return is_text(file) && (begins(file, "<!doctype html") || begins(file, "<html"));
}

static bool is_xml(const bytes_view *file) { return is_text(file) && begins(file, "<?xml"); }

static bool is_json(const bytes_view *file) { return is_text(file) && (begins(file, "{") || begins(file, "[")); }

/* The length of a header of JSON, then the header. */
static bool is_safetensors(const bytes_view *file) {
  uint64_t length = 0;
  if (file->near < 10 || file->data[8] != '{') return false;
  for (int i = 7; i >= 0; --i) length = length << 8 | file->data[i];
  return length >= 2 && length <= file->count - 8 && (file->data[9] == '"' || isspace(file->data[9]));
}

/* The version of its IR, then another field of ModelProto. */
static bool is_onnx(const bytes_view *file) {
  return file->near > 16 && file->data[0] == 0x08 && file->data[1] >= 3 && file->data[1] < 32 &&
         memchr("\x12\x1a\x22\x28\x32\x3a\x42", file->data[2], 7);
}

/* GraphDef: nodes of a name and an operator, both texts. */
static bool is_frozen_graph(const bytes_view *file) {
  return file->near > 4 && file->data[0] == 0x0a &&
         (holds(file, "Placeholder") || holds(file, "\x12\x05"
                                                    "Const"));
}

/* The file's length follows its two letters. */
static bool is_bitmap(const bytes_view *file) {
  uint32_t length = 0;
  for (int i = 5; i >= 2 && file->near >= 6; --i) length = length << 8 | file->data[i];
  return length == file->count && length > 0;
}

#define FROM_TENSORFLOW "convert it to ONNX first (tf2onnx)"
#define FROM_TORCH "export it to ONNX first (torch.onnx.export)"
#define MARK(text) .mark = (text), .length = sizeof(text) - 1
#define MARK_AT(place, text) .at = (place), MARK(text)
static const look looks[] = {
    {"an empty file", "the download or the export failed", .fits = is_empty},
    {"nothing but zero bytes", "the download or the copy is not complete", .fits = is_zeros},
    {"a Git LFS pointer", "fetch the real file with \"git lfs pull\"", MARK("version https://git-lfs")},
    {"an HTML page", "the link led to a web page; download the file itself", .fits = is_html},
    {"a hone engine", "it is built already: run, profile or show it", MARK("HONEENG\n"),
     .not_for = 1u << HN_WANTED_ENGINE},
    {"an ONNX model", "hone build makes an engine of it", .fits = is_onnx, .not_for = 1u << HN_WANTED_MODEL},
    {"a JPEG image", "give it to hone run as an input (--input)", MARK("\xff\xd8\xff")},
    {"a PNG image", "give it to hone run as an input (--input)", MARK("\x89PNG")},
    {"a GIF image", "make it PNG, JPEG or PPM", MARK("GIF8")},
    {"a WebP image", "make it PNG, JPEG or PPM", MARK("RIFF"), .holds = "WEBP"},
    {"a WAV sound", "its samples as .npy or raw .bin are an input", MARK("RIFF"), .holds = "WAVE"},
    {"a BMP image", "make it PNG, JPEG or PPM", MARK("BM"), .fits = is_bitmap},
    {"a TIFF image", "make it PNG, JPEG or PPM", MARK("II*\0")},
    {"a PyTorch archive", FROM_TORCH, MARK("PK\x03\x04"), .holds = "data.pkl"},
    {"a NumPy archive (.npz)", "write the array that is wanted as .npy", MARK("PK\x03\x04"), .holds = ".npy"},
    {"a Keras archive", FROM_TENSORFLOW, MARK("PK\x03\x04"), .holds = "metadata.json"},
    {"a ZIP archive", "unpack it first", MARK("PK\x03\x04")},
    {"a Python pickle (an old PyTorch file, perhaps)", FROM_TORCH, MARK("\x80\x02")},
    {"a Python pickle (an old PyTorch file, perhaps)", FROM_TORCH, MARK("\x80\x04")},
    {"a gzip file", "unpack it first", MARK("\x1f\x8b")},
    {"an xz file", "unpack it first",
     MARK("\xfd"
          "7zXZ")},
    {"a Zstandard file", "unpack it first", MARK("\x28\xb5\x2f\xfd")},
    {"a bzip2 file", "unpack it first", MARK("BZh")},
    {"a tar archive", "unpack it first", MARK_AT(257, "ustar")},
    {"a NumPy array (.npy)", "give it to hone run as an input (--input)", MARK("\x93NUMPY")},
    {"an HDF5 file (Keras .h5, perhaps)", FROM_TENSORFLOW, MARK("\x89HDF\r\n\x1a\n")},
    {"a TensorFlow Lite model", "convert it to ONNX first (tf2onnx --tflite)", MARK_AT(4, "TFL3")},
    {"an ONNX Runtime model (.ort)", "use the ONNX file that it was made from", MARK_AT(4, "ORTM")},
    {"a TensorRT engine", "it runs in TensorRT only; build one from the ONNX model", MARK("ftrt")},
    {"a TensorRT engine", "it runs in TensorRT only; build one from the ONNX model", MARK("ptrt")},
    {"a GGUF file", "hone reads ONNX models", MARK("GGUF")},
    {"a safetensors file", "it holds weights without a graph; export the model to ONNX", .fits = is_safetensors},
    {"a TensorFlow SavedModel", FROM_TENSORFLOW, MARK("\x08\x01\x12"), .holds = "\x05serve"},
    {"a TensorFlow graph", FROM_TENSORFLOW, .fits = is_frozen_graph},
    {"a program (ELF)", "",
     MARK("\x7f"
          "ELF")},
    {"a PDF document", "", MARK("%PDF")},
    {"an OpenVINO model (.xml)", "use the ONNX file that it was made from", .fits = is_xml, .holds = "<net"},
    {"an XML text", "", .fits = is_xml},
    {"an ONNX model as text (textproto)", "write it in binary form (onnx.save)", MARK("ir_version:")},
    {"hone's graph text", "read it with the tool or hone_graph_parse", MARK("graph \"")},
    {"a JSON text", "", .fits = is_json},
    {"a text", "", .fits = is_long_text},
};

static bool fits(const look *row, const bytes_view *file) {
  if (row->length && (file->near < row->at + row->length || memcmp(file->data + row->at, row->mark, row->length) != 0))
    return false;
  if (row->fits && !row->fits(file)) return false;
  return !row->holds || holds(file, row->holds);
}

static const look *look_at(const bytes_view *file, hn_wanted wanted) {
  for (size_t i = 0; i < HN_COUNT(looks); ++i)
    if (!(looks[i].not_for >> wanted & 1) && fits(&looks[i], file)) return &looks[i];
  return NULL;
}

/* The first words of a text, as a hint at where it came from: "Entry not found". */
static void first_words(const bytes_view *file, char *out, size_t room) {
  size_t at = text_begin(file), used = 0;
  while (at < file->near && used + 1 < room && file->data[at] != '\n' && file->data[at] != '\r')
    out[used++] = (char)file->data[at++];
  while (used > 0 && ((uint8_t)out[used - 1] & 0x80)) --used; /* no half characters */
  out[used] = 0;
}

bool hn_say_looks(hone_diagnostics *diag, int from, hone_status status, hn_wanted wanted, const char *path,
                  const uint8_t *bytes, size_t count) {
  static const char *const names[] = {
      [HN_WANTED_MODEL] = "an ONNX model", [HN_WANTED_ENGINE] = "a hone engine", [HN_WANTED_TENSOR] = "a tensor"};
  const bytes_view file = {.data = bytes, .count = count, .near = count < LOOKED_AT ? count : LOOKED_AT};
  const look *row = look_at(&file, wanted);
  if (!row && wanted == HN_WANTED_MODEL && file.near > 16 && !is_onnx(&file))
    (void)hone_note(diag, status,
                    "it looks neither like an ONNX model nor like another kind of file that is known here");
  if (!row || !diag || diag->dropped > 0) return false;
  if (diag->count > from) diag->count = from;
  char words[48] = "";
  if (row->fits == is_long_text) first_words(&file, words, sizeof words);
  (void)HN_FAIL(diag, status, "%s is %s%s%s%s, not %s%s%s", path ? path : "this", row->what, *words ? " (\"" : "",
                words, *words ? "\")" : "", names[wanted], *row->advice ? ": " : "", row->advice);
  return true;
}

hone_status hn_fail_folder(hone_diagnostics *diag, const char *path) {
  char inside[4096];
  struct stat about;
  const int length = snprintf(inside, sizeof inside, "%s/saved_model.pb", path);
  if (length > 0 && (size_t)length < sizeof inside && stat(inside, &about) == 0)
    return HN_FAIL(diag, HONE_IO, "%s: is a folder, a TensorFlow SavedModel: " FROM_TENSORFLOW, path);
  return HN_FAIL(diag, HONE_IO, "%s: is a folder; name the file in it", path);
}
