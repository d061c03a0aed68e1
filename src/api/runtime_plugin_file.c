/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_plugin_file.c - why a plug-in's file was not opened. The loader's words name symptoms ("invalid ELF header");
 * the file's first bytes tell what it is. Source: System V ABI, ELF header; machine numbers of the generic ABI. */
#include "api/plugin.h"
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

enum { HEAD = 20, ORDER_AT = 5, MACHINE_AT = 18 };

static const struct {
  int number;
  const char *name;
} machines[] = {{3, "x86 of 32 bits"}, {8, "MIPS"},
                {20, "PowerPC"},       {21, "PowerPC of 64 bits"},
                {22, "S/390"},         {40, "ARM of 32 bits"},
                {62, "x86-64"},        {183, "AArch64"},
                {243, "RISC-V"},       {258, "LoongArch"}};

#if defined(__x86_64__)
enum { OURS = 62 };
#elif defined(__aarch64__)
enum { OURS = 183 };
#elif defined(__riscv)
enum { OURS = 243 };
#else
enum { OURS = -1 };
#endif

static const char *machine_name(int number) {
  for (size_t i = 0; i < HN_COUNT(machines); ++i)
    if (machines[i].number == number) return machines[i].name;
  return "a processor that this library does not know";
}

static hone_status not_elf(hone_context *context, const char *path, const unsigned char *head, size_t count) {
  char shown[HEAD + 1] = {0};
  for (size_t i = 0; i < count && head[i] >= 0x20 && head[i] < 0x7f; ++i) shown[i] = (char)head[i];
  if (shown[0]) return HN_FAIL(&context->diag, HONE_IO, "%s is no shared object: it begins with \"%s\"", path, shown);
  return HN_FAIL(&context->diag, HONE_IO, "%s is no shared object%s", path, count ? "" : ": it is empty");
}

/* The loader mostly begins with the path itself. */
static hone_status loader(hone_context *context, const char *path, const char *said) {
  const bool named = strncmp(said, path, strlen(path)) == 0;
  return HN_FAIL(&context->diag, HONE_IO, "%s%s%s", named ? "" : path, named ? "" : ": ", said);
}

hone_status hn_plugin_not_opened(hone_context *context, const char *path, const char *loader_said) {
  unsigned char head[HEAD];
  FILE *file = fopen(path, "rb");
  if (!file && errno == ENOENT && strchr(path, '/'))
    return HN_FAIL(&context->diag, HONE_IO, "%s: there is no such file", path);
  const size_t count = file ? fread(head, 1, sizeof head, file) : 0;
  const bool failed = !file || ferror(file);
  if (file) (void)fclose(file);
  if (failed) return loader(context, path, loader_said);
  if (count < HEAD || memcmp(head, "\177ELF", 4) != 0) return not_elf(context, path, head, count);
  const bool big = head[ORDER_AT] == 2;
  const int machine = big ? head[MACHINE_AT] << 8 | head[MACHINE_AT + 1] : head[MACHINE_AT + 1] << 8 | head[MACHINE_AT];
  if (OURS >= 0 && machine != OURS)
    return HN_FAIL(&context->diag, HONE_IO, "%s is for another processor: %s, and this program runs on %s", path,
                   machine_name(machine), machine_name(OURS));
  return loader(context, path, loader_said);
}

/* The last byte that a segment takes from the file; 0: the headers are not of this machine's class, or not there. */
static uint64_t wanted_bytes(FILE *file) {
  ElfW(Ehdr) head;
  uint64_t most = 0;
  if (fread(&head, sizeof head, 1, file) != 1 || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
      head.e_phentsize != sizeof(ElfW(Phdr)) || fseek(file, (long)head.e_phoff, SEEK_SET) != 0)
    return 0;
  for (int i = 0; i < head.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (fread(&segment, sizeof segment, 1, file) != 1) return UINT64_MAX;
    const uint64_t end = (uint64_t)segment.p_offset + segment.p_filesz;
    if (segment.p_type == PT_LOAD && end > most) most = end;
  }
  return most;
}

hone_status hn_plugin_check_whole(hone_context *context, const char *path) {
  FILE *file = strchr(path, '/') ? fopen(path, "rb") : NULL;
  if (!file) return HONE_OK;
  const uint64_t wanted = wanted_bytes(file);
  const long bytes = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  (void)fclose(file);
  if (bytes < 0 || wanted <= (uint64_t)bytes) return HONE_OK;
  if (wanted == UINT64_MAX)
    return HN_FAIL(&context->diag, HONE_IO, "%s is cut short: it has %ld bytes, and its header wants more", path,
                   bytes);
  return HN_FAIL(&context->diag, HONE_IO, "%s is cut short: it has %ld bytes, and its header wants %llu", path, bytes,
                 (unsigned long long)wanted);
}
