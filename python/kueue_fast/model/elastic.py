"""Annotations of elastic jobs, which grow and shrink while they run: each size is a Workload, a slice of the job.

Source: JS-464, JS-466, JS-470.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["ELASTIC_JOB", "REPLACEMENT_FOR", "is_elastic"]

ELASTIC_JOB: Final = "kueue.x-k8s.io/elastic-job"
"""Annotation of a job and of its slices (`"true"`), and name of the scheduling gate of their pods."""
REPLACEMENT_FOR: Final = "kueue.x-k8s.io/workload-slice-replacement-for"
"""Annotation of a slice: key (`namespace/name`) of the slice whose place it takes."""


def is_elastic(annotations: Mapping[str, str] | None, *, slices: bool) -> bool:
    """Whether a job or a Workload with these annotations is elastic; `slices` is ElasticJobsViaWorkloadSlices.

    Source: JS-470.
    """
    return slices and annotations is not None and annotations.get(ELASTIC_JOB) == "true"
