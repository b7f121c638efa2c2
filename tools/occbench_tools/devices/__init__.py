# SPDX-License-Identifier: Apache-2.0
"""The speed-up of each case on another GPU, by the share of the old device that it used."""
