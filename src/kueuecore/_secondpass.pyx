"""Filling of the second pass. See the .pxd."""

import numpy as np


cdef class SecondPass:
    """What the border says of workloads that come again; emptied by each cycle."""

    def __init__(self):
        self.set([])

    def set(self, entries):
        """The workloads of the next cycle, each as a tuple of

        its row, whether it keeps its assignment, whether it is evicted where no replacement is found, (pods, Delay) of
        each pod set, (pod set, resource, flavor, amount) of all it holds, (flavor, place) of its unhealthy nodes.
        """
        workload, keep, fast, pods, delayed = [], [], [], [], []
        held, unhealthy = [], []
        starts = ([0], [0], [0])
        for row, kept, fails_fast, pod_sets, holds, bad in entries:
            workload.append(row)
            keep.append(kept)
            fast.append(fails_fast)
            pods += [one[0] for one in pod_sets]
            delayed += [one[1] for one in pod_sets]
            held += holds
            unhealthy += bad
            for start, table in zip(starts, (pods, held, unhealthy), strict=True):
                start.append(len(table))
        self.workload = np.array(workload, np.int32)
        self.keep = np.array(keep, np.uint8)
        self.fails_fast = np.array(fast, np.uint8)
        self.pods = np.array(pods, np.int64)
        self.delayed = np.array(delayed, np.int32)
        self.pod_set_start, self.held_start, self.unhealthy_start = (np.array(start, np.int32) for start in starts)
        columns = np.array(held, np.int64).reshape(-1, 4)
        self.held_pod_set, self.held_resource, self.held_flavor = (
            np.ascontiguousarray(columns[:, i], np.int32) for i in range(3)
        )
        self.held_amount = np.ascontiguousarray(columns[:, 3])
        pairs = np.array(unhealthy, np.int32).reshape(-1, 2)
        self.unhealthy_tree, self.unhealthy_place = (np.ascontiguousarray(pairs[:, i]) for i in range(2))
        self.count = len(workload)
