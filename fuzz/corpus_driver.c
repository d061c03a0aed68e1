/* SPDX-License-Identifier: Apache-2.0 */
/* corpus_driver.c - runs a fuzz target over files and folders of files, without a fuzzer: what crashed once is tested
 * ever after, with any compiler. Files are mapped so that they end at a page that may not be touched. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* The file's bytes, copied against the end of an anonymous mapping whose last page is closed. */
static int run_file(const char *path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (file < 0 || fstat(file, &info) != 0) {
    perror(path);
    if (file >= 0) close(file);
    return -1;
  }
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)info.st_size;
  const size_t room = (bytes + page - 1) / page * page;
  uint8_t *map = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int code = -1;
  if (map != MAP_FAILED) {
    uint8_t *start = map + room - bytes;
    if (read(file, start, bytes) == (ssize_t)bytes && mprotect(map + room, page, PROT_NONE) == 0) {
      (void)LLVMFuzzerTestOneInput(start, bytes);
      code = 1;
    }
    munmap(map, room + page);
  }
  close(file);
  return code;
}

/* How many files were run; -1 after a failure. */
static int run_path(const char *path) {
  DIR *dir = opendir(path);
  if (!dir) return run_file(path);
  int total = 0;
  for (const struct dirent *entry; (entry = readdir(dir));) {
    char inner[4096];
    if (entry->d_name[0] == '.') continue;
    snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
    const int count = run_path(inner);
    if (count < 0) {
      total = -1;
      break;
    }
    total += count;
  }
  closedir(dir);
  return total;
}

int main(int argc, char **argv) {
  int total = 0;
  for (int i = 1; i < argc; ++i) {
    const int count = run_path(argv[i]);
    if (count < 0) return 1;
    total += count;
  }
  printf("%d files\n", total);
  return total > 0 ? 0 : 1;
}
