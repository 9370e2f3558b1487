"""Our engine in its own process: scenario lines on standard input, decisions and time as a line of JSON for each.

The output has the form of the peer's: `{"name", "steps", "cycleNs", "cycles"}`, or `{"name", "unsupported"}`.
"""

import gc
import json
import sys

from kueue_fast.errors import Unsupported
from kueue_fast.sim.conformance import CycleTimer, replay


def main() -> int:
    """Replays each line; an error of the input is a traceback, since only benchmarks write it."""
    for line in sys.stdin:
        scenario = json.loads(line)
        # As the controller does once it has its lists: what was read stays, and need not be walked again and again.
        gc.freeze()
        timer = CycleTimer()
        result = {"name": scenario["name"]}
        try:
            result["steps"] = replay(scenario, timer)
        except Unsupported as error:
            result["unsupported"] = str(error)
        else:
            result |= {"cycleNs": timer.spent_ns, "cycles": timer.cycles}
        print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
