/* SPDX-License-Identifier: Apache-2.0
 * A program that has the driver in an unusual place, for tests of `occbench attach`.
 *
 *   places HOW PLUGIN [FOLDER]
 *
 * HOW: plain; dlclose (of the driver, before the end); deepbind, dlmopen (of the library that launches); chroot (to
 * FOLDER, with the driver loaded); long (the kernel's name has 1 MiB).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int (*LaunchKernels)(const char*, int, int);

static const char* long_name(void) {
  const size_t bytes = 1 << 20;
  char* const name = malloc(bytes + 1);
  memset(name, 'k', bytes);
  memcpy(name, "flat_", 5);
  name[bytes] = '\0';
  return name;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* const how = argv[1];
  const int is_deep = strcmp(how, "deepbind") == 0;
  void* const plugin = strcmp(how, "dlmopen") == 0
                           ? dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW)
                           : dlopen(argv[2], RTLD_NOW | (is_deep ? RTLD_DEEPBIND : 0));
  if (plugin == NULL) return 4;
  if (strcmp(how, "chroot") == 0) {
    dlopen("libcuda.so.1", RTLD_NOW);
    if (argc < 4 || chroot(argv[3]) != 0 || chdir("/") != 0) return 5;
  }
  const char* const name = strcmp(how, "long") == 0 ? long_name() : "flat_k";
  const LaunchKernels launch_kernels = (LaunchKernels)dlsym(plugin, "launch_kernels");
  printf("code %d\n", launch_kernels(name, 300, strcmp(how, "dlclose") == 0));
  return 0;
}
