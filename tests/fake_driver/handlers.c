/* SPDX-License-Identifier: Apache-2.0
 * A program whose signal handler ends it, at random moments of its launches, for tests of `occbench attach`.
 *
 *   handlers HOW ROUNDS
 *
 * HOW: _exit, exit; nodefer (_exit, and the handler's own signal is not blocked); reset (_exit, and the handler is
 * gone when it runs). Each round is a process of its own. Prints how many ended as they should, and how many hung.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef CUresult (*Init)(unsigned);
typedef CUresult (*GetFunction)(CUfunction*, CUmodule, const char*);
typedef CUresult (*Launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           CUstream, void**, void**);

static const char* how;

static void on_signal(int number) {
  (void)number;
  if (strcmp(how, "exit") == 0) exit(7);
  _exit(7);
}

/* Launches until the handler ends it, `us` from its first launch on. */
static void child(long us) {
  struct sigaction action = {0};
  action.sa_handler = on_signal;
  action.sa_flags = strcmp(how, "nodefer") == 0 ? SA_NODEFER
                    : strcmp(how, "reset") == 0 ? (int)SA_RESETHAND
                                                : 0;
  sigaction(SIGALRM, &action, NULL);
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL || ((Init)dlsym(library, "cuInit"))(0) != CUDA_SUCCESS) _exit(3);
  const Launch launch = (Launch)dlsym(library, "cuLaunchKernel");
  CUfunction function;
  ((GetFunction)dlsym(library, "cuModuleGetFunction"))(&function, NULL, "flat_k");
  int a = 1;
  float* b = NULL;
  void* parameters[] = {&a, &b};
  launch(function, 4096, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL);
  const struct itimerval timer = {.it_value = {.tv_usec = us}};
  setitimer(ITIMER_REAL, &timer, NULL);
  for (;;) launch(function, 4096, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL);
}

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  how = argv[1];
  int well = 0, hung = 0;
  srand(1);
  for (int round = 0; round < atoi(argv[2]) && hung < 3; ++round) {
    const long us = 200 + rand() % 3000;
    const pid_t id = fork();
    if (id == 0) child(us);
    const double given_up_s = now_s() + 20;
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(id, &status, WNOHANG)) == 0 && now_s() < given_up_s) usleep(500);
    if (ended == id && WIFEXITED(status) && WEXITSTATUS(status) == 7) ++well;
    if (ended != 0) continue;
    ++hung;
    kill(id, SIGKILL);
    waitpid(id, &status, 0);
  }
  printf("well %d, hung %d\n", well, hung);
  return 0;
}
