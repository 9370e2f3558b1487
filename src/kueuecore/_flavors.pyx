"""Validation of the flavor tables. See the .pxd for what they hold."""

import numpy as np

from kueuecore._types cimport NONE

from kueuecore._forest import _grown


cdef class Flavors:
    """Resource groups and eligible flavors; rows are written by the border, read by the assignment."""

    PER_NODE = (
        "next_when_borrowing", "next_when_preempting", "borrowing_first",
        "within_policy", "reclaim_policy", "borrows_within_cohort", "has_threshold", "threshold",
        "usage_based", "topology_only",
    )

    def __init__(self):
        self.column = np.zeros((0, 0), np.int32)
        self.resource_rank = np.zeros(0, np.int32)
        self.pods_resource = NONE
        self.eligible = np.zeros((0, 0), np.uint8)
        self.group_of = np.zeros((0, 0), np.int32)
        for name in ("group_start", "group_length", "group_flavors"):
            setattr(self, name, np.zeros(0, np.int32))
        for name in self.PER_NODE:
            setattr(self, name, np.zeros(0, np.int64 if name == "threshold" else np.uint8))

    def reserve(self, Py_ssize_t nodes, Py_ssize_t flavors, Py_ssize_t resources, Py_ssize_t eligibility_classes):
        """Make room; kept values stay, new columns and groups are NONE, new flavors not eligible."""
        for name, shape, fill in (
            ("column", (flavors, resources), NONE),
            ("group_of", (nodes, resources), NONE),
            ("eligible", (eligibility_classes, flavors), 0),
        ):
            old = np.asarray(getattr(self, name))
            if shape[0] > old.shape[0] or shape[1] > old.shape[1]:
                new = np.full(
                    tuple(max(have, want if want <= have else want + want // 2 + 4)
                          for have, want in zip(old.shape, shape, strict=True)),
                    fill, old.dtype,
                )
                new[: old.shape[0], : old.shape[1]] = old
                setattr(self, name, new)
        if nodes > self.threshold.shape[0]:
            for name in self.PER_NODE:
                setattr(self, name, _grown(np.asarray(getattr(self, name)), (nodes + nodes // 2 + 4,)))

    cdef int check(self, Py_ssize_t nodes, Py_ssize_t columns) except -1:
        """Every index within its table: the cycle trusts them. Raises ValueError naming the array."""
        column, group_of = np.asarray(self.column), np.asarray(self.group_of)
        start, length = np.asarray(self.group_start), np.asarray(self.group_length)
        flavors = np.asarray(self.group_flavors)
        if group_of.shape[0] < nodes:
            raise ValueError(f"group_of: {group_of.shape[0]} rows, expected one for each of {nodes} nodes")
        for name in self.PER_NODE:
            rows = np.asarray(getattr(self, name)).shape[0]
            if rows < nodes:
                raise ValueError(f"{name}: {rows} rows, expected {nodes}")
        resources = self.resource_rank.shape[0]
        for name, array in (("column", column), ("group_of", group_of)):
            if (array[:, resources:] != NONE).any():
                raise ValueError(f"{name}: names a resource that has no resource_rank ({resources} have one)")
        if not NONE <= self.pods_resource < max(resources, 1):
            raise ValueError(f"pods_resource: {self.pods_resource}, expected {NONE} to {resources - 1}")
        for name, array, low, high in (
            ("column", column, NONE, columns),
            ("group_of", group_of, NONE, start.shape[0]),
            ("group_flavors", flavors, 0, column.shape[0]),
        ):
            if array.size and (array.min() < low or array.max() >= max(high, 0)):
                raise ValueError(f"{name}: values from {array.min()} to {array.max()}, expected {low} to {high - 1}")
        if start.shape != length.shape:
            raise ValueError(f"group_start and group_length: {start.shape[0]} and {length.shape[0]} groups")
        if start.size and (start.min() < 0 or length.min() < 0 or (start + length).max() > flavors.shape[0]):
            raise ValueError("group_start, group_length: a group reaches outside group_flavors")
        for node, resource in np.argwhere(group_of[:nodes] != NONE).tolist():
            group = group_of[node, resource]
            served = flavors[start[group] : start[group] + length[group]]
            if (column[served, resource] == NONE).any():
                raise ValueError(f"column: a flavor of group {group} has none for resource {resource}")
        if self.eligible.shape[1] < column.shape[0] and self.eligible.shape[0]:
            raise ValueError(f"eligible: {self.eligible.shape[1]} flavors, expected {column.shape[0]}")
        return 0
