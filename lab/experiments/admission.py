# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Does a lone reader keep its total latency beside a writer that fills every queue?"""

from lab.experiments.fio_pair import FioPair


class Admission(FioPair):
    """A QD 1 reader against a QD 1024 writer."""

    name = "admission"
    description = "fio: a reader with 1 I/O at a time beside a writer with 1,024, random 4 KiB"
    foreground_options = {"rw": "randread", "bs": "4k", "iodepth": 1}
    background_options = {"rw": "randwrite", "bs": "4k", "iodepth": 1024}
