"""Which taints tolerations tolerate. Source: QP-422."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from kueue_fast.api.core import Taint, Toleration
from kueue_fast.model.integers import parse_int64

BLOCKING_EFFECTS: Final = ("NoSchedule", "NoExecute")
# Kubernetes compares only integers in their shortest form: no plus sign, no leading zeros.
_CANONICAL_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]*")


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether one toleration tolerates one taint.

    An empty effect or key of the toleration stands for any. No operator means `Equal`, which
    compares the values even if the key is empty. `Lt` (`Gt`) asks for a taint value below
    (above) the toleration's, both decimal 64-bit integers; an operator that is not known
    tolerates nothing.

    Source: QP-422.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator or "Equal":
        case "Equal":
            return (toleration.value or "") == (taint.value or "")
        case "Exists":
            return True
        case "Lt" | "Gt":
            bound, value = _integer(toleration.value), _integer(taint.value)
            if bound is None or value is None:
                return False
            return value < bound if toleration.operator == "Lt" else value > bound
    return False


def first_untolerated(taints: Iterable[Taint] | None, tolerations: Sequence[Toleration]) -> Taint | None:
    """The first taint that keeps pods off (`NoSchedule`, `NoExecute`) and is not tolerated.

    Source: QP-422.
    """
    for taint in taints or ():
        if taint.effect in BLOCKING_EFFECTS and not any(
            tolerates(toleration, taint) for toleration in tolerations
        ):
            return taint
    return None


def _integer(text: str | None) -> int | None:
    return parse_int64(text) if text and _CANONICAL_INTEGER.fullmatch(text) else None
