from typing_extensions import disjoint_base

@disjoint_base
class Held:
    def rows(self, queue: int) -> list[int]: ...
