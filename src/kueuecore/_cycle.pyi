from kueuecore._settle import Settler

class CycleRunner(Settler):
    def run(self, now: int) -> int: ...
