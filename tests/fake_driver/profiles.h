/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Kernels that CUPTI recorded while `run` ran; below 0 where a call failed, or a buffer came that was not its
 * own. */
int profiled_kernels(void (*run)(void));
