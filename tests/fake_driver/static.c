/* SPDX-License-Identifier: Apache-2.0
 * A statically linked program; runs another in its place if there are words for it. */
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc > 1) execvp(argv[1], argv + 1);
  return 6;
}
