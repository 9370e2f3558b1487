"""Pod templates to rows: shared where requests and eligible flavors are the same. Source: QC-61, QC-64, QP-421..423."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.api.configuration import Resources
from kueue_fast.arrays.tables import Tables
from kueue_fast.arrays.templates import ELIGIBILITY_ERROR, ELIGIBLE, NOT_ELIGIBLE, PodClass, PodClasses
from kueue_fast.errors import InputError
from kueue_fast.model.templates import Templates
from tests.arrays import objects as o


class Classes:
    def __init__(self, **resources: Any) -> None:
        self.tables = Tables()
        self.classes = PodClasses(self.tables, msgspec.convert(resources, Resources))
        self.templates = Templates()

    def make(self, pod: o.Json | None = None, **requests: str | int) -> PodClass:
        spec = o.pod_set(pod=pod, **requests)["template"]["spec"]
        return self.classes.make(self.templates.intern(msgspec.json.encode(spec)), {}, {})

    def requests(self, made: PodClass) -> list[tuple[str, int]]:
        workloads = self.tables.workloads
        start = workloads.request_start[made.request_class]
        return [
            (self.tables.resource_names[workloads.request_resource[row]], workloads.request_amount[row])
            for row in range(start, start + workloads.request_length[made.request_class])
        ]

    def answer(self, made: PodClass, flavor: str) -> int:
        index = self.tables.flavor(flavor)  # first, since it may replace the table
        return self.tables.flavors.eligible[made.eligibility, index]


def test_requests_are_written_in_kernel_units_in_order_of_their_ranks() -> None:
    classes = Classes()
    made = classes.make(cpu="1500m", memory="1Ki", gpu=2)
    want = [("memory", 1024), ("example.com/gpu", 2), ("cpu", 1500)]
    assert classes.requests(made) == want
    assert made.slots == 4  # one more for `pods`


def test_a_request_for_pods_needs_no_slot_of_its_own() -> None:
    assert Classes().make(cpu=1, pods=3).slots == 2


def test_equal_requests_share_a_row_whatever_else_differs() -> None:
    classes = Classes()
    one = classes.make(cpu=1)
    other = classes.make({"nodeSelector": {"zone": "a"}}, cpu="1000m")
    assert one.request_class == other.request_class
    assert one.eligibility != other.eligibility
    assert classes.make(cpu=2).request_class != one.request_class


def test_an_unreadable_quantity_names_its_path() -> None:
    with pytest.raises((InputError, ValueError), match="1x"):
        Classes().make(cpu="1x")


ZONE_A = o.flavor("a", nodeLabels={"zone": "a"})
TAINTED = o.flavor("a", nodeTaints=[{"key": "t", "value": "v", "effect": "NoSchedule"}])
BAD_TERM = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "Near", "values": ["a"]}]}
                ]
            }
        }
    }
}
ANSWERS = {
    "a flavor that does not exist": (None, {}, NOT_ELIGIBLE),
    "a plain flavor": (o.flavor("a"), {}, ELIGIBLE),
    "a selector that matches": (ZONE_A, {"nodeSelector": {"zone": "a"}}, ELIGIBLE),
    "a selector that does not": (ZONE_A, {"nodeSelector": {"zone": "b"}}, NOT_ELIGIBLE),
    "a taint": (TAINTED, {}, NOT_ELIGIBLE),
    "a tolerated taint": (TAINTED, {"tolerations": [{"key": "t", "operator": "Exists"}]}, ELIGIBLE),
    "an affinity that cannot be read": (ZONE_A, BAD_TERM, ELIGIBILITY_ERROR),
}


@pytest.mark.parametrize("pods_first", [True, False], ids=["pods first", "flavor first"])
@pytest.mark.parametrize("case", ANSWERS.values(), ids=ANSWERS)
def test_eligible(case: tuple, pods_first: bool) -> None:
    flavor, pod, want = case
    classes = Classes()
    if pods_first:
        classes.make(pod, cpu=1)
    if flavor is not None:
        classes.classes.set_flavor("a", flavor)
    assert classes.answer(classes.make(pod, cpu=1), "a") == want


def test_a_flavor_that_changes_or_goes_is_asked_again() -> None:
    classes = Classes()
    made = classes.make({"nodeSelector": {"zone": "b"}}, cpu=1)
    answers = []
    for flavor in (ZONE_A, o.flavor("a", nodeLabels={"zone": "b"}), None, o.flavor("a")):
        classes.classes.set_flavor("a", flavor)
        answers.append(classes.answer(made, "a"))
    assert answers == [NOT_ELIGIBLE, ELIGIBLE, NOT_ELIGIBLE, ELIGIBLE]


def test_words_for_a_flavor_name_what_stands_in_the_way() -> None:
    classes = Classes()
    pods = [classes.make(cpu=1).pod]
    assert "a" in classes.classes.why_not("a", pods)
    classes.classes.set_flavor("a", TAINTED)
    assert "taint" in classes.classes.why_not("a", pods)


def test_many_flavors_and_classes_keep_their_answers() -> None:
    classes = Classes()
    made = []
    for number in range(40):
        classes.classes.set_flavor(f"f{number}", o.flavor(f"f{number}", nodeLabels={"n": str(number)}))
        made.append(classes.make({"nodeSelector": {"n": str(number)}}, cpu=number))
    for number, one in enumerate(made):
        answers = [classes.answer(one, f"f{flavor}") for flavor in range(40)]
        assert answers == [ELIGIBLE if flavor == number else NOT_ELIGIBLE for flavor in range(40)]
        assert classes.requests(one) == [("cpu", 1000 * number)]


def test_excluded_prefixes_are_not_requested() -> None:
    classes = Classes(excludeResourcePrefixes=["example.com/"])
    assert classes.requests(classes.make(cpu=1, gpu=1)) == [("cpu", 1000)]
