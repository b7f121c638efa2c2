# SPDX-License-Identifier: Apache-2.0
# The tag that C++ exceptions are thrown by in WebAssembly; the toolchain's libunwind leaves it out.
        .globl  __cpp_exception
        .tagtype __cpp_exception i32
__cpp_exception:
