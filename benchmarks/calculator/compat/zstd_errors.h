// SPDX-License-Identifier: Apache-2.0
#pragma once

constexpr unsigned ZSTD_error_srcSize_wrong = 72;
