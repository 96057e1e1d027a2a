# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The lab: boots a stock kernel in virtual time, runs workloads, compares, reports."""
