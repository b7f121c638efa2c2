# SPDX-License-Identifier: Apache-2.0
"""Readers of occbench's files and machine code. They know results/schema.json, and of the program what
it says of a folder (`occbench findings`)."""

SCHEMA_VERSIONS = range(
    2, 8
)  # of results/schema.json, that the tools read: the older ones for runs that others keep
NEWEST = SCHEMA_VERSIONS[-1]
READ = f"{SCHEMA_VERSIONS[0]} to {NEWEST}"
