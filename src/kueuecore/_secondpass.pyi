from collections.abc import Sequence

from typing_extensions import disjoint_base

@disjoint_base
class SecondPass:
    def __init__(self) -> None: ...
    @property
    def count(self) -> int: ...
    def set(
        self,
        entries: Sequence[
            tuple[
                int,
                bool,
                bool,
                Sequence[tuple[int, int]],
                Sequence[tuple[int, int, int, int]],
                Sequence[tuple[int, int]],
            ]
        ],
    ) -> None: ...
