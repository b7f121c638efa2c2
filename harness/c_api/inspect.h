/* SPDX-License-Identifier: Apache-2.0
 * liboccbench.so: kernels of binaries, for callers of any language. No GPU and no CUDA is needed. */
#ifndef OCCBENCH_INSPECT_H
#define OCCBENCH_INSPECT_H

#ifdef __cplusplus
extern "C" {
#endif

/** Every kernel in the file or folder `path`, as JSON in UTF-8:
 *   {"kernels": [{"name": ..., "registers": ...}, ...], "ptx": ["compute_90"], "link_time_code": false,
 *    "complaints": ["what of it could not be read"]}
 * or {"error": "why it cannot be read at all"}. What is not known is null. Lasts until occbench_inspect_free();
 * NULL where memory ran out. */
__attribute__((visibility("default"))) char* occbench_inspect(const char* path);
__attribute__((visibility("default"))) void occbench_inspect_free(char* json);

#ifdef __cplusplus
}
#endif
#endif
