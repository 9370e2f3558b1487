from typing_extensions import disjoint_base

@disjoint_base
class Journal:
    def __len__(self) -> int: ...
