# SPDX-License-Identifier: Apache-2.0
"""Readers of occbench's files and machine code. They know results/schema.json and nothing of the C++."""
