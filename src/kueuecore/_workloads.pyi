from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from typing_extensions import disjoint_base

from kueuecore._forest import FloatVector, Matrix, Vector

@disjoint_base
class Workloads:
    ROWS: ClassVar[Mapping[str, type[np.integer[Any]]]]
    POD_SETS: ClassVar[Mapping[str, type[np.integer[Any]]]]
    REQUEST_CLASSES: ClassVar[Mapping[str, type[np.integer[Any]]]]
    REQUESTS: ClassVar[Mapping[str, type[np.integer[Any]]]]
    SLOTS: ClassVar[Mapping[str, type[np.integer[Any]]]]

    queue: Vector
    replaces: Vector
    reserved_in: Vector
    admitted: Vector
    evicted: Vector
    evicting: Vector
    excluded: Vector
    unhealthy: Vector
    elastic: Vector
    gate_closed: Vector
    reserved_at: Vector
    generation: Vector
    local_queue: Vector
    namespace: Vector
    shape: Vector
    priority: Vector
    timestamp: Vector
    requeue_at: Vector
    requeue_blocked: Vector
    invalid: Vector
    checks_failed: Vector
    uid: Matrix
    pod_set_start: Vector
    pod_set_length: Vector
    slot_start: Vector
    slot_length: Vector

    tried_cycle: Vector
    tried_generation: Vector
    tried_shape: Vector

    local_queue_usage: FloatVector

    pod_set_name: Vector
    request_class: Vector
    eligibility: Vector
    group: Vector
    count: Vector
    full_count: Vector
    min_count: Vector
    pod_set_slot: Vector
    pod_set_slots: Vector

    request_start: Vector
    request_length: Vector
    request_resource: Vector
    request_amount: Vector

    slot_resource: Vector
    slot_pod_set: Vector
    slot_tried: Vector
    slot_flavor: Vector
    slot_amount: Vector

    def __init__(self, uid_width: int = 36) -> None: ...
    @property
    def rows(self) -> int: ...
    def reserve(
        self,
        rows: int = 0,
        pod_sets: int = 0,
        slots: int = 0,
        request_classes: int = 0,
        requests: int = 0,
        uid_width: int = 0,
    ) -> None: ...
    def write(
        self,
        row: int,
        queue: int,
        local_queue: int,
        namespace: int,
        shape: int,
        priority: int,
        timestamp: int,
        requeue_at: int,
        requeue_blocked: bool,
        invalid: bool,
        checks_failed: bool,
        uid: str,
        pod_set_start: int,
        pod_set_length: int,
        slot_start: int,
        keep_progress: bool,
    ) -> None: ...
    def mark_pending(self, row: int, generation: int, gate_closed: bool) -> None: ...
    def write_held(self, row: int, local_queue: int, priority: int, timestamp: int) -> None: ...
    def mark_held(
        self, row: int, admitted: bool, evicted: bool, reserved_at: int, generation: int, gate_closed: bool
    ) -> None: ...
    def write_slot(self, slot: int, resource: int, flavor: int, amount: int, pod_set: int = 0) -> None: ...
    def write_pod_set(
        self,
        row: int,
        name: int,
        request_class: int,
        eligibility: int,
        group: int,
        count: int,
        full_count: int,
        min_count: int,
        slot: int,
        slots: int,
    ) -> None: ...
    def slots_of(self, row: int) -> list[tuple[int, int, int, int]]: ...
    def forget_progress(self, workload: int) -> None: ...
    def clear_row(self, workload: int) -> None: ...
