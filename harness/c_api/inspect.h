/* SPDX-License-Identifier: Apache-2.0
 * liboccbench_inspect.so: kernels of binaries, for callers of any language. A library of its own, as it wants
 * libelf, liblz4 and libzstd. No GPU and no CUDA is needed. */
#ifndef OCCBENCH_INSPECT_H
#define OCCBENCH_INSPECT_H

#ifdef __cplusplus
extern "C" {
#endif

/** Grows when a signature or the meaning of an answer changes. */
#define OCCBENCH_INSPECT_ABI 1
__attribute__((visibility("default"))) int occbench_inspect_abi(void);

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
