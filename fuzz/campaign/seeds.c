/* SPDX-License-Identifier: Apache-2.0 */
/* seeds.c - the files that mutants are made of. */
#include "seeds.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool add_file(seed_list *list, const char *path) {
  struct stat info;
  FILE *in = fopen(path, "rb");
  if (!in) return false;
  seed_file seed = {0};
  if (fstat(fileno(in), &info) == 0 && info.st_size > 0 && info.st_size <= MOST_SEED_BYTES) {
    seed.count = (size_t)info.st_size;
    seed.bytes = malloc(seed.count);
    seed.path = strdup(path);
    if (seed.bytes && seed.path && list->count < MOST_SEEDS && fread(seed.bytes, 1, seed.count, in) == seed.count) {
      list->items[list->count++] = seed;
      seed = (seed_file){0};
    }
  }
  free(seed.bytes);
  free(seed.path);
  fclose(in);
  return true;
}

static int visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* In the order of names, so that a case is the same on every machine. */
static bool add_path(seed_list *list, const char *path, const char *ending) {
  struct dirent **entries;
  const int count = scandir(path, &entries, visible, alphasort);
  bool good = count >= 0 || add_file(list, path);
  for (int i = 0; i < count; ++i) {
    char inner[4096];
    struct stat info;
    snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
    const size_t length = strlen(inner), tail = strlen(ending);
    const bool folder = stat(inner, &info) == 0 && S_ISDIR(info.st_mode);
    if (folder || (length > tail && strcmp(inner + length - tail, ending) == 0)) good &= add_path(list, inner, ending);
    free(entries[i]);
  }
  if (count >= 0) free(entries);
  return good;
}

seed_list *seeds_read(const campaign_options *options, const char *ending) {
  seed_list *list = calloc(1, sizeof *list);
  if (!list) return NULL;
  list->options = options;
  bool good = true;
  for (int i = 0; i < options->seed_count; ++i) {
    if (add_path(list, options->seeds[i], ending)) continue;
    fprintf(stderr, "%s: cannot be read\n", options->seeds[i]);
    good = false;
  }
  if (good && list->count > 0) {
    if (!options->quiet) printf("%d files to begin with\n", list->count);
    return list;
  }
  if (good) fprintf(stderr, "no files *%s of at most %d bytes are given\n", ending, MOST_SEED_BYTES);
  seeds_free(list);
  return NULL;
}

void seeds_free(void *user) {
  seed_list *list = user;
  for (int i = 0; i < list->count; ++i) {
    free(list->items[i].path);
    free(list->items[i].bytes);
  }
  free(list);
}

void seeds_take(const seed_file *seed, campaign_file *file) {
  const size_t length = strlen(seed->path), most = sizeof file->name - 1;
  snprintf(file->name, sizeof file->name, "%s", seed->path + (length > most ? length - most : 0));
  file->count = seed->count;
  file->bytes = malloc(seed->count);
  if (!file->bytes) abort();
  memcpy(file->bytes, seed->bytes, seed->count);
}
