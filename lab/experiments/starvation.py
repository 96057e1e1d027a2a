# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Does the background still move, and cheaply, while the foreground wants all of the disk?"""

from lab.experiments.fio_pair import FioPair


class Starvation(FioPair):
    """A saturating foreground beside a background writer."""

    name = "starvation"
    description = "fio: readers that saturate the disk (64 I/Os at a time) beside a writer with 32"
    duration_s = 10.0
    foreground_options = {"rw": "randread", "bs": "4k", "iodepth": 64}
    background_options = {"rw": "randwrite", "bs": "4k", "iodepth": 32}
