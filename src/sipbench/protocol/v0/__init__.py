"""SIP-Bench v0.1.0: what must stay readable, writable and computable.

``document``     the v0.1.0 run record and summary, and their constraints
``reading``      v0.1.0 record to current record: placeholders become null, crashes lose their score
``writing``      current record to v0.1.0 record, and what v0.1.0 cannot express
``arithmetic``   v0.1.0's own aggregation of v0.1.0 records

What ``arithmetic`` yields is *compat*: it pools attempts, counts unknown cost as 0 and reports an
sd of 0 for one repeat. It never stands in a current summary.
"""

from __future__ import annotations

from sipbench.protocol.v0.arithmetic import COMPAT_EPS, aggregate
from sipbench.protocol.v0.document import V0_VERSION, V0RunRecord, V0Summary
from sipbench.protocol.v0.reading import upgrade_record
from sipbench.protocol.v0.writing import Downgrade, downgrade_records

__all__ = [
    "COMPAT_EPS",
    "V0_VERSION",
    "Downgrade",
    "V0RunRecord",
    "V0Summary",
    "aggregate",
    "downgrade_records",
    "upgrade_record",
]
