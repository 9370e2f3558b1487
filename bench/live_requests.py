"""What an API server was asked, counted by itself: how the sides of `bench.live` differ in what they ask for."""

from collections import Counter
from collections.abc import Iterable

from prometheus_client.parser import text_string_to_metric_families

from kueue_fast.cluster.kube.transport import Connection

FAMILY = "apiserver_request"
COUNT = "apiserver_request_total"
READS = ("GET", "LIST", "WATCH")
# Leases are renewed by the clock, not by the load, and the server's own objects are nobody's.
UNCOUNTED = ("leases", "apiservices", "flowschemas", "prioritylevelconfigurations")


async def requests(connection: Connection) -> Counter[str]:
    """Requests so far: `VERB resource/subresource code` and their number."""
    text = (await connection.request("GET", "/metrics", timeout_s=60)).decode()
    lines = (line for line in text.splitlines() if line.startswith((COUNT, f"# TYPE {COUNT}")))
    found: Counter[str] = Counter()
    for family in text_string_to_metric_families("\n".join(lines)):
        for sample in family.samples:
            labels = sample.labels
            if sample.name == COUNT and labels["resource"] not in UNCOUNTED:
                kind = "/".join(each for each in (labels["resource"], labels["subresource"]) if each)
                found[f"{labels['verb']} {kind} {labels['code']}"] += int(sample.value)
    return found


def writes(counts: Counter[str]) -> int:
    """Those that change something, refused ones too."""
    return sum(number for name, number in counts.items() if not _is_read(name))


def lines(counts: Iterable[tuple[str, int]]) -> str:
    """One line for each sort, the most frequent first."""
    return "\n".join(f"  {number:6} {name}" for name, number in sorted(counts, key=lambda each: -each[1]))


def _is_read(name: str) -> bool:
    return name.split(" ", 1)[0] in READS
