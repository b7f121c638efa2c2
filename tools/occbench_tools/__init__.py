# SPDX-License-Identifier: Apache-2.0
"""Readers of occbench's files and machine code. They know results/schema.json and nothing of the C++."""

# Versions of results/schema.json that the tools read: 2 to 4 for runs that others keep.
SCHEMA_VERSIONS = (2, 3, 4, 5, 6)
NEWEST = SCHEMA_VERSIONS[-1]
