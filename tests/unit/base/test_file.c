/* SPDX-License-Identifier: Apache-2.0 */
/* test_file.c - mapping, reading and replacing files; what external data may not be; nothing left behind on failure. */
#include "base/file.h"
#include "unit/base/faults.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* A folder of its own for each test, and a path inside it; good for four paths at a time. */
static char folder[64];

static const char *in(const char *name) {
  static char paths[4][256];
  static int turn;
  char *path = paths[turn++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/hone_file_XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

static void put(const char *name, const char *text) {
  FILE *file = fopen(in(name), "w");
  assert_non_null(file);
  assert_int_equal(fputs(text, file) < 0, 0);
  assert_int_equal(fclose(file), 0);
}

static int names_in_folder(void) {
  DIR *d = opendir(folder);
  assert_non_null(d);
  int count = 0;
  for (const struct dirent *e = readdir(d); e; e = readdir(d)) count += e->d_name[0] != '.';
  closedir(d);
  return count;
}

static int open_descriptors(void) {
  int count = 0;
  for (int fd = 0; fd < 256; ++fd) {
    struct stat about;
    count += fstat(fd, &about) == 0;
  }
  return count;
}

static void check_content(const char *path, const char *want) {
  hn_blob blob;
  assert_int_equal(hn_file_map(NULL, path, &blob), HONE_OK);
  assert_int_equal(blob.bytes, strlen(want));
  assert_memory_equal(blob.data, want, blob.bytes);
  hn_blob_close(&blob);
  assert_null(blob.data);
  assert_int_equal(hn_file_read(NULL, hn_allocator_default(), path, &blob), HONE_OK);
  assert_int_equal(blob.bytes, strlen(want));
  assert_memory_equal(blob.data, want, blob.bytes);
  assert_false(blob.mapped);
  hn_blob_close(&blob);
}

static void test_whole_files(void **state) {
  (void)state;
  put("some", "hello");
  put("empty", "");
  const int before = open_descriptors();
  check_content(in("some"), "hello");
  check_content(in("empty"), "");
  assert_int_equal(open_descriptors(), before);
  hn_blob none = {0};
  hn_blob_close(&none);
}

static void test_refused_files(void **state) {
  (void)state;
  assert_int_equal(mkfifo(in("pipe"), 0600), 0);
  const char *const paths[] = {in("absent"), folder, in("pipe"), "/dev/zero"};
  const int before = open_descriptors();
  for (size_t i = 0; i < HN_COUNT(paths); ++i) {
    hn_diag_entry entry[4];
    hone_diagnostics diag;
    hn_diag_init(&diag, entry, 4);
    hn_blob blob = {.bytes = 1};
    assert_int_equal(hn_file_map(&diag, paths[i], &blob), HONE_IO);
    assert_null(blob.data);
    assert_int_equal(blob.bytes, 0);
    assert_int_equal(hn_file_read(&diag, hn_allocator_default(), paths[i], &blob), HONE_IO);
    assert_int_equal(diag.count, 2);
    assert_non_null(strstr(entry[0].text, paths[i]));
  }
  assert_int_equal(open_descriptors(), before);
}

static void test_read_faults(void **state) {
  (void)state;
  put("some", "hello");
  for (int at = 0;; ++at) {
    faults f = {.countdown = at};
    hn_blob blob;
    const hone_status got = hn_file_read(NULL, faults_allocator(&f), in("some"), &blob);
    hn_blob_close(&blob);
    assert_int_equal(f.live, 0);
    assert_int_equal(f.live_bytes, 0);
    if (got == HONE_OK) {
      assert_int_equal(at, 1);
      return;
    }
    assert_int_equal(got, HONE_NO_MEMORY);
  }
}

/* Returns how many rows went wrong; also run in a process without openat2, where cmocka's asserts cannot be used. */
static int check_beside(void) {
  static const struct {
    const char *name;
    hone_status want;
  } row[] = {
      {"data.bin", HONE_OK},
      {"sub/deep/data.bin", HONE_OK},
      {"./data.bin", HONE_OK},
      {"sub//deep/./data.bin", HONE_OK},
      {"..data", HONE_OK}, /* only a name */
      {"", HONE_MALFORMED},
      {"/etc/passwd", HONE_MALFORMED},
      {"..", HONE_MALFORMED},
      {"../outside.bin", HONE_MALFORMED},
      {"sub/../data.bin", HONE_MALFORMED},
      {"sub//../data.bin", HONE_MALFORMED},
      {"sub/..", HONE_MALFORMED},
      {"link", HONE_OK}, /* links that stay */
      {"link_sub/deep/data.bin", HONE_OK},
      {"sub/link_up/data.bin", HONE_OK},
      {"link_out", HONE_MALFORMED},
      {"link_out_and_in", HONE_MALFORMED},
      {"link_absolute", HONE_MALFORMED},
      {"link_loop", HONE_MALFORMED},
      {"link_pipe", HONE_IO},
      {"link_hard", HONE_MALFORMED},
      {"sub/link_up/../outside.bin", HONE_MALFORMED},
      {"hard", HONE_MALFORMED},
      {"hard_twin", HONE_MALFORMED},
      {"data.bin/x", HONE_MALFORMED},
      {"absent.bin", HONE_IO},
      {"sub", HONE_IO},
      {"pipe", HONE_IO},
  };
  char model[256];
  snprintf(model, sizeof model, "%s", in("model.onnx"));
  int wrong = 0;
  for (size_t i = 0; i < HN_COUNT(row); ++i) {
    hn_diag_entry entry[4];
    hone_diagnostics diag;
    hn_diag_init(&diag, entry, 4);
    hn_blob blob = {.bytes = 1};
    const hone_status got = hn_file_map_beside(&diag, model, row[i].name, false, &blob);
    const bool right = got == row[i].want && diag.count == (got != HONE_OK) &&
                       (got == HONE_OK ? blob.bytes == 4 && memcmp(blob.data, "data", 4) == 0 : !blob.data);
    if (!right)
      fprintf(stderr, "%s: got %d, want %d: %s\n", row[i].name, (int)got, (int)row[i].want,
              diag.count ? entry[0].text : "");
    wrong += !right;
    hn_blob_close(&blob);
  }
  return wrong;
}

static void make_tree(void) {
  put("model.onnx", "model");
  put("data.bin", "data");
  put("..data", "data");
  assert_int_equal(mkdir(in("sub"), 0700), 0);
  assert_int_equal(mkdir(in("sub/deep"), 0700), 0);
  put("sub/deep/data.bin", "data");
  assert_int_equal(symlink("data.bin", in("link")), 0);
  assert_int_equal(symlink("/etc/passwd", in("link_out")), 0);
  char absolute[512], around[512];
  snprintf(absolute, sizeof absolute, "%s", in("data.bin"));
  snprintf(around, sizeof around, "../%s/data.bin", strrchr(folder, '/') + 1);
  assert_int_equal(symlink(absolute, in("link_absolute")), 0);
  assert_int_equal(symlink(around, in("link_out_and_in")), 0);
  assert_int_equal(symlink("link_loop", in("link_loop")), 0);
  assert_int_equal(symlink("pipe", in("link_pipe")), 0);
  assert_int_equal(symlink("hard", in("link_hard")), 0);
  assert_int_equal(symlink("sub", in("link_sub")), 0);
  assert_int_equal(symlink("..", in("sub/link_up")), 0);
  put("hard", "data");
  assert_int_equal(link(in("hard"), in("hard_twin")), 0);
  assert_int_equal(mkfifo(in("pipe"), 0600), 0);
}

static void test_beside(void **state) {
  (void)state;
  make_tree();
  const int before = open_descriptors();
  assert_int_equal(check_beside(), 0);
  assert_int_equal(open_descriptors(), before);
}

/* A process of its own in which the kernel answers openat2 with an error, as old kernels and sandboxes do. */
static int run_without_openat2(int error) {
  const pid_t child = fork();
  if (child != 0) {
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {.len = HN_COUNT(rules), .filter = rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(77);
  if (syscall(SYS_openat2, AT_FDCWD, "/", NULL, 0) != -1 || errno != error) _exit(78);
  const int wrong = check_beside();
  _exit(wrong);
}

static void test_beside_without_openat2(void **state) {
  (void)state;
  make_tree();
  const int old_kernel = run_without_openat2(ENOSYS);
  if (old_kernel == 77) {
    print_message("no system call filter here\n");
    skip();
  }
  assert_int_equal(old_kernel, 0);
  assert_int_equal(run_without_openat2(EPERM), 0);
}

/* The layout of a model hub's cache: a snapshot's files are links to the blobs of the same model. */
static void test_beside_hub(void **state) {
  (void)state;
  static const char *const folders[] = {"models--org--net",
                                        "models--org--net/blobs",
                                        "models--org--net/snapshots",
                                        "models--org--net/snapshots/1a2b",
                                        "models--org--net/snapshots/1a2b/onnx",
                                        "models--org--other",
                                        "models--org--other/blobs"};
  for (size_t i = 0; i < HN_COUNT(folders); ++i) assert_int_equal(mkdir(in(folders[i]), 0700), 0);
  put("models--org--net/blobs/77", "data");
  put("models--org--other/blobs/88", "data");
  put("elsewhere", "data");
  static const struct {
    const char *target, *link;
    hone_status want, anywhere;
  } rows[] = {
      {"../../blobs/77", "flat", HONE_OK, HONE_OK},
      {"../../../blobs/77", "onnx/deep", HONE_OK, HONE_OK},
      {"../../../models--org--other/blobs/88", "other", HONE_MALFORMED, HONE_OK},
      {"../../../elsewhere", "out", HONE_MALFORMED, HONE_OK},
      {"../../../models--org--net/blobs/77", "around", HONE_MALFORMED, HONE_OK},
      {"../../blobs/none", "dangling", HONE_IO, HONE_IO},
  };
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    char link_path[128], model[128];
    hn_blob blob;
    snprintf(link_path, sizeof link_path, "models--org--net/snapshots/1a2b/%s", rows[i].link);
    assert_int_equal(symlink(rows[i].target, in(link_path)), 0);
    const bool deep = strchr(rows[i].link, '/');
    snprintf(model, sizeof model, "models--org--net/snapshots/1a2b/%smodel.onnx", deep ? "onnx/" : "");
    const char *name = deep ? strchr(rows[i].link, '/') + 1 : rows[i].link;
    const hone_status got = hn_file_map_beside(NULL, in(model), name, false, &blob);
    if (got != rows[i].want) fail_msg("%s: %s", rows[i].link, hone_status_name(got));
    hn_blob_close(&blob);
    assert_int_equal(hn_file_map_beside(NULL, in(model), name, true, &blob), rows[i].anywhere);
    hn_blob_close(&blob);
  }
}

static void test_beside_paths(void **state) {
  (void)state;
  put("data.bin", "data");
  char before[512], long_name[5000];
  hn_blob blob;
  assert_non_null(getcwd(before, sizeof before));
  assert_int_equal(chdir(folder), 0);
  const hone_status here = hn_file_map_beside(NULL, "model.onnx", "data.bin", false, &blob); /* no folder in the path */
  assert_int_equal(chdir(before), 0);
  assert_int_equal(here, HONE_OK);
  hn_blob_close(&blob);
  assert_int_equal(hn_file_map_beside(NULL, in("absent/model.onnx"), "data.bin", false, &blob), HONE_IO);
  memset(long_name, 'n', sizeof long_name);
  long_name[sizeof long_name - 1] = 0;
  assert_int_equal(hn_file_map_beside(NULL, in("model.onnx"), long_name, false, &blob), HONE_MALFORMED);
  long_name[0] = '/';
  long_name[4500] = '/';
  assert_int_equal(hn_file_map_beside(NULL, long_name, "data.bin", false, &blob), HONE_IO);
}

static void test_writer(void **state) {
  (void)state;
  hn_file_writer w;
  put("out", "old");
  assert_int_equal(hn_file_begin(NULL, &w, in("out")), HONE_OK);
  assert_int_equal(hn_file_write(NULL, &w, "abc", 3), HONE_OK);
  assert_int_equal(hn_file_write(NULL, &w, "defgh", 5), HONE_OK);
  assert_int_equal(w.offset, 8);
  check_content(in("out"), "old"); /* until all is there */
  assert_int_equal(names_in_folder(), 2);
  assert_int_equal(hn_file_commit(NULL, &w), HONE_OK);
  hn_file_abandon(&w); /* fine, and removes nothing */
  assert_int_equal(names_in_folder(), 1);
  check_content(in("out"), "abcdefgh");
  struct stat about;
  const mode_t mask = umask(022);
  assert_int_equal(hn_file_replace(NULL, in("out"), "new", 3), HONE_OK);
  umask(mask);
  check_content(in("out"), "new");
  assert_int_equal(stat(in("out"), &about), 0);
  assert_int_equal(about.st_mode & 0777, 0644);
}

static void test_abandon(void **state) {
  (void)state;
  const int before = open_descriptors();
  hn_file_writer w;
  put("out", "old");
  assert_int_equal(hn_file_begin(NULL, &w, in("out")), HONE_OK);
  assert_int_equal(hn_file_write(NULL, &w, "abc", 3), HONE_OK);
  hn_file_abandon(&w);
  hn_file_abandon(&w);
  check_content(in("out"), "old");
  assert_int_equal(names_in_folder(), 1);
  assert_int_equal(open_descriptors(), before);
  assert_int_equal(hn_file_write(NULL, &w, "x", 1), HONE_INVALID);
  assert_int_equal(hn_file_commit(NULL, &w), HONE_INVALID);
}

static void test_begin_refused(void **state) {
  (void)state;
  assert_int_equal(mkfifo(in("pipe"), 0600), 0);
  const char *const paths[] = {in("absent/out"), folder, in("pipe"), "/dev/null"};
  const int before = open_descriptors();
  for (size_t i = 0; i < HN_COUNT(paths); ++i) {
    hn_diag_entry entry[2];
    hone_diagnostics diag;
    hn_diag_init(&diag, entry, 2);
    assert_int_equal(hn_file_replace(&diag, paths[i], "x", 1), HONE_IO);
    assert_int_equal(diag.count, 1);
  }
  assert_int_equal(names_in_folder(), 1);
  assert_int_equal(open_descriptors(), before);
}

/* The disk is full: here, files may not grow beyond 1000 bytes. */
static void test_write_fails(void **state) {
  (void)state;
  put("out", "old");
  const int before = open_descriptors();
  struct rlimit usual, tight;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
  tight = usual;
  tight.rlim_cur = 1000;
  hn_file_writer w;
  hn_diag_entry entry[2];
  hone_diagnostics diag;
  hn_diag_init(&diag, entry, 2);
  static const char bytes[5000];
  assert_int_equal(hn_file_begin(NULL, &w, in("out")), HONE_OK);
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const hone_status got = hn_file_write(&diag, &w, bytes, sizeof bytes);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
  signal(SIGXFSZ, handler);
  assert_int_equal(got, HONE_IO);
  assert_int_equal(diag.count, 1);
  assert_int_equal(names_in_folder(), 1); /* gone already, without an abandon */
  assert_int_equal(open_descriptors(), before);
  assert_int_equal(hn_file_commit(NULL, &w), HONE_INVALID);
  check_content(in("out"), "old");
}

static void test_rename_fails(void **state) {
  (void)state;
  const int before = open_descriptors();
  hn_file_writer w;
  assert_int_equal(hn_file_begin(NULL, &w, in("out")), HONE_OK);
  assert_int_equal(hn_file_write(NULL, &w, "abc", 3), HONE_OK);
  assert_int_equal(mkdir(in("out"), 0700), 0); /* somebody took the name in between */
  assert_int_equal(hn_file_commit(NULL, &w), HONE_IO);
  assert_int_equal(names_in_folder(), 1);
  assert_int_equal(open_descriptors(), before);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_FOLDER(test_whole_files),
      IN_FOLDER(test_refused_files),
      IN_FOLDER(test_read_faults),
      IN_FOLDER(test_beside),
      IN_FOLDER(test_beside_without_openat2),
      IN_FOLDER(test_beside_hub),
      IN_FOLDER(test_beside_paths),
      IN_FOLDER(test_writer),
      IN_FOLDER(test_abandon),
      IN_FOLDER(test_begin_refused),
      IN_FOLDER(test_write_fails),
      IN_FOLDER(test_rename_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
