# SPDX-License-Identifier: Apache-2.0
"""What another GPU buys: the speed-up of each case, by what it used of the old device."""
