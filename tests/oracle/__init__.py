"""A slow scheduler in plain Python: it says what is right, and the kernel is compared with it.

It works on a scenario's plain dicts, as the conformance corpus holds them, and shares no code with `kueue_fast`.
Entry points: `tests.oracle.scenario` (run, normalise, unsupported), `tests.oracle.forest` (quota trees alone),
`tests.oracle.generate` (seeded random scenarios), `tests.oracle.strategies` (hypothesis).
Placement by topology stands apart: `tests.oracle.topology` (place), `tests.oracle.topology_usage` (usage, fits),
`tests.oracle.generate_topology` (seeded random placements), `tests.oracle.topology_table` (tables of known answers).
"""
